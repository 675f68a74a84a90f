//! Consumer lag of a group, by partition.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::error::{Result, check};
use crate::admin::offsets::{Key, OffsetSpec};
use crate::admin::{Admin, group_id};

use super::GroupDescription;

/// How far a group is behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupLag {
    /// The group.
    pub group: GroupDescription,
    /// Its partitions, by topic and number.
    pub partitions: Vec<PartitionLag>,
    /// All lags together; none when no partition has one.
    pub lag: Option<i64>,
}

/// How far a group is behind on a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartitionLag {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// The offset that the group has committed: the next one it wants.
    pub committed: Option<i64>,
    /// The offset that the next record gets; none when the topic is gone.
    pub end: Option<i64>,
    /// Records in between.
    pub lag: Option<i64>,
    /// The member that reads it.
    pub member: Option<String>,
}

/// Partitions that a group has committed or is assigned.
fn keys<'a>(
    committed: &'a BTreeMap<Key, i64>,
    group: &'a GroupDescription,
) -> impl Iterator<Item = Key> + 'a {
    let assigned = group.members.iter().flat_map(|member| &member.assignment);
    let assigned = assigned.flat_map(|(topic, partitions)| {
        partitions
            .iter()
            .map(move |partition| (topic.clone(), *partition))
    });
    committed.keys().cloned().chain(assigned)
}

impl PartitionLag {
    /// The lag of a partition. The end may be older than the commit.
    pub(crate) fn of(
        topic: &str,
        partition: i32,
        committed: Option<i64>,
        end: Option<i64>,
    ) -> PartitionLag {
        PartitionLag {
            topic: topic.to_owned(),
            partition,
            committed,
            end,
            lag: committed
                .zip(end)
                .map(|(offset, end)| (end - offset).max(0)),
            member: None,
        }
    }

    /// Lags together; none when no partition has one.
    pub(crate) fn total(all: &[PartitionLag]) -> Option<i64> {
        let lags = all.iter().filter_map(|one| one.lag);
        lags.reduce(i64::saturating_add)
    }
}

impl GroupLag {
    /// The lag of a group by partition, from its committed offsets and the ends of partitions.
    pub(crate) fn of(
        group: GroupDescription,
        committed: &BTreeMap<Key, i64>,
        end: impl Fn(&str, i32) -> Option<i64>,
    ) -> GroupLag {
        let rows = keys(committed, &group).map(|key| {
            let (topic, partition) = (key.0.as_str(), key.1);
            let offset = committed.get(&key).copied();
            let row = PartitionLag::of(topic, partition, offset, end(topic, partition));
            (key, row)
        });
        let mut rows: BTreeMap<Key, PartitionLag> = rows.collect();
        for member in &group.members {
            for (topic, partitions) in &member.assignment {
                for partition in partitions {
                    if let Some(row) = rows.get_mut(&(topic.clone(), *partition)) {
                        row.member = Some(member.id.clone());
                    }
                }
            }
        }
        let partitions: Vec<PartitionLag> = rows.into_values().collect();
        GroupLag {
            lag: PartitionLag::total(&partitions),
            group,
            partitions,
        }
    }
}

impl Admin {
    /// Describes a group with its lag. Partitions that are assigned but have no committed offset have no lag.
    ///
    /// # Errors
    /// If the group does not exist.
    pub fn group_lag(&mut self, name: &str) -> Result<GroupLag> {
        let group = self.group(name)?;
        let committed = self.committed(name)?;
        // Committed offsets outlive their topic.
        let known = self.topics()?;
        let exists = |key: &&Key| {
            let topic = known.iter().find(|topic| topic.name == key.0);
            topic.is_some_and(|topic| topic.partitions.iter().any(|one| one.partition == key.1))
        };
        let keys: BTreeSet<Key> = keys(&committed, &group).collect();
        let requested: Vec<Key> = keys.iter().filter(exists).cloned().collect();
        let ends = self.offsets(&requested, OffsetSpec::Latest)?;
        Ok(GroupLag::of(group, &committed, |topic, partition| {
            ends.get(&(topic.to_owned(), partition)).copied()
        }))
    }

    /// All committed offsets of a group.
    ///
    /// # Errors
    /// If its coordinator does not answer.
    pub fn committed(&mut self, name: &str) -> Result<BTreeMap<(String, i32), i64>> {
        self.with_retries(|admin| {
            let coordinator = admin.coordinator(name)?;
            let requested = OffsetFetchRequestGroup::default()
                .with_group_id(group_id(name))
                .with_member_epoch(-1)
                .with_topics(None);
            let request = OffsetFetchRequest::default().with_groups(vec![requested]);
            let answer = admin.cluster.request_to(coordinator, &request, i16::MAX)?;
            let mut found = BTreeMap::new();
            let what = format!("group {name}");
            for group in &answer.groups {
                check(group.error_code, None, &what)?;
                for topic in &group.topics {
                    for one in &topic.partitions {
                        check(one.error_code, None, &what)?;
                        if one.committed_offset >= 0 {
                            let key = (topic.name.to_string(), one.partition_index);
                            found.insert(key, one.committed_offset);
                        }
                    }
                }
            }
            Ok(found)
        })
    }
}
