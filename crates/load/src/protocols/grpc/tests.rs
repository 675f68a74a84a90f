//! Calls against a server scripted by the test.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tare_record::load::{
    Body, CallKind, CallSpec, Deadline, ExpectBody, ExpectStatus, MessagePace, RequestSpec,
};

use super::message::MESSAGE_BYTES_MAX;
use super::{EncodedCall, Grpc, timeout_value};
use crate::client::WaitCause;
use crate::protocols::ConnectionSecurity;
use crate::protocols::http2::client::rig::{
    MS, ONE, Rig, Sent, ends, goaway, last_data, ok, reset, spec, window,
};
use crate::protocols::http2::codec::tests::{block, raw};
use crate::protocols::http2::request::RequestError;

fn call_spec() -> RequestSpec {
    let mut call = spec("GET", 0);
    call.path = "/echo.Echo/Say".into();
    call.body = Body::Text { text: "ask".into() };
    call.expect.body = ExpectBody::Text("hello".into());
    call
}

const TIMEOUT: Duration = Duration::from_secs(10);

fn rig(specs: &[RequestSpec]) -> Rig<Grpc> {
    rig_of(specs, &CallSpec::default(), &[])
}

fn rig_of(specs: &[RequestSpec], calls: &CallSpec, settings: &[(u16, u32)]) -> Rig<Grpc> {
    let calls: Arc<[EncodedCall]> = specs
        .iter()
        .map(|spec| {
            EncodedCall::new(spec, calls, "here", ConnectionSecurity::Plain, TIMEOUT).unwrap()
        })
        .collect();
    let mut rig = Rig::<Grpc>::of(ONE, calls);
    rig.greet(0, settings);
    rig
}

/// A call of the messages `a`, `bb` and `ccc`, in turn.
fn streaming(kind: CallKind, messages: u32, pace: MessagePace) -> (RequestSpec, CallSpec) {
    let mut spec = call_spec();
    spec.body = Body::Messages {
        base64: ["YQ==", "YmI=", "Y2Nj"].map(String::from).into(),
    };
    let calls = CallSpec {
        kind,
        messages,
        pace,
        ..CallSpec::default()
    };
    (spec, calls)
}

/// The first messages of that call.
fn messages(count: usize) -> Vec<u8> {
    let texts = [&b"a"[..], b"bb", b"ccc"];
    texts
        .iter()
        .cycle()
        .take(count)
        .flat_map(|text| message(text))
        .collect()
}

/// The body bytes in these frames, and whether the last of them ends its stream.
fn body_of(sent: &[Sent]) -> (Vec<u8>, bool) {
    let mut data = sent.iter().filter(|sent| sent.kind == 0);
    let bytes = data.clone().flat_map(|sent| sent.payload.clone()).collect();
    (
        bytes,
        data.next_back().is_some_and(|sent| sent.flags & 1 == 1),
    )
}

/// Head of a response, and a message.
fn begin(stream: u32, body: &[u8]) -> Vec<u8> {
    [raw(1, 4, stream, &block(HEAD)), raw(0, 0, stream, body)].concat()
}

fn status(stream: u32, code: &str) -> Vec<u8> {
    raw(1, 5, stream, &block(&[("grpc-status", code)]))
}

const HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];

fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// A complete response: head, this body, trailers.
fn answer(stream: u32, body: &[u8], trailers: &[(&str, &str)]) -> Vec<u8> {
    let head = raw(1, 4, stream, &block(HEAD));
    let data = raw(0, 0, stream, body);
    [head, data, raw(1, 5, stream, &block(trailers))].concat()
}

/// The class and the message of one call with this response.
fn class_of(bytes: &[u8]) -> (String, String) {
    let mut rig = rig(&[call_spec()]);
    rig.due(0);
    rig.arrives(0, bytes);
    assert_eq!(rig.net.ended.len(), 1, "{:?}", rig.net.faults);
    (rig.last().class(), rig.last().example.clone())
}

