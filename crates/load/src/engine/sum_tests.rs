//! One sum for every load: each intended exchange is ok, an error, unfinished or never sent, whatever the protocol, the schedule, the
//! server's behaviour, the length of the queue and the end of the load. Datagrams are checked in their folder.

use std::sync::Arc;

use proptest::prelude::*;
use tare_mongo::database::{Context, Database, Limits};
use tare_mongo::message::{Header, MESSAGE_BYTES_MAX, Message};
use tare_record::load::{AtEnd, CallSpec, SessionSpec, Stop};
use tare_stats::random::Random;

use super::sim::{
    MS, RandomEnd, RandomLoad, RandomPace, RightAnswer, S, Scripted, answer, connections, pool,
};
use super::{ExchangeRecorder, SessionWindow};
use crate::client::Client;
use crate::protocols::ConnectionSecurity;
use crate::protocols::connect::{AfterOpen, Connect};
use crate::protocols::grpc::{EncodedCall, Grpc};
use crate::protocols::http1::client::Http1Client;
use crate::protocols::http2::client::rig;
use crate::protocols::http2::codec::Limits as Http2Limits;
use crate::protocols::http2::codec::tests::{block, raw, settings};
use crate::protocols::http2::stream_protocol::StreamProtocol;
use crate::protocols::http2::{Http2, Http2Plan, Windows};
use crate::protocols::mongodb::{DocumentSource, MongoData, Mongodb, MongodbPlan, Operation};
use crate::protocols::tcp::{Tcp, TcpContent, TcpExchange};
use crate::session::{Program, SessionRequests, SessionRequestsPlan, Sessions};
use crate::template::{Filler, Moment};

pub(crate) fn cases() -> impl Strategy<Value = RandomLoad> {
    let gaps = prop::collection::vec(MS..200 * MS, 2..40);
    let at_end = prop_oneof![Just(AtEnd::Stop), Just(AtEnd::Repeat)];
    let pacing = prop_oneof![
        (1.0..300.0_f64).prop_map(RandomPace::Constant),
        (1.0..300.0_f64).prop_map(RandomPace::Poisson),
        (gaps, at_end).prop_map(|(gaps, at_end)| {
            let mut at_ns = 0;
            let starts = gaps.iter().map(|gap| {
                at_ns += gap;
                at_ns
            });
            RandomPace::Replay(starts.collect(), at_end)
        }),
        (1..8_usize).prop_map(RandomPace::Closed),
    ];
    let stop = prop_oneof![
        (1..3000_u64).prop_map(|ms| Stop::Duration { window_ns: ms * MS }),
        (1..300_u64).prop_map(|exchanges| Stop::Count { exchanges }),
    ];
    let ending = prop_oneof![
        (0..3000_u64).prop_map(|ms| RandomEnd::Planned { drain_ns: ms * MS }),
        (0..3000_u64).prop_map(|ms| RandomEnd::Interrupted { at_ns: ms * MS }),
        (0..3000_u64, 0..500_u64).prop_map(|(at_ms, late_ms)| RandomEnd::Aborted {
            at_ns: at_ms * MS,
            late_ns: late_ms * MS,
        }),
    ];
    let script = prop::collection::vec(any::<u8>(), 1..60);
    (pacing, 0..500_u64, stop, 1..60_usize, ending, script).prop_map(
        |(pacing, warmup_ms, stop, queue, ending, script)| RandomLoad {
            pacing,
            warmup_ns: warmup_ms * MS,
            stop,
            queue,
            ending,
            script,
        },
    )
}

/// Runs a load to its end and checks its sum.
pub(crate) fn check<C: Client>(
    client: C,
    far: Scripted,
    case: &RandomLoad,
    adapt: impl FnOnce(ExchangeRecorder) -> ExchangeRecorder,
) -> Result<(), TestCaseError> {
    case.check(client, far, adapt).map_err(TestCaseError::fail)
}

impl RandomLoad {
    /// The server, with what it answers when it is well.
    pub(crate) fn server(&self, reply: impl FnMut(&[u8]) -> Vec<u8> + 'static) -> Scripted {
        Scripted::new(self.script.clone(), Box::new(reply) as RightAnswer)
    }
}

pub(crate) fn as_is(recorder: ExchangeRecorder) -> ExchangeRecorder {
    recorder
}

/// Answers each request of an HTTP/2 connection on its stream.
fn on_streams(right: fn(u32) -> Vec<u8>) -> impl FnMut(&[u8]) -> Vec<u8> + 'static {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    move |bytes| {
        let mut out = Vec::new();
        let mut rest = bytes;
        if let Some(behind) = rest.strip_prefix(PREFACE) {
            out.extend(settings(&[]));
            rest = behind;
        }
        while let [a, b, c, kind, flags, s0, s1, s2, s3, behind @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if *kind <= 1 && flags & 1 == 1 {
                out.extend(right(u32::from_be_bytes([*s0, *s1, *s2, *s3])));
            }
            rest = behind.get(length..).unwrap_or_default();
        }
        out
    }
}

