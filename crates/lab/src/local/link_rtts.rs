//! Links between sites: created before any pod, and measured.

use tare_net::link::{LinkPlan, RoundTrips, WayPlan};
use tare_schema::record::LinkRtt;
use tare_schema::sites::SiteLink;

use crate::LabError;
use crate::keeper::Keeper;
use crate::local::LocalOptions;

/// Connects every two sites. Returns their names in the order of their numbers, and the measured round-trip times.
pub(super) fn join(
    keeper: &mut Keeper,
    options: &LocalOptions,
) -> Result<(Vec<String>, Vec<LinkRtt>), LabError> {
    let mut sites: Vec<String> = options
        .site_links
        .iter()
        .flat_map(|link| link.between.clone())
        .collect();
    sites.sort();
    sites.dedup();
    let mut link_rtts = Vec::new();
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
        // The keeper names the devices.
        let plan = LinkPlan::symmetric(["", ""], &way(link), seed);
        let trips = keeper.join([one, other], &plan)?;
        link_rtts.push(found(link, &trips));
    }
    Ok((sites, link_rtts))
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

/// The measurement for the record.
fn found(link: &SiteLink, trips: &RoundTrips) -> LinkRtt {
    LinkRtt {
        link: link.name(),
        sent: trips.sent,
        answered: trips.answered,
        p50_ns: trips.p50_ns,
        p99_ns: trips.p99_ns,
        min_ns: trips.min_ns,
        max_ns: trips.max_ns,
    }
}
