//! A reading of a cluster: what pages and problems are made of. Two readings give rates.
//!
//! A reading goes on where one broker does not answer: what is missing is a problem of the reading, not its failure.

mod collect;
mod problems;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::admin::reassign::{OngoingReassignment, Throttles};
use crate::admin::{LogDir, TopicDescription};
use crate::api::ClusterProblem;

use collect::GroupsReading;

/// Age at which sizes, configurations and first offsets are read again.
const SLOW_EVERY: Duration = Duration::from_secs(15);

/// What a reading has beside topics and their offsets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadingScope {
    /// Progress of reassignments, which needs sizes of replicas.
    pub progress: bool,
    /// Groups whose members are described.
    pub groups: BTreeSet<String>,
}

/// First offset of a partition, and the offset that the next record gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LogOffsets {
    first: Option<i64>,
    end: Option<LogEnd>,
}

/// The end of a partition, and when its leader said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogEnd {
    offset: i64,
    at: Instant,
}

impl LogOffsets {
    fn end_offset(self) -> Option<i64> {
        self.end.map(|end| end.offset)
    }
}

/// A broker of the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LiveBroker {
    address: String,
    rack: Option<String>,
}

/// What changes slowly, or is costly to read.
#[derive(Debug, Clone, Default)]
struct SlowReading {
    at: Option<Instant>,
    /// Topics that were there: others are read at once.
    topics: BTreeSet<String>,
    log_dirs: Vec<LogDir>,
    /// `retention.ms` and `min.insync.replicas`, by topic.
    retention_ms: HashMap<String, i64>,
    min_in_sync: HashMap<String, u32>,
    first: HashMap<(String, i32), i64>,
    throttles: Throttles,
    controller: Option<i32>,
    voters: Vec<i32>,
    metadata_version: Option<i16>,
    problems: Vec<ClusterProblem>,
}

/// A reading.
#[derive(Debug, Clone)]
pub struct ClusterReading {
    at: Instant,
    at_ms: u64,
    took: Duration,
    id: Option<String>,
    live: BTreeMap<i32, LiveBroker>,
    topics: Vec<TopicDescription>,
    /// By topic, at the place of the partition's number.
    offsets: HashMap<String, Vec<LogOffsets>>,
    groups: GroupsReading,
    ongoing: Vec<OngoingReassignment>,
    throttles: Throttles,
    slow: Arc<SlowReading>,
    /// What could not be read.
    unread: Vec<ClusterProblem>,
    /// Brokers that did not answer.
    silent: BTreeSet<i32>,
    /// What was asked for.
    scope: ReadingScope,
}

/// A reading beside the one before it, for rates.
#[derive(Debug, Clone, Copy)]
pub struct ClusterView<'a> {
    pub now: &'a ClusterReading,
    pub before: Option<&'a ClusterReading>,
    /// Lag in records beyond which a group is a problem.
    pub lag_limit: Option<u64>,
}

impl ClusterReading {
    /// How long it took.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Time since it began.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.at.elapsed()
    }

    /// Whether the members of a group were asked for.
    #[must_use]
    pub fn has_group(&self, name: &str) -> bool {
        self.scope.groups.contains(name)
    }

    /// Whether a group may exist: the cluster lists it, or not all brokers have answered.
    #[must_use]
    pub fn may_have_group(&self, name: &str) -> bool {
        !self.silent.is_empty() || self.groups.listed.iter().any(|group| group.name == name)
    }

    /// Why the members of a group could not be read.
    #[must_use]
    pub fn why_undescribed(&self, name: &str) -> Option<&str> {
        self.groups.undescribed.get(name).map(String::as_str)
    }

    fn offsets_of(&self, topic: &str, partition: i32) -> LogOffsets {
        let all = self.offsets.get(topic);
        let number = usize::try_from(partition).ok();
        all.zip(number)
            .and_then(|(all, number)| all.get(number).copied())
            .unwrap_or_default()
    }

    /// Size of a replica on a broker.
    fn sizes(&self) -> HashMap<(&str, i32, i32), u64> {
        let dirs = self.slow.log_dirs.iter();
        dirs.flat_map(|dir| dir.partitions.iter().map(move |one| (dir.broker, one)))
            .filter(|(_, one)| !one.is_future)
            .map(|(broker, one)| {
                let size = u64::try_from(one.size_bytes).unwrap_or(0);
                ((one.topic.as_str(), one.partition, broker), size)
            })
            .collect()
    }
}
