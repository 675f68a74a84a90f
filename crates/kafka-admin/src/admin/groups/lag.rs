//! Consumer lag of a group, by partition.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::error::{AdminError, Operation, Result, check};
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
    /// Lags of all partitions together, where one beyond the end counts as 0; none when no partition has one.
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
    /// The first offset that can still be read; none when it is not known.
    pub first: Option<i64>,
    /// The offset that the next record gets; none when it is not known, or the topic is gone.
    pub end: Option<i64>,
    /// Offsets from the commit to the end; negative when the commit is beyond the end, as in Kafka's own tools.
    pub lag: Option<i64>,
    /// Those of them that can still be read: fewer than the lag when records were deleted that the group has not read.
    pub readable: Option<i64>,
    /// Where the commit lies; none when that is not known.
    pub commit: Option<CommitPosition>,
    /// Why the end is not known.
    pub problem: Option<String>,
    /// The member that reads it.
    pub member: Option<String>,
}

/// Where a committed offset lies in the log of its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommitPosition {
    /// Between its first offset and its end.
    InLog,
    /// Before its first offset: records were deleted that the group has not read.
    BeforeStart,
    /// Beyond its end: the topic was made again, or has lost records. The lag says nothing of the records to come until a consumer
    /// is reset there.
    BeyondEnd,
}

/// The lags of groups, as far as they could be read.
#[derive(Debug)]
pub struct LagsFound {
    /// In the order asked for.
    pub groups: Vec<GroupLag>,
    /// Groups that could not be read, each with the reason.
    pub unread: Vec<(String, AdminError)>,
}

/// What is known of the log of a partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogBounds {
    pub(crate) first: Option<i64>,
    pub(crate) end: Option<i64>,
    /// Whether the end was read before the commits: then it does not tell that one is beyond it.
    pub(crate) is_end_old: bool,
    pub(crate) problem: Option<String>,
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
    /// The lag of a partition.
    pub(crate) fn of(
        topic: &str,
        partition: i32,
        committed: Option<i64>,
        log: LogBounds,
    ) -> PartitionLag {
        let known = committed.zip(log.end);
        let lag = known.map(|(offset, end)| match log.is_end_old {
            true => end.saturating_sub(offset).max(0),
            false => end.saturating_sub(offset),
        });
        let is_before = committed
            .zip(log.first)
            .map(|(offset, first)| offset < first);
        PartitionLag {
            topic: topic.to_owned(),
            partition,
            committed,
            first: log.first,
            end: log.end,
            lag,
            readable: known
                .zip(log.first)
                .map(|((offset, end), first)| end.saturating_sub(offset.max(first)).max(0)),
            commit: match (lag, is_before) {
                (Some(..0), _) => Some(CommitPosition::BeyondEnd),
                (_, Some(true)) => Some(CommitPosition::BeforeStart),
                (Some(_), Some(false)) => Some(CommitPosition::InLog),
                _ => None,
            },
            problem: log.problem,
            member: None,
        }
    }

    /// Lags together, where one beyond the end counts as 0; none when no partition has one.
    pub(crate) fn total(all: &[PartitionLag]) -> Option<i64> {
        let lags = all.iter().filter_map(|one| one.lag);
        lags.map(|lag| lag.max(0)).reduce(i64::saturating_add)
    }
}