#[test]
fn a_call_is_a_framed_message_and_its_answer_another() {
    let mut rig = rig(&[call_spec()]);
    rig.due(0);
    let sent = rig.sent(0);
    assert_eq!(
        (sent[1].flags, &sent[1].payload[..]),
        (1, &b"\0\0\0\0\x03ask"[..])
    );
    rig.arrives(0, &answer(1, &message(b"hello"), &[("grpc-status", "0")]));
    assert_eq!(rig.ends(), ends(&[(0, "ok")]));
}

#[test]
fn any_split_of_a_message_over_frames_is_the_same_message() {
    let body = message(b"hello");
    for cut in 0..=body.len() {
        let mut rig = rig(&[call_spec()]);
        rig.due(0);
        let (a, b) = body.split_at(cut);
        let frames = [
            raw(1, 4, 1, &block(HEAD)),
            raw(0, 0, 1, a),
            raw(0, 0, 1, b),
            raw(1, 5, 1, &block(&[("grpc-status", "0")])),
        ];
        for byte in frames.concat().chunks(1) {
            rig.arrives(0, byte);
        }
        assert_eq!(rig.ends(), ends(&[(0, "ok")]), "cut at {cut}");
    }
}

#[test]
fn a_status_is_an_error_by_its_name_also_without_a_message() {
    let (class, example) = class_of(&answer(
        1,
        b"",
        &[("grpc-status", "14"), ("grpc-message", "too%20busy %zz")],
    ));
    assert_eq!(class, "grpc-unavailable");
    assert_eq!(
        example,
        "the call ended with status 14 (unavailable): too busy %zz"
    );
    let trailers_only = [HEAD, &[("grpc-status", "8")]].concat();
    assert_eq!(
        class_of(&raw(1, 5, 1, &block(&trailers_only))).0,
        "grpc-resource-exhausted"
    );
    assert_eq!(
        class_of(&answer(1, b"", &[("grpc-status", "99")])).0,
        "grpc-status-99"
    );
}

#[test]
fn an_answer_that_is_no_call_says_what_it_lacks() {
    let html = [
        raw(
            1,
            4,
            1,
            &block(&[(":status", "200"), ("content-type", "text/html")]),
        ),
        last_data(1, b"<p>"),
    ];
    assert_eq!(class_of(&html.concat()).0, "grpc-content-type");
    assert_eq!(
        class_of(&raw(1, 5, 1, &block(&[(":status", "503")]))).0,
        "status-503"
    );
    assert_eq!(class_of(&ok(1)).0, "grpc-content-type");
    assert_eq!(
        class_of(&answer(1, &message(b"hello"), &[("x", "y")])).0,
        "grpc-no-status"
    );
    assert_eq!(
        class_of(&answer(1, &message(b"hello"), &[("grpc-status", "x")])).0,
        "grpc-no-status"
    );
}

#[test]
fn messages_that_are_wrong_are_told_apart() {
    let success = |body: &[u8]| class_of(&answer(1, body, &[("grpc-status", "0")])).0;
    assert_eq!(success(&message(b"hullo")), "wrong-body");
    assert_eq!(success(b""), "grpc-message-count");
    assert_eq!(
        success(&[message(b"hello"), message(b"")].concat()),
        "grpc-message-count"
    );
    assert_eq!(success(&message(b"hello")[..8]), "malformed");
    assert_eq!(success(&message(b"hello")[..3]), "malformed");
    assert_eq!(success(&compressed(b"hello")), "grpc-compressed");
    assert_eq!(success(&[2, 0, 0, 0, 0]), "malformed");
    assert_eq!(success(&[0, 0xff, 0xff, 0xff, 0xff, 0]), "malformed");
}

/// A message that is compressed with gzip.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    let mut message = message(&encoder.finish().unwrap());
    message[0] = 1;
    message
}

