//! Fuzz targets by name, the same for the guided fuzzer and for tests.

mod files;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tare_load::connection_pool::PoolConfig;
use tare_load::protocols::ConnectionSecurity;
use tare_load::protocols::grpc::{EncodedCall, Grpc};
use tare_load::protocols::http1::client::Http1Client;
use tare_load::protocols::http1::request::Prepared as Http1Request;
use tare_load::protocols::http2::codec::Limits;
use tare_load::protocols::http2::request::Prepared as Http2Request;
use tare_load::protocols::http2::stream_protocol::{Http, StreamProtocol};
use tare_load::protocols::http2::{Http2, Http2Plan, Windows};
use tare_load::protocols::kafka::ClusterPlan;
use tare_load::protocols::kafka::produce::{APIS, Contents, Produce, ProducePlan, Random};
use tare_load::protocols::kafka::resolver::{Lookup, Resolve};
use tare_load::protocols::tcp::{Tcp, TcpContent, TcpExchange};
use tare_load::protocols::udp::{Udp, UdpOptions, UdpPlan};
use tare_mongo::database::{Context, Database, Limits as DatabaseLimits};
use tare_mongo::message::{Header, Message};
use tare_record::load::{
    Acks, Body, CallKind, CallSpec, Expect, ExpectBody, ExpectStatus, Keys, MessagePace,
    ProduceSpec, RequestSpec, SerialSpec,
};

use crate::script::{ADDRESS, run_script};

/// Runs one input.
pub type FuzzTarget = fn(&[u8]);

/// All fuzz targets. Codecs and servers must return without panic; in clients every exchange must also end once.
pub const ALL: &[(&str, FuzzTarget)] = &[
    ("definitions", files::definitions),
    ("experiment", files::experiment),
    ("grpc_client", grpc_client),
    ("http1_client", http1_client),
    ("http1_codec", |data| {
        let _ = tare_load::protocols::http1::codec::fuzz_entry(data);
    }),
    ("http2_client", http2_client),
    ("http2_codec", |data| {
        let _ = tare_load::protocols::http2::codec::fuzz_entry(data);
    }),
    ("hlog", files::hlog),
    ("kafka_fetch", |data| {
        let _ = tare_kafka::fetch::fuzz_entry(data);
    }),
    ("kafka_produce", kafka_produce),
    ("kafka_records", |data| {
        let _ = tare_kafka::records::fuzz_entry(data);
    }),
    ("mongo", mongo),
    ("origin", |data| {
        let _ = tare_origin::fuzz_entry(data);
    }),
    ("protobuf", files::protobuf),
    ("records", files::records),
    ("requests", files::requests),
    ("tcp_client", tcp_client),
    ("tls_record", |data| {
        let _ = tare_load::tls::fuzz_entry(data);
    }),
    ("udp_client", udp_client),
];

/// Runs one input of the target with this name.
///
/// # Panics
/// If there is none, or if the input breaks an invariant.
pub fn run(name: &str, data: &[u8]) {
    let Some((_, run)) = ALL.iter().find(|(known, _)| *known == name) else {
        panic!("no fuzz target {name}");
    };
    run(data);
}

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
fn grpc_client(data: &[u8]) {
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
fn http1_client(data: &[u8]) {
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
fn http2_client(data: &[u8]) {
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

/// The Kafka producer.
fn kafka_produce(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let acks = match kind % 3 {
        0 => Acks::None,
        1 => Acks::Leader,
        _ => Acks::All,
    };
    let plan = ProducePlan {
        cluster: ClusterPlan {
            seeds: Arc::new([ADDRESS]),
            first: 0,
            topics: vec!["t".into()],
            client_id: "fuzz".into(),
            apis: APIS,
            connect_timeout_ns: 100_000,
            request_timeout_ns: 50_000,
            names: Arc::new(Loopback),
            address_overrides: Arc::new([]),
            security: ConnectionSecurity::Plain,
            login: None,
        },
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

/// The MongoDB protocol: a message is refused or answered by one complete message.
fn mongo(data: &[u8]) {
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

fn tcp_client(data: &[u8]) {
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
fn udp_client(data: &[u8]) {
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
