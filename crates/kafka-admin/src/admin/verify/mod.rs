//! Compares all replicas of a partition batch by batch.
//!
//! Followers answer a consumer's fetch since version 11 (KIP-392), up to their own high watermark; their log start offset only
//! a debugging client gets (replica id −2, as in Kafka's ReplicaVerificationTool). Brokers copy batches byte by byte, so equal
//! offsets must hold equal batches with equal checksums; the checksum of each batch is verified as well.

mod compare;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use serde::Serialize;
use tare_kafka::records::Batches;
use tare_record::schemas::JsonSchema;

use crate::client::RetryBackoff;

use super::configs::Resource;
use super::error::{AdminError, Operation, Result, check};
use super::offsets::{self, OffsetSpec};
use super::topics::PartitionInfo;
use super::{Admin, topic_name};

pub use compare::{BatchMark, Difference};
use compare::{Comparison, ReplicaQueue, compare};

/// From version 13 on, topics are named by id; 11 is the first version that followers answer.
const FETCH_VERSION_MAX: i16 = 12;
/// Bytes per fetch.
const FETCH_BYTES: i32 = 4 << 20;
/// Replica id of a debugging client.
const DEBUG_REPLICA_ID: i32 = -2;
/// Longest wait for followers in sync to hear of the end: ten times the default of `replica.fetch.wait.max.ms`.
const FOLLOWERS_WITHIN: Duration = Duration::from_secs(5);
/// `max_wait_ms` of a fetch for records that exist.
const WAIT_MS: i32 = 500;

/// What was found about a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplicaComparison {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// The outcome.
    pub result: ComparisonResult,
    /// What was read of each replica.
    pub replicas: Vec<Replica>,
    /// First offset compared.
    pub from: i64,
    /// The offset after the last one compared: what every replica has.
    pub to: i64,
    /// Batches that are the same everywhere.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Transaction markers in them, which no consumer sees.
    pub markers: u64,
    /// Their bytes, of one replica.
    pub size_bytes: u64,
    /// Where replicas differ, the first few places.
    pub differences: Vec<Difference>,
    /// What has to be known to judge this: a compacted topic, a replica that could not be read.
    pub notes: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonResult {
    /// All replicas that could be read have the same, and all could.
    Identical,
    /// Fewer than two replicas could be read, or not all.
    Incomplete,
    /// They differ where they may: each replica of a compacted topic is cleaned by itself.
    Compacted,
    /// They differ, or a checksum is wrong.
    Different,
}

/// A replica as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replica {
    /// The broker that has it.
    pub broker: i32,
    /// Whether it leads.
    pub is_leader: bool,
    /// First offset that is still there.
    pub first: i64,
    /// Its high watermark: up to here it may be read.
    pub end: i64,
    /// Batches whose checksum is wrong.
    pub corrupt: u64,
}

/// Progress of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonProgress {
    /// First offset.
    pub from: i64,
    /// Current offset.
    pub at: i64,
    /// End offset.
    pub to: i64,
    /// Bytes compared.
    pub size_bytes: u64,
}

/// A replica that is being read.
struct ReplicaReader {
    view: Replica,
    next: i64,
}