#[test]
fn a_server_that_always_compresses_is_understood_and_its_messages_are_compared_decoded() {
    let class = |body: &[u8], encoding: &str, expected: ExpectBody| {
        let mut spec = call_spec();
        spec.expect.body = expected;
        let mut rig = rig(&[spec]);
        rig.due(0);
        let head = [HEAD, &[("grpc-encoding", encoding)]].concat();
        rig.arrives(0, &raw(1, 4, 1, &block(&head)));
        for piece in body.chunks(3) {
            rig.arrives(0, &raw(0, 0, 1, piece));
        }
        rig.arrives(0, &status(1, "0"));
        rig.last().class()
    };
    let hello = || ExpectBody::Text("hello".into());
    assert_eq!(class(&compressed(b"hello"), "gzip", hello()), "ok");
    assert_eq!(class(&compressed(b"hello"), "gzip", ExpectBody::Any), "ok");
    assert_eq!(
        class(&compressed(b"hello"), "gzip", ExpectBody::Length(5)),
        "ok"
    );
    assert_eq!(class(&compressed(b"hullo"), "gzip", hello()), "wrong-body");
    assert_eq!(class(&message(b"hello"), "gzip", hello()), "ok");
    assert_eq!(
        class(&compressed(b"hello"), "deflate", ExpectBody::Any),
        "grpc-compressed"
    );
    let no_gzip = [&[1][..], &message(b"hello")[1..]].concat();
    assert_eq!(class(&no_gzip, "gzip", hello()), "grpc-compressed");
}

#[test]
fn a_message_longer_than_is_read_is_refused_by_its_length() {
    let prefix = |bytes: u32| [&[0][..], &bytes.to_be_bytes()].concat();
    let said = class_of(&answer(
        1,
        &prefix(MESSAGE_BYTES_MAX + 1),
        &[("grpc-status", "0")],
    ))
    .1;
    assert!(said.contains("a message of 67108865 bytes"), "{said}");
    let said = class_of(&answer(
        1,
        &prefix(MESSAGE_BYTES_MAX),
        &[("grpc-status", "0")],
    ))
    .1;
    assert!(!said.contains("67108864 bytes, at most"), "{said}");
}

#[test]
fn a_failure_can_be_what_is_expected() {
    let mut expecting = call_spec();
    expecting.expect.status = ExpectStatus::Exactly(5);
    let mut rig = rig(&[expecting]);
    rig.due(0);
    rig.due(0);
    rig.arrives(0, &answer(1, b"", &[("grpc-status", "5")]));
    rig.arrives(0, &answer(3, &message(b"hello"), &[("grpc-status", "0")]));
    assert_eq!(rig.ends(), ends(&[(0, "ok"), (1, "grpc-ok")]));
}

#[test]
fn a_deadline_has_eight_digits_at_most_and_is_never_shortened() {
    assert_eq!(timeout_value(Duration::from_nanos(5)), "5n");
    assert_eq!(timeout_value(Duration::from_secs(10)), "10000000u");
    assert_eq!(timeout_value(Duration::from_millis(250)), "250000u");
    assert_eq!(timeout_value(Duration::new(100, 1)), "100001m");
    assert_eq!(timeout_value(Duration::from_secs(100_000_000)), "1666667M");
}

#[test]
fn what_a_call_sets_by_itself_cannot_be_planned() {
    let refused = |change: fn(&mut RequestSpec, &mut CallSpec)| {
        let (mut spec, mut calls) = (call_spec(), CallSpec::default());
        change(&mut spec, &mut calls);
        EncodedCall::new(&spec, &calls, "h", ConnectionSecurity::Plain, TIMEOUT).unwrap_err()
    };
    let header = refused(|spec, _| spec.headers.push(("Content-Type".into(), "x".into())));
    assert!(matches!(header, RequestError::GrpcHeader(_)));
    let binary = refused(|spec, _| spec.headers.push(("x-id-bin".into(), "a b".into())));
    assert!(matches!(binary, RequestError::BinaryMetadata(_)));
    let path = refused(|spec, _| spec.path = "/Say".into());
    assert!(matches!(path, RequestError::GrpcPath(_)));
    let not_base64 = refused(|spec, _| {
        spec.body = Body::Messages {
            base64: vec!["%".into()],
        };
    });
    assert!(not_base64.to_string().contains("not base64"));
    let kinds: [fn(&mut RequestSpec, &mut CallSpec); 5] = [
        |_, calls| calls.messages = 0,
        |_, calls| calls.messages = 2,
        |_, calls| calls.pace = MessagePace::Every { period_ns: 5 },
        |_, calls| {
            calls.kind = CallKind::ClientStreaming;
            calls.pace = MessagePace::PingPong;
        },
        |_, calls| calls.answers = Some(2),
    ];
    for change in kinds {
        let error = refused(change);
        assert!(matches!(error, RequestError::CallKind(_)), "{error:?}");
    }
}

