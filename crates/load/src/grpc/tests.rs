//! Calls against a server that is the test.

use std::sync::Arc;
use std::time::Duration;

use tare_schema::load::{Body, ExpectBody, ExpectStatus, RequestSpec};

use super::{Call, Grpc, timeout_value};
use crate::http2::client::rig::{ONE, Rig, ends, last_data, ok, spec};
use crate::http2::codec::tests::{block, raw};
use crate::http2::request::{RequestError, Scheme};

fn call_spec() -> RequestSpec {
    let mut call = spec("GET", 0);
    call.path = "/echo.Echo/Say".into();
    call.body = Body::Text { text: "ask".into() };
    call.expect.body = ExpectBody::Text("hello".into());
    call
}

fn rig(specs: &[RequestSpec]) -> Rig<Grpc> {
    let deadline = Some(Duration::from_secs(10));
    let calls: Arc<[Call]> = specs
        .iter()
        .map(|spec| Call::new(spec, "here", Scheme::Http, deadline).unwrap())
        .collect();
    let mut rig = Rig::<Grpc>::of(ONE, calls);
    rig.greet(0, &[]);
    rig
}

const HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];

fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// A whole answer: head, this body, trailers.
fn answer(stream: u32, body: &[u8], trailers: &[(&str, &str)]) -> Vec<u8> {
    let head = raw(1, 4, stream, &block(HEAD));
    let data = raw(0, 0, stream, body);
    [head, data, raw(1, 5, stream, &block(trailers))].concat()
}

/// The class of one call that is answered so, and what it says.
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
    assert_eq!(rig.ends(), ends(&[(0, "right")]));
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
        assert_eq!(rig.ends(), ends(&[(0, "right")]), "cut at {cut}");
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
    assert_eq!(success(&message(b"hello")[..8]), "rubbish");
    assert_eq!(success(&message(b"hello")[..3]), "rubbish");
    assert_eq!(
        success(&[&[1][..], &message(b"hello")[1..]].concat()),
        "rubbish"
    );
    assert_eq!(success(&[0, 0xff, 0xff, 0xff, 0xff, 0]), "rubbish");
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
    assert_eq!(rig.ends(), ends(&[(0, "right"), (1, "grpc-ok")]));
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
    let refused = |change: fn(&mut RequestSpec)| {
        let mut spec = call_spec();
        change(&mut spec);
        Call::new(&spec, "h", Scheme::Http, None).unwrap_err()
    };
    let header = refused(|spec| spec.headers.push(("Content-Type".into(), "x".into())));
    assert!(matches!(header, RequestError::GrpcHeader(_)));
    assert!(matches!(
        refused(|spec| spec.path = "/Say".into()),
        RequestError::GrpcPath(_)
    ));
}
