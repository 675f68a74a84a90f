//! ListOffsets: offsets of partitions, asked of their leaders.

use std::collections::BTreeMap;
use std::fmt;

use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};

use crate::client::{ClientError, RetryBackoff};

use super::error::{AdminError, ApiError, Operation, Result};
use super::{Admin, by_topic};

/// Topic and partition.
pub(super) type Key = (String, i32);

/// Which offset to look up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset that still exists.
    Earliest,
    /// The log end offset: the one the next record gets.
    Latest,
    /// The first offset whose record has this timestamp or a later one.
    At {
        /// Milliseconds since 1970.
        time_ms: i64,
    },
}

impl OffsetSpec {
    fn number(self) -> i64 {
        match self {
            OffsetSpec::Earliest => -2,
            OffsetSpec::Latest => -1,
            OffsetSpec::At { time_ms } => time_ms,
        }
    }
}

/// What is said of a partition without a leader.
pub(crate) const NO_LEADER: &str =
    "it has no leader: start one of the brokers that have its replicas";

/// Offsets as far as they are known.
#[derive(Debug, Default)]
pub struct OffsetsFound {
    /// By topic and partition.
    pub offsets: BTreeMap<(String, i32), i64>,
    /// Why those of other partitions are not known.
    pub unknown: BTreeMap<(String, i32), String>,
}

/// Why the offset of a partition is not known after a request.
#[derive(Debug)]
enum NoOffset {
    NoLeader,
    /// Its leader does not answer.
    Silence(ClientError),
    /// Its leader refuses, or leads it no longer.
    Refused(ApiError),
}

impl NoOffset {
    fn is_retriable(&self) -> bool {
        match self {
            NoOffset::NoLeader => true,
            NoOffset::Silence(error) => error.is_retriable(),
            NoOffset::Refused(error) => error.is_retriable(),
        }
    }

    fn about(self, keys: &[Key]) -> AdminError {
        match self {
            NoOffset::Silence(error) => error.into(),
            NoOffset::Refused(error) => error.about(named(keys)).needing(Operation::Describe),
            NoOffset::NoLeader => AdminError::Input(format!("{}: {self}", named(keys))),
        }
    }
}

impl fmt::Display for NoOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoOffset::NoLeader => f.write_str(NO_LEADER),
            NoOffset::Silence(error) => write!(f, "its leader does not answer: {error}"),
            NoOffset::Refused(error) => error.fmt(f),
        }
    }
}

impl Admin {
    /// Offsets of partitions; those without a result (no record that late) are left out.
    ///
    /// # Errors
    /// If a partition does not exist, or has no leader within the request timeout.
    pub fn offsets(
        &mut self,
        partitions: &[(String, i32)],
        when: OffsetSpec,
    ) -> Result<BTreeMap<(String, i32), i64>> {
        let mut found = BTreeMap::new();
        let mut pending: Vec<Key> = partitions.to_vec();
        let mut patience = RetryBackoff::of(self.cluster.settings().request_timeout);
        loop {
            let mut unknown = self.offsets_once(&pending, when, &mut found)?;
            if let Some(at) = unknown.iter().position(|(_, why)| !why.is_retriable()) {
                let (keys, why) = unknown.swap_remove(at);
                return Err(why.about(&keys));
            }
            let Some((keys, why)) = unknown.first() else {
                return Ok(found);
            };
            if !patience.wait() {
                return Err(AdminError::Late {
                    what: format!("no offset of {}: {why}", named(keys)),
                    seconds: self.cluster.settings().request_timeout.as_secs(),
                });
            }
            pending = unknown.into_iter().flat_map(|(keys, _)| keys).collect();
        }
    }