impl GroupLag {
    /// The lag of a group by partition, from its committed offsets and the logs of partitions.
    pub(crate) fn of(
        group: GroupDescription,
        committed: &BTreeMap<Key, i64>,
        log: impl Fn(&str, i32) -> LogBounds,
    ) -> GroupLag {
        let rows = keys(committed, &group).map(|key| {
            let (topic, partition) = (key.0.as_str(), key.1);
            let offset = committed.get(&key).copied();
            let row = PartitionLag::of(topic, partition, offset, log(topic, partition));
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
    /// Describes groups with their lags. Partitions that are assigned but have no committed offset have no lag. Of those whose leader
    /// is missing or does not answer, the end is not known: nothing waits for it.
    ///
    /// # Errors
    /// If no broker answers; groups that cannot be read are in the result.
    pub fn group_lags<S: AsRef<str>>(&mut self, names: &[S]) -> Result<LagsFound> {
        let mut read = Vec::new();
        let mut unread = Vec::new();
        for name in names {
            let name = name.as_ref();
            match self.group_with_commits(name) {
                Ok(found) => read.push(found),
                Err(error) => unread.push((name.to_owned(), error)),
            }
        }
        // Committed offsets outlive their topic.
        let topics = self.topics()?;
        let known: HashSet<(&str, i32)> = topics
            .iter()
            .flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|one| (topic.name.as_str(), one.partition))
            })
            .collect();
        let keys: BTreeSet<Key> = read
            .iter()
            .flat_map(|(group, committed)| keys(committed, group))
            .filter(|(topic, partition)| known.contains(&(topic.as_str(), *partition)))
            .collect();
        let keys: Vec<Key> = keys.into_iter().collect();
        // Ends after the commits: no consumer is ahead of them then.
        let ends = self.offsets_known(&keys, OffsetSpec::Latest)?;
        let led: Vec<Key> = ends.offsets.keys().cloned().collect();
        let firsts = self.offsets_known(&led, OffsetSpec::Earliest)?;
        let log = |topic: &str, partition: i32| {
            let key = (topic.to_owned(), partition);
            LogBounds {
                first: firsts.offsets.get(&key).copied(),
                end: ends.offsets.get(&key).copied(),
                is_end_old: false,
                problem: ends.unknown.get(&key).cloned(),
            }
        };
        let groups = read.into_iter();
        let groups = groups.map(|(group, committed)| GroupLag::of(group, &committed, log));
        Ok(LagsFound {
            groups: groups.collect(),
            unread,
        })
    }

    fn group_with_commits(&mut self, name: &str) -> Result<(GroupDescription, BTreeMap<Key, i64>)> {
        let group = self.group(name)?;
        let committed = match group.commits_offsets() {
            true => self.committed(name)?,
            false => BTreeMap::new(),
        };
        Ok((group, committed))
    }

    /// All committed offsets of a group.
    ///
    /// # Errors
    /// If its coordinator does not answer.
    pub fn committed(&mut self, name: &str) -> Result<BTreeMap<(String, i32), i64>> {
        let found = self.with_retries(|admin| {
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
        });
        found.map_err(|error| error.needing(Operation::Describe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag(committed: i64, first: i64, end: i64) -> PartitionLag {
        let log = LogBounds {
            first: Some(first),
            end: Some(end),
            ..LogBounds::default()
        };
        PartitionLag::of("orders", 0, Some(committed), log)
    }

    #[test]
    fn a_commit_beyond_the_end_is_not_lag_0_and_one_before_the_start_tells_what_can_be_read() {
        for (committed, first, end, expected) in [
            (120, 0, 50, (-70, 0, CommitPosition::BeyondEnd)),
            (50, 0, 50, (0, 0, CommitPosition::InLog)),
            (49, 0, 50, (1, 1, CommitPosition::InLog)),
            (10, 10, 50, (40, 40, CommitPosition::InLog)),
            (10, 30, 50, (40, 20, CommitPosition::BeforeStart)),
            (0, 400, 400, (400, 0, CommitPosition::BeforeStart)),
        ] {
            let found = lag(committed, first, end);
            assert_eq!(
                (found.lag, found.readable),
                (Some(expected.0), Some(expected.1))
            );
            assert_eq!(
                found.commit,
                Some(expected.2),
                "{committed} in {first} to {end}"
            );
        }
        // It takes nothing from the lag of other partitions.
        let all = [lag(120, 0, 50), lag(10, 0, 50)];
        assert_eq!(PartitionLag::total(&all), Some(40));
    }

    #[test]
    fn an_end_from_before_the_commit_does_not_tell_that_the_commit_is_beyond_it() {
        let log = LogBounds {
            first: Some(0),
            end: Some(50),
            is_end_old: true,
            problem: None,
        };
        let found = PartitionLag::of("orders", 0, Some(60), log);
        assert_eq!(
            (found.lag, found.commit),
            (Some(0), Some(CommitPosition::InLog))
        );
        let nothing = PartitionLag::of("orders", 0, Some(60), LogBounds::default());
        assert_eq!(
            (nothing.lag, nothing.readable, nothing.commit),
            (None, None, None)
        );
    }
}
