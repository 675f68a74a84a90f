//! Topics, their partitions and leaders, from metadata.

use std::collections::HashMap;

use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseTopic;

use crate::errors::ErrorCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The leader, by its index in the cluster layer; `None` while there is none.
    pub leader: Option<u32>,
    /// Leader epoch.
    pub epoch: i32,
}

/// How long a partition may lack a leader: elections, also that of a topic that was just created, take less.
const ELECTION_NS: u64 = 2_000_000_000;

/// A partition without a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leaderless {
    partition: usize,
    /// When it was first seen without one.
    since_ns: u64,
    /// Whether that was so long ago that no election is under way.
    is_certain: bool,
    /// Whether it was reported.
    is_reported: bool,
    /// The brokers that have its replicas.
    replicas: Vec<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    /// The topic's error in the last metadata.
    pub error: ErrorCode,
    /// Its partitions by index; empty until metadata has them.
    pub partitions: Vec<Partition>,
    /// Those of them without a leader, in order.
    leaderless: Vec<Leaderless>,
}

impl Topic {
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            error: ErrorCode::NONE,
            partitions: Vec::new(),
            leaderless: Vec::new(),
        }
    }

    /// Whether each partition has a leader.
    #[must_use]
    pub fn is_led(&self) -> bool {
        !self.partitions.is_empty() && self.partitions.iter().all(|one| one.leader.is_some())
    }

    /// Whether each partition has a leader, or has had none for so long that nothing is gained by waiting for one.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let are_certain = self.leaderless.iter().all(|one| one.is_certain);
        !self.partitions.is_empty() && are_certain
    }

    /// Whether a partition has had no leader for longer than an election takes.
    #[must_use]
    pub fn lacks_leader(&self, partition: i32) -> bool {
        let at = usize::try_from(partition).unwrap_or(usize::MAX);
        find(&self.leaderless, at).is_some_and(|one| one.is_certain)
    }

    /// The partitions that have had no leader for longer than an election takes, for messages.
    pub fn without_leader(&self) -> impl Iterator<Item = String> {
        let certain = self.leaderless.iter().filter(|one| one.is_certain);
        certain.map(|one| self.describe(one))
    }

    /// The same, each once until it has a leader again.
    pub(super) fn newly_without_leader(&mut self) -> Vec<String> {
        let mut leaderless = std::mem::take(&mut self.leaderless);
        let new = leaderless
            .iter_mut()
            .filter(|one| one.is_certain && !one.is_reported);
        let words = new.map(|one| {
            one.is_reported = true;
            self.describe(one)
        });
        let words = words.collect();
        self.leaderless = leaderless;
        words
    }

    fn describe(&self, one: &Leaderless) -> String {
        let replicas: Vec<String> = one.replicas.iter().map(ToString::to_string).collect();
        let step = match replicas.as_slice() {
            [] => "see the brokers' logs".to_owned(),
            [only] => format!("start broker {only}, which has its only replica, or see its log"),
            several => format!(
                "start brokers {}, which have its replicas, or see their logs",
                several.join(", ")
            ),
        };
        format!("{}-{} has no leader: {step}", self.name, one.partition)
    }

    /// Applies metadata; a partition with an older leader epoch than the known one is ignored.
    pub(super) fn apply_metadata(
        &mut self,
        metadata: &MetadataResponseTopic,
        now_ns: u64,
        broker: impl Fn(i32) -> Option<u32>,
    ) {
        self.error = ErrorCode(metadata.error_code);
        for partition in &metadata.partitions {
            let Ok(at) = usize::try_from(partition.partition_index) else {
                continue;
            };
            if at >= PARTITIONS_MAX {
                continue;
            }
            if at >= self.partitions.len() {
                let unknown = Partition {
                    leader: None,
                    epoch: -1,
                };
                self.partitions.resize(at + 1, unknown);
            }
            let known = &mut self.partitions[at];
            if partition.leader_epoch < known.epoch && partition.leader_epoch >= 0 {
                continue;
            }
            *known = Partition {
                leader: broker(partition.leader_id.0),
                epoch: partition.leader_epoch,
            };
        }
        self.note_leaderless(metadata, now_ns);
    }

    /// Notes which partitions have no leader, since when, and who has their replicas.
    fn note_leaderless(&mut self, metadata: &MetadataResponseTopic, now_ns: u64) {
        let before = std::mem::take(&mut self.leaderless);
        if self.is_led() {
            return;
        }
        let told = metadata.partitions.iter();
        let told: HashMap<i32, _> = told.map(|one| (one.partition_index, one)).collect();
        let partitions = self.partitions.iter().enumerate();
        let without = partitions.filter(|(_, one)| one.leader.is_none());
        self.leaderless = without
            .map(|(at, _)| {
                let known = find(&before, at);
                let since_ns = known.map_or(now_ns, |one| one.since_ns);
                let told = i32::try_from(at).ok().and_then(|at| told.get(&at));
                let replicas = told.map_or(&[][..], |one| &one.replica_nodes);
                Leaderless {
                    partition: at,
                    since_ns,
                    is_certain: now_ns.saturating_sub(since_ns) >= ELECTION_NS,
                    is_reported: known.is_some_and(|one| one.is_reported),
                    replicas: replicas.iter().map(|node| node.0).collect(),
                }
            })
            .collect();
    }
}

