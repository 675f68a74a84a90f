//! Calls of servers with a fixed script; the messages of the health check.

use std::io;
use std::time::Duration;

use super::*;
use crate::frame::{self, Kind};

/// A server with a fixed script, which arrives in pieces. Received bytes are kept.
struct Script<'a> {
    says: Vec<u8>,
    at: usize,
    piece: usize,
    told: &'a mut Vec<u8>,
}

impl Read for Script<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.says[self.at..];
        let count = rest.len().min(self.piece).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];

fn raw(kind: Kind, flags: u8, payload: &[u8]) -> Vec<u8> {
    let stream = u32::from(matches!(kind, Kind::Data | Kind::Headers));
    let mut out = Vec::new();
    frame::write_head(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Encoder::default();
    for (name, value) in fields {
        block.field(name.as_bytes(), value.as_bytes());
    }
    block.finish()
}

/// Calls a server that sends these frames after its SETTINGS, in pieces of `piece` bytes.
fn recorded(frames: &[Vec<u8>], piece: usize) -> (Result<Vec<Vec<u8>>, CallError>, Vec<u8>) {
    let mut told = Vec::new();
    let script = Script {
        says: [&[raw(Kind::Settings, 0, &[])], frames].concat().concat(),
        at: 0,
        piece,
        told: &mut told,
    };
    let question = Call {
        path: "/a.B/C",
        authority: "here",
        scheme: "http",
        headers: &[("X-Key".into(), "1".into())],
        messages: &[b"a".to_vec(), b"bb".to_vec()],
        limits: ExchangeLimits {
            within: Duration::from_secs(10),
            bytes_max: 1 << 20,
        },
    };
    let answer = call(script, &question);
    (answer, told)
}

#[test]
fn the_messages_of_an_answer_are_given_however_they_arrive() {
    let frames = [
        raw(Kind::Headers, 4, &block(HEAD)),
        raw(Kind::Data, 0, b"\0\0\0\0\x02hi\0\0\0\0\0"),
        raw(Kind::Data, 0, b"\0\0\0\0\x01x"),
        raw(Kind::Headers, 5, &block(&[("grpc-status", "0")])),
    ];
    for piece in 1..40 {
        let (answer, told) = recorded(&frames, piece);
        assert_eq!(answer.unwrap(), [b"hi".to_vec(), Vec::new(), b"x".to_vec()]);
        let body = b"\0\0\0\0\x01a\0\0\0\0\x02bb";
        assert!(told.windows(body.len()).any(|part| part == body));
    }
}

#[test]
fn a_status_an_end_and_a_replaced_connection_are_told_apart() {
    let error = |frames: &[Vec<u8>]| recorded(frames, 1000).0.unwrap_err();
    let refused = [HEAD, &[("grpc-status", "12")]].concat();
    assert!(matches!(
        error(&[raw(Kind::Headers, 5, &block(&refused))]),
        CallError::Status {
            code: UNIMPLEMENTED,
            ..
        }
    ));
    let of_exchange = |frames: &[Vec<u8>]| match error(frames) {
        CallError::Exchange(error) => error,
        other => panic!("{other:?}"),
    };
    assert!(of_exchange(&[]).contains("closed the connection"));
    let goaway = raw(Kind::GoAway, 0, &[0; 8]);
    assert!(of_exchange(&[goaway]).contains("ended the connection"));
    let wrong = raw(Kind::Headers, 5, &[0xff; 5]);
    assert!(of_exchange(&[wrong]).contains("its header block"));
}

#[test]
fn health_is_asked_and_told_as_the_protocol_says() {
    assert_eq!(health_question(""), b"");
    assert_eq!(health_question("a.B"), b"\x0a\x03a.B");
    assert_eq!(serving_answer(), b"\x08\x01");
    assert_eq!(check_serving(&[serving_answer()]), Ok(()));
    for other in [&b""[..], b"\x08\x02", b"\x08\x03", b"\xff"] {
        assert!(check_serving(&[other.to_vec()]).is_err(), "{other:?}");
    }
    assert!(check_serving(&[]).is_err());
}
