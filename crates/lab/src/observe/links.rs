//! Traffic and drops on the links between sites within the window, and the CPU time of the links.

use std::sync::{Arc, Mutex};

use tare_net::link::{DirectionCounts, THREADS};
use tare_record::record::{InstanceUsage, LinkDirectionUsage, LinkUsage};

use super::threads::{ThreadsReading, subtract};
use crate::LabError;
use crate::keeper::{Keeper, LinkCounts, lock};

/// The links of a run that has sites.
pub struct ObservedLinks {
    /// The keeper, which runs them.
    pub keeper: Arc<Mutex<Keeper>>,
    /// Names of the sites in the order of their numbers.
    pub sites: Vec<String>,
}

/// The links, with their counters and their threads' usage before the window.
pub(super) struct LinkObservation {
    observed: ObservedLinks,
    first: Vec<LinkCounts>,
    threads: ThreadsReading,
}

impl LinkObservation {
    pub(super) fn start(observed: ObservedLinks) -> Result<LinkObservation, LabError> {
        let first = observed.read()?;
        Ok(LinkObservation {
            threads: observed.threads(),
            observed,
            first,
        })
    }

    /// Accounts the CPU time of the links to an entry of their own instead of the conductor, whose process runs them.
    pub(super) fn account_threads(&self, parts: &mut Vec<InstanceUsage>) {
        let Some(found) = self.observed.threads().since(&self.threads) else {
            return;
        };
        let place = parts.iter().position(|part| part.role == "conductor");
        if let Some(conductor) = place.map(|place| &mut parts[place]) {
            subtract(conductor, &found);
        }
        let links = InstanceUsage {
            instance: String::from("links"),
            role: String::from("link"),
            software: format!("tare {}", env!("CARGO_PKG_VERSION")),
            ..found
        };
        parts.insert(place.unwrap_or(parts.len()), links);
    }

    pub(super) fn finish(&self) -> Result<Vec<LinkUsage>, LabError> {
        let last = self.observed.read()?;
        let usages = last.iter().map(|last| {
            let first = self.first.iter().find(|first| first.sites == last.sites);
            usage(last, first?, &self.observed.sites)
        });
        Ok(usages.flatten().collect())
    }
}

impl ObservedLinks {
    fn read(&self) -> Result<Vec<LinkCounts>, LabError> {
        lock(&self.keeper).links()
    }

    /// The links run as threads of the keeper.
    fn threads(&self) -> ThreadsReading {
        ThreadsReading::take(lock(&self.keeper).inside_pid(), &THREADS)
    }
}

fn usage(last: &LinkCounts, first: &LinkCounts, sites: &[String]) -> Option<LinkUsage> {
    let [one, other] = last.sites.map(|number| sites.get(usize::from(number)));
    let (one, other) = (one?, other?);
    let (last, first) = (&last.counts, &first.counts);
    Some(LinkUsage {
        link: format!("{one}-{other}"),
        directions: vec![
            way(&last.there, &first.there, [one, other]),
            way(&last.back, &first.back, [other, one]),
        ],
    })
}

fn way(
    last: &DirectionCounts,
    first: &DirectionCounts,
    [from, to]: [&String; 2],
) -> LinkDirectionUsage {
    let grown = |count: fn(&DirectionCounts) -> u64| count(last).saturating_sub(count(first));
    let overflowed = last.overflowed.zip(first.overflowed);
    LinkDirectionUsage {
        from: from.clone(),
        to: to.clone(),
        packets_in: grown(|way| way.entered_packets),
        bytes_in: grown(|way| way.entered_bytes),
        packets_out: grown(|way| way.passed_packets),
        bytes_out: grown(|way| way.passed_bytes),
        lost_packets: grown(|way| way.lost_packets),
        queue_full_packets: grown(|way| way.queue_full_packets),
        no_buffer_packets: grown(|way| way.no_buffer_packets),
        refused_packets: grown(|way| way.refused_packets),
        overflowed_packets: overflowed.map(|(last, first)| last.saturating_sub(first)),
        late_writes: grown(|way| way.late_writes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_what_came_within_it_by_way_and_cause() {
        let first = DirectionCounts {
            entered_packets: 100,
            passed_packets: 90,
            lost_packets: 3,
            overflowed: Some(1),
            ..DirectionCounts::default()
        };
        let last = DirectionCounts {
            entered_packets: 150,
            entered_bytes: 7000,
            passed_packets: 130,
            passed_bytes: 6000,
            lost_packets: 5,
            queue_full_packets: 7,
            overflowed: Some(12),
            ..first
        };
        let mut before = LinkCounts {
            sites: [0, 1],
            counts: tare_net::link::CountsPerDirection::default(),
        };
        before.counts.back = first;
        let mut after = before;
        after.counts.back = last;
        let sites = ["east", "west"].map(String::from);
        let found = usage(&after, &before, &sites).unwrap();
        assert_eq!(found.link, "east-west");
        let [there, back] = &found.directions[..] else {
            panic!("{found:?}");
        };
        assert_eq!((&*there.from, &*there.to), ("east", "west"));
        assert_eq!((there.packets_in, there.overflowed_packets), (0, None));
        assert_eq!((&*back.from, &*back.to), ("west", "east"));
        assert_eq!((back.packets_in, back.bytes_in), (50, 7000));
        assert_eq!((back.packets_out, back.bytes_out), (40, 6000));
        assert_eq!((back.lost_packets, back.queue_full_packets), (2, 7));
        assert_eq!(back.overflowed_packets, Some(11));
        assert_eq!(usage(&after, &before, &sites[..1]), None);
    }
}
