//! The distance between sites: made before anything stands there, and measured.

use std::collections::BTreeMap;

use tare_net::link::{LinkPlan, RoundTrips, WayPlan};
use tare_schema::sites::SiteLink;

use crate::LabError;
use crate::keeper::Keeper;
use crate::local::LocalOptions;

/// Joins every two sites; their names in the order of their numbers, and what was found, by link.
pub(super) fn join(
    keeper: &mut Keeper,
    options: &LocalOptions,
) -> Result<(Vec<String>, BTreeMap<String, String>), LabError> {
    let mut sites: Vec<String> = options
        .site_links
        .iter()
        .flat_map(|link| link.between.clone())
        .collect();
    sites.sort();
    sites.dedup();
    let mut found = BTreeMap::new();
    for (link, seed) in options.site_links.iter().zip(options.seed..) {
        let pair = link.between.each_ref().map(|name| {
            let place = sites.iter().position(|site| site == name);
            place.and_then(|place| u8::try_from(place).ok())
        });
        let [Some(one), Some(other)] = pair else {
            return Err(LabError::Plan(format!(
                "{} sites are too many",
                sites.len()
            )));
        };
        // The devices get their names where they are made.
        let plan = LinkPlan::symmetric(["", ""], &way(link), seed);
        let trips = keeper.join([one, other], &plan)?;
        found.insert(
            format!("round trip {}", link.name()),
            in_words(link, &trips),
        );
    }
    Ok((sites, found))
}

fn way(link: &SiteLink) -> WayPlan {
    WayPlan {
        delay_ns: link.one_way_ns,
        jitter_ns: link.jitter_ns,
        rate_bits_per_s: link.rate_bits_per_s,
        queue_bytes: link.queue_bytes,
        loss: link.loss,
    }
}

/// What was asked for, and what came of it.
fn in_words(link: &SiteLink, trips: &RoundTrips) -> String {
    let ms = |ns: Option<u64>| {
        ns.map_or_else(
            || String::from("–"),
            |ns| format!("{:.3} ms", ns as f64 / 1e6),
        )
    };
    format!(
        "{} (median), {} (p99), {} of {} answered; asked for: {}",
        ms(trips.p50_ns),
        ms(trips.p99_ns),
        trips.answered,
        trips.sent,
        link.in_words()
    )
}
