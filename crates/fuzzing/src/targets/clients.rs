//! Clients of the generator: a script of events and bytes of peers; every exchange must end once.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::json;
use tare_load::connection_pool::PoolConfig;
use tare_load::protocols::ConnectionSecurity;
use tare_load::protocols::connect::{AfterOpen, Connect};
use tare_load::protocols::grpc::{EncodedCall, Grpc};
use tare_load::protocols::http1::client::Http1Client;
use tare_load::protocols::http1::request::Prepared as Http1Request;
use tare_load::protocols::http2::codec::Limits;
use tare_load::protocols::http2::request::Prepared as Http2Request;
use tare_load::protocols::http2::stream_protocol::{Http, StreamProtocol};
use tare_load::protocols::http2::{Http2, Http2Plan, Windows};
use tare_load::protocols::mongodb::{DocumentSource, MongoData, Mongodb, MongodbPlan, Operation};
use tare_load::protocols::tcp::{Tcp, TcpContent, TcpExchange};
use tare_load::protocols::udp::{Udp, UdpOptions, UdpPlan};
use tare_load::session::{Program, SessionRequests, SessionRequestsPlan, Sessions};
use tare_load::template::{Filler, Moment};
use tare_load_kafka::fetch::{self, ExcessFetches, Fetch, FetchPlan};
use tare_load_kafka::produce::{self, Contents, Produce, ProducePlan};
use tare_load_kafka::resolver::{Lookup, Resolve};
use tare_load_kafka::{Api, ClusterPlan};
use tare_record::load::{
    Acks, Body, CallKind, CallSpec, Expect, ExpectBody, ExpectStatus, FetchAssignment, FetchDecode,
    FetchEnd, FetchSpec, FetchUntil, Keys, MessagePace, ProduceSpec, RequestSpec, SerialSpec,
    SessionSpec,
};
use tare_stats::random::Random;

use crate::script::{ADDRESS, run_script};

/// Two connections, reopened after five exchanges.
fn connections() -> PoolConfig {
    PoolConfig {
        addresses: [ADDRESS].into(),
        first: 0,
        count: 2,
        exchanges_max: 5,
        opening: Default::default(),
        timeout_ns: 1_000_000_000,
        waiting_max: 16,
    }
}

/// An HTTP/2 client plan over them with three streams on each.
fn http2_plan<D: StreamProtocol>(requests: &Arc<[D::Request]>) -> Http2Plan<D> {
    Http2Plan {
        requests: Arc::clone(requests),
        connections: connections(),
        streams: 3,
        windows: Windows::default(),
        limits: Limits::default(),
    }
}

/// A GET without a body, and a POST with a body and a check of its answer.
fn requests() -> Vec<RequestSpec> {
    let one = |name: &str, method: &str, body: Body, right: ExpectBody| RequestSpec {
        name: name.into(),
        weight: 1.0,
        method: method.into(),
        path: "/fuzz.Service/Call".into(),
        headers: Vec::new(),
        body,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: right,
        },
    };
    vec![
        one("get", "GET", Body::None, ExpectBody::Any),
        one(
            "post",
            "POST",
            Body::Filler { bytes: 70_000 },
            ExpectBody::Length(3),
        ),
    ]
}

/// The gRPC client.
pub(super) fn grpc_client(data: &[u8]) {
    // Prepared once: a script is short, its requests are long.
    static REQUESTS: LazyLock<Arc<[EncodedCall]>> = LazyLock::new(|| {
        let ways = [
            (CallKind::Unary, 1, MessagePace::Unpaced),
            (CallKind::ClientStreaming, 50, MessagePace::Unpaced),
            (CallKind::ServerStreaming, 1, MessagePace::Unpaced),
            (CallKind::Bidirectional, 3, MessagePace::PingPong),
            (
                CallKind::Bidirectional,
                3,
                MessagePace::Every {
                    period_ns: 1_000_000,
                },
            ),
        ];
        let calls = ways.map(|(kind, messages, pace)| CallSpec {
            kind,
            messages,
            pace,
            ..CallSpec::default()
        });
        let ready = |(at, spec): (usize, &_)| {
            EncodedCall::new(
                spec,
                &calls[at % calls.len()],
                "fuzz",
                ConnectionSecurity::Plain,
                Duration::from_secs(1),
            )
            .ok()
        };
        requests()
            .iter()
            .cycle()
            .take(2 * calls.len())
            .enumerate()
            .filter_map(ready)
            .collect()
    });
    run_script(Http2::<Grpc>::new(http2_plan(&REQUESTS)), data);
}

