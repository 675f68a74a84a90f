//! Log directories of brokers: sizes of replicas, free space.

use kafka_protocol::messages::DescribeLogDirsRequest;
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use super::Admin;
use super::error::{ApiError, Operation, Result, check};

/// A folder of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogDir {
    /// Whose.
    pub broker: i32,
    /// Its path there.
    pub path: String,
    /// Why it cannot be used.
    pub error: Option<ApiError>,
    /// Size of the file system; unknown to brokers before 3.3.
    pub total_bytes: Option<i64>,
    /// What is free of it.
    pub usable_bytes: Option<i64>,
    /// The partitions in it, by topic and number.
    pub partitions: Vec<ReplicaSize>,
}

/// A replica on a disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ReplicaSize {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// Its files together.
    pub size_bytes: i64,
    /// Records that it is behind the end of the partition.
    pub lag: i64,
    /// Whether it is on its way to this folder from another one of the same broker.
    pub is_future: bool,
}

impl Admin {
    /// Log directories of these brokers, or of all.
    ///
    /// # Errors
    /// If a broker does not answer.
    pub fn log_dirs(&mut self, brokers: Option<&[i32]>) -> Result<Vec<LogDir>> {
        let all: Vec<i32> = match brokers {
            Some(some) => some.to_vec(),
            None => {
                self.cluster.refresh()?;
                self.cluster.brokers().keys().copied().collect()
            }
        };
        let request = DescribeLogDirsRequest::default().with_topics(None);
        let mut found = Vec::new();
        for broker in all {
            let answer = self.cluster.request_to(broker, &request, i16::MAX)?;
            check(
                answer.error_code,
                None,
                format_args!("the disks of broker {broker}"),
            )
            .map_err(|error| error.needing(Operation::Describe))?;
            for dir in answer.results {
                let mut partitions: Vec<ReplicaSize> = Vec::new();
                for topic in &dir.topics {
                    partitions.extend(topic.partitions.iter().map(|one| ReplicaSize {
                        topic: topic.name.to_string(),
                        partition: one.partition_index,
                        size_bytes: one.partition_size,
                        lag: one.offset_lag,
                        is_future: one.is_future_key,
                    }));
                }
                partitions.sort();
                found.push(LogDir {
                    broker,
                    path: dir.log_dir.to_string(),
                    error: ApiError::of(dir.error_code, None),
                    total_bytes: (dir.total_bytes >= 0).then_some(dir.total_bytes),
                    usable_bytes: (dir.usable_bytes >= 0).then_some(dir.usable_bytes),
                    partitions,
                });
            }
        }
        Ok(found)
    }
}
