//! Topics, their partitions and leaders, from metadata.

use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseTopic;

use crate::errors::ErrorCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The leader, by its index in the cluster layer; `None` while there is none.
    pub leader: Option<u32>,
    /// Leader epoch.
    pub epoch: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    /// The topic's error in the last metadata.
    pub error: ErrorCode,
    /// Its partitions by index; empty until metadata has them.
    pub partitions: Vec<Partition>,
}

impl Topic {
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            error: ErrorCode::NONE,
            partitions: Vec::new(),
        }
    }

    /// Whether each partition has a leader.
    #[must_use]
    pub fn is_led(&self) -> bool {
        !self.partitions.is_empty() && self.partitions.iter().all(|one| one.leader.is_some())
    }

    /// Applies metadata; a partition with an older leader epoch than the known one is ignored.
    pub(super) fn apply_metadata(
        &mut self,
        metadata: &MetadataResponseTopic,
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
    }
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
        topic.apply_metadata(&metadata, |node| u32::try_from(node).ok());
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
        topic.apply_metadata(&metadata(5, 3), broker);
        assert!(!topic.is_led(), "partition 0 is not known");
        assert_eq!(topic.partitions[1].leader, Some(5));
        topic.apply_metadata(&metadata(6, 2), broker);
        assert_eq!(topic.partitions[1].leader, Some(5));
        topic.apply_metadata(&metadata(-1, 3), broker);
        assert_eq!(topic.partitions[1].leader, None);
        topic.apply_metadata(&metadata(7, 4), broker);
        assert_eq!(topic.partitions[1].leader, Some(7));
    }
}
