//! Whether all replicas of a partition hold the same records: each is read by itself and they are compared batch by batch.
//!
//! A follower answers a consumer's fetch since version 11 (KIP-392), up to its own high watermark; where its log begins it tells
//! only a debugging client (replica −2), as Kafka's ReplicaVerificationTool asks. Batches are copied between brokers byte by
//! byte, so the same batches must be at the same offsets with the same checksums; the checksum itself is computed again here.

mod compare;

use std::collections::BTreeMap;

use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::link::Patience;
use crate::records::Batches;

use super::configs::Resource;
use super::error::{AdminError, Refusal};
use super::topics::PartitionView;
use super::{Admin, topic_name};

pub use compare::{BatchMark, Difference};
use compare::{Found, Lane, compare};

/// Versions from 13 on name topics by number; 11 is the first in which followers answer.
const FETCH_NEWEST: i16 = 12;
/// Bytes asked for at once from each replica.
const PIECE_BYTES: i32 = 4 << 20;
/// As a debugging client names itself.
const DEBUGGING: i32 = -2;
/// How long a broker may wait for records that are surely there.
const WAIT_MS: i32 = 500;

/// What was found about a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyView {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// The outcome.
    pub verdict: Verdict,
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
pub enum Verdict {
    /// All replicas that could be read have the same, and all could.
    Same,
    /// Fewer than two replicas could be read, or not all.
    Incomplete,
    /// They differ where they may: each replica of a compacted topic is cleaned by itself.
    Cleaned,
    /// They differ, or a checksum is wrong.
    Differs,
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

/// How far a comparison is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// First offset.
    pub from: i64,
    /// Where it is.
    pub at: i64,
    /// Where it ends.
    pub to: i64,
    /// Bytes compared.
    pub size_bytes: u64,
}

/// One replica while it is read.
struct Reader {
    view: Replica,
    next: i64,
}

