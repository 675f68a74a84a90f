//! Reads a whole topic back into an [`DeliveryAudit`], once all its replicas are in sync.

use std::time::Duration;

use tare_kafka::audit::{AuditError, DeliveryAudit};

use super::error::{AdminError, Result};
use super::offsets::OffsetSpec;
use super::{Admin, PartitionInfo};

/// How often the leader of a partition is looked up again after a failed fetch.
const LEADER_RETRIES_MAX: u32 = 5;

impl Admin {
    /// Reads all records of a topic, each partition from its leader, once all replicas are in sync.
    ///
    /// # Errors
    /// If the replicas are not in sync in time, a leader is lost, a batch is corrupt, or records were deleted already.
    pub fn read_back(
        &mut self,
        topic: &str,
        account: &mut DeliveryAudit,
        within: Duration,
    ) -> Result<()> {
        let topics = self.wait_until_in_sync(&[topic], within)?;
        let partitions = topics.into_iter().flat_map(|topic| topic.partitions);
        for partition in partitions {
            let key = (topic.to_owned(), partition.partition);
            let keys = std::slice::from_ref(&key);
            let first = self.offsets(keys, OffsetSpec::Earliest)?.get(&key).copied();
            let end = self.offsets(keys, OffsetSpec::Latest)?.get(&key).copied();
            let (first, end) = (first.unwrap_or(0), end.unwrap_or(0));
            if first > 0 {
                let partition = partition.partition;
                return Err(AuditError::Deleted(partition, first).into());
            }
            self.read_partition(topic, &partition, end, account)?;
        }
        Ok(())
    }

    fn read_partition(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        end: i64,
        account: &mut DeliveryAudit,
    ) -> Result<()> {
        let number = partition.partition;
        let mut leader = partition.leader;
        let mut next = 0;
        let mut tries = 0;
        while next < end {
            let fetched = match leader {
                Some(leader) => self.fetch(topic, number, leader, next),
                None => Err(AdminError::Input(format!("no leader for {topic}-{number}"))),
            };
            let data = match fetched {
                Ok(data) => data,
                Err(error) if tries == LEADER_RETRIES_MAX => return Err(error),
                Err(_) => {
                    tries += 1;
                    let now = self.topics_named(&[topic])?;
                    let mut all = now.into_iter().flat_map(|topic| topic.partitions);
                    leader = all
                        .find(|one| one.partition == number)
                        .and_then(|one| one.leader);
                    continue;
                }
            };
            let before = next;
            next = account.read(number, next, data.records.as_deref().unwrap_or_default())?;
            if next == before {
                return Err(AdminError::Input(format!(
                    "{topic}-{number} ends at offset {next} and should end at {end}: see the leader's log"
                )));
            }
        }
        Ok(())
    }
}
