//! What talks to peers beside the generator: MongoDB's protocol, single exchanges, the administration of Kafka, counters.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tare_experiment::find::Library;
use tare_http2_frames::exchange::ExchangeLimits;
use tare_http2_frames::grpc::{Call, call, check_serving};
use tare_kafka::bytes::BytesMut;
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseBroker;
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, MetadataResponse,
};
use tare_kafka::kafka_protocol::protocol::{Encodable, Message as KafkaMessage, StrBytes};
use tare_kafka::sasl::{Credentials, Mechanism};
use tare_kafka_admin::admin::{
    Admin, ConfigOp, Mode, NewGroup, NewTopic, OffsetSpec, PartitionInfo, PartitionLayout, ResetTo,
    Resource, TopicIdentity,
};
use tare_kafka_admin::client::{Address, ClientSettings, Connector, NameResolution};
use tare_mongo::database::{Context, Database, Limits as DatabaseLimits};
use tare_mongo::message::{Header, Message};
use tare_record::counter::CounterSource;

/// The MongoDB protocol: a message is refused or answered by one complete message.
pub(super) fn mongo(data: &[u8]) {
    // Longest message that is read.
    const MESSAGE_BYTES_MAX: usize = 4096;
    let limits = DatabaseLimits {
        bytes_max: 100_000,
        ..DatabaseLimits::default()
    };
    let mut database = Database::new(limits);
    let mut rest = data;
    let mut out = Vec::new();
    while let Ok(Some(header)) = Header::read(rest, MESSAGE_BYTES_MAX) {
        let Some((bytes, behind)) = rest.split_at_checked(header.length) else {
            return;
        };
        rest = behind;
        let Ok(message) = Message::read(&header, bytes) else {
            return;
        };
        let context = Context {
            connection: database.connect(),
            now_ms: 77,
        };
        out.clear();
        database.serve(&header, &message, context, &mut out);
        let answer = Header::read(&out, usize::MAX);
        assert!(
            matches!(answer, Ok(Some(answer)) if answer.length == out.len() && answer.response_to == header.request_id),
            "an answer is one message to the request"
        );
    }
}

/// A peer whose bytes are all there; what is sent to it is dropped.
struct Peer<'a> {
    bytes: &'a [u8],
    piece_bytes: usize,
}

impl Read for Peer<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = into.len().min(self.piece_bytes).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(length);
        into[..length].copy_from_slice(now);
        self.bytes = later;
        Ok(length)
    }
}