impl Admin {
    /// Compares the replicas of a partition up to what all have now.
    ///
    /// # Errors
    /// When the partition is not there, or a replica stops answering on the way.
    pub fn verify(
        &mut self,
        topic: &str,
        partition: &PartitionView,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<VerifyView, AdminError> {
        let mut notes = Vec::new();
        let mut readers: BTreeMap<i32, Reader> = BTreeMap::new();
        for &broker in &partition.replicas {
            match self.reader(topic, partition, broker) {
                Ok(reader) => {
                    readers.insert(broker, reader);
                }
                Err(error) => notes.push(format!("replica on broker {broker}: {error}")),
            }
        }
        let is_whole = notes.is_empty() && readers.len() == partition.replicas.len();
        let from = readers.values().map(|one| one.view.first).max();
        let to = readers.values().map(|one| one.view.end).min();
        let from = from.unwrap_or_default();
        let to = to.unwrap_or_default().max(from);
        let mut found = Found {
            at: from,
            ..Found::default()
        };
        let mut lanes: BTreeMap<i32, Lane> = readers
            .keys()
            .map(|broker| (*broker, Lane::default()))
            .collect();
        readers.values_mut().for_each(|one| one.next = from);
        while lanes.values().any(|lane| !lane.is_over) {
            for (broker, lane) in &mut lanes {
                let Some(reader) = readers.get_mut(broker) else {
                    continue;
                };
                if lane.waiting.is_empty() && !lane.is_over {
                    self.fill(topic, partition.partition, reader, lane, from, to)?;
                }
            }
            compare(&mut lanes, &mut found);
            watch(Progress {
                from,
                at: found.at.min(to),
                to,
                size_bytes: found.bytes,
            });
        }
        let corrupt = readers.values().any(|one| one.view.corrupt > 0);
        let is_compacted = !found.differences.is_empty() && self.is_compacted(topic, &mut notes)?;
        let verdict = match (found.differences.is_empty(), is_compacted) {
            _ if corrupt => Verdict::Differs,
            (false, false) => Verdict::Differs,
            (false, true) => Verdict::Cleaned,
            (true, _) if !is_whole || readers.len() < 2 => Verdict::Incomplete,
            (true, _) => Verdict::Same,
        };
        if partition.replicas.len() < 2 {
            notes.push("it has one replica: there is nothing to compare with".to_owned());
        }
        Ok(VerifyView {
            topic: topic.to_owned(),
            partition: partition.partition,
            verdict,
            replicas: readers.into_values().map(|one| one.view).collect(),
            from,
            to,
            batches: found.batches,
            records: found.records,
            size_bytes: found.bytes,
            differences: found.differences,
            notes,
        })
    }

    fn is_compacted(&mut self, topic: &str, notes: &mut Vec<String>) -> Result<bool, AdminError> {
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

    /// Where a replica begins and ends.
    fn reader(
        &mut self,
        topic: &str,
        partition: &PartitionView,
        broker: i32,
    ) -> Result<Reader, AdminError> {
        let asked = ListOffsetsPartition::default()
            .with_partition_index(partition.partition)
            .with_current_leader_epoch(-1)
            .with_timestamp(-2);
        let asked = ListOffsetsTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(vec![asked]);
        let request = ListOffsetsRequest::default()
            .with_replica_id(DEBUGGING.into())
            .with_topics(vec![asked]);
        let answer = self.cluster.ask_broker(broker, &request, i16::MAX)?;
        let all = answer.topics.iter().flat_map(|topic| &topic.partitions);
        let Some(one) = all.into_iter().next() else {
            return Err(AdminError::Input("it says nothing about itself".to_owned()));
        };
        if let Some(refusal) = Refusal::of(one.error_code, None) {
            return Err(refusal.about("its first offset"));
        }
        let first = one.offset;
        let data = self.fetch(topic, partition.partition, broker, first)?;
        Ok(Reader {
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

    /// Reads on.
    fn fill(
        &mut self,
        topic: &str,
        partition: i32,
        reader: &mut Reader,
        lane: &mut Lane,
        from: i64,
        to: i64,
    ) -> Result<(), AdminError> {
        if reader.next >= to {
            lane.is_over = true;
            return Ok(());
        }
        let data = self.fetch(topic, partition, reader.view.broker, reader.next)?;
        let before = reader.next;
        for batch in Batches::new(data.records.as_deref().unwrap_or_default()) {
            let batch = batch.map_err(|error| {
                AdminError::Input(format!(
                    "{topic}-{partition} on broker {}: {error}",
                    reader.view.broker
                ))
            })?;
            let next = batch.header.next_offset();
            if batch.header.base_offset >= to {
                reader.next = to;
                break;
            }
            reader.next = reader.next.max(next);
            // The batch that an offset lies in comes whole, also when the offset is not its first.
            if next > from && next > before {
                reader.view.corrupt += u64::from(batch.check().is_err());
                lane.waiting.push_back(BatchMark::of(&batch.header));
            }
        }
        // Nothing although there should be something: what was there up to the end was cleaned away.
        lane.is_over = reader.next == before || reader.next >= to;
        Ok(())
    }

    /// One fetch from one replica, whoever leads.
    pub(super) fn fetch(
        &mut self,
        topic: &str,
        partition: i32,
        broker: i32,
        offset: i64,
    ) -> Result<PartitionData, AdminError> {
        let asked = FetchPartition::default()
            .with_partition(partition)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(offset)
            .with_partition_max_bytes(PIECE_BYTES);
        let asked = FetchTopic::default()
            .with_topic(topic_name(topic))
            .with_partitions(vec![asked]);
        let request = FetchRequest::default()
            .with_replica_id((-1).into())
            .with_max_wait_ms(WAIT_MS)
            .with_min_bytes(0)
            .with_max_bytes(PIECE_BYTES)
            .with_session_epoch(-1)
            .with_topics(vec![asked]);
        let mut patience = Patience::of(self.cluster.settings().answer_within);
        loop {
            let answer = self.cluster.ask_broker(broker, &request, FETCH_NEWEST)?;
            let what = || format!("{topic}-{partition} on broker {broker}");
            if let Some(refusal) = Refusal::of(answer.error_code, None) {
                return Err(refusal.about(what()));
            }
            let mut all = answer
                .responses
                .into_iter()
                .flat_map(|topic| topic.partitions);
            let Some(data) = all.next() else {
                return Err(AdminError::Input(format!("{} is not there", what())));
            };
            match Refusal::of(data.error_code, None) {
                None => return Ok(data),
                Some(refusal) if refusal.is_passing() && patience.wait() => {}
                Some(refusal) => return Err(refusal.about(what())),
            }
        }
    }
}
