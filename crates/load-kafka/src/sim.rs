//! A simulated cluster for tests: brokers that take connections, tell who leads, keep what is written, and fail on demand.
#![allow(
    dead_code,
    reason = "what one protocol's tests do not need another's do"
)]

mod consuming;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use tare_kafka::batch::layout;
use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use tare_kafka::kafka_protocol::messages::produce_response::{
    PartitionProduceResponse, TopicProduceResponse,
};
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, InitProducerIdRequest, InitProducerIdResponse,
    MetadataResponse, ProduceRequest, ProduceResponse, ProducerId, RequestHeader, ResponseHeader,
    TopicName,
};
use tare_kafka::kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use tare_record::load::AddressNotAllowed;

use tare_load::client::{Closed, ConnId};
use tare_load::engine::sim::{Act, Far, MS};

/// What becomes of one produce request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Written and acknowledged.
    Take,
    /// Not written, with this code.
    Refuse(i16),
    /// Written, but answered with this code.
    TakeAndRefuse(i16),
    /// The connection ends before anything is written.
    Close,
    /// Written, but the connection ends without a response.
    TakeAndClose,
    /// No response.
    Silence,
    /// A malformed response.
    Rubbish,
}

/// A produce request, for rules.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// How many produce requests came before.
    pub number: usize,
    pub node: i32,
    pub now_ns: u64,
}

pub type Rule = Box<dyn FnMut(Asked) -> Fate>;

/// A batch as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub producer: i64,
    pub sequence: i32,
    pub count: i32,
    pub bytes: Vec<u8>,
}

pub struct Brokers {
    /// Numbers of the brokers; each listens on 9000 and its number.
    pub nodes: Vec<i32>,
    pub down: Vec<i32>,
    /// Numbers of brokers that the plan does not allow to call.
    pub outside: Vec<i32>,
    /// What the brokers say that their host is.
    pub host: &'static str,
    /// Numbers of those that answer as a web server does.
    pub web: Vec<i32>,
    /// Numbers of those that are ports of controllers.
    pub controllers: Vec<i32>,
    pub leaders: Vec<i32>,
    /// The time that is said with each answer to produce requests and fetches; so long nothing is read from that connection.
    pub throttle_ms: i32,
    muted_until_ns: HashMap<ConnId, u64>,
    pub epoch: i32,
    pub topic_error: i16,
    pub versions: Vec<(ApiKey, i16, i16)>,
    pub logs: BTreeMap<i32, Vec<Stored>>,
    pub rule: Rule,
    pub delay_ns: u64,
    /// How much later the last byte of a fetch response of this broker comes.
    pub last_byte_later: Option<(i32, u64)>,
    pub requests: usize,
    pub produced: Vec<Asked>,
    pub metadata_asked: usize,
    pub next_producer: i64,
    pub acks: i16,
    pub consuming: consuming::Consuming,
    conns: HashMap<ConnId, (i32, Vec<u8>)>,
    /// Last sequences by producer and partition, the newest last.
    sequences: HashMap<(i64, i32), VecDeque<(i32, i32)>>,
}

impl Brokers {
    pub fn new(nodes: &[i32], partitions: usize) -> Self {
        Self {
            nodes: nodes.to_vec(),
            down: Vec::new(),
            outside: Vec::new(),
            host: "127.0.0.1",
            web: Vec::new(),
            controllers: Vec::new(),
            throttle_ms: 0,
            muted_until_ns: HashMap::new(),
            leaders: (0..partitions).map(|at| nodes[at % nodes.len()]).collect(),
            epoch: 1,
            topic_error: 0,
            versions: [
                (ApiKey::ApiVersions, 0, 4),
                (ApiKey::Metadata, 0, 13),
                (ApiKey::Produce, 3, 13),
                (ApiKey::InitProducerId, 0, 5),
            ]
            .into_iter()
            .chain(Self::consumer_versions())
            .collect(),
            logs: BTreeMap::new(),
            rule: Box::new(|_| Fate::Take),
            delay_ns: MS,
            last_byte_later: None,
            requests: 0,
            produced: Vec::new(),
            metadata_asked: 0,
            next_producer: 100,
            acks: -1,
            consuming: Default::default(),
            conns: HashMap::new(),
            sequences: HashMap::new(),
        }
    }

    /// Moves the leadership of a partition.
    pub fn move_leader(&mut self, partition: usize, node: i32) {
        self.leaders[partition] = node;
        self.epoch += 1;
    }

    /// The last batch of a partition is gone, as under a leader that never had it.
    pub fn forget_last(&mut self, partition: i32) {
        let gone = self.logs.get_mut(&partition).and_then(Vec::pop);
        let gone = gone.expect("a batch");
        let known = self.sequences.get_mut(&(gone.producer, partition));
        known.expect("its producer").pop_back();
    }

