//! Resetting the committed offsets of a group without members.

use std::collections::BTreeMap;

use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::change::Mode;
use crate::admin::error::{AdminError, Operation, Result, check};
use crate::admin::offsets::{Key, OffsetSpec, OffsetsFound};
use crate::admin::{Admin, by_topic, group_id};

use super::GroupDescription;

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
    /// Why that is not the offset that was asked for.
    pub limit: Option<ResetLimit>,
}

/// Why a partition is reset to another offset than asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResetLimit {
    /// No record is at or after the time: the end instead.
    NoLaterRecord,
    /// The offset is before the first one: the first one instead.
    Start,
    /// The offset is beyond the end: the end instead.
    End,
}

/// The moves of a group's partitions, as far as they are known.
#[derive(Debug)]
pub struct ResetsFound {
    /// By topic and number.
    pub resets: Vec<Reset>,
    /// Partitions whose offsets are not known, with the reason: they have no leader, or it does not answer.
    pub unknown: BTreeMap<(String, i32), String>,
}

impl ResetsFound {
    /// The partitions whose offsets are not known, a line each.
    pub fn problems(&self) -> impl Iterator<Item = String> + '_ {
        let unknown = self.unknown.iter();
        unknown.map(|((topic, partition), why)| format!("{topic}-{partition}: {why}"))
    }
}

impl Admin {
    /// Resets a group's offsets on these topics, or on all that it has committed.
    ///
    /// Offsets outside the log are clamped to its start or end. Nothing waits for partitions without a leader: they are in the result,
    /// and nothing is changed then.
    ///
    /// # Errors
    /// If the group has members or does not exist, a topic does not exist, or a change needs offsets that are not known.
    pub fn reset_group(
        &mut self,
        name: &str,
        topics: &[String],
        to: ResetTo,
        new: NewGroup,
        mode: Mode,
    ) -> Result<ResetsFound> {
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
        let found = self.target_offsets(&keys, &committed, to)?;
        if mode == Mode::Apply {
            // Not some of them: what the others would be is not known.
            if !found.unknown.is_empty() {
                let problems: Vec<String> = found.problems().collect();
                return Err(AdminError::Unchanged(problems.join("; ")));
            }
            self.commit(name, &found.resets)?;
        }
        Ok(found)
    }

    /// For an OffsetCommit from outside a non-empty group, the coordinator reports no more than "unknown member": check first.
    fn refuse_if_active(&mut self, name: &str, new: NewGroup) -> Result<()> {
        match self.group(name) {
            Ok(group) if !group.commits_offsets() => Err(AdminError::Input(format!(
                "group {name} is a share group, which commits no offsets: `kafka-share-groups.sh --reset-offsets` of Kafka resets it"
            ))),
            Ok(group) if group.is_empty() => Ok(()),
            Ok(group) => Err(AdminError::Input(in_use(&group))),
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
    ) -> Result<ResetsFound> {
        let last = self.offsets_known(keys, OffsetSpec::Latest)?;
        let led: Vec<Key> = last.offsets.keys().cloned().collect();
        let first = self.offsets_known(&led, OffsetSpec::Earliest)?;
        let timed = match to {
            ResetTo::Time { time_ms } => self.offsets_known(&led, OffsetSpec::At { time_ms })?,
            _ => OffsetsFound::default(),
        };
        let unknown = [last.unknown, first.unknown, timed.unknown];
        let unknown: BTreeMap<Key, String> = unknown.into_iter().flatten().collect();
        let mut resets = Vec::new();
        for key in keys.iter().filter(|key| !unknown.contains_key(*key)) {
            let (Some(&first), Some(&last)) = (first.offsets.get(key), last.offsets.get(key))
            else {
                continue;
            };
            let from = committed.get(key).copied();
            let timed = timed.offsets.get(key).copied();
            let wanted = match to {
                ResetTo::Earliest => first,
                ResetTo::Latest => last,
                ResetTo::Time { .. } => timed.unwrap_or(last),
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
                // Not by clamp: the log may have been cut in between.
                to: wanted.min(last).max(first),
                limit: match to {
                    ResetTo::Time { .. } if timed.is_none() => Some(ResetLimit::NoLaterRecord),
                    _ if wanted < first => Some(ResetLimit::Start),
                    _ if wanted > last => Some(ResetLimit::End),
                    _ => None,
                },
            });
        }
        Ok(ResetsFound { resets, unknown })
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
                    check(one.error_code, None, what)
                        .map_err(|error| error.needing(Operation::Read))?;
                }
            }
            Ok(())
        })
    }
}

/// Why a group with members cannot be reset.
fn in_use(group: &GroupDescription) -> String {
    let name = &group.name;
    let Some(first) = group.members.first() else {
        return format!("group {name} is {}: stop its members first", group.state);
    };
    let mut text = format!(
        "group {name} has {}, the first of them {} at {}: stop them first",
        match group.members.len() {
            1 => "1 member".to_owned(),
            many => format!("{many} members"),
        },
        first.client_id,
        first.host
    );
    if let Some(id) = group
        .members
        .iter()
        .find_map(|one| one.group_instance_id.as_ref())
    {
        text.push_str(&format!(
            "; a static member (group.instance.id, as {id}) that has stopped stays one until its session timeout (session.timeout.ms)"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::admin::GroupMember;

    use super::*;

    #[test]
    fn a_static_member_that_has_stopped_is_told_to_stay_until_its_session_timeout() {
        let member = GroupMember {
            id: "1".to_owned(),
            group_instance_id: None,
            client_id: "app".to_owned(),
            host: "/10.0.0.1".to_owned(),
            assignment: Vec::new(),
        };
        let mut group = GroupDescription {
            name: "readers".to_owned(),
            state: "Stable".to_owned(),
            group_type: "classic".to_owned(),
            assignor: None,
            coordinator: 1,
            members: vec![member],
            not_shown: None,
        };
        let text = in_use(&group);
        assert!(text.starts_with("group readers has 1 member,"), "{text}");
        assert!(text.ends_with("stop them first"), "{text}");
        group.members[0].group_instance_id = Some("pod-0".to_owned());
        let text = in_use(&group);
        assert!(
            text.contains("pod-0") && text.contains("session.timeout.ms"),
            "{text}"
        );
        // The members of a streams group are not known.
        group.members.clear();
        assert!(in_use(&group).contains("is Stable"));
        assert!(!group.is_empty());
    }
}
