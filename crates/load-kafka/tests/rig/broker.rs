//! A broker that has one partition, takes every batch and gives the same one for ever: for what clients cost, and for what they do when it
//! misbehaves.
#![allow(dead_code, reason = "each test binary uses its own part of the rig")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tare_kafka::batch::{EncodedRecord, Producer, RecordBatchBuilder, ValuePrefix};
use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use tare_kafka::kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use tare_kafka::kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use tare_kafka::kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use tare_kafka::kafka_protocol::messages::produce_response::{
    PartitionProduceResponse, TopicProduceResponse,
};
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, FetchRequest, FetchResponse, FindCoordinatorResponse,
    HeartbeatResponse, InitProducerIdResponse, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupResponse, ListOffsetsResponse, MetadataResponse, OffsetCommitResponse,
    OffsetFetchResponse, ProduceRequest, ProduceResponse, ProducerId, RequestHeader,
    ResponseHeader, SaslAuthenticateResponse, SaslHandshakeResponse, SyncGroupRequest,
    SyncGroupResponse, TopicName,
};
use tare_kafka::kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

/// Records of a batch.
const RECORDS: u32 = 100;

/// Its topic.
pub const TOPIC: &str = "t";

/// What is odd about it.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// The address it advertises; its own without one.
    pub advertised: Option<SocketAddr>,
    /// What it answers heartbeats with, after some good ones.
    pub heartbeat: i16,
    /// How far its clock is ahead.
    pub ahead: Duration,
    /// Connections that were made to it.
    pub connections: Arc<AtomicUsize>,
    /// Passwords that were sent to it.
    pub passwords: Arc<AtomicUsize>,
}

impl Manner {
    /// Only what clients cost is measured at max rate.
    fn is_slow(&self) -> bool {
        self.heartbeat != 0 || !self.ahead.is_zero()
    }
}

/// Heartbeats that are answered well.
const HEARTBEATS: usize = 1;

/// Pause before a fetch is answered where it is not about speed: some thousand records are enough.
const PAUSE: Duration = Duration::from_millis(5);

/// Where one listens that has nothing odd. It ends with the process.
pub fn broker() -> SocketAddr {
    broker_of(Ipv4Addr::LOCALHOST, Manner::default())
}

/// The same on this address of the machine, with its manner.
pub fn broker_of(ip: Ipv4Addr, manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let heartbeats = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            manner.connections.fetch_add(1, Ordering::SeqCst);
            let mut one = Serving {
                address: manner.advertised.unwrap_or(address),
                manner: manner.clone(),
                heartbeats: Arc::clone(&heartbeats),
                batch: Vec::new(),
            };
            thread::spawn(move || one.serve(stream));
        }
    });
    address
}

/// One connection.
struct Serving {
    address: SocketAddr,
    manner: Manner,
    heartbeats: Arc<AtomicUsize>,
    batch: Vec<u8>,
}

