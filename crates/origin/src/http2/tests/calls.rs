//! gRPC calls: every kind, statuses, delays, deadlines, reflection.

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{END_STREAM, Kind};

use super::rig::{Answer, Rig, frame_of, greeting, headers};
use crate::body::expected_body;
use crate::protocol::Next;

const ECHO: &str = "/tare.origin.Echo/Echo";

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub fn echo_request(payload: &[u8], delay_ms: u64, size: u64, status: u64) -> Vec<u8> {
    let mut message = vec![0x0a];
    varint(&mut message, payload.len() as u64);
    message.extend_from_slice(payload);
    for (field, number) in [(2, delay_ms), (3, size), (4, status)] {
        message.push(field << 3);
        varint(&mut message, number);
    }
    message
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
    out
}

fn open(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let mut fields = vec![
        (":method", "POST"),
        (":path", path),
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
    ];
    fields.extend_from_slice(more);
    headers(stream, &fields, 0)
}

fn call(stream: u32, path: &str, message: &[u8]) -> Vec<u8> {
    let data = frame_of(Kind::Data, END_STREAM, stream, &framed(message));
    [open(stream, path, &[]), data].concat()
}

pub fn unary(stream: u32, message: &[u8]) -> Vec<u8> {
    call(stream, ECHO, message)
}

fn messages(answer: &Answer) -> Vec<Vec<u8>> {
    let (mut rest, mut messages) = (&answer.body[..], Vec::new());
    while let Some((prefix, behind)) = rest.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize;
        messages.push(behind[..length].to_vec());
        rest = &behind[length..];
    }
    assert!(rest.is_empty(), "a message in pieces");
    messages
}

fn payload(bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![0x0a];
    varint(&mut message, bytes.len() as u64);
    [message, bytes.to_vec()].concat()
}

fn rig() -> Rig {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig
}

#[test]
fn a_unary_echo_gives_payload_size_or_status() {
    let mut rig = rig();
    rig.send(&unary(1, &echo_request(b"abc", 0, 0, 0)));
    let answer = rig.answer(1);
    assert_eq!(answer.field("content-type"), Some("application/grpc"));
    assert_eq!(answer.field("grpc-status"), Some("0"));
    assert_eq!(messages(&answer), [payload(b"abc")]);
    assert!(answer.ended && answer.reset.is_none());
    rig.send(&unary(3, &echo_request(b"abc", 0, 40_000, 0)));
    assert_eq!(messages(&rig.answer(3)), [payload(&expected_body(40_000))]);
    rig.send(&unary(5, &echo_request(b"abc", 0, 0, 9)));
    let failed = rig.answer(5);
    assert_eq!(
        (failed.field("grpc-status"), failed.body.len()),
        (Some("9"), 0)
    );
    assert!(failed.ended);
    let behaviour = [("tare-behaviour", "size=26&timestamps")];
    rig.send(&open(7, ECHO, &behaviour));
    rig.send(&frame_of(Kind::Data, END_STREAM, 7, &framed(b"")));
    assert_eq!(messages(&rig.answer(7)), [payload(&expected_body(26))]);
    assert!(rig.answer(7).field("tare-timestamps").is_some());
    rig.send(&open(9, ECHO, &[("tare-behaviour", "status=503")]));
    rig.send(&frame_of(Kind::Data, END_STREAM, 9, &framed(b"")));
    assert_eq!(rig.answer(9).field(":status"), Some("503"));
    assert_eq!(rig.open(), 0);
}

#[test]
fn streams_go_both_ways_message_by_message() {
    let mut rig = rig();
    rig.send(&open(1, "/tare.origin.Echo/Converse", &[]));
    for word in [&b"one"[..], b"two"] {
        rig.send(&frame_of(
            Kind::Data,
            0,
            1,
            &framed(&echo_request(word, 0, 0, 0)),
        ));
        assert_eq!(messages(&rig.answer(1)).pop(), Some(payload(word)));
    }
    assert!(!rig.answer(1).ended);
    rig.send(&frame_of(Kind::Data, END_STREAM, 1, b""));
    assert_eq!(rig.answer(1).field("grpc-status"), Some("0"));

    rig.send(&open(3, "/tare.origin.Echo/Collect", &[]));
    let three = [
        framed(&echo_request(b"abcd", 0, 0, 0)),
        framed(b""),
        framed(b""),
    ]
    .concat();
    rig.send(&frame_of(Kind::Data, END_STREAM, 3, &three));
    assert_eq!(messages(&rig.answer(3)), [[0x08, 3, 0x10, 4]]);

    rig.send(&call(
        5,
        "/tare.origin.Echo/Produce",
        &[0x08, 100, 0x10, 5, 0x20, 11],
    ));
    assert_eq!(messages(&rig.answer(5)), vec![payload(b"abcde"); 100]);
    assert_eq!(rig.answer(5).field("grpc-status"), Some("11"));
    assert_eq!(rig.open(), 0);
}

