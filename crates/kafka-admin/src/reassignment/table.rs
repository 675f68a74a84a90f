//! Planning state: partitions with their replicas, counts by topic and broker. Brokers, racks and topics are indices.

use std::collections::{BTreeMap, BTreeSet};

use super::{CandidateBroker, ReassignmentError, ReplicaAssignment};

/// A partition during planning.
#[derive(Debug, Clone)]
pub(super) struct PlannedPartition {
    pub(super) topic: usize,
    pub(super) target_replicas: usize,
    /// The replicas it had, on brokers that are still used.
    pub(super) original: Vec<usize>,
    pub(super) replicas: Vec<usize>,
}

/// The planning state.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) parts: Vec<PlannedPartition>,
    /// Partition indices of each topic.
    pub(super) topics: Vec<Vec<usize>>,
    /// Rack index of each broker.
    pub(super) racks: Vec<usize>,
    pub(super) rack_count: usize,
    /// Number of replicas by topic and broker.
    pub(super) loads: Vec<Vec<usize>>,
    /// Number of replicas by broker.
    pub(super) totals: Vec<usize>,
}

impl Table {
    pub(super) fn new(
        candidates: &[CandidateBroker],
        partitions: &[ReplicaAssignment],
        replicas: Option<usize>,
    ) -> Result<Table, ReassignmentError> {
        let mut index = BTreeMap::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if index.insert(candidate.broker, at).is_some() {
                return Err(ReassignmentError::Duplicate(format!(
                    "broker {}",
                    candidate.broker
                )));
            }
        }
        let (racks, rack_count) = racks(candidates);
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut topics: Vec<Vec<usize>> = Vec::new();
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        for placed in partitions {
            if !seen.insert((&placed.topic, placed.partition)) {
                let name = format!("{}-{}", placed.topic, placed.partition);
                return Err(ReassignmentError::Duplicate(name));
            }
            let topic = *names.entry(&placed.topic).or_insert_with(|| {
                topics.push(Vec::new());
                topics.len() - 1
            });
            topics[topic].push(parts.len());
            let mut original: Vec<usize> = Vec::new();
            for broker in &placed.replicas {
                if let Some(&at) = index.get(broker)
                    && !original.contains(&at)
                {
                    original.push(at);
                }
            }
            parts.push(PlannedPartition {
                topic,
                target_replicas: target_replicas(placed, replicas, candidates.len())?,
                replicas: original.clone(),
                original,
            });
        }
        let mut table = Table {
            loads: vec![vec![0; candidates.len()]; topics.len()],
            totals: vec![0; candidates.len()],
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

    /// The partitions of a topic, or of all.
    pub(super) fn parts_of(&self, topic: Option<usize>) -> Vec<usize> {
        match topic {
            Some(topic) => self.topics[topic].clone(),
            None => (0..self.parts.len()).collect(),
        }
    }

    fn count(&mut self, part: usize, broker: usize) {
        self.loads[self.parts[part].topic][broker] += 1;
        self.totals[broker] += 1;
    }

    fn uncount(&mut self, part: usize, broker: usize) {
        self.loads[self.parts[part].topic][broker] -= 1;
        self.totals[broker] -= 1;
    }

    pub(super) fn add(&mut self, part: usize, broker: usize) {
        self.parts[part].replicas.push(broker);
        self.count(part, broker);
    }

    pub(super) fn remove(&mut self, part: usize, broker: usize) {
        self.parts[part].replicas.retain(|&at| at != broker);
        self.uncount(part, broker);
    }

    /// Moves a replica to another broker, at the same position in the order.
    pub(super) fn move_replica(&mut self, part: usize, from: usize, to: usize) {
        let mut all = self.parts[part].replicas.iter_mut();
        if let Some(place) = all.find(|at| **at == from) {
            *place = to;
            self.uncount(part, from);
            self.count(part, to);
        }
    }

    /// Number of racks that a partition should span: as many as possible.
    pub(super) fn target_racks(&self, part: usize) -> usize {
        self.parts[part].target_replicas.min(self.rack_count)
    }

    /// Number of replicas of a partition in a rack.
    pub(super) fn in_rack(&self, part: usize, rack: usize) -> usize {
        let all = self.parts[part].replicas.iter();
        all.filter(|&&at| self.racks[at] == rack).count()
    }

    /// Number of racks that a partition spans.
    pub(super) fn racks_of(&self, part: usize) -> usize {
        (0..self.rack_count)
            .filter(|&rack| self.in_rack(part, rack) > 0)
            .count()
    }

    /// Whether a replica may move: the target has none of the partition, and the partition still spans enough racks.
    pub(super) fn can_move(&self, part: usize, from: usize, to: usize) -> bool {
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
        self.racks_of(part) + won - lost >= self.target_racks(part)
    }
}

/// Rack index of each broker; a single rack if any broker has none.
fn racks(candidates: &[CandidateBroker]) -> (Vec<usize>, usize) {
    let names: Option<Vec<&str>> = candidates
        .iter()
        .map(|candidate| candidate.rack.as_deref())
        .collect();
    let Some(names) = names else {
        // A single rack: the rack constraint is always met.
        return (vec![0; candidates.len()], 1);
    };
    let all: BTreeSet<&str> = names.iter().copied().collect();
    let index: BTreeMap<&str, usize> = all.iter().copied().zip(0..).collect();
    (names.iter().map(|name| index[name]).collect(), all.len())
}

fn target_replicas(
    placed: &ReplicaAssignment,
    replicas: Option<usize>,
    brokers: usize,
) -> Result<usize, ReassignmentError> {
    let replicas = replicas.unwrap_or(placed.replicas.len());
    let topic = placed.topic.clone();
    match replicas {
        0 => Err(ReassignmentError::NoReplication(topic, placed.partition)),
        _ if replicas > brokers => {
            let partition = placed.partition;
            Err(ReassignmentError::TooFewBrokers(
                topic, partition, replicas, brokers,
            ))
        }
        _ => Ok(replicas),
    }
}
