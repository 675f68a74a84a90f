//! Consumer lag of a group, by partition.

use std::collections::BTreeMap;

use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use schemars::JsonSchema;
use serde::Serialize;

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

impl Admin {
    /// Describes a group with its lag. Partitions that are assigned but have no committed offset have no lag.
    ///
    /// # Errors
    /// If the group does not exist.
    pub fn group_lag(&mut self, name: &str) -> Result<GroupLag> {
        let group = self.group(name)?;
        let committed = self.committed(name)?;
        let mut rows: BTreeMap<Key, PartitionLag> = BTreeMap::new();
        let row = |topic: &str, partition: i32| PartitionLag {
            topic: topic.to_owned(),
            partition,
            ..PartitionLag::default()
        };
        for ((topic, partition), offset) in committed {
            let mut one = row(&topic, partition);
            one.committed = Some(offset);
            rows.insert((topic, partition), one);
        }
        for member in &group.members {
            for (topic, partitions) in &member.assignment {
                for &partition in partitions {
                    let key = (topic.clone(), partition);
                    let one = rows.entry(key).or_insert_with(|| row(topic, partition));
                    one.member = Some(member.id.clone());
                }
            }
        }
        // Committed offsets outlive their topic.
        let known = self.topics()?;
        let exists = |key: &&Key| {
            let topic = known.iter().find(|topic| topic.name == key.0);
            topic.is_some_and(|topic| topic.partitions.iter().any(|one| one.partition == key.1))
        };
        let requested: Vec<Key> = rows.keys().filter(exists).cloned().collect();
        for (key, end) in self.offsets(&requested, OffsetSpec::Latest)? {
            if let Some(one) = rows.get_mut(&key) {
                one.end = Some(end);
                // The commits were read first: the end can only have grown since.
                one.lag = one.committed.map(|committed| (end - committed).max(0));
            }
        }
        let partitions: Vec<PartitionLag> = rows.into_values().collect();
        let lags = partitions.iter().filter_map(|one| one.lag);
        Ok(GroupLag {
            lag: lags.reduce(|a, b| a + b),
            group,
            partitions,
        })
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
