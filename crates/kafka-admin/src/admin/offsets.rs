//! ListOffsets: offsets of partitions, asked of their leaders.

use std::collections::BTreeMap;

use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};

use crate::client::RetryBackoff;

use super::error::{AdminError, ApiError, Result};
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
            let by_leader = self.leaders(&pending)?;
            let mut last = "no leader for it".to_owned();
            let mut retry = Vec::new();
            for (leader, keys) in by_leader {
                let answer = match leader {
                    Some(id) => self.cluster.request_to(id, &request(&keys, when), i16::MAX),
                    None => {
                        retry.extend(keys);
                        continue;
                    }
                };
                let answer = match answer {
                    Ok(answer) => answer,
                    Err(error) if error.is_retriable() => {
                        last = error.to_string();
                        retry.extend(keys);
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                for topic in &answer.topics {
                    for one in &topic.partitions {
                        let key = (topic.name.to_string(), one.partition_index);
                        match ApiError::of(one.error_code, None) {
                            None if one.offset >= 0 => {
                                found.insert(key, one.offset);
                            }
                            None => {}
                            Some(error) if error.is_retriable() => {
                                last = error.to_string();
                                retry.push(key);
                            }
                            Some(error) => {
                                return Err(error.about(format!("{}-{}", key.0, key.1)));
                            }
                        }
                    }
                }
            }
            if retry.is_empty() {
                return Ok(found);
            }
            if !patience.wait() {
                let (topic, partition) = &retry[0];
                return Err(AdminError::Late {
                    what: format!("no offset of {topic}-{partition} ({last})"),
                    seconds: self.cluster.settings().request_timeout.as_secs(),
                });
            }
            pending = retry;
        }
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
