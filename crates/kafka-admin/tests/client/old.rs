//! Clusters of old: with ZooKeeper, requests of before Kafka 3.0, and records in the format of before Kafka 0.11.

use std::io::Write;
use std::net::TcpStream;
use std::ops::ControlFlow;

use tare_kafka::bytes::Bytes;
use tare_kafka::kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use tare_kafka::kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, FetchResponse, ListOffsetsResponse, TopicName,
};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka_admin::admin::{Admin, ComparisonResult, PartitionInfo};

use crate::fake::{Broker, all_versions, alone, frame, next};
use crate::patient;

/// The versions of a broker that has no quorum, and knows FindCoordinator for one group at a time only.
fn old_versions() -> ApiVersionsResponse {
    let mut versions = all_versions();
    versions
        .api_keys
        .retain(|api| api.api_key != ApiKey::DescribeQuorum as i16);
    for api in &mut versions.api_keys {
        if api.api_key == ApiKey::FindCoordinator as i16 {
            api.max_version = 3;
        }
    }
    versions
}

/// A batch of format 1: a message, its length behind its offset.
fn old_batch() -> Bytes {
    let mut bytes = vec![0; 61];
    bytes[8..12].copy_from_slice(&49_i32.to_be_bytes());
    bytes[16] = 1;
    Bytes::from(bytes)
}

fn old_broker() -> Broker {
    Broker::start(|stream: &mut TcpStream, _, port| {
        while let Some(asked) = next(stream) {
            let (version, id) = (asked.version, asked.correlation);
            let name = || TopicName(StrBytes::from_static_str("old"));
            let answer = match ApiKey::try_from(asked.key).unwrap() {
                ApiKey::ApiVersions => frame(&old_versions(), version, id),
                ApiKey::ListOffsets => {
                    let topic = ListOffsetsTopicResponse::default()
                        .with_name(name())
                        .with_partitions(vec![ListOffsetsPartitionResponse::default()]);
                    frame(
                        &ListOffsetsResponse::default().with_topics(vec![topic]),
                        version,
                        id,
                    )
                }
                ApiKey::Fetch => {
                    let data = PartitionData::default()
                        .with_high_watermark(1)
                        .with_records(Some(old_batch()));
                    let topic = FetchableTopicResponse::default()
                        .with_topic(name())
                        .with_partitions(vec![data]);
                    frame(
                        &FetchResponse::default().with_responses(vec![topic]),
                        version,
                        id,
                    )
                }
                _ => frame(&alone(port).with_controller_id(BrokerId(1)), version, id),
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    })
}

fn admin() -> Admin {
    let broker = old_broker();
    Admin::connect(vec![broker.address.clone()], patient()).unwrap()
}

#[test]
fn the_controller_that_zookeeper_has_elected_is_named() {
    assert_eq!(admin().quorum().unwrap(), (Some(1), Vec::new()));
}

#[test]
fn a_replica_in_an_old_record_format_is_left_out_with_the_reason() {
    let partition = PartitionInfo {
        partition: 0,
        leader: Some(1),
        leader_epoch: 0,
        replicas: vec![1],
        in_sync: vec![1],
        offline: Vec::new(),
    };
    let found = admin()
        .verify("old", &partition, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(found.result, ComparisonResult::Incomplete);
    assert!(found.replicas.is_empty(), "{found:?}");
    let note = &found.notes[0];
    assert!(
        note.starts_with("replica on broker 1: the batch at offset 0 is of format 1"),
        "{note}"
    );
}

#[test]
fn a_request_that_a_broker_is_too_old_for_has_its_reason_once() {
    let error = admin().group("readers").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("is too old for FindCoordinator"), "{text}");
    assert_eq!(
        text.matches("cannot write the request").count(),
        1,
        "{text}"
    );
}