    pub fn records(&self) -> i64 {
        let all = self.logs.values().flatten();
        all.map(|stored| i64::from(stored.count)).sum()
    }

    fn answer<T: Encodable + HeaderVersion>(body: &T, version: i16, correlation: i32) -> Vec<u8> {
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

    fn metadata(&mut self) -> MetadataResponse {
        self.metadata_asked += 1;
        let host = self.host;
        let broker = |&node: &i32| {
            MetadataResponseBroker::default()
                .with_node_id(BrokerId(node))
                .with_host(StrBytes::from_static_str(host))
                .with_port(9000 + node)
        };
        let partition = |(at, &leader): (usize, &i32)| {
            let replicas = vec![BrokerId(leader)];
            let leader = if self.down.contains(&leader) {
                -1
            } else {
                leader
            };
            MetadataResponsePartition::default()
                .with_partition_index(at as i32)
                .with_leader_id(BrokerId(leader))
                .with_leader_epoch(self.epoch)
                .with_replica_nodes(replicas)
        };
        let mut topic = MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_static_str("t"))))
            .with_error_code(self.topic_error);
        if self.topic_error == 0 {
            topic.partitions = self.leaders.iter().enumerate().map(partition).collect();
        }
        MetadataResponse::default()
            .with_brokers(self.nodes.iter().map(broker).collect())
            .with_topics(vec![topic])
    }

    /// Writes a batch, as a broker with idempotence does.
    fn append(&mut self, partition: i32, batch: &[u8]) -> i16 {
        let word = |at: usize| i32::from_be_bytes(*batch[at..].first_chunk().unwrap());
        let crc = word(layout::CRC) as u32;
        if crc != crc32c::crc32c(&batch[layout::ATTRIBUTES..]) {
            return 2;
        }
        let producer = i64::from_be_bytes(*batch[layout::PRODUCER_ID..].first_chunk().unwrap());
        let (sequence, count) = (word(layout::BASE_SEQUENCE), word(layout::COUNT));
        if producer >= 0 {
            let known = self.sequences.entry((producer, partition)).or_default();
            if known.contains(&(sequence, count)) {
                return 0;
            }
            // An unknown producer may begin with any sequence.
            let next = known.back().map(|&(first, count)| first + count);
            if next.is_some_and(|next| sequence != next) {
                return 45;
            }
            known.push_back((sequence, count));
            if known.len() > 5 {
                known.pop_front();
            }
        }
        self.logs.entry(partition).or_default().push(Stored {
            producer,
            sequence,
            count,
            bytes: batch.to_vec(),
        });
        0
    }

    fn produce(
        &mut self,
        node: i32,
        now_ns: u64,
        body: &ProduceRequest,
    ) -> (Fate, ProduceResponse) {
        let asked = Asked {
            number: self.produced.len(),
            node,
            now_ns,
        };
        self.produced.push(asked);
        self.acks = body.acks;
        let fate = (self.rule)(asked);
        let mut topics = Vec::new();
        for topic in &body.topic_data {
            let mut partitions = Vec::new();
            for data in &topic.partition_data {
                let leads = self.leaders.get(data.index as usize) == Some(&node);
                let code = match fate {
                    _ if !leads => 6,
                    Fate::Refuse(code) => code,
                    Fate::Close | Fate::Silence => 0,
                    _ => self.append(data.index, data.records.as_ref().unwrap()),
                };
                let code = match fate {
                    Fate::TakeAndRefuse(told) if code == 0 => told,
                    _ => code,
                };
                partitions.push(
                    PartitionProduceResponse::default()
                        .with_index(data.index)
                        .with_error_code(code),
                );
            }
            topics.push(
                TopicProduceResponse::default()
                    .with_name(topic.name.clone())
                    .with_partition_responses(partitions),
            );
        }
        let response = ProduceResponse::default().with_responses(topics);
        (fate, response.with_throttle_time_ms(self.throttle_ms))
    }

    fn one(&mut self, now_ns: u64, node: i32, frame: &[u8]) -> Vec<Act> {
        self.requests += 1;
        let mut bytes = Bytes::copy_from_slice(frame);
        let key = i16::from_be_bytes([frame[0], frame[1]]);
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let key = ApiKey::try_from(key).unwrap();
        let header =
            RequestHeader::decode(&mut bytes, key.request_header_version(version)).unwrap();
        let id = header.correlation_id;
        let answer = match key {
            ApiKey::ApiVersions => {
                let known = self
                    .versions
                    .iter()
                    .find(|(key, ..)| *key == ApiKey::ApiVersions);
                let too_new = known.is_some_and(|&(_, _, max)| version > max);
                let versions = match self.controllers.contains(&node) {
                    true => &[(ApiKey::ApiVersions, 0, 4), (ApiKey::BrokerHeartbeat, 0, 1)][..],
                    false => &self.versions,
                };
                let ranges = versions.iter().map(|&(key, min, max)| {
                    ApiVersion::default()
                        .with_api_key(key as i16)
                        .with_min_version(min)
                        .with_max_version(max)
                });
                let body = ApiVersionsResponse::default().with_api_keys(ranges.collect());
                match too_new {
                    true => Self::answer(&body.with_error_code(35), 0, id),
                    false => Self::answer(&body, version, id),
                }
            }
            ApiKey::Metadata => Self::answer(&self.metadata(), version, id),
            ApiKey::InitProducerId => {
                self.next_producer += 1;
                let asked = InitProducerIdRequest::decode(&mut bytes, version).unwrap();
                // As brokers have it: an empty transaction is none of anybody's.
                let empty = asked.transactional_id.is_some_and(|id| id.is_empty());
                let body = InitProducerIdResponse::default()
                    .with_error_code(if empty { 42 } else { 0 })
                    .with_producer_id(ProducerId(self.next_producer));
                Self::answer(&body, version, id)
            }
            ApiKey::Produce => {
                let body = ProduceRequest::decode(&mut bytes, version).unwrap();
                let acks = body.acks;
                let (fate, body) = self.produce(node, now_ns, &body);
                match fate {
                    Fate::Close | Fate::TakeAndClose => return vec![Act::Close(Closed::Eof)],
                    Fate::Silence => return Vec::new(),
                    Fate::Rubbish => vec![0, 0, 0, 6, 0, 0, 0, 0, 1, 2],
                    _ if acks == 0 => return Vec::new(),
                    _ => Self::answer(&body, version, id),
                }
            }
            other => {
                let acts = self.consumer(node, (other, version, id), &mut bytes);
                return acts.unwrap_or_else(|| panic!("nobody asks {other:?} here"));
            }
        };
        vec![Act::Send(answer)]
    }
}