fn over_http2<D: StreamProtocol>(requests: Arc<[D::Request]>) -> Http2<D> {
    Http2::new(Http2Plan {
        requests,
        connections: connections(2, S),
        streams: 3,
        windows: Windows::default(),
        limits: Http2Limits::default(),
    })
}

fn call_answer(stream: u32) -> Vec<u8> {
    let head = block(&[(":status", "200"), ("content-type", "application/grpc")]);
    let trailers = block(&[("grpc-status", "0")]);
    [
        raw(1, 4, stream, &head),
        raw(0, 0, stream, &[0; 5]),
        raw(1, 5, stream, &trailers),
    ]
    .concat()
}

/// Tare's own database behind all connections.
fn of_database() -> impl FnMut(&[u8]) -> Vec<u8> + 'static {
    let mut database = Database::new(Limits::default());
    move |bytes| {
        let mut out = Vec::new();
        if let Ok(Some(header)) = Header::read(bytes, MESSAGE_BYTES_MAX)
            && let Ok(message) = Message::read(&header, bytes)
        {
            let context = Context {
                connection: 1,
                now_ms: 0,
            };
            database.serve(&header, &message, context, &mut out);
        }
        out
    }
}

/// Sessions of two requests.
fn sessions() -> Sessions {
    let step = |name: &str| {
        serde_json::json!({ "probability": 1.0, "condition": null, "action": {
            "action": "request", "captures": [], "capture_bytes_max": 100, "on_failure": "abort",
            "request": { "name": name, "weight": 1.0, "method": "GET", "path": "/", "headers": [],
                "body": { "kind": "none" }, "template": "session",
                "expect": { "status": "success", "body": "any" } } } })
    };
    let steps = [step("first"), step("second")];
    let spec: SessionSpec =
        serde_json::from_value(serde_json::json!({ "steps": steps, "cookies": "kept" })).unwrap();
    let program = Arc::new(Program::new(&spec, &[], "test").unwrap());
    let filler = Filler::new(1, (0, 1), [].into(), program.cycles, Moment::of_unix(0));
    let scripted = SessionRequests::new(SessionRequestsPlan {
        program,
        filler,
        part: (0, 1),
        clock: (S, 1_795_219_200),
        security: ConnectionSecurity::Plain,
    });
    Sessions::new(Http1Client::new(scripted, &connections(3, S)), 60)
}

proptest! {
    #[test]
    fn http1(case in cases()) {
        check(pool(3), case.server(|_| answer()), &case, as_is)?;
    }

    #[test]
    fn http2(case in cases()) {
        let client = over_http2(rig::requests().iter().take(1).cloned().collect());
        check::<Http2<crate::protocols::http2::stream_protocol::Http>>(client, case.server(on_streams(rig::ok)), &case, as_is)?;
    }

    #[test]
    fn grpc(case in cases()) {
        let timeout = std::time::Duration::from_secs(1);
        let mut spec = rig::spec("GET", 0);
        spec.path = "/echo.Echo/Say".into();
        let call = EncodedCall::new(&spec, &CallSpec::default(), "here", ConnectionSecurity::Plain, timeout);
        let calls: Arc<[EncodedCall]> = [call.unwrap()].into();
        check::<Http2<Grpc>>(over_http2(calls), case.server(on_streams(call_answer)), &case, as_is)?;
    }

    #[test]
    fn tcp(case in cases()) {
        let echo = TcpExchange::Echo { send_bytes: 30, expect_bytes: 30, content: TcpContent::Pattern };
        check(Tcp::new(echo, &connections(3, S)), case.server(<[u8]>::to_vec), &case, as_is)?;
    }

    #[test]
    fn mongodb(case in cases()) {
        let data = MongoData { database: "d".into(), collection: "c".into(), documents: 10, document_bytes: 100 };
        let client = Mongodb::new(MongodbPlan {
            operations: [Operation::Find].into(),
            connections: connections(3, S),
            documents: DocumentSource::new(&data, (0, 1), 7, Random::from_seed(1)),
        });
        check(client, case.server(of_database()), &case, as_is)?;
    }

    #[test]
    fn connect(case in cases()) {
        check(Connect::new(connections(3, S), AfterOpen::Close), case.server(|_| Vec::new()), &case, as_is)?;
    }

    #[test]
    fn sessions_and_their_requests(case in cases()) {
        let window = match case.stop {
            Stop::Count { .. } => SessionWindow::Counted,
            _ => SessionWindow::Timed,
        };
        check(sessions(), case.server(|_| answer()), &case, |recorder| recorder.for_sessions(window))?;
    }
}