/// The pool of HTTP/1.1 connections.
pub(super) fn http1_client(data: &[u8]) {
    // Prepared once: a script is short, its requests are long.
    static REQUESTS: LazyLock<Arc<[Http1Request]>> = LazyLock::new(|| {
        let ready = |spec: &_| Http1Request::new(spec, "fuzz").ok();
        requests().iter().filter_map(ready).collect()
    });
    run_script(
        Http1Client::new(Arc::clone(&REQUESTS), &connections()),
        data,
    );
}

/// The HTTP/2 client.
pub(super) fn http2_client(data: &[u8]) {
    // Prepared once: a script is short, its requests are long.
    static REQUESTS: LazyLock<Arc<[Http2Request]>> = LazyLock::new(|| {
        let ready = |spec: &_| Http2Request::new(spec, "fuzz", ConnectionSecurity::Plain).ok();
        requests().iter().filter_map(ready).collect()
    });
    run_script(Http2::<Http>::new(http2_plan(&REQUESTS)), data);
}

#[derive(Debug)]
struct Loopback;

impl Resolve for Loopback {
    fn lookup(&self, _host: &str) -> Lookup {
        Lookup::Address(ADDRESS.ip())
    }
}

fn cluster(apis: &'static [Api]) -> ClusterPlan {
    ClusterPlan {
        seeds: Arc::new([ADDRESS]),
        first: 0,
        topics: vec!["t".into()],
        client_id: "fuzz".into(),
        apis,
        connect_timeout_ns: 100_000,
        request_timeout_ns: 50_000,
        names: Arc::new(Loopback),
        address_overrides: Arc::new([]),
        security: ConnectionSecurity::Plain,
        login: None,
    }
}

/// The Kafka consumer, alone or in a group.
pub(super) fn kafka_consume(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let assignment = match kind & 1 {
        0 => FetchAssignment::Static,
        _ => FetchAssignment::Group {
            group: "g".into(),
            assignors: vec!["sticky".into(), "range".into()],
            commit_every_ms: Some(1),
            session_timeout_ms: 10,
        },
    };
    let decode = match (kind >> 1) % 3 {
        0 => FetchDecode::Batches,
        1 => FetchDecode::Records,
        _ => FetchDecode::Timestamps { run: 1 },
    };
    let at_end = match kind & 0x20 {
        0 => FetchEnd::Wait,
        _ => FetchEnd::Repeat,
    };
    let plan = FetchPlan {
        cluster: cluster(&fetch::APIS),
        spec: FetchSpec {
            topics: vec!["t".into()],
            client_id: "fuzz".into(),
            in_flight_max: 2,
            assignment,
            max_wait_ms: 1,
            check_crc: kind & 0x40 != 0,
            decode,
            until: FetchUntil {
                records: None,
                backlog: kind & 0x80 != 0,
                idle_ns: None,
            },
            at_end,
            ..FetchSpec::default()
        },
        worker: (0, 1),
        arrived: Arc::new(AtomicU64::new(0)),
        timeout_ns: 150_000,
        realtime_offset_ns: 0,
        surplus: ExcessFetches::Wait,
    };
    run_script(Fetch::new(plan), script);
}

/// The Kafka producer.
pub(super) fn kafka_produce(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let acks = match kind % 3 {
        0 => Acks::None,
        1 => Acks::Leader,
        _ => Acks::All,
    };
    let plan = ProducePlan {
        cluster: cluster(produce::APIS),
        spec: ProduceSpec {
            acks,
            idempotence: kind % 3 == 2 && kind & 0x80 != 0,
            linger_ns: u64::from(kind & 0x40) * 100,
            batch_bytes: 200,
            request_bytes_max: 1000,
            in_flight_max: 2,
            buffer_bytes: 2000,
            serials: Some(SerialSpec {
                run: 1,
                first_writer: 0,
            }),
            ..ProduceSpec::default()
        },
        contents: vec![Contents::new(&[vec![7; 20]], &[], Keys::None, None)],
        timeout_ns: 150_000,
        waiting_max: 100,
        worker: (0, 1),
        random: Random::from_seed(1),
        epoch_offset_ns: 0,
    };
    let Ok(produce) = Produce::new(plan) else {
        return;
    };
    run_script(produce, script);
}