impl Serving {
    /// Until the other side hangs up.
    fn serve(&mut self, mut stream: TcpStream) -> Option<()> {
        let record = EncodedRecord::new(None, Some(&[7; 100]), &[]);
        let mut batch = RecordBatchBuilder::new(0, 1 << 20, record);
        let time_ms = match self.manner.ahead {
            Duration::ZERO => 1_700_000_000_000,
            ahead => {
                let at = SystemTime::now() + ahead;
                at.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
            }
        };
        batch.repeat(RECORDS, time_ms, ValuePrefix::NONE);
        batch.seal(Producer::NONE);
        self.batch = batch.bytes().to_vec();
        stream.set_nodelay(true).ok()?;
        loop {
            let mut length = [0; 4];
            stream.read_exact(&mut length).ok()?;
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut frame).ok()?;
            let answer = self.answer(frame);
            stream.write_all(&answer).ok()?;
        }
    }

    fn answer(&self, frame: Vec<u8>) -> Vec<u8> {
        let word = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
        let (key, version) = (ApiKey::try_from(word(0)).unwrap(), word(2));
        let mut bytes = Bytes::from(frame);
        let header =
            RequestHeader::decode(&mut bytes, key.request_header_version(version)).unwrap();
        let id = header.correlation_id;
        match key {
            ApiKey::ApiVersions => framed(&versions(), version, id),
            ApiKey::Metadata => framed(&metadata(self.address), version, id),
            ApiKey::InitProducerId => {
                let body = InitProducerIdResponse::default().with_producer_id(ProducerId(1));
                framed(&body, version, id)
            }
            ApiKey::ListOffsets => {
                let partition = ListOffsetsPartitionResponse::default().with_offset(0);
                let topic = ListOffsetsTopicResponse::default()
                    .with_name(name())
                    .with_partitions(vec![partition]);
                let body = ListOffsetsResponse::default().with_topics(vec![topic]);
                framed(&body, version, id)
            }
            ApiKey::Produce => {
                let asked = ProduceRequest::decode(&mut bytes, version).unwrap();
                let topics = asked.topic_data.iter().map(|topic| {
                    let each = topic.partition_data.iter().map(|one| {
                        PartitionProduceResponse::default()
                            .with_index(one.index)
                            .with_base_offset(0)
                    });
                    TopicProduceResponse::default()
                        .with_name(topic.name.clone())
                        .with_partition_responses(each.collect())
                });
                let body = ProduceResponse::default().with_responses(topics.collect());
                framed(&body, version, id)
            }
            ApiKey::Fetch => {
                let asked = FetchRequest::decode(&mut bytes, version).unwrap();
                let offset = asked.topics[0].partitions[0].fetch_offset;
                if self.manner.is_slow() {
                    thread::sleep(PAUSE);
                }
                let mut records = self.batch.clone();
                // The base offset is not in the checksum.
                records[..8].copy_from_slice(&offset.to_be_bytes());
                let partition = PartitionData::default()
                    .with_high_watermark(offset + 1_000_000)
                    .with_preferred_read_replica(BrokerId(-1))
                    .with_records(Some(Bytes::from(records)));
                let topic = FetchableTopicResponse::default()
                    .with_topic(name())
                    .with_partitions(vec![partition]);
                let body = FetchResponse::default().with_responses(vec![topic]);
                framed(&body, version, id)
            }
            ApiKey::SaslHandshake => {
                let plain = StrBytes::from_static_str("PLAIN");
                let body = SaslHandshakeResponse::default().with_mechanisms(vec![plain]);
                framed(&body, version, id)
            }
            ApiKey::SaslAuthenticate => {
                self.manner.passwords.fetch_add(1, Ordering::SeqCst);
                framed(&SaslAuthenticateResponse::default(), version, id)
            }
            key => self.group(key, version, id, &mut bytes),
        }
    }

    /// As the coordinator of a group of one.
    fn group(&self, key: ApiKey, version: i16, id: i32, bytes: &mut Bytes) -> Vec<u8> {
        match key {
            ApiKey::FindCoordinator => {
                let body = FindCoordinatorResponse::default().with_node_id(BrokerId(1));
                framed(&body, version, id)
            }
            ApiKey::JoinGroup => {
                let asked = JoinGroupRequest::decode(bytes, version).unwrap();
                let protocol = &asked.protocols[0];
                let member = StrBytes::from_static_str("only");
                let one = JoinGroupResponseMember::default()
                    .with_member_id(member.clone())
                    .with_metadata(protocol.metadata.clone());
                let body = JoinGroupResponse::default()
                    .with_generation_id(1)
                    .with_protocol_name(Some(protocol.name.clone()))
                    .with_leader(member.clone())
                    .with_member_id(member)
                    .with_members(vec![one]);
                framed(&body, version, id)
            }
            ApiKey::SyncGroup => {
                let asked = SyncGroupRequest::decode(bytes, version).unwrap();
                let share = asked.assignments[0].assignment.clone();
                let body = SyncGroupResponse::default().with_assignment(share);
                framed(&body, version, id)
            }
            ApiKey::Heartbeat => {
                let before = self.heartbeats.fetch_add(1, Ordering::Relaxed);
                let code = match before < HEARTBEATS {
                    true => 0,
                    false => self.manner.heartbeat,
                };
                let body = HeartbeatResponse::default().with_error_code(code);
                framed(&body, version, id)
            }
            ApiKey::OffsetFetch => framed(&OffsetFetchResponse::default(), version, id),
            ApiKey::OffsetCommit => framed(&OffsetCommitResponse::default(), version, id),
            ApiKey::LeaveGroup => framed(&LeaveGroupResponse::default(), version, id),
            other => panic!("nobody asks {other:?} here"),
        }
    }
}

fn name() -> TopicName {
    TopicName(StrBytes::from_static_str(TOPIC))
}

fn versions() -> ApiVersionsResponse {
    let known = [
        (ApiKey::ApiVersions, 0, 3),
        (ApiKey::Metadata, 4, 12),
        (ApiKey::Produce, 3, 11),
        (ApiKey::InitProducerId, 0, 4),
        (ApiKey::Fetch, 4, 12),
        (ApiKey::ListOffsets, 1, 6),
        (ApiKey::FindCoordinator, 0, 3),
        (ApiKey::JoinGroup, 2, 7),
        (ApiKey::SyncGroup, 0, 4),
        (ApiKey::Heartbeat, 0, 4),
        (ApiKey::OffsetFetch, 1, 6),
        (ApiKey::OffsetCommit, 2, 8),
        (ApiKey::LeaveGroup, 0, 4),
        (ApiKey::SaslHandshake, 1, 1),
        (ApiKey::SaslAuthenticate, 0, 1),
    ];
    let each = known.map(|(key, min, max)| {
        ApiVersion::default()
            .with_api_key(key as i16)
            .with_min_version(min)
            .with_max_version(max)
    });
    ApiVersionsResponse::default().with_api_keys(each.to_vec())
}

fn metadata(address: SocketAddr) -> MetadataResponse {
    let broker = MetadataResponseBroker::default()
        .with_node_id(BrokerId(1))
        .with_host(StrBytes::from_string(address.ip().to_string()))
        .with_port(i32::from(address.port()));
    let partition = MetadataResponsePartition::default().with_leader_id(BrokerId(1));
    let topic = MetadataResponseTopic::default()
        .with_name(Some(name()))
        .with_partitions(vec![partition]);
    MetadataResponse::default()
        .with_brokers(vec![broker])
        .with_topics(vec![topic])
}

fn framed<T: Encodable + HeaderVersion>(body: &T, version: i16, correlation: i32) -> Vec<u8> {
    let mut out = BytesMut::from(&[0; 4][..]);
    ResponseHeader::default()
        .with_correlation_id(correlation)
        .encode(&mut out, T::header_version(version))
        .unwrap();
    body.encode(&mut out, version).unwrap();
    let length = (out.len() - 4) as u32;
    out[..4].copy_from_slice(&length.to_be_bytes());
    out.to_vec()
}
