//! Links between sites: measured round trips, and traffic over the fit trials of a cell.

use tare_schema::plan::Plan;
use tare_schema::record::{EnvironmentRecord, LinkDirectionUsage, LinkUsage, TrialRecord};
use tare_schema::topology::SiteLink;
use tare_schema::view::{LinkDirectionView, LinkRttView};

use crate::cells::median;
use crate::measure;
use crate::network::{bytes, count};
use crate::quantity::{self, MISSING};

/// Heads of [`LinkRttView::texts`].
pub const DISTANCE_HEADS: [&str; 4] = ["configured", "median", "p99", "answered"];

/// Heads of [`LinkDirectionView::texts`].
pub const WAY_HEADS: [&str; 6] = [
    "packets /1000",
    "bytes /exchange",
    "lost",
    "queue full",
    "unintended drops",
    "late",
];

/// Every link of the plan, with the round trip that the environment record has for it.
pub fn link_rtts(plan: &Plan, environment: Option<&EnvironmentRecord>) -> Vec<LinkRttView> {
    let found = environment.map_or(&[][..], |environment| &environment.link_rtts);
    let of_link = |link: &SiteLink| {
        let name = link.name();
        let found = found.iter().find(|found| found.link == name);
        let p50_ns = found.and_then(|found| found.p50_ns);
        let p99_ns = found.and_then(|found| found.p99_ns);
        let configured = link.in_words();
        // Always to the microsecond, so that the deviation from the configured delay is visible.
        let trip = |ns: Option<u64>| {
            ns.map_or_else(|| MISSING.into(), |ns| format!("{:.3} ms", ns as f64 / 1e6))
        };
        let answered = found.map_or_else(
            || MISSING.into(),
            |found| format!("{} of {}", found.answered, found.sent),
        );
        LinkRttView {
            texts: vec![configured.clone(), trip(p50_ns), trip(p99_ns), answered],
            configured_ns: link.round_trip_ns(),
            link: name,
            configured,
            p50_ns,
            p99_ns,
        }
    };
    plan.site_links.iter().map(of_link).collect()
}

/// Both directions of every link, in the order of the records.
pub fn directions(records: &[&TrialRecord]) -> Vec<LinkDirectionView> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for way in records.iter().flat_map(|record| link_directions(record)) {
        let name = (way.from.as_str(), way.to.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| way(name, records)).collect()
}

/// The link directions of a trial.
pub fn link_directions(record: &TrialRecord) -> impl Iterator<Item = &LinkDirectionUsage> {
    let links: &[LinkUsage] = record.machine.as_ref().map_or(&[], |m| &m.links);
    links.iter().flat_map(|link| &link.directions)
}

/// Packets dropped beyond the configured loss: no buffer, refused or overflowed.
pub fn unintended_drops(way: &LinkDirectionUsage) -> u64 {
    way.no_buffer_packets + way.refused_packets + way.overflowed_packets.unwrap_or(0)
}

fn way((from, to): (&str, &str), records: &[&TrialRecord]) -> LinkDirectionView {
    let all = || {
        records.iter().filter_map(|record| {
            let mut directions = link_directions(record);
            let way = directions.find(|way| (way.from.as_str(), way.to.as_str()) == (from, to))?;
            Some((*record, way))
        })
    };
    let per_1000 = |count: fn(&LinkDirectionUsage) -> u64| {
        let each = all().map(|(record, way)| measure::per_1000(record, count(way) as f64));
        median(each.collect())
    };
    let in_window = |count: fn(&LinkDirectionUsage) -> u64| {
        median(all().map(|(_, w)| Some(count(w) as f64)).collect())
    };
    let lost = all().map(|(_, way)| {
        let entered = (way.packets_in > 0).then_some(way.packets_in as f64)?;
        Some(way.lost_packets as f64 / entered)
    });
    let mut view = LinkDirectionView {
        from: from.to_owned(),
        to: to.to_owned(),
        packets_per_1000: per_1000(|way| way.packets_out),
        bytes_per_exchange: per_1000(|way| way.bytes_out).map(|bytes| bytes / 1000.0),
        lost_share: median(lost.collect()),
        queue_full_packets: in_window(|way| way.queue_full_packets),
        unintended_drops: all().map(|(_, way)| unintended_drops(way)).max(),
        late_writes: in_window(|way| way.late_writes),
        texts: Vec::new(),
    };
    view.texts = vec![
        count(view.packets_per_1000),
        bytes(view.bytes_per_exchange),
        view.lost_share
            .map_or_else(|| MISSING.into(), quantity::percent),
        count(view.queue_full_packets),
        count(view.unintended_drops.map(|packets| packets as f64)),
        count(view.late_writes),
    ];
    view
}
