//! What simulated brokers answer consumers: fetches, offsets, and a group of one member.

use std::collections::BTreeMap;

use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use tare_kafka::kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use tare_kafka::kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use tare_kafka::kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use tare_kafka::kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use tare_kafka::kafka_protocol::messages::{
    ApiKey, BrokerId, FetchRequest, FetchResponse, FindCoordinatorResponse, HeartbeatResponse,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupResponse, ListOffsetsRequest,
    ListOffsetsResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse, SyncGroupRequest, SyncGroupResponse,
};
use tare_kafka::kafka_protocol::protocol::{Decodable, StrBytes};
use tare_kafka::kafka_protocol::records::{
    Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

use super::{Brokers, Stored};
use tare_load::client::Closed;
use tare_load::engine::sim::Act;

/// What consumers see.
#[derive(Debug, Default)]
pub struct Consuming {
    /// Codes to answer the next fetches of a partition with.
    pub refusals: BTreeMap<i32, Vec<i16>>,
    /// Fetches whose connection ends in the middle of the answer.
    pub broken_off: usize,
    /// Records before this offset are gone.
    pub log_start: i64,
    pub fetches: usize,
    pub committed: BTreeMap<i32, i64>,
    pub left: bool,
    pub members: u32,
    pub rebalance_next: bool,
}

impl Brokers {
    /// Lets a partition hold one batch more of so many records with these values.
    pub fn store(&mut self, partition: i32, values: &[Vec<u8>]) {
        let records: Vec<Record> = (0_i32..)
            .zip(values)
            .map(|(at, value)| Record {
                transactional: false,
                control: false,
                delete_horizon: false,
                partition_leader_epoch: 0,
                producer_id: -1,
                producer_epoch: -1,
                timestamp_type: TimestampType::Creation,
                offset: i64::from(at),
                sequence: at,
                timestamp: 1_700_000_000_000,
                key: None,
                value: Some(Bytes::from(value.clone())),
                headers: Default::default(),
            })
            .collect();
        let mut out = BytesMut::new();
        let options = RecordEncodeOptions {
            version: 2,
            compression: Compression::None,
        };
        RecordBatchEncoder::encode(&mut out, &records, &options).unwrap();
        self.logs.entry(partition).or_default().push(Stored {
            producer: -1,
            sequence: 0,
            count: values.len() as i32,
            bytes: out.to_vec(),
        });
    }

    fn end_of(&self, partition: i32) -> i64 {
        let log = self.logs.get(&partition).into_iter().flatten();
        log.map(|stored| i64::from(stored.count)).sum()
    }

    /// From this offset on, as brokers do: whole batches, the last one cut at the limit.
    fn read(&self, partition: i32, from: i64, max_bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut base = 0;
        for stored in self.logs.get(&partition).into_iter().flatten() {
            let next = base + i64::from(stored.count);
            if next > from {
                let mut bytes = stored.bytes.clone();
                bytes[..8].copy_from_slice(&base.to_be_bytes());
                let room = match out.len() {
                    0 => bytes.len(),
                    had => max_bytes.saturating_sub(had).min(bytes.len()),
                };
                out.extend_from_slice(&bytes[..room]);
            }
            base = next;
        }
        out
    }

    fn fetch(&mut self, node: i32, asked: &FetchRequest) -> FetchResponse {
        self.consuming.fetches += 1;
        let mut topics = Vec::new();
        for topic in &asked.topics {
            let mut partitions = Vec::new();
            for one in &topic.partitions {
                let end = self.end_of(one.partition);
                let refused = self
                    .consuming
                    .refusals
                    .get_mut(&one.partition)
                    .and_then(Vec::pop);
                let code = match refused {
                    _ if self.leaders.get(one.partition as usize) != Some(&node) => 6,
                    Some(code) => code,
                    None if one.fetch_offset > end
                        || one.fetch_offset < self.consuming.log_start =>
                    {
                        1
                    }
                    None => 0,
                };
                let records = match code {
                    0 => self.read(
                        one.partition,
                        one.fetch_offset,
                        one.partition_max_bytes as usize,
                    ),
                    _ => Vec::new(),
                };
                partitions.push(
                    PartitionData::default()
                        .with_partition_index(one.partition)
                        .with_error_code(code)
                        .with_high_watermark(if code == 0 { end } else { -1 })
                        .with_preferred_read_replica(BrokerId(-1))
                        .with_records(Some(Bytes::from(records))),
                );
            }
            topics.push(
                FetchableTopicResponse::default()
                    .with_topic(topic.topic.clone())
                    .with_partitions(partitions),
            );
        }
        FetchResponse::default()
            .with_responses(topics)
            .with_throttle_time_ms(self.throttle_ms)
    }

    fn offsets(&self, asked: &ListOffsetsRequest) -> ListOffsetsResponse {
        assert_eq!(asked.replica_id.0, -1, "a consumer is no replica");
        let topics = asked.topics.iter().map(|topic| {
            let each = topic.partitions.iter().map(|one| {
                let offset = match one.timestamp {
                    -2 => self.consuming.log_start,
                    -1 => self.end_of(one.partition_index),
                    at if at > 1_700_000_000_000 => -1,
                    _ => 0,
                };
                ListOffsetsPartitionResponse::default()
                    .with_partition_index(one.partition_index)
                    .with_offset(offset)
            });
            ListOffsetsTopicResponse::default()
                .with_partitions(each.collect())
                .with_name(topic.name.clone())
        });
        ListOffsetsResponse::default().with_topics(topics.collect())
    }

    /// What a consumer's request is answered with; `None` for another's.
    pub fn consumer(
        &mut self,
        node: i32,
        (key, version, id): (ApiKey, i16, i32),
        bytes: &mut Bytes,
    ) -> Option<Vec<Act>> {
        let consuming = &mut self.consuming;
        let answer = match key {
            ApiKey::Fetch => {
                let asked = FetchRequest::decode(bytes, version).unwrap();
                let answer = Self::answer(&self.fetch(node, &asked), version, id);
                if self.consuming.broken_off > 0 {
                    self.consuming.broken_off -= 1;
                    let half = answer[..answer.len() / 2].to_vec();
                    return Some(vec![Act::Send(half), Act::Close(Closed::Reset)]);
                }
                answer
            }
            ApiKey::ListOffsets => {
                let asked = ListOffsetsRequest::decode(bytes, version).unwrap();
                Self::answer(&self.offsets(&asked), version, id)
            }
            ApiKey::FindCoordinator => {
                let body = FindCoordinatorResponse::default().with_node_id(BrokerId(self.nodes[0]));
                Self::answer(&body, version, id)
            }
            ApiKey::JoinGroup => {
                let asked = JoinGroupRequest::decode(bytes, version).unwrap();
                let body = JoinGroupResponse::default();
                if asked.member_id.is_empty() {
                    consuming.members += 1;
                    let member = StrBytes::from_string(format!("m{}", consuming.members));
                    Self::answer(
                        &body.with_error_code(79).with_member_id(member),
                        version,
                        id,
                    )
                } else {
                    let one = JoinGroupResponseMember::default()
                        .with_member_id(asked.member_id.clone())
                        .with_metadata(asked.protocols[0].metadata.clone());
                    let body = body
                        .with_generation_id(1)
                        .with_protocol_name(Some(asked.protocols[0].name.clone()))
                        .with_leader(asked.member_id.clone())
                        .with_member_id(asked.member_id)
                        .with_members(vec![one]);
                    Self::answer(&body, version, id)
                }
            }
            ApiKey::SyncGroup => {
                let asked = SyncGroupRequest::decode(bytes, version).unwrap();
                let share = asked.assignments[0].assignment.clone();
                Self::answer(
                    &SyncGroupResponse::default().with_assignment(share),
                    version,
                    id,
                )
            }
            ApiKey::Heartbeat => {
                let code = if std::mem::take(&mut consuming.rebalance_next) {
                    27
                } else {
                    0
                };
                Self::answer(
                    &HeartbeatResponse::default().with_error_code(code),
                    version,
                    id,
                )
            }
            ApiKey::OffsetFetch => {
                let asked = OffsetFetchRequest::decode(bytes, version).unwrap();
                let topics = asked.topics.unwrap().into_iter().map(|topic| {
                    let each = topic.partition_indexes.iter().map(|at| {
                        OffsetFetchResponsePartition::default()
                            .with_partition_index(*at)
                            .with_committed_offset(*consuming.committed.get(at).unwrap_or(&-1))
                    });
                    OffsetFetchResponseTopic::default()
                        .with_partitions(each.collect())
                        .with_name(topic.name.clone())
                });
                let body = OffsetFetchResponse::default().with_topics(topics.collect());
                Self::answer(&body, version, id)
            }
            ApiKey::OffsetCommit => {
                let asked = OffsetCommitRequest::decode(bytes, version).unwrap();
                let topics = asked.topics.iter().map(|topic| {
                    let each = topic.partitions.iter().map(|one| {
                        consuming
                            .committed
                            .insert(one.partition_index, one.committed_offset);
                        OffsetCommitResponsePartition::default()
                            .with_partition_index(one.partition_index)
                    });
                    OffsetCommitResponseTopic::default().with_partitions(each.collect())
                });
                let body = OffsetCommitResponse::default().with_topics(topics.collect());
                Self::answer(&body, version, id)
            }
            ApiKey::LeaveGroup => {
                consuming.left = true;
                Self::answer(&LeaveGroupResponse::default(), version, id)
            }
            _ => return None,
        };
        Some(vec![Act::Send(answer)])
    }

    /// Versions of what consumers ask.
    pub fn consumer_versions() -> Vec<(ApiKey, i16, i16)> {
        vec![
            (ApiKey::Fetch, 4, 18),
            (ApiKey::ListOffsets, 1, 11),
            (ApiKey::FindCoordinator, 0, 6),
            (ApiKey::JoinGroup, 2, 9),
            (ApiKey::SyncGroup, 0, 5),
            (ApiKey::Heartbeat, 0, 4),
            (ApiKey::OffsetFetch, 1, 10),
            (ApiKey::OffsetCommit, 2, 10),
            (ApiKey::LeaveGroup, 0, 5),
        ]
    }
}
