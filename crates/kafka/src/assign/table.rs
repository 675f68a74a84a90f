//! The state of a plan: partitions with their replicas, counts by topic and broker; brokers, racks and topics by index.

use std::collections::{BTreeMap, BTreeSet};

use super::{Placed, PlanError, Replication, Site};

/// A partition while it is planned.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) topic: usize,
    /// How many replicas it is to have.
    pub(super) wanted: usize,
    /// Where it was, as far as those brokers are used.
    pub(super) was: Vec<usize>,
    pub(super) replicas: Vec<usize>,
}

/// Everything that is planned.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) parts: Vec<Part>,
    /// Partitions of each topic.
    pub(super) topics: Vec<Vec<usize>>,
    /// The rack of each broker.
    pub(super) racks: Vec<usize>,
    pub(super) rack_count: usize,
    /// Replicas by topic and broker.
    pub(super) loads: Vec<Vec<usize>>,
    /// Replicas by broker.
    pub(super) totals: Vec<usize>,
}

impl Table {
    pub(super) fn new(
        sites: &[Site],
        partitions: &[Placed],
        replication: Replication,
    ) -> Result<Table, PlanError> {
        let mut index = BTreeMap::new();
        for (at, site) in sites.iter().enumerate() {
            if index.insert(site.broker, at).is_some() {
                return Err(PlanError::Twice(format!("broker {}", site.broker)));
            }
        }
        let (racks, rack_count) = racks(sites);
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut topics: Vec<Vec<usize>> = Vec::new();
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        for placed in partitions {
            if !seen.insert((&placed.topic, placed.partition)) {
                let name = format!("{}-{}", placed.topic, placed.partition);
                return Err(PlanError::Twice(name));
            }
            let topic = *names.entry(&placed.topic).or_insert_with(|| {
                topics.push(Vec::new());
                topics.len() - 1
            });
            topics[topic].push(parts.len());
            let mut was: Vec<usize> = Vec::new();
            for broker in &placed.replicas {
                if let Some(&at) = index.get(broker)
                    && !was.contains(&at)
                {
                    was.push(at);
                }
            }
            parts.push(Part {
                topic,
                wanted: wanted(placed, replication, sites.len())?,
                replicas: was.clone(),
                was,
            });
        }
        let mut table = Table {
            loads: vec![vec![0; sites.len()]; topics.len()],
            totals: vec![0; sites.len()],
            parts,
            topics,
            racks,
            rack_count,
        };
        for at in 0..table.parts.len() {
            for broker in table.parts[at].replicas.clone() {
                table.count(at, broker);
            }
        }
        Ok(table)
    }

    fn count(&mut self, part: usize, broker: usize) {
        self.loads[self.parts[part].topic][broker] += 1;
        self.totals[broker] += 1;
    }

    fn discount(&mut self, part: usize, broker: usize) {
        self.loads[self.parts[part].topic][broker] -= 1;
        self.totals[broker] -= 1;
    }

    pub(super) fn add(&mut self, part: usize, broker: usize) {
        self.parts[part].replicas.push(broker);
        self.count(part, broker);
    }

    pub(super) fn remove(&mut self, part: usize, broker: usize) {
        self.parts[part].replicas.retain(|&at| at != broker);
        self.discount(part, broker);
    }

    /// Puts a replica on another broker, at the same place in the order.
    pub(super) fn shift(&mut self, part: usize, from: usize, to: usize) {
        let mut all = self.parts[part].replicas.iter_mut();
        if let Some(place) = all.find(|at| **at == from) {
            *place = to;
            self.discount(part, from);
            self.count(part, to);
        }
    }

    /// Racks that a partition must be in: as many as can be.
    pub(super) fn racks_wanted(&self, part: usize) -> usize {
        self.parts[part].wanted.min(self.rack_count)
    }

    /// How many replicas of a partition are in a rack.
    pub(super) fn in_rack(&self, part: usize, rack: usize) -> usize {
        let all = self.parts[part].replicas.iter();
        all.filter(|&&at| self.racks[at] == rack).count()
    }

    /// Racks that a partition is in.
    pub(super) fn racks_of(&self, part: usize) -> usize {
        (0..self.rack_count)
            .filter(|&rack| self.in_rack(part, rack) > 0)
            .count()
    }

    /// Whether a replica may go from one broker to another: not where there is one already, and not out of a rack that counts.
    pub(super) fn may_shift(&self, part: usize, from: usize, to: usize) -> bool {
        let replicas = &self.parts[part].replicas;
        if !replicas.contains(&from) || replicas.contains(&to) {
            return false;
        }
        let (left, entered) = (self.racks[from], self.racks[to]);
        if left == entered {
            return true;
        }
        let lost = usize::from(self.in_rack(part, left) == 1);
        let won = usize::from(self.in_rack(part, entered) == 0);
        self.racks_of(part) + won - lost >= self.racks_wanted(part)
    }
}

/// Each broker's rack; all the same as none when one of them has none.
fn racks(sites: &[Site]) -> (Vec<usize>, usize) {
    let names: Option<Vec<&str>> = sites.iter().map(|site| site.rack.as_deref()).collect();
    let Some(names) = names else {
        // One rack for all: wherever a replica is, it is in it.
        return (vec![0; sites.len()], 1);
    };
    let all: BTreeSet<&str> = names.iter().copied().collect();
    let index: BTreeMap<&str, usize> = all.iter().copied().zip(0..).collect();
    (names.iter().map(|name| index[name]).collect(), all.len())
}

fn wanted(placed: &Placed, replication: Replication, brokers: usize) -> Result<usize, PlanError> {
    let replicas = match replication {
        Replication::Keep => placed.replicas.len(),
        Replication::Exactly(count) => count,
    };
    match replicas {
        0 => Err(PlanError::NoReplication {
            topic: placed.topic.clone(),
            partition: placed.partition,
        }),
        _ if replicas > brokers => Err(PlanError::TooFewBrokers {
            topic: placed.topic.clone(),
            partition: placed.partition,
            replicas,
            brokers,
        }),
        _ => Ok(replicas),
    }
}