impl Admin {
    /// Compares the replicas of a partition up to the lowest of their high watermarks, or until `watch` ends it.
    ///
    /// # Errors
    /// If the partition does not exist. A replica that cannot be read is left out, with a note.
    pub fn verify(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        watch: &mut dyn FnMut(ComparisonProgress) -> ControlFlow<()>,
    ) -> Result<ReplicaComparison> {
        let mut notes = Vec::new();
        let mut readers: BTreeMap<i32, ReplicaReader> = BTreeMap::new();
        for &broker in &partition.replicas {
            match self.reader(topic, partition, broker) {
                Ok(reader) => {
                    readers.insert(broker, reader);
                }
                Err(error) => notes.push(format!("replica on broker {broker}: {error}")),
            }
        }
        let mut is_complete = notes.is_empty() && readers.len() == partition.replicas.len();
        self.await_followers(topic, partition, &mut readers);
        let leader_end = readers.values().map(|one| one.view.end).max();
        let from = readers.values().map(|one| one.view.first).max();
        let to = readers.values().map(|one| one.view.end).min();
        let from = from.unwrap_or_default();
        let to = to.unwrap_or_default().max(from);
        if let Some(end) = leader_end.filter(|end| *end > to) {
            let behind = readers.values().filter(|one| one.view.end < end);
            let behind: Vec<String> = behind.map(|one| one.view.broker.to_string()).collect();
            notes.push(format!(
                "compared up to offset {to} of {end}: replicas on brokers {} are behind",
                behind.join(", ")
            ));
        }
        let mut found = Comparison {
            at: from,
            ..Comparison::default()
        };
        let mut queues: BTreeMap<i32, ReplicaQueue> = readers
            .keys()
            .map(|broker| (*broker, ReplicaQueue::default()))
            .collect();
        readers.values_mut().for_each(|one| one.next = from);
        while queues.values().any(|queue| !queue.is_done) {
            for (broker, queue) in &mut queues {
                let Some(reader) = readers.get_mut(broker) else {
                    continue;
                };
                if queue.pending.is_empty()
                    && !queue.is_done
                    && let Err(error) =
                        self.read_more(topic, partition.partition, reader, queue, from, to)
                {
                    notes.push(format!("replica on broker {broker}: {error}"));
                    readers.remove(broker);
                    is_complete = false;
                }
            }
            queues.retain(|broker, _| readers.contains_key(broker));
            compare(&mut queues, &mut found);
            let progress = ComparisonProgress {
                from,
                at: found.at.min(to),
                to,
                size_bytes: found.bytes,
            };
            if watch(progress).is_break() {
                notes.push(format!("stopped at offset {}", progress.at));
                is_complete = false;
                break;
            }
        }
        let corrupt = readers.values().any(|one| one.view.corrupt > 0);
        let is_compacted = !found.differences.is_empty() && self.is_compacted(topic, &mut notes)?;
        let result = match (found.differences.is_empty(), is_compacted) {
            _ if corrupt => ComparisonResult::Different,
            (false, false) => ComparisonResult::Different,
            (false, true) => ComparisonResult::Compacted,
            (true, _) if !is_complete || readers.len() < 2 => ComparisonResult::Incomplete,
            (true, _) => ComparisonResult::Identical,
        };
        if partition.replicas.len() < 2 {
            notes.push("it has one replica: there is nothing to compare with".to_owned());
        }
        Ok(ReplicaComparison {
            topic: topic.to_owned(),
            partition: partition.partition,
            result,
            replicas: readers.into_values().map(|one| one.view).collect(),
            from,
            to,
            batches: found.batches,
            records: found.records,
            markers: found.markers,
            size_bytes: found.bytes,
            differences: found.differences,
            notes,
        })
    }

    /// Followers in sync know of the end of their leader with their next fetch, half a second later: waits until they have what the
    /// leader has now.
    fn await_followers(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        readers: &mut BTreeMap<i32, ReplicaReader>,
    ) {
        let Some(end) = readers.values().map(|one| one.view.end).max() else {
            return;
        };
        let mut patience = RetryBackoff::of(FOLLOWERS_WITHIN);
        loop {
            let mut is_behind = false;
            for reader in readers.values_mut().map(|reader| &mut reader.view) {
                if reader.end < end && partition.in_sync.contains(&reader.broker) {
                    let at = reader.end.max(reader.first);
                    // One that does not answer now is noted when it is read.
                    if let Ok(data) = self.fetch(topic, partition.partition, reader.broker, at) {
                        reader.end = data.high_watermark;
                        is_behind |= reader.end < end;
                    }
                }
            }
            if !is_behind || !patience.wait() {
                return;
            }
        }
    }