impl Write for Peer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A single gRPC call before a load: a health check.
pub(super) fn grpc_call(data: &[u8]) {
    let Some((&piece, bytes)) = data.split_first() else {
        return;
    };
    let peer = Peer {
        bytes,
        piece_bytes: usize::from(piece) + 1,
    };
    let asked = Call {
        path: "/fuzz.Service/Call",
        authority: "fuzz",
        scheme: "http",
        headers: &[],
        messages: &[vec![1, 2, 3]],
        limits: ExchangeLimits {
            within: Duration::from_secs(10),
            bytes_max: 4096,
        },
    };
    match call(peer, &asked) {
        Ok(messages) => {
            let sum: usize = messages.iter().map(|one| one.len() + 5).sum();
            assert!(sum <= asked.limits.bytes_max, "more than was allowed");
            let _ = check_serving(&messages);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The counters of all targets of the checkout, among them those of rejected configurations.
pub(super) fn counters(data: &[u8]) {
    static SOURCES: LazyLock<Vec<CounterSource>> = LazyLock::new(|| {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalog = Library::in_directory(&checkout, tare_load::protocols::infos()).catalog;
        let names = catalog.target_names();
        let targets = names.iter().filter_map(|name| catalog.target(name).ok()?);
        let counters = targets.flat_map(|target| target.def.counters);
        counters.map(|counter| counter.from).collect()
    });
    let Some((&choice, response)) = data.split_first() else {
        return;
    };
    let source = &SOURCES[usize::from(choice) % SOURCES.len()];
    let _ = tare_lab::counters::fuzz_entry(source, response);
}

/// Answers of every version, and of a cluster of two brokers, without their frames.
struct Greeting {
    versions: Vec<u8>,
    metadata: Vec<u8>,
}

fn encoded<T: Encodable>(answer: &T, version: i16, has_tags: bool) -> Vec<u8> {
    // The tagged fields of a flexible header.
    let mut out = BytesMut::from(&[0][..usize::from(has_tags)]);
    if answer.encode(&mut out, version).is_err() {
        panic!("version {version} cannot be written");
    }
    out.to_vec()
}

impl Greeting {
    fn new() -> Greeting {
        let range = |key: i16| Some((key, ApiKey::try_from(key).ok()?.valid_versions()));
        let apis = (0..=100).filter_map(range).map(|(key, range)| {
            let api = ApiVersion::default().with_api_key(key);
            api.with_min_version(range.min).with_max_version(range.max)
        });
        let brokers = [(1, 9092), (2, 9093)].map(|(id, port)| {
            let broker = MetadataResponseBroker::default().with_node_id(BrokerId(id));
            let host = StrBytes::from_static_str("127.0.0.1");
            broker.with_host(host).with_port(port)
        });
        let versions = ApiVersionsResponse::default().with_api_keys(apis.collect());
        let metadata = MetadataResponse::default().with_brokers(brokers.into());
        Greeting {
            versions: encoded(&versions, 3, false),
            metadata: encoded(&metadata, MetadataResponse::VERSIONS.max, true),
        }
    }
}

/// What brokers send on each connection: frames whose correlation ids are right.
fn broker_bytes(greeting: &[&[u8]], frames: &[u8]) -> [Vec<u8>; 2] {
    let mut sent = [Vec::new(), Vec::new()];
    let mut numbers = [0_u32; 2];
    let mut send = |to: usize, body: &[u8]| {
        numbers[to] += 1;
        let out = &mut sent[to];
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(&numbers[to].to_be_bytes());
        out.extend_from_slice(body);
    };
    for body in greeting {
        send(0, body);
    }
    // The second broker is only asked for its versions.
    if let Some(versions) = greeting.first() {
        send(1, versions);
    }
    let mut rest = frames;
    while let &[high, low, ref more @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([high & 0x7f, low]));
        let (body, behind) = more.split_at(length.min(more.len()));
        rest = behind;
        send(usize::from(high >> 7), body);
    }
    sent
}

/// The administration of a Kafka cluster, by brokers that answer anything.
pub(super) fn kafka_admin(data: &[u8]) {
    static GREETING: LazyLock<Greeting> = LazyLock::new(Greeting::new);
    let &[action, setup, ref frames @ ..] = data else {
        return;
    };
    // Without a greeting, versions are negotiated with the input too.
    let greeting: &[&[u8]] = match setup & 3 {
        0 => &[],
        _ => &[&GREETING.versions, &GREETING.metadata],
    };
    let sent = Mutex::new(broker_bytes(greeting, frames));
    // The brokers' ends are open as long as the input is run: writes to them succeed.
    let ends: Mutex<Vec<UnixStream>> = Mutex::default();
    let open = Arc::new((sent, ends));
    let held = Arc::clone(&open);
    let connector = Connector::Custom(Arc::new(move |at, _| {
        let (ours, mut broker) = UnixStream::pair()?;
        let (sent, ends) = &*open;
        let at = usize::from(at.port() != 9092);
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        broker.write_all(&std::mem::take(&mut sent[at]))?;
        broker.shutdown(Shutdown::Write)?;
        ends.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(broker);
        Ok(TcpStream::from(OwnedFd::from(ours)))
    }));
    let login = |mechanism| Credentials {
        mechanism,
        user: "fuzz".into(),
        password: "fuzz".into(),
    };
    let settings = ClientSettings {
        sasl: match setup >> 4 {
            1 => Some(login(Mechanism::Plain)),
            2 => Some(login(Mechanism::ScramSha256)),
            3 => Some(login(Mechanism::ScramSha512)),
            _ => None,
        },
        names: NameResolution::One(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        connector,
        // Shorter than the first pause of a retry: nothing waits.
        connect_timeout: Duration::from_millis(40),
        request_timeout: Duration::from_millis(40),
        ..ClientSettings::default()
    };
    let bootstrap = vec![Address {
        host: "127.0.0.1".into(),
        port: 9092,
    }];
    match Admin::connect(bootstrap, settings) {
        Ok(mut admin) => administrate(&mut admin, action),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    drop(held);
}

fn administrate(admin: &mut Admin, action: u8) {
    let topic = || "t".to_owned();
    let failed = match action % 20 {
        0 => admin.describe().err(),
        1 => admin.topics().err(),
        2 => admin.topics_named(&["t"]).err(),
        3 => admin.groups().err(),
        4 => admin.group("g").err(),
        5 => admin.group_lags(&["g"]).err(),
        6 => admin.committed("g").err(),
        7 => admin.log_dirs(None).err(),
        8 => {
            let all = [Resource::Topic(topic()), Resource::Broker(1)];
            admin.configs(&all, None).err()
        }
        9 => admin.offsets(&[(topic(), 0)], OffsetSpec::Latest).err(),
        10 => {
            let shape = PartitionLayout::ByCluster {
                partitions: None,
                replicas: None,
            };
            let new = NewTopic {
                name: topic(),
                shape,
                configs: BTreeMap::new(),
            };
            admin.create_topics(&[new], Mode::ValidateOnly).err()
        }
        11 => admin.reassignments().err(),
        12 => admin.sites().err(),
        13 => admin.throttles().err(),
        14 => {
            let to = ResetTo::ShiftBy(i64::MIN);
            let new = NewGroup::Made;
            admin
                .reset_group("g", &[], to, new, Mode::ValidateOnly)
                .err()
        }
        15 => admin.delete_topics(&[TopicIdentity::named("t")]).err(),
        16 => {
            let partition = PartitionInfo {
                partition: 0,
                leader: Some(1),
                leader_epoch: 0,
                replicas: vec![1, 2],
                in_sync: vec![1, 2],
                offline: Vec::new(),
            };
            admin
                .verify("t", &partition, &mut |_| ControlFlow::Continue(()))
                .err()
        }
        17 => admin.elect_preferred(None).err(),
        18 => admin.delete_groups(&["g"]).err(),
        _ => {
            let change = ConfigOp::Append("a".into(), "b".into());
            let topic = Resource::Topic(topic());
            admin.alter_configs(&topic, &[change], Mode::Apply).err()
        }
    };
    if let Some(error) = failed {
        assert!(!error.to_string().is_empty(), "a failure has a reason");
    }
}