#[test]
fn a_streaming_client_sends_its_messages_in_turn_and_expects_one() {
    let (spec, calls) = streaming(CallKind::ClientStreaming, 7, MessagePace::Unpaced);
    let mut rig = rig_of(&[spec], &calls, &[]);
    rig.due(0);
    assert_eq!(body_of(&rig.sent(0)), (messages(7), true));
    rig.arrives(0, &answer(1, &message(b"hello"), &[("grpc-status", "0")]));
    rig.due(0);
    rig.arrives(
        0,
        &answer(3, &message(b"hello").repeat(2), &[("grpc-status", "0")]),
    );
    assert_eq!(rig.ends(), ends(&[(0, "ok"), (1, "grpc-message-count")]));
    assert_eq!(
        (rig.count("messages-sent"), rig.count("messages-received")),
        (14, 3)
    );
}

#[test]
fn any_window_lets_the_same_messages_through() {
    for step in [1, 2, 5, 6, 7, 12, 1000] {
        let (spec, calls) = streaming(CallKind::ClientStreaming, 1_000, MessagePace::Unpaced);
        let mut rig = rig_of(&[spec], &calls, &[(4, step)]);
        rig.due(0);
        let mut got = Vec::new();
        let mut over = false;
        while !over {
            let (bytes, last) = body_of(&rig.sent(0));
            assert!(!bytes.is_empty() && bytes.len() <= step as usize);
            got.extend(bytes);
            over = last;
            rig.arrives(0, &window(1, step));
        }
        assert_eq!(got, messages(1_000), "windows of {step}");
        assert_eq!(rig.count("messages-sent"), 1_000);
    }
}

#[test]
fn a_streaming_server_sends_what_it_likes_unless_a_number_is_expected() {
    for (answers, class) in [
        (None, "ok"),
        (Some(3), "ok"),
        (Some(2), "grpc-message-count"),
    ] {
        let calls = CallSpec {
            kind: CallKind::ServerStreaming,
            answers,
            ..CallSpec::default()
        };
        let mut rig = rig_of(&[call_spec()], &calls, &[]);
        rig.due(0);
        assert_eq!(body_of(&rig.sent(0)), (message(b"ask"), true));
        rig.arrives(0, &begin(1, &message(b"hello").repeat(2)));
        rig.pass(10 * MS);
        rig.arrives(
            0,
            &[raw(0, 0, 1, &message(b"hello")), status(1, "0")].concat(),
        );
        assert_eq!(rig.ends(), ends(&[(0, class)]), "{answers:?}");
        assert_eq!(
            rig.last().ended_ns,
            rig.net.now_ns,
            "it ends with its status"
        );
    }
}

#[test]
fn each_message_of_a_stream_is_looked_at() {
    let calls = CallSpec {
        kind: CallKind::ServerStreaming,
        ..CallSpec::default()
    };
    let mut rig = rig_of(&[call_spec()], &calls, &[]);
    rig.due(0);
    let body = [message(b"hello"), message(b"hullo"), message(b"hello")].concat();
    rig.arrives(0, &answer(1, &body, &[("grpc-status", "0")]));
    assert_eq!(rig.last().class(), "wrong-body");
    assert!(
        rig.last().example.starts_with("message 2 is wrong"),
        "{}",
        rig.last().example
    );
}

