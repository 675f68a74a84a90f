//! Kafka requests to a broker, one connection each: metadata, create topic, delete topic.

use std::io::{Read, Write};
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::frame;
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::create_topics_request::CreatableTopic;
use tare_kafka::kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use tare_kafka::kafka_protocol::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, TopicName,
};
use tare_kafka::kafka_protocol::protocol::{Request, StrBytes};

use crate::connector::Connector;

/// API version of metadata requests; every broker since 2.8 has it.
pub(crate) const METADATA: i16 = 11;
/// API version of CreateTopics; every broker since 2.8 has it.
const CREATE_TOPICS: i16 = 6;
/// API version of DeleteTopics by name; every broker since 2.8 has it.
const DELETE_TOPICS: i16 = 5;
/// Metadata of one topic take some hundred bytes for each partition.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(1);
/// Timeout of the controller for creating or deleting a topic.
const MAKE_MS: i32 = 30_000;

/// A topic to be created.
pub(crate) struct Topic {
    pub name: String,
    pub partitions: u32,
    pub replicas: u16,
}

impl Topic {
    fn topic_name(&self) -> TopicName {
        TopicName(StrBytes::from_string(self.name.clone()))
    }
}

/// Sends one request and reads its response.
pub(crate) fn ask<R: Request>(
    connector: &Connector,
    at: &str,
    question: &R,
    version: i16,
    until: Instant,
) -> Result<R::Response, String> {
    let address = at
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{at}` is no address with a port"))?;
    let mut stream = connector
        .connect(address, CONNECT)
        .map_err(|error| format!("no connection: {error}"))?;
    let words = |error: std::io::Error| error.to_string();
    let client = StrBytes::from_static_str("tare-lab");
    let mut out = BytesMut::new();
    frame::write(&mut out, question, version, 1, &client).map_err(|error| error.to_string())?;
    stream.write_all(&out).map_err(words)?;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 16 << 10];
    loop {
        let length = frame::length(&bytes, ANSWER_BYTES_MAX).map_err(|error| error.to_string())?;
        if let Some(length) = length.filter(|length| bytes.len() >= length + 4) {
            let whole = Bytes::copy_from_slice(&bytes[4..length + 4]);
            return frame::read::<R>(whole, version).map_err(|error| error.to_string());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("no whole answer in time".to_owned());
        }
        stream.set_read_timeout(Some(left)).map_err(words)?;
        match stream.read(&mut chunk) {
            Ok(0) => return Err("the broker closed the connection".to_owned()),
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // The read timed out: the next iteration returns the error.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(words(error)),
        }
    }
}

/// Creates a topic; any broker forwards the request to the controller.
pub(crate) fn create(
    connector: &Connector,
    at: &str,
    topic: &Topic,
    until: Instant,
) -> Result<(), String> {
    let partitions = i32::try_from(topic.partitions).map_err(|error| error.to_string())?;
    let replicas = i16::try_from(topic.replicas).map_err(|error| error.to_string())?;
    let order = CreateTopicsRequest::default()
        .with_timeout_ms(MAKE_MS)
        .with_topics(vec![
            CreatableTopic::default()
                .with_name(topic.topic_name())
                .with_num_partitions(partitions)
                .with_replication_factor(replicas),
        ]);
    let answer = ask(connector, at, &order, CREATE_TOPICS, until)?;
    let made = answer.topics.first().ok_or("the answer names no topic")?;
    match ResponseError::try_from_code(made.error_code) {
        None => Ok(()),
        Some(error) => Err(format!(
            "the topic {} with {partitions} partitions and {replicas} copies is refused: {}",
            topic.name,
            made.error_message
                .as_ref()
                .map_or_else(|| error.to_string(), ToString::to_string)
        )),
    }
}

/// Deletes a topic.
pub(crate) fn delete(
    connector: &Connector,
    at: &str,
    topic: &str,
    until: Instant,
) -> Result<(), String> {
    let name = TopicName(StrBytes::from_string(topic.to_owned()));
    let order = DeleteTopicsRequest::default()
        .with_timeout_ms(MAKE_MS)
        .with_topic_names(vec![name]);
    let answer = ask(connector, at, &order, DELETE_TOPICS, until)?;
    let gone = answer
        .responses
        .first()
        .ok_or("the answer names no topic")?;
    match ResponseError::try_from_code(gone.error_code) {
        None => Ok(()),
        Some(error) => Err(format!("the topic {topic} is not deleted: {error}")),
    }
}

/// Checks that a broker knows a leader and all in-sync replicas of every partition; the error says how many it knows.
pub(crate) fn check_in_sync(
    connector: &Connector,
    at: &str,
    topic: &Topic,
    until: Instant,
) -> Result<(), String> {
    let wanted = MetadataRequestTopic::default().with_name(Some(topic.topic_name()));
    let question = MetadataRequest::default()
        .with_topics(Some(vec![wanted]))
        .with_allow_auto_topic_creation(false);
    let answer = ask(connector, at, &question, METADATA, until)?;
    let found = answer.topics.first().ok_or("the answer names no topic")?;
    if let Some(error) = ResponseError::try_from_code(found.error_code) {
        return Err(format!("the topic {}: {error}", topic.name));
    }
    let whole = found.partitions.iter().filter(|partition| {
        partition.leader_id.0 >= 0 && partition.isr_nodes.len() == usize::from(topic.replicas)
    });
    match whole.count() {
        count if count == topic.partitions as usize => Ok(()),
        count => Err(format!(
            "{count} of {} partitions of {} have a leader and all copies",
            topic.partitions, topic.name
        )),
    }
}
