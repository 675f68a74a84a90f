//! Resetting the committed offsets of a group without members.

use std::collections::BTreeMap;

use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::change::Mode;
use crate::admin::error::{AdminError, Result, check};
use crate::admin::offsets::{Key, OffsetSpec};
use crate::admin::{Admin, by_topic, group_id};

/// The target of a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetTo {
    /// The first offset that still exists.
    Earliest,
    /// The log end offset: existing records are skipped.
    Latest,
    /// The first record at or after this time; the log end if there is none.
    Time {
        /// Milliseconds since 1970.
        time_ms: i64,
    },
    /// To this offset.
    Offset(i64),
    /// The committed offset plus this, which may be negative.
    ShiftBy(i64),
}

/// Whether a reset may make a group, which the name of none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewGroup {
    Refused,
    Made,
}

impl NewGroup {
    /// By an option of its own.
    #[must_use]
    pub fn made_if(is_made: bool) -> NewGroup {
        match is_made {
            true => NewGroup::Made,
            false => NewGroup::Refused,
        }
    }
}

/// A partition's move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reset {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// What was committed.
    pub from: Option<i64>,
    /// What is now, or would be.
    pub to: i64,
}

impl Admin {
    /// Resets a group's offsets on these topics, or on all that it has committed.
    ///
    /// Offsets outside the log are clamped to its start or end.
    ///
    /// # Errors
    /// If the group has members or does not exist, or a topic does not exist.
    pub fn reset_group(
        &mut self,
        name: &str,
        topics: &[String],
        to: ResetTo,
        new: NewGroup,
        mode: Mode,
    ) -> Result<Vec<Reset>> {
        self.refuse_if_active(name, new)?;
        let committed = self.committed(name)?;
        let mut names: Vec<String> = match topics {
            [] => committed.keys().map(|(topic, _)| topic.clone()).collect(),
            some => some.to_vec(),
        };
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(AdminError::Input(format!(
                "group {name} has committed nothing: say which topics (--topic NAME)"
            )));
        }
        let mut keys: Vec<Key> = Vec::new();
        for topic in self.topics_named(&names)? {
            let all = topic.partitions.iter();
            keys.extend(all.map(|one| (topic.name.clone(), one.partition)));
        }
        let resets = self.target_offsets(&keys, &committed, to)?;
        if mode == Mode::Apply {
            self.commit(name, &resets)?;
        }
        Ok(resets)
    }

    /// For an OffsetCommit from outside a non-empty group, the coordinator reports no more than "unknown member": check first.
    fn refuse_if_active(&mut self, name: &str, new: NewGroup) -> Result<()> {
        match self.group(name) {
            Ok(group) if group.members.is_empty() => Ok(()),
            Ok(group) => Err(AdminError::Input(format!(
                "group {name} has {} members, the first of them {} at {}: stop them first",
                group.members.len(),
                group.members[0].client_id,
                group.members[0].host
            ))),
            Err(AdminError::Refused { error, .. })
                if error.error() == Some(kafka_protocol::ResponseError::GroupIdNotFound) =>
            {
                match new {
                    // The commit will create it.
                    NewGroup::Made => Ok(()),
                    NewGroup::Refused => Err(AdminError::Input(format!(
                        "there is no group {name}, and a reset would make it: `tare kafka groups list` shows what there is; if a new one is meant, add --new-group (in the API: new_group)"
                    ))),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn target_offsets(
        &mut self,
        keys: &[Key],
        committed: &BTreeMap<Key, i64>,
        to: ResetTo,
    ) -> Result<Vec<Reset>> {
        let first = self.offsets(keys, OffsetSpec::Earliest)?;
        let last = self.offsets(keys, OffsetSpec::Latest)?;
        let timed = match to {
            ResetTo::Time { time_ms } => self.offsets(keys, OffsetSpec::At { time_ms })?,
            _ => BTreeMap::new(),
        };
        let mut resets = Vec::new();
        for key in keys {
            let (Some(&first), Some(&last)) = (first.get(key), last.get(key)) else {
                continue;
            };
            let from = committed.get(key).copied();
            let wanted = match to {
                ResetTo::Earliest => first,
                ResetTo::Latest => last,
                ResetTo::Time { .. } => timed.get(key).copied().unwrap_or(last),
                ResetTo::Offset(offset) => offset,
                // Without a committed offset there is nothing to shift.
                ResetTo::ShiftBy(count) => match from {
                    Some(from) => from.saturating_add(count),
                    None => continue,
                },
            };
            resets.push(Reset {
                topic: key.0.clone(),
                partition: key.1,
                from,
                to: wanted.clamp(first, last),
            });
        }
        Ok(resets)
    }

    fn commit(&mut self, name: &str, resets: &[Reset]) -> Result<()> {
        let partitions = resets.iter().map(|one| {
            let partition = OffsetCommitRequestPartition::default()
                .with_partition_index(one.partition)
                .with_committed_offset(one.to)
                .with_committed_leader_epoch(-1)
                .with_committed_metadata(Some(Default::default()));
            (one.topic.as_str(), partition)
        });
        let topics = by_topic(partitions, |name, partitions| {
            OffsetCommitRequestTopic::default()
                .with_name(name)
                .with_partitions(partitions)
        });
        let request = OffsetCommitRequest::default()
            .with_group_id(group_id(name))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(topics);
        self.with_retries(|admin| {
            let coordinator = admin.coordinator(name)?;
            let answer = admin.cluster.request_to(coordinator, &request, i16::MAX)?;
            for topic in &answer.topics {
                for one in &topic.partitions {
                    let what = format_args!("{}-{}", topic.name.as_str(), one.partition_index);
                    check(one.error_code, None, what)?;
                }
            }
            Ok(())
        })
    }
}