#[test]
fn messages_with_a_distance_go_at_their_times_and_their_wait_is_nobodys() {
    let every = MessagePace::Every { period_ns: 10 * MS };
    let (spec, calls) = streaming(CallKind::Bidirectional, 3, every);
    let mut rig = rig_of(&[spec], &calls, &[]);
    rig.due(0);
    assert_eq!(body_of(&rig.sent(0)), (messages(1), false));
    rig.pass(9 * MS);
    assert_eq!(rig.sent(0), []);
    rig.pass(MS);
    assert_eq!(body_of(&rig.sent(0)), (message(b"bb"), false));
    // Late: overdue messages are sent immediately, and the next at its own time all the same.
    rig.due(0);
    rig.pass(10 * MS);
    let sent = rig.sent(0);
    let first: Vec<Sent> = sent
        .iter()
        .filter(|sent| sent.stream == 1)
        .cloned()
        .collect();
    assert_eq!(body_of(&first), (message(b"ccc"), true));
    rig.arrives(0, &answer(1, &message(b"hello"), &[("grpc-status", "0")]));
    assert_eq!((rig.last().class(), rig.last().waited), ("ok".into(), None));
    rig.arrives(0, &answer(3, b"", &[("grpc-status", "13")]));
    assert_eq!(rig.last().class(), "grpc-internal");
    let reset = rig.sent(0).pop().unwrap();
    assert_eq!(
        (reset.kind, reset.stream),
        (3, 3),
        "the rest is not wanted any more"
    );
    rig.pass(100 * MS);
    assert_eq!(
        rig.sent(0),
        [],
        "nothing more goes on a stream that has ended"
    );
}

#[test]
fn streams_that_end_early_leave_no_growing_list_of_what_is_due() {
    let every = MessagePace::Every { period_ns: 1 << 50 };
    let (spec, calls) = streaming(CallKind::ClientStreaming, 3, every);
    let mut rig = rig_of(&[spec], &calls, &[]);
    for at in 0..1_000 {
        rig.due(0);
        rig.arrives(0, &answer(2 * at + 1, b"", &[("grpc-status", "13")]));
    }
    assert!(rig.client.parts_due() < 200, "{}", rig.client.parts_due());
    assert_eq!(rig.net.ended.len(), 1_000);
}

#[test]
fn a_ping_pong_message_goes_when_the_one_before_is_answered() {
    let (spec, calls) = streaming(CallKind::Bidirectional, 3, MessagePace::PingPong);
    let mut rig = rig_of(&[spec], &calls, &[]);
    rig.due(0);
    assert_eq!(body_of(&rig.sent(0)), (messages(1), false));
    let answer = message(b"hello");
    rig.arrives(0, &begin(1, &answer[..4]));
    assert_eq!(rig.sent(0), [], "half an answer is none");
    rig.arrives(0, &raw(0, 0, 1, &answer[4..]));
    assert_eq!(body_of(&rig.sent(0)), (message(b"bb"), false));
    rig.arrives(0, &raw(0, 0, 1, &answer));
    assert_eq!(body_of(&rig.sent(0)), (message(b"ccc"), true));
    rig.arrives(0, &[raw(0, 0, 1, &answer), status(1, "0")].concat());
    rig.due(0);
    rig.arrives(0, &[begin(3, &answer), status(3, "0")].concat());
    assert_eq!(rig.ends(), ends(&[(0, "ok"), (1, "grpc-message-count")]));
}

#[test]
fn a_message_that_waits_for_a_window_says_so() {
    let (spec, calls) = streaming(CallKind::Bidirectional, 2, MessagePace::PingPong);
    let mut rig = rig_of(&[spec], &calls, &[(4, 8)]);
    rig.due(0);
    rig.arrives(0, &begin(1, &message(b"hello")));
    assert_eq!(body_of(&rig.sent(0)), (messages(2)[..8].to_vec(), false));
    rig.arrives(0, &window(1, 100));
    rig.arrives(
        0,
        &[raw(0, 0, 1, &message(b"hello")), status(1, "0")].concat(),
    );
    assert_eq!(
        (rig.last().class(), rig.last().waited),
        ("ok".into(), Some(WaitCause::Window))
    );
}

