//! A broker that has one partition, takes every batch and gives the same one for ever: for what clients cost, not what they find.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use tare_kafka::batch::{Batch, Marks, Producer, Record};
use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
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
    ApiKey, ApiVersionsResponse, BrokerId, FetchRequest, FetchResponse, InitProducerIdResponse,
    ListOffsetsResponse, MetadataResponse, ProduceRequest, ProduceResponse, ProducerId,
    RequestHeader, ResponseHeader, TopicName,
};
use tare_kafka::kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

/// Records of a batch.
const RECORDS: u32 = 100;

/// Its topic.
pub const TOPIC: &str = "t";

/// Where it listens. It ends with the process.
pub fn broker() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream, address));
        }
    });
    address
}

/// Until the other side hangs up.
fn serve(mut stream: TcpStream, address: SocketAddr) -> Option<()> {
    let record = Record::new(None, Some(&[7; 100]), &[]);
    let mut batch = Batch::new(0, 1 << 20, record);
    batch.repeat(RECORDS, 1_700_000_000_000, Marks::NONE);
    batch.seal(Producer::NONE);
    let batch = batch.bytes().to_vec();
    stream.set_nodelay(true).ok()?;
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length).ok()?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).ok()?;
        let answer = answer(frame, address, &batch);
        stream.write_all(&answer).ok()?;
    }
}

fn answer(frame: Vec<u8>, address: SocketAddr, batch: &[u8]) -> Vec<u8> {
    let word = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
    let (key, version) = (ApiKey::try_from(word(0)).unwrap(), word(2));
    let mut bytes = Bytes::from(frame);
    let header = RequestHeader::decode(&mut bytes, key.request_header_version(version)).unwrap();
    let id = header.correlation_id;
    match key {
        ApiKey::ApiVersions => framed(&versions(), version, id),
        ApiKey::Metadata => framed(&metadata(address), version, id),
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
            let mut records = batch.to_vec();
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
        other => panic!("nobody asks {other:?} here"),
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
