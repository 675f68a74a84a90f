//! Which broker has which replica: a plan that spreads racks, replicas and leaders evenly and moves as little as it can.
//!
//! Pure: brokers and partitions in, moves out. Four steps, each keeping what the ones before have reached:
//! 1. *repair*: replicas on brokers that are not to be used go, missing ones come, racks are spread as far as they can be;
//! 2. *replicas*: each topic's replicas are levelled over the brokers, then all topics' together;
//! 3. *leaders*: the same for the preferred leaders, by changing the order of replicas, which moves no data;
//! 4. what is as it was is left out.
//!
//! Levelling is the search of minimum-cost flows: from a broker with more to one with at least two less along the cheapest chain
//! of single moves, until there is none. A chain is needed when the two cannot give to each other directly.

mod leaders;
mod level;
mod replicas;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use table::Table;

/// A broker that replicas may be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its number.
    pub broker: i32,
    /// Its rack; racks count only when every broker has one.
    pub rack: Option<String>,
}

/// A partition as it is placed; without any replica when it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// Brokers that have it, the preferred leader first.
    pub replicas: Vec<i32>,
}

/// How many replicas each partition is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// As many as it has.
    Keep,
    /// So many.
    Exactly(usize),
}

/// A change of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// Its brokers before, the preferred leader first.
    pub from: Vec<i32>,
    /// Its brokers after.
    pub to: Vec<i32>,
}

impl Move {
    /// Brokers that get a copy.
    pub fn adding(&self) -> impl Iterator<Item = i32> + '_ {
        let new = self.to.iter().copied();
        new.filter(|broker| !self.from.contains(broker))
    }

    /// Brokers that lose theirs.
    pub fn removing(&self) -> impl Iterator<Item = i32> + '_ {
        let old = self.from.iter().copied();
        old.filter(|broker| !self.to.contains(broker))
    }
}

/// What a broker has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Replicas.
    pub replicas: usize,
    /// Partitions that it should lead.
    pub leaders: usize,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Partitions that change, by topic and number.
    pub moves: Vec<Move>,
    /// Replicas that are copied to another broker.
    pub copies: usize,
    /// What each broker has of these topics now.
    pub before: BTreeMap<i32, Share>,
    /// What each has afterwards.
    pub after: BTreeMap<i32, Share>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More replicas than brokers.
    #[error(
        "{topic}-{partition} is to have {replicas} replicas and there are {brokers} brokers to put them on: use more brokers or fewer replicas"
    )]
    TooFewBrokers {
        /// Topic.
        topic: String,
        /// Number.
        partition: i32,
        /// How many it is to have.
        replicas: usize,
        /// How many there are.
        brokers: usize,
    },
    /// A partition without replicas, and nobody said how many it gets.
    #[error("{topic}-{partition} has no replicas: say how many it is to have")]
    NoReplication {
        /// Topic.
        topic: String,
        /// Number.
        partition: i32,
    },
    /// The same broker or partition twice.
    #[error("{0} is there twice")]
    Twice(String),
}

/// Makes a plan.
///
/// In it every partition has its number of replicas, all on different brokers among `sites` and in as many racks as can be; of
/// each topic, brokers have replicas and leaders as even as the racks let them (within one where racks are equally large or do
/// not count).
///
/// # Errors
/// When the brokers are too few, or the input contradicts itself.
pub fn plan(
    sites: &[Site],
    partitions: &[Placed],
    replication: Replication,
) -> Result<Plan, PlanError> {
    let mut table = Table::new(sites, partitions, replication)?;
    replicas::repair(&mut table);
    replicas::level(&mut table);
    leaders::level(&mut table);
    let mut moves: Vec<Move> = table
        .parts
        .iter()
        .zip(partitions)
        .map(|(part, was)| Move {
            topic: was.topic.clone(),
            partition: was.partition,
            from: was.replicas.clone(),
            to: part.replicas.iter().map(|&at| sites[at].broker).collect(),
        })
        .collect();
    let before = shares(sites, moves.iter().map(|one| &one.from));
    let after = shares(sites, moves.iter().map(|one| &one.to));
    moves.retain(|one| one.from != one.to);
    moves.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    Ok(Plan {
        copies: moves.iter().map(|one| one.adding().count()).sum(),
        moves,
        before,
        after,
    })
}

fn shares<'a>(sites: &[Site], all: impl Iterator<Item = &'a Vec<i32>>) -> BTreeMap<i32, Share> {
    let mut shares: BTreeMap<i32, Share> = sites
        .iter()
        .map(|site| (site.broker, Share::default()))
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