impl Far for Brokers {
    fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        Vec::new()
    }

    fn connect_to(&mut self, _now_ns: u64, conn: ConnId, to: SocketAddr) -> Vec<(u64, Act)> {
        let node = i32::from(to.port()) - 9000;
        if self.outside.contains(&node) {
            let refused = AddressNotAllowed { address: to.ip() };
            return vec![(0, Act::Close(Closed::AddressNotAllowed(refused)))];
        }
        if !self.nodes.contains(&node) || self.down.contains(&node) {
            return vec![(0, Act::Close(Closed::Refused))];
        }
        self.conns.insert(conn, (node, Vec::new()));
        vec![(0, Act::Accept)]
    }

    fn bytes(&mut self, now_ns: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        let (node, part) = self.conns.get_mut(&conn).unwrap();
        let node = *node;
        if self.web.contains(&node) {
            return vec![(MS, Act::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()))];
        }
        part.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some(head) = part.first_chunk::<4>() {
            let length = u32::from_be_bytes(*head) as usize;
            if part.len() < 4 + length {
                break;
            }
            frames.push(part[4..4 + length].to_vec());
            part.drain(..4 + length);
        }
        if self.down.contains(&node) {
            return vec![(0, Act::Close(Closed::Reset))];
        }
        let mut acts = Vec::new();
        for frame in &frames {
            let key = i16::from_be_bytes([frame[0], frame[1]]);
            let is_fetch = key == ApiKey::Fetch as i16;
            let muted_until_ns = self.muted_until_ns.entry(conn).or_default();
            let read_ns = now_ns.max(*muted_until_ns);
            if self.throttle_ms > 0 && (is_fetch || key == ApiKey::Produce as i16) {
                *muted_until_ns = read_ns + self.throttle_ms.unsigned_abs() as u64 * MS;
            }
            let delay_ns = read_ns - now_ns + self.delay_ns;
            let later = self
                .last_byte_later
                .filter(|&(of, _)| is_fetch && of == node);
            for act in self.one(now_ns, node, frame) {
                match (later, act) {
                    (Some((_, later_ns)), Act::Send(mut bytes)) => {
                        let last = bytes.split_off(bytes.len() - 1);
                        acts.push((delay_ns, Act::Send(bytes)));
                        acts.push((delay_ns + later_ns, Act::Send(last)));
                    }
                    (_, act) => acts.push((delay_ns, act)),
                }
            }
        }
        acts
    }
}