#[test]
fn streams_that_a_server_breaks_off_end_by_its_reason() {
    let (spec, calls) = streaming(CallKind::Bidirectional, 3, MessagePace::PingPong);
    let mut rig = rig_of(&[spec], &calls, &[]);
    for _ in 0..3 {
        rig.due(0);
    }
    rig.arrives(0, &[begin(1, &message(b"hello")), reset(1, 8)].concat());
    rig.arrives(0, &begin(3, &message(b"hello")));
    rig.arrives(0, &goaway(3, 0));
    rig.sent(0);
    rig.arrives(
        0,
        &[raw(0, 0, 3, &message(b"hello").repeat(2)), status(3, "0")].concat(),
    );
    assert_eq!(rig.ends(), ends(&[(0, "reset-cancel"), (1, "ok")]));
    rig.greet(0, &[]);
    let again = rig.sent(0);
    assert_eq!(again.len(), 0, "greeting clears what was sent");
    rig.arrives(
        0,
        &[begin(1, &message(b"hello").repeat(3)), status(1, "0")].concat(),
    );
    assert_eq!(
        rig.last().class(),
        "ok",
        "sent again from its first message"
    );
    assert_eq!(
        (rig.count("goaways-received"), rig.count("exchanges-resent")),
        (1, 1)
    );
    assert_eq!(rig.count("resets-received"), 1);
}

#[test]
fn headers_without_end_and_messages_longer_than_announced_are_refused() {
    let endless = [raw(1, 0, 1, &block(HEAD)), raw(9, 0, 1, &[0; 4]).repeat(70)].concat();
    assert_eq!(class_of(&endless).0, "head-too-large");
    let longer = [
        begin(1, &message(b"hello")),
        raw(0, 0, 1, b"more"),
        status(1, "0"),
    ]
    .concat();
    assert_eq!(class_of(&longer).0, "malformed");
    let longer_stated = [
        raw(
            1,
            4,
            1,
            &block(&[HEAD, &[("content-length", "5")]].concat()),
        ),
        raw(0, 0, 1, &message(b"hello")),
    ];
    assert_eq!(class_of(&longer_stated.concat()).0, "malformed");
    let data_last = [raw(1, 4, 1, &block(HEAD)), last_data(1, &message(b"hello"))].concat();
    assert_eq!(class_of(&data_last).0, "grpc-no-status");
}

#[test]
fn a_deadline_is_told_as_planned() {
    let told = |deadline: Deadline| {
        let calls = CallSpec {
            deadline,
            ..CallSpec::default()
        };
        let mut rig = rig_of(&[call_spec()], &calls, &[]);
        rig.due(0);
        let head = rig.sent(0).remove(0).payload;
        let mut decoder = crate::protocols::http2::hpack::Decoder::new(
            0,
            crate::protocols::http2::codec::Limits::default().list,
        );
        let mut found = None;
        let note = |name: &[u8], value: &[u8]| {
            if name == b"grpc-timeout" {
                found = Some(String::from_utf8(value.to_vec()).unwrap());
            }
        };
        decoder.decode(&head, note).unwrap();
        found
    };
    assert_eq!(told(Deadline::Timeout).as_deref(), Some("10000000u"));
    assert_eq!(told(Deadline::Unset), None);
    assert_eq!(
        told(Deadline::After { limit_ns: 5 * MS }).as_deref(),
        Some("5000000n")
    );
}

proptest! {
    #[test]
    fn any_split_of_a_stream_of_answers_is_the_same_answers(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..12),
        frames in 1usize..40,
        reads in 1usize..60,
    ) {
        let calls = CallSpec {
            kind: CallKind::ServerStreaming,
            answers: Some(texts.len() as u32),
            ..CallSpec::default()
        };
        let mut spec = call_spec();
        spec.expect.body = ExpectBody::Any;
        let mut rig = rig_of(&[spec], &calls, &[]);
        rig.due(0);
        let body: Vec<u8> = texts.iter().flat_map(|text| message(text)).collect();
        let data: Vec<u8> = body.chunks(frames).flat_map(|piece| raw(0, 0, 1, piece)).collect();
        let bytes = [raw(1, 4, 1, &block(HEAD)), data, status(1, "0")].concat();
        for piece in bytes.chunks(reads) {
            rig.arrives(0, piece);
        }
        prop_assert_eq!(rig.ends(), ends(&[(0, "ok")]));
        prop_assert_eq!(rig.count("messages-received"), texts.len() as u64);
    }
}
