//! The health question against the real origin, and against servers that answer as they please.

use std::io::{Read, Write};
use std::net::TcpListener;

use tare_http2_frames::frame::{self, END_HEADERS, END_STREAM, Kind, PADDED, PREFACE};
use tare_http2_frames::hpack::Encoder;

use super::super::*;

const LIMIT: Duration = Duration::from_secs(20);

/// Stream of the call.
const STREAM: u32 = 1;

/// One frame.
fn raw(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
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

/// A whole answer with this message and these trailers.
fn answer(message: &[u8], trailers: &[(&str, &str)]) -> Vec<u8> {
    let head = block(&[(":status", "200"), ("content-type", "application/grpc")]);
    let size = (message.len() as u32).to_be_bytes();
    [
        raw(Kind::Settings, 0, 0, &[]),
        raw(Kind::Headers, END_HEADERS, STREAM, &head),
        raw(Kind::Data, 0, STREAM, &[&[0], &size[..], message].concat()),
        raw(
            Kind::Headers,
            END_HEADERS | END_STREAM,
            STREAM,
            &block(trailers),
        ),
    ]
    .concat()
}

/// Probes a server that sends these bytes, one answer per connection; returns each result.
fn asked(answers: Vec<Vec<u8>>) -> Vec<Result<(), String>> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let count = answers.len();
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut preface = [0; PREFACE.len()];
            stream.read_exact(&mut preface).unwrap();
            assert_eq!(&preface, PREFACE);
            // Who has had enough may have gone.
            let _ = stream.write_all(&answer);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    let all = (0..count)
        .map(|_| ask_health(&Connector::Host, &at, "a.B", LIMIT))
        .collect();
    server.join().unwrap();
    all
}

fn said(bytes: Vec<u8>) -> String {
    asked(vec![bytes]).remove(0).unwrap_err()
}

const OK: &[(&str, &str)] = &[("grpc-status", "0")];

#[test]
fn the_origin_is_healthy_as_a_whole_and_by_its_services_and_knows_no_others() {
    let origin = tare_origin::bind(tare_origin::OriginOptions::default()).unwrap();
    let at = origin.local_addr().to_string();
    let stop = tare_origin::StopHandle::new().unwrap();
    let stopped = stop.clone();
    let running = std::thread::spawn(move || origin.run(stopped).unwrap());
    let wait = |service: &str| {
        let probe = ReadinessProbe::Grpc {
            at: at.clone(),
            service: service.to_owned(),
        };
        probe.wait(&Connector::Host, Duration::ZERO, &mut || {
            InstanceState::Running
        })
    };
    for service in ["", "tare.origin.Echo"] {
        assert!(matches!(wait(service), Readiness::Ready(_)), "{service}");
    }
    let Readiness::NotReady { answer, .. } = wait(&"no.such.Service".repeat(20)) else {
        panic!("nobody knows it");
    };
    assert!(answer.contains("does not know the service"), "{answer}");
    stop.stop();
    running.join().unwrap();
}

#[test]
fn only_serving_is_ready_however_its_answer_is_framed() {
    let head = block(&[(":status", "200"), ("content-type", "application/grpc")]);
    let (one, two) = head.split_at(3);
    let framed = [
        raw(Kind::Settings, 0, 0, &[]),
        raw(Kind::Ping, 0, 0, &[7; 8]),
        raw(Kind::WindowUpdate, 0, 0, &[0, 0, 1, 0]),
        raw(Kind::Headers, 0, STREAM, one),
        raw(Kind::Continuation, END_HEADERS, STREAM, two),
        raw(Kind::Data, PADDED, STREAM, &[2, 0, 0, 0, 0, 2, 8, 0, 0]),
        raw(Kind::Data, 0, STREAM, &[1]),
        raw(Kind::Headers, END_HEADERS | END_STREAM, STREAM, &block(OK)),
    ];
    let found = asked(vec![
        answer(&[8, 2], OK),
        answer(&[], OK),
        answer(&[8, 1], OK),
        framed.concat(),
    ]);
    let not = |result: &Result<(), String>| result.clone().unwrap_err();
    assert!(not(&found[0]).ends_with("it is NOT_SERVING"), "{found:?}");
    assert!(not(&found[1]).ends_with("it is UNKNOWN"), "{found:?}");
    assert_eq!(found[2..], [Ok(()), Ok(())]);
}

#[test]
fn what_is_no_answer_is_said_and_never_waited_for() {
    let refused = answer(&[], &[("grpc-status", "12")]);
    assert!(said(refused).contains("has no health service"));
    let denied = answer(&[], &[("grpc-status", "7"), ("grpc-message", "go away")]);
    assert!(said(denied).ends_with("grpc-status 7: go away"));
    assert!(said(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()).contains("HTTP/2"));
    assert!(said(answer(&[8, 1], OK)[..20].to_vec()).contains("closed"));
    assert!(said(raw(Kind::GoAway, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])).contains("ended"));
    assert!(said(raw(Kind::RstStream, 0, STREAM, &[0, 0, 0, 7])).contains("reset"));
    let endless = raw(Kind::WindowUpdate, 0, 0, &[0, 0, 0, 1]).repeat(10_000);
    assert!(said(endless).contains("longer than"));
    let page = raw(
        Kind::Headers,
        END_HEADERS | END_STREAM,
        STREAM,
        &block(&[(":status", "404")]),
    );
    assert!(said(page).contains("HTTP status 404"));
    let cut = raw(Kind::Data, PADDED, STREAM, &[9, 0]);
    assert!(said(cut).contains("padding"));
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_beyond_the_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    assert!(ask_health(&Connector::Host, &at, "", Duration::from_millis(20)).is_err());
}