#[test]
fn what_is_produced_waits_for_the_client_and_is_never_kept_whole() {
    let mut rig = rig();
    // 1000 messages of 10,000 bytes against a window of 65,535.
    rig.send(&call(
        1,
        "/tare.origin.Echo/Produce",
        &[0x08, 0xe8, 7, 0x10, 0x90, 0x4e],
    ));
    assert_eq!(rig.answer(1).body.len(), 65_535);
    for _ in 0..200 {
        rig.window(0, 65_535);
        rig.window(1, 65_535);
    }
    assert_eq!(messages(&rig.answer(1)).len(), 1000);
    assert!(rig.answer(1).ended);
}

#[test]
fn a_delay_holds_one_call_back_and_a_deadline_ends_it() {
    let mut rig = rig();
    let Next::Serve(serve) = rig.send(&unary(1, &echo_request(b"x", 1, 0, 0))) else {
        panic!("it goes on");
    };
    rig.send(&unary(3, &echo_request(b"y", 0, 0, 0)));
    assert!(rig.answer(3).ended && !rig.answer(1).ended);
    rig.wait_until(serve.wake_ns.unwrap());
    assert_eq!(messages(&rig.answer(1)), [payload(b"x")]);

    rig.send(&open(5, ECHO, &[("grpc-timeout", "2m")]));
    let request = framed(&echo_request(b"x", 60_000, 0, 0));
    let Next::Serve(serve) = rig.send(&frame_of(Kind::Data, END_STREAM, 5, &request)) else {
        panic!("it goes on");
    };
    rig.wait_until(serve.wake_ns.unwrap());
    let late = rig.answer(5);
    assert_eq!(late.field("grpc-status"), Some("4"));
    assert!(late.ended && late.body.is_empty());
    assert_eq!(rig.open(), 0);
}

#[test]
fn what_is_not_a_call_or_not_its_messages_has_a_code() {
    for (path, body, code) in [
        ("/tare.origin.Echo/Nothing", framed(b""), "12"),
        (ECHO, vec![], "13"),
        (ECHO, [framed(b""), framed(b"")].concat(), "13"),
        (ECHO, framed(&[0xff]), "13"),
        (ECHO, vec![0, 0, 0, 0, 9, 1], "13"),
        (ECHO, vec![1, 0, 0, 0, 0], "12"),
        (ECHO, vec![0, 0xff, 0, 0, 0], "8"),
        (ECHO, framed(&echo_request(b"", 0, 1 << 31, 0)), "8"),
    ] {
        let mut rig = rig();
        rig.send(&open(1, path, &[]));
        rig.send(&frame_of(Kind::Data, END_STREAM, 1, &body));
        let answer = rig.answer(1);
        assert_eq!(answer.field("grpc-status"), Some(code), "{path} {body:?}");
        assert!(answer.ended);
    }
}

