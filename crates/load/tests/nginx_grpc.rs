//! gRPC through nginx's `grpc_pass` to the origin, plain and over TLS: messages and statuses come through as they are.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod rig;

use rig::nginx::Nginx;
use rig::tls::{Authority, Validity, believing};
use rig::{count, measure};
use tare_load::protocols::grpc::GrpcOptions;
use tare_origin::{OriginOptions, StopHandle, bind};
use tare_record::load::{
    Body, CallKind, CallSpec, ClientSpec, ExpectBody, ExpectStatus, MessagePace, Pacing, Stop,
    Transport,
};

/// Calls of each kind.
const CALLS: u64 = 60;

/// A message whose first field is "hello"; whoever echoes gives it back as it is.
const HELLO: &str = "\n\x05hello";

/// One kind of call: method, message, how it is made, what comes back, and how many messages go each way.
struct Case {
    method: &'static str,
    message: &'static str,
    calls: CallSpec,
    expected: ExpectBody,
    status: ExpectStatus,
    /// The class that all of them end in.
    ends: &'static str,
    /// Messages of one call sent, and received.
    messages: (u64, u64),
}

fn calls(kind: CallKind, messages: u32, answers: Option<u32>) -> CallSpec {
    CallSpec {
        kind,
        messages,
        answers,
        ..CallSpec::default()
    }
}

fn cases() -> Vec<Case> {
    let unary = calls(CallKind::Unary, 1, None);
    let text = |text: &str| ExpectBody::Text(text.into());
    let case = |method, message, calls, expected, ends, messages| Case {
        method,
        message,
        calls,
        expected,
        status: ExpectStatus::Success,
        ends,
        messages,
    };
    // Field 4 asks for a status; of what is produced, field 1 for a number of messages and field 2 for their size.
    let denied = "\x20\x07";
    vec![
        case("Echo", HELLO, unary, text(HELLO), "ok", (1, 1)),
        case(
            "Echo",
            denied,
            unary,
            ExpectBody::Any,
            "grpc-permission-denied",
            (1, 0),
        ),
        Case {
            status: ExpectStatus::Exactly(7),
            ..case("Echo", denied, unary, ExpectBody::Any, "ok", (1, 0))
        },
        case(
            "Nothing",
            HELLO,
            unary,
            ExpectBody::Any,
            "grpc-unimplemented",
            (1, 0),
        ),
        case(
            "Collect",
            HELLO,
            calls(CallKind::ClientStreaming, 5, None),
            // Five messages of five bytes.
            text("\x08\x05\x10\x19"),
            "ok",
            (5, 1),
        ),
        case(
            "Produce",
            "\x08\x03\x10\x04",
            calls(CallKind::ServerStreaming, 1, Some(3)),
            ExpectBody::Length(6),
            "ok",
            (1, 3),
        ),
        // The status comes behind two messages.
        case(
            "Produce",
            "\x08\x02\x20\x08",
            calls(CallKind::ServerStreaming, 1, None),
            ExpectBody::Any,
            "grpc-resource-exhausted",
            (1, 2),
        ),
        case(
            "Converse",
            HELLO,
            CallSpec {
                pace: MessagePace::PingPong,
                ..calls(CallKind::Bidirectional, 4, Some(4))
            },
            text(HELLO),
            "ok",
            (4, 4),
        ),
    ]
}

/// Makes every kind of call through an nginx that listens so and holds these directives.
fn through_nginx(listens: &str, directives: &str, transport: &Transport) {
    let origin = bind(OriginOptions::default()).unwrap();
    let upstream = origin.local_addr();
    let stop = StopHandle::new().unwrap();
    let stopped = stop.clone();
    let running = std::thread::spawn(move || origin.run(stopped).unwrap());
    let passing = format!("{directives} location / {{ grpc_pass grpc://{upstream}; }}");
    let nginx = Nginx::start(listens, &passing);
    let mut sent = 0;
    for case in cases() {
        let mut plan = rig::plan(nginx.address);
        plan.endpoint.host = "localhost".into();
        plan.load.transport = transport.clone();
        plan.load.client = ClientSpec::with(
            2,
            &GrpcOptions {
                streams: 4,
                calls: case.calls,
            },
        );
        plan.load.pacing = Pacing::Max;
        plan.load.stop = Stop::Count { exchanges: CALLS };
        let request = &mut plan.load.requests[0];
        request.method = "POST".into();
        request.path = format!("/tare.origin.Echo/{}", case.method);
        request.body = Body::Text {
            text: case.message.into(),
        };
        request.expect.body = case.expected;
        request.expect.status = case.status;
        let outcome = measure(&plan);
        let result = &outcome.result;
        let about = format!("{} {:?} {:?}", case.method, case.calls, result.outcomes);
        assert_eq!(count(&outcome, case.ends), CALLS, "{about}");
        let counts = &result.protocol_counts;
        let messages = (counts["messages-sent"], counts["messages-received"]);
        let (up, down) = case.messages;
        assert_eq!(messages, (CALLS * up, CALLS * down), "{about}");
        assert!(result.ok_by_status.is_empty(), "{about}");
        sent += result.requests_sent_total;
    }
    let lines = nginx.logged(sent as usize);
    assert_eq!(lines.len() as u64, sent);
    // A call that failed is an answer like any other to who passes it on.
    let strange = lines.iter().find(|line| !line.ends_with(" HTTP/2.0 200"));
    assert_eq!(strange, None);
    drop(nginx);
    stop.stop();
    assert_eq!(running.join().unwrap().requests, sent);
}

#[test]
fn every_kind_of_call_comes_through_nginx_with_its_messages_and_its_status() {
    through_nginx("http2", "", &Transport::Tcp);
}

#[test]
fn every_kind_of_call_comes_over_tls_through_nginx_with_its_messages_and_its_status() {
    let authority = Authority::new();
    let shown = authority.sign("localhost", Validity::Now).identity;
    let directives = format!(
        "ssl_certificate {}; ssl_certificate_key {};",
        shown.certificate, shown.key
    );
    let transport = Transport::Tls(believing(&authority));
    through_nginx("ssl http2", &directives, &transport);
}