pub(super) fn tcp_client(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let exchange = match kind % 3 {
        0 => TcpExchange::Echo {
            send_bytes: 3,
            expect_bytes: 200,
            content: TcpContent::Pattern,
        },
        1 => TcpExchange::Echo {
            send_bytes: 300_000,
            expect_bytes: 4,
            content: TcpContent::Any,
        },
        _ => TcpExchange::HalfClose {
            send_bytes: 10,
            expect_bytes: Some(10),
            content: TcpContent::Pattern,
        },
    };
    run_script(Tcp::new(exchange, &connections()), script);
}

/// The UDP client. The key of the datagrams is zero, so that inputs can hit numbers that were sent.
pub(super) fn udp_client(data: &[u8]) {
    let client = Udp::new(UdpPlan {
        connections: connections(),
        options: UdpOptions {
            datagram_bytes: 16,
            in_flight_max: 4,
        },
        key: 0,
    });
    run_script(client, data);
}

/// The MongoDB client.
pub(super) fn mongodb_client(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let operations = match kind % 3 {
        0 => [Operation::Find, Operation::Insert],
        1 => [Operation::Update, Operation::Delete],
        _ => [Operation::Insert, Operation::Delete],
    };
    let documents = MongoData {
        documents: 2,
        document_bytes: 3,
        ..MongoData::default()
    };
    let client = Mongodb::new(MongodbPlan {
        operations: operations.into(),
        connections: connections(),
        documents: DocumentSource::new(&documents, (0, 1), 7, Random::from_seed(1)),
    });
    run_script(client, script);
}

/// Connections as exchanges.
pub(super) fn connect_client(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let after_open = match kind & 1 {
        0 => AfterOpen::Close,
        _ => AfterOpen::AwaitTicket,
    };
    run_script(Connect::new(connections(), after_open), script);
}

/// Sessions that take values from answers: of JSON, of text by a pattern, of headers and of cookies.
pub(super) fn session_client(data: &[u8]) {
    static PROGRAM: LazyLock<Option<Arc<Program>>> = LazyLock::new(|| {
        let capture = |name: &str, from: serde_json::Value| json!({ "name": name, "from": from, "missing": "unset" });
        let captures = json!([
            capture("token", json!({ "from": "json", "pointer": "/a/0/b" })),
            capture(
                "all",
                json!({ "from": "json-all", "pointer": "/list/*", "skip": 1 })
            ),
            capture("word", json!({ "from": "regex", "pattern": "w=([a-z]+)" })),
            capture("kept", json!({ "from": "header", "name": "X-Kept" })),
            capture("id", json!({ "from": "cookie", "name": "id" })),
            capture("text", json!({ "from": "body" })),
        ]);
        let request = |path: &str, header: &str, captures: serde_json::Value| {
            json!({ "probability": 1.0, "condition": null, "action": {
                "action": "request", "captures": captures, "capture_bytes_max": 300, "on_failure": "continue",
                "request": { "name": "r", "weight": 1.0, "method": "GET", "path": path, "headers": [["X-T", header]],
                    "body": { "kind": "none" }, "template": "session", "expect": { "status": "success", "body": "any" } } } })
        };
        let steps = json!([
            request("/", "1", captures.clone()),
            request(
                "/{{ kept }}?{{ text }}&{{ id }}",
                "{{ token }} {{ word }}",
                captures
            ),
        ]);
        let spec = json!({ "steps": steps, "cookies": "kept" });
        let spec: SessionSpec = serde_json::from_value(spec).ok()?;
        Program::new(&spec, &[], "fuzz").ok().map(Arc::new)
    });
    let Some(program) = &*PROGRAM else {
        panic!("the session cannot be used");
    };
    let requests = SessionRequests::new(SessionRequestsPlan {
        program: Arc::clone(program),
        filler: Filler::new(1, (0, 1), Arc::new([]), program.cycles, Moment::of_unix(0)),
        part: (0, 1),
        clock: (0, 1_795_219_200),
        security: ConnectionSecurity::Plain,
    });
    let client = Http1Client::new(requests, &connections());
    run_script(Sessions::new(client, 16), data);
}