    fn is_compacted(&mut self, topic: &str, notes: &mut Vec<String>) -> Result<bool> {
        let topic = Resource::Topic(topic.to_owned());
        let found = self.configs(&[topic], Some(&["cleanup.policy"]))?;
        let mut values = found.iter().flat_map(|(_, configs)| configs);
        let is_compacted = values.any(|one| {
            let value = one.value.as_deref().unwrap_or_default();
            value.contains("compact")
        });
        if is_compacted {
            notes.push(
                "the topic is compacted: each replica is cleaned by itself, so they may differ for a while".to_owned(),
            );
        }
        Ok(is_compacted)
    }

    /// Start and end offset of a replica.
    fn reader(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        broker: i32,
    ) -> Result<ReplicaReader> {
        let key = (topic.to_owned(), partition.partition);
        let request = offsets::request(&[key], OffsetSpec::Earliest);
        let request = request.with_replica_id(DEBUG_REPLICA_ID.into());
        let answer = self.cluster.request_to(broker, &request, i16::MAX)?;
        let all = answer.topics.iter().flat_map(|topic| &topic.partitions);
        let Some(one) = all.into_iter().next() else {
            return Err(AdminError::Input("it says nothing about itself".to_owned()));
        };
        check(one.error_code, None, "its first offset")
            .map_err(|error| error.needing(Operation::Describe))?;
        let first = one.offset;
        let data = self.fetch(topic, partition.partition, broker, first)?;
        Ok(ReplicaReader {
            view: Replica {
                broker,
                is_leader: partition.leader == Some(broker),
                first,
                end: data.high_watermark,
                corrupt: 0,
            },
            next: first,
        })
    }

    /// Reads further batches of a replica.
    fn read_more(
        &mut self,
        topic: &str,
        partition: i32,
        reader: &mut ReplicaReader,
        queue: &mut ReplicaQueue,
        from: i64,
        to: i64,
    ) -> Result<()> {
        if reader.next >= to {
            queue.is_done = true;
            return Ok(());
        }
        let data = self.fetch(topic, partition, reader.view.broker, reader.next)?;
        let before = reader.next;
        for batch in Batches::new(data.records.as_deref().unwrap_or_default()) {
            let batch = batch.map_err(|error| AdminError::Input(error.to_string()))?;
            let next = batch.header.next_offset();
            if batch.header.base_offset >= to {
                reader.next = to;
                break;
            }
            reader.next = reader.next.max(next);
            // A fetch returns whole batches: the first one may begin before the requested offset.
            if next > from && next > before {
                reader.view.corrupt += u64::from(batch.check().is_err());
                queue.pending.push_back(BatchMark::of(&batch.header));
            }
        }
        // No progress although records are expected: they were removed by compaction.
        queue.is_done = reader.next == before || reader.next >= to;
        Ok(())
    }

    /// One fetch from one replica, leader or follower.
    pub(super) fn fetch(
        &mut self,
        topic: &str,
        partition: i32,
        broker: i32,
        offset: i64,
    ) -> Result<PartitionData> {
        let requested = FetchPartition::default()
            .with_partition(partition)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(offset)
            .with_partition_max_bytes(FETCH_BYTES);
        let requested = FetchTopic::default()
            .with_topic(topic_name(topic))
            .with_partitions(vec![requested]);
        let request = FetchRequest::default()
            .with_replica_id((-1).into())
            .with_max_wait_ms(WAIT_MS)
            .with_min_bytes(0)
            .with_max_bytes(FETCH_BYTES)
            .with_session_epoch(-1)
            .with_topics(vec![requested]);
        let what = format!("{topic}-{partition} on broker {broker}");
        let fetched = self.with_retries(|admin| {
            let cluster = &mut admin.cluster;
            let answer = cluster.request_to(broker, &request, FETCH_VERSION_MAX)?;
            check(answer.error_code, None, &what)?;
            let topics = answer.responses.into_iter();
            let Some(data) = topics.flat_map(|topic| topic.partitions).next() else {
                return Err(AdminError::Input(format!("{what} is not there")));
            };
            check(data.error_code, None, &what).map(|()| data)
        });
        fetched.map_err(|error| error.needing(Operation::Read))
    }
}