    /// The same, as far as it is known at once: nothing waits for a leader that is missing, or that does not answer.
    ///
    /// # Errors
    /// If a partition does not exist, or no broker answers.
    pub fn offsets_known(
        &mut self,
        partitions: &[(String, i32)],
        when: OffsetSpec,
    ) -> Result<OffsetsFound> {
        let mut found = OffsetsFound::default();
        let mut pending: Vec<Key> = partitions.to_vec();
        let mut patience = RetryBackoff::of(self.cluster.settings().request_timeout);
        loop {
            let unknown = self.offsets_once(&pending, when, &mut found.offsets)?;
            pending.clear();
            // A leader that has just moved is known in a moment.
            let has_moved = |why: &NoOffset| match why {
                NoOffset::Refused(error) => error.is_retriable(),
                NoOffset::NoLeader | NoOffset::Silence(_) => false,
            };
            let waits = unknown.iter().any(|(_, why)| has_moved(why)) && patience.wait();
            for (keys, why) in unknown {
                if waits && has_moved(&why) {
                    pending.extend(keys);
                } else {
                    let text = why.to_string();
                    found
                        .unknown
                        .extend(keys.into_iter().map(|key| (key, text.clone())));
                }
            }
            if pending.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Asks each leader once; returns the partitions whose offset is not known, with the reason.
    fn offsets_once(
        &mut self,
        partitions: &[Key],
        when: OffsetSpec,
        found: &mut BTreeMap<Key, i64>,
    ) -> Result<Vec<(Vec<Key>, NoOffset)>> {
        let mut unknown = Vec::new();
        for (leader, keys) in self.leaders(partitions)? {
            let Some(leader) = leader else {
                unknown.push((keys, NoOffset::NoLeader));
                continue;
            };
            let answer = match self
                .cluster
                .request_to(leader, &request(&keys, when), i16::MAX)
            {
                Ok(answer) => answer,
                Err(error) => {
                    unknown.push((keys, NoOffset::Silence(error)));
                    continue;
                }
            };
            for topic in &answer.topics {
                for one in &topic.partitions {
                    let key = (topic.name.to_string(), one.partition_index);
                    match ApiError::of(one.error_code, None) {
                        None if one.offset >= 0 => {
                            found.insert(key, one.offset);
                        }
                        None => {}
                        Some(error) => unknown.push((vec![key], NoOffset::Refused(error))),
                    }
                }
            }
        }
        Ok(unknown)
    }

    /// Offsets of partitions, asked of one broker; those that it does not lead are left out.
    ///
    /// # Errors
    /// If the broker does not answer.
    pub fn offsets_of_leader(
        &mut self,
        leader: i32,
        partitions: &[(String, i32)],
        when: OffsetSpec,
    ) -> Result<Vec<((String, i32), i64)>> {
        let request = request(partitions, when);
        let answer = self.cluster.request_to(leader, &request, i16::MAX)?;
        let mut found = Vec::with_capacity(partitions.len());
        for topic in &answer.topics {
            let known = topic.partitions.iter();
            let known = known.filter(|one| one.error_code == 0 && one.offset >= 0);
            found.extend(known.map(|one| {
                let key = (topic.name.to_string(), one.partition_index);
                (key, one.offset)
            }));
        }
        Ok(found)
    }

    /// Groups partitions by their current leader.
    fn leaders(&mut self, partitions: &[Key]) -> Result<BTreeMap<Option<i32>, Vec<Key>>> {
        let mut names: Vec<&str> = partitions.iter().map(|(topic, _)| topic.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let topics = self.topics_named(&names)?;
        let mut by_leader: BTreeMap<Option<i32>, Vec<Key>> = BTreeMap::new();
        for key in partitions {
            let topic = topics.iter().find(|topic| topic.name == key.0);
            let mut all = topic.iter().flat_map(|topic| &topic.partitions);
            let Some(one) = all.find(|one| one.partition == key.1) else {
                return Err(AdminError::Input(format!(
                    "topic {} has no partition {}",
                    key.0, key.1
                )));
            };
            by_leader.entry(one.leader).or_default().push(key.clone());
        }
        Ok(by_leader)
    }
}

/// The first of these partitions, as it is called.
fn named(keys: &[Key]) -> String {
    keys.first().map_or_else(String::new, |(topic, partition)| {
        format!("{topic}-{partition}")
    })
}

pub(super) fn request(keys: &[Key], when: OffsetSpec) -> ListOffsetsRequest {
    let partitions = keys.iter().map(|(topic, partition)| {
        let requested = ListOffsetsPartition::default()
            .with_partition_index(*partition)
            .with_current_leader_epoch(-1)
            .with_timestamp(when.number());
        (topic.as_str(), requested)
    });
    let topics = by_topic(partitions, |name, partitions| {
        ListOffsetsTopic::default()
            .with_name(name)
            .with_partitions(partitions)
    });
    ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_topics(topics)
}