#[test]
fn health_is_told_once_or_watched_and_reflection_shows_the_services() {
    let mut rig = rig();
    rig.send(&call(
        1,
        "/grpc.health.v1.Health/Check",
        b"\x0a\x10tare.origin.Echo",
    ));
    assert_eq!(messages(&rig.answer(1)), [[0x08, 1]]);
    rig.send(&call(3, "/grpc.health.v1.Health/Check", b"\x0a\x01x"));
    assert_eq!(rig.answer(3).field("grpc-status"), Some("5"));
    rig.send(&call(5, "/grpc.health.v1.Health/Watch", b""));
    assert_eq!(messages(&rig.answer(5)), [[0x08, 1]]);
    assert!(!rig.answer(5).ended);
    rig.send(&frame_of(Kind::RstStream, 0, 5, &[0, 0, 0, 8]));
    assert_eq!(rig.open(), 0);

    for (id, version) in [(7, "v1"), (11, "v1alpha")] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        rig.send(&call(id, &path, b"\x3a\x00"));
        let listed = String::from_utf8_lossy(&rig.answer(id).body).into_owned();
        for service in ["tare.origin.Echo", "grpc.health.v1.Health"] {
            assert!(listed.contains(service), "{listed}");
        }
        let symbol = [&b"\x22\x10"[..], b"tare.origin.Echo"].concat();
        rig.send(&call(id + 2, &path, &symbol));
        let file = String::from_utf8_lossy(&rig.answer(id + 2).body).into_owned();
        assert!(
            file.contains("EchoRequest") && file.contains("proto3"),
            "{file}"
        );
    }
}

#[test]
fn what_is_asked_for_beyond_the_buffers_of_the_worker_is_refused_and_given_back() {
    const MIB: usize = 1 << 20;
    let mut rig = Rig::new(&[]);
    rig.service.limits.buffer_bytes_max = 40 * MIB;
    rig.send(&greeting());
    // Answers of 10 MiB, asked for at once, that the client does not read.
    let calls: Vec<u8> = (0..10)
        .flat_map(|at| unary(2 * at + 1, &echo_request(b"", 0, 10 * MIB as u64, 0)))
        .collect();
    rig.send(&calls);
    let resets = (0..10).map(|at| rig.answer(2 * at + 1).reset);
    let refused = resets.filter(|code| *code == Some(ErrorCode::ENHANCE_YOUR_CALM));
    assert_eq!(refused.count(), 6);
    // A buffer doubles when it grows.
    assert!(
        (40 * MIB..80 * MIB).contains(&rig.held_bytes()),
        "{}",
        rig.held_bytes()
    );

    // The same where other connections hold the memory: neither a body nor a message is taken, and a request without one is answered.
    rig.service.held_bytes = 40 * MIB;
    rig.send(&unary(101, &echo_request(b"abc", 0, 0, 0)));
    assert_eq!(rig.answer(101).reset, Some(ErrorCode::ENHANCE_YOUR_CALM));
    rig.send(&headers(
        103,
        &[(":method", "GET"), (":path", "/?size=0")],
        END_STREAM,
    ));
    assert_eq!(rig.answer(103).field(":status"), Some("200"));

    // Messages of one call: those that came before are answered, the next one ends it.
    rig.service.held_bytes = 0;
    rig.service.limits.buffer_bytes_max = 60 * MIB;
    let asked = framed(&echo_request(b"", 0, 10 * MIB as u64, 0));
    let converse = open(201, "/tare.origin.Echo/Converse", &[]);
    let data = frame_of(Kind::Data, 0, 201, &asked.repeat(3));
    rig.send(&[converse, data].concat());
    rig.service.held_bytes = 60 * MIB;
    rig.window(0, 200 * MIB as u32);
    rig.window(201, 200 * MIB as u32);
    let ended = rig.answer(201);
    assert_eq!(ended.field("grpc-status"), Some("8"), "{:?}", ended.fields);
    assert_eq!(messages(&ended).len(), 1);

    rig.service.held_bytes = 0;
    for at in 0..10 {
        rig.send(&frame_of(Kind::RstStream, 0, 2 * at + 1, &[0; 4]));
    }
    assert!(rig.held_bytes() < MIB, "{}", rig.held_bytes());
}

#[test]
fn a_message_larger_than_is_read_ends_its_call() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    for (at, bytes, is_refused) in [(1, 16 << 20, false), (3, (16 << 20) + 1, true)] {
        let prefix = [&[0][..], &u32::to_be_bytes(bytes)].concat();
        rig.send(
            &[
                open(at, "/tare.origin.Echo/Converse", &[]),
                frame_of(Kind::Data, 0, at, &prefix),
            ]
            .concat(),
        );
        let status = rig.answer(at).field("grpc-status").map(str::to_owned);
        assert_eq!(status.as_deref() == Some("8"), is_refused, "{status:?}");
    }
}