/// A partition among those without a leader, which are in order.
fn find(leaderless: &[Leaderless], partition: usize) -> Option<&Leaderless> {
    let found = leaderless.binary_search_by_key(&partition, |one| one.partition);
    found.ok().and_then(|at| leaderless.get(at))
}

/// Partitions of a topic that are kept; further ones are ignored.
const PARTITIONS_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use tare_kafka::kafka_protocol::messages::BrokerId;
    use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponsePartition;

    use super::*;

    #[test]
    fn partitions_beyond_the_limit_are_ignored() {
        let partition = |index: i32| {
            MetadataResponsePartition::default()
                .with_partition_index(index)
                .with_leader_id(BrokerId(1))
        };
        let most = PARTITIONS_MAX as i32;
        let told = [most - 1, most, i32::MAX, -1].map(partition).to_vec();
        let mut topic = Topic::named("t");
        let metadata = MetadataResponseTopic::default().with_partitions(told);
        topic.apply_metadata(&metadata, 0, |node| u32::try_from(node).ok());
        assert_eq!(topic.partitions.len(), PARTITIONS_MAX);
        assert_eq!(topic.partitions[PARTITIONS_MAX - 1].leader, Some(1));
    }

    #[test]
    fn a_later_epoch_wins_and_older_news_are_left() {
        let metadata = |leader: i32, epoch: i32| {
            MetadataResponseTopic::default().with_partitions(vec![
                MetadataResponsePartition::default()
                    .with_partition_index(1)
                    .with_leader_id(BrokerId(leader))
                    .with_leader_epoch(epoch),
            ])
        };
        let broker = |node: i32| u32::try_from(node).ok();
        let mut topic = Topic::named("t");
        topic.apply_metadata(&metadata(5, 3), 0, broker);
        assert!(!topic.is_led(), "partition 0 is not known");
        assert_eq!(topic.partitions[1].leader, Some(5));
        topic.apply_metadata(&metadata(6, 2), 0, broker);
        assert_eq!(topic.partitions[1].leader, Some(5));
        topic.apply_metadata(&metadata(-1, 3), 0, broker);
        assert_eq!(topic.partitions[1].leader, None);
        topic.apply_metadata(&metadata(7, 4), 0, broker);
        assert_eq!(topic.partitions[1].leader, Some(7));
    }

    #[test]
    fn a_partition_without_a_leader_is_waited_for_as_long_as_an_election_takes() {
        let metadata = |leaders: &[i32]| {
            let partitions = (0..).zip(leaders).map(|(at, &leader)| {
                MetadataResponsePartition::default()
                    .with_partition_index(at)
                    .with_leader_id(BrokerId(leader))
                    .with_leader_epoch(-1)
                    .with_replica_nodes(vec![BrokerId(3)])
            });
            MetadataResponseTopic::default().with_partitions(partitions.collect())
        };
        let broker = |node: i32| u32::try_from(node).ok();
        let mut topic = Topic::named("t");
        assert!(!topic.is_settled(), "nothing is known yet");
        topic.apply_metadata(&metadata(&[1, -1]), 5, broker);
        assert!(!topic.is_settled() && !topic.is_led());
        topic.apply_metadata(&metadata(&[1, -1]), 5 + ELECTION_NS - 1, broker);
        assert!(!topic.lacks_leader(1));
        topic.apply_metadata(&metadata(&[1, -1]), 5 + ELECTION_NS, broker);
        assert!(topic.is_settled() && topic.lacks_leader(1) && !topic.lacks_leader(0));
        let words =
            ["t-1 has no leader: start broker 3, which has its only replica, or see its log"];
        assert_eq!(topic.newly_without_leader(), words);
        assert!(topic.newly_without_leader().is_empty(), "once");
        assert_eq!(topic.without_leader().collect::<Vec<_>>(), words);
        topic.apply_metadata(&metadata(&[1, 2]), 6 + ELECTION_NS, broker);
        assert!(topic.is_led() && !topic.lacks_leader(1));
    }
}
