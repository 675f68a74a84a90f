//! Partition assignment plans: spread racks, replicas and leaders evenly and move as little as possible.
//!
//! No I/O: brokers and partitions in, moves out. Four steps; each keeps what the previous ones have reached:
//! 1. *repair*: replicas on excluded brokers are removed, missing ones added, racks spread as far as possible;
//! 2. *replicas*: the replicas of each topic are balanced over the brokers, then those of all topics together;
//! 3. *leaders*: the same for preferred leaders, by reordering replicas, which moves no data;
//! 4. partitions that did not change are left out.
//!
//! Balancing is a minimum-cost flow search: from a broker to one with at least two fewer, along the cheapest chain of single
//! moves, until there is none. Chains are needed when the two brokers cannot exchange replicas directly.

mod balance;
mod leaders;
mod replicas;
mod table;
#[cfg(test)]
mod tests;
mod tool;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_record::schemas::JsonSchema;

use table::Table;
pub use tool::{ToolAssignment, ToolError};

/// A broker that may hold replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateBroker {
    /// Its number.
    pub broker: i32,
    /// Its rack; racks are considered only if every broker has one.
    pub rack: Option<String>,
}

/// The replica assignment of a partition; no replicas if it is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaAssignment {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// Brokers of its replicas, the preferred leader first.
    pub replicas: Vec<i32>,
}

/// A change of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionReassignment {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// Its brokers before, the preferred leader first.
    pub from: Vec<i32>,
    /// Its brokers after.
    pub to: Vec<i32>,
}

impl PartitionReassignment {
    /// Brokers that get a new replica.
    pub fn adding(&self) -> impl Iterator<Item = i32> + '_ {
        let new = self.to.iter().copied();
        new.filter(|broker| !self.from.contains(broker))
    }
}

/// What a broker has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokerShare {
    /// Replicas.
    pub replicas: usize,
    /// Partitions that it should lead.
    pub leaders: usize,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReassignmentPlan {
    /// Partitions that change, by topic and number.
    pub reassignments: Vec<PartitionReassignment>,
    /// Replicas that are copied to another broker.
    pub replicas_to_copy: usize,
    /// What each broker has of these topics now.
    pub before: BTreeMap<i32, BrokerShare>,
    /// What each has afterwards.
    pub after: BTreeMap<i32, BrokerShare>,
}

/// Why no plan could be made for a partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReassignmentError {
    /// More replicas than brokers.
    #[error(
        "partition {0}-{1} is to have {2} replicas and there are {3} brokers to put them on: use more brokers or fewer replicas"
    )]
    TooFewBrokers(String, i32, usize, usize),
    /// A partition without replicas, and no target number was given.
    #[error("partition {0}-{1} has no replicas: say how many it is to have")]
    NoReplication(String, i32),
    /// A broker that is not there.
    #[error("partition {0} is to be on broker {1}, which is not up: choose another")]
    NoBroker(String, i32),
    /// A partition that is not there.
    #[error("there is no partition {0}")]
    NoPartition(String),
    /// A duplicate broker or partition.
    #[error("{0} is duplicated")]
    Duplicate(String),
}

/// Computes a plan for this number of replicas of each partition, or for as many as each has.
///
/// In the plan, every partition has its target number of replicas, all on different brokers among `candidates` and in as many
/// racks as possible; the replicas and leaders of each topic are as evenly distributed as the racks allow (within one if racks
/// are equally large or not considered).
///
/// # Errors
/// If there are too few brokers, or the input contains duplicates.
pub fn plan(
    candidates: &[CandidateBroker],
    partitions: &[ReplicaAssignment],
    replicas: Option<usize>,
) -> Result<ReassignmentPlan, ReassignmentError> {
    let mut table = Table::new(candidates, partitions, replicas)?;
    replicas::repair(&mut table);
    replicas::balance(&mut table);
    leaders::balance(&mut table);
    let mut moves: Vec<PartitionReassignment> = table
        .parts
        .iter()
        .zip(partitions)
        .map(|(part, original)| PartitionReassignment {
            topic: original.topic.clone(),
            partition: original.partition,
            from: original.replicas.clone(),
            to: part
                .replicas
                .iter()
                .map(|&at| candidates[at].broker)
                .collect(),
        })
        .collect();
    moves.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    Ok(plan_of(candidates, moves))
}

/// The plan that gives partitions these brokers, the preferred leader first; others stay.
///
/// # Errors
/// If a partition is not among `partitions`, a broker is not among `candidates`, or one is named twice or none at all.
pub fn by_hand(
    candidates: &[CandidateBroker],
    partitions: &[ReplicaAssignment],
    targets: &[ReplicaAssignment],
) -> Result<ReassignmentPlan, ReassignmentError> {
    let mut wanted: BTreeMap<(&str, i32), &Vec<i32>> = BTreeMap::new();
    for target in targets {
        let name = || format!("{}-{}", target.topic, target.partition);
        if target.replicas.is_empty() {
            let topic = target.topic.clone();
            return Err(ReassignmentError::NoReplication(topic, target.partition));
        }
        for (at, broker) in target.replicas.iter().enumerate() {
            if !candidates.iter().any(|one| one.broker == *broker) {
                return Err(ReassignmentError::NoBroker(name(), *broker));
            }
            if target.replicas[..at].contains(broker) {
                return Err(ReassignmentError::Duplicate(format!(
                    "{}: broker {broker}",
                    name()
                )));
            }
        }
        let key = (target.topic.as_str(), target.partition);
        if wanted.insert(key, &target.replicas).is_some() {
            return Err(ReassignmentError::Duplicate(name()));
        }
    }
    let mut moves: Vec<PartitionReassignment> = partitions
        .iter()
        .map(|one| PartitionReassignment {
            topic: one.topic.clone(),
            partition: one.partition,
            from: one.replicas.clone(),
            to: wanted
                .remove(&(one.topic.as_str(), one.partition))
                .unwrap_or(&one.replicas)
                .clone(),
        })
        .collect();
    if let Some((topic, partition)) = wanted.into_keys().next() {
        return Err(ReassignmentError::NoPartition(format!(
            "{topic}-{partition}"
        )));
    }
    moves.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    Ok(plan_of(candidates, moves))
}

/// The plan of all partitions, those that stay among them.
fn plan_of(
    candidates: &[CandidateBroker],
    mut moves: Vec<PartitionReassignment>,
) -> ReassignmentPlan {
    let before = shares(candidates, moves.iter().map(|one| &one.from));
    let after = shares(candidates, moves.iter().map(|one| &one.to));
    moves.retain(|one| one.from != one.to);
    ReassignmentPlan {
        replicas_to_copy: moves.iter().map(|one| one.adding().count()).sum(),
        reassignments: moves,
        before,
        after,
    }
}

fn shares<'a>(
    candidates: &[CandidateBroker],
    all: impl Iterator<Item = &'a Vec<i32>>,
) -> BTreeMap<i32, BrokerShare> {
    let mut shares: BTreeMap<i32, BrokerShare> = candidates
        .iter()
        .map(|candidate| (candidate.broker, BrokerShare::default()))
        .collect();
    for replicas in all {
        for broker in replicas {
            shares.entry(*broker).or_default().replicas += 1;
        }
        if let Some(first) = replicas.first() {
            shares.entry(*first).or_default().leaders += 1;
        }
    }
    shares
}
