//! TCP without a protocol above it, and resets.

use std::io::{Read, Write};
use std::net::Shutdown;

use tare_origin::{
    BehaviourOverride, OriginOptions, ServerProtocol, TcpMode, TcpSizes, expected_body,
};

use crate::rig::Server;

fn tcp(mode: TcpMode, overrides: &[&str]) -> Server {
    Server::start(OriginOptions {
        protocol: ServerProtocol::Tcp(mode),
        control: Some("127.0.0.1:0".parse().unwrap()),
        overrides: overrides
            .iter()
            .map(|text| BehaviourOverride::parse(text).unwrap())
            .collect(),
        ..OriginOptions::default()
    })
}

#[test]
fn everything_is_echoed_before_the_end_is_answered() {
    let server = tcp(TcpMode::Echo, &[]);
    let mut client = server.connect();
    let sent = expected_body(300_000);
    let mut writer = client.stream.try_clone().unwrap();
    let kept = sent.clone();
    let sending = std::thread::spawn(move || {
        writer.write_all(&kept).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    assert_eq!(client.rest(), sent);
    sending.join().unwrap();
}

#[test]
fn each_request_of_a_set_size_gets_an_answer_of_a_set_size_however_it_is_cut() {
    let sizes = TcpSizes {
        request_bytes: 5,
        answer_bytes: 100_001,
    };
    let server = tcp(TcpMode::Sized(sizes), &[]);
    let mut client = server.connect();
    for piece in [&b"123"[..], b"45123", b"4512345"] {
        client.send(piece);
    }
    client.stream.shutdown(Shutdown::Write).unwrap();
    let answer = expected_body(100_001);
    assert_eq!(client.rest(), [&answer[..], &answer, &answer].concat());
    assert_eq!(server.counter("tare_origin_tcp_exchanges_total"), 3);
}

#[test]
fn what_is_discarded_is_counted_and_never_answered() {
    let server = tcp(TcpMode::Discard, &[]);
    let mut client = server.connect();
    client.send(&[7; 200_000]);
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(client.rest().is_empty());
    // The counters' own request is in it too.
    assert!(server.counter("tare_origin_received_bytes_total") >= 200_000);
}

#[test]
fn a_source_sends_at_once_until_the_client_ends() {
    let server = tcp(TcpMode::Source, &[]);
    let mut client = server.connect();
    let mut received = vec![0; 1 << 20];
    client.stream.read_exact(&mut received).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    // Whatever was on its way, and then the end.
    client.rest();
}

#[test]
fn a_reset_is_a_reset_and_no_end() {
    let sizes = TcpSizes {
        request_bytes: 1,
        answer_bytes: 1,
    };
    for (server, request) in [
        (tcp(TcpMode::Sized(sizes), &["reset"]), &b"x"[..]),
        (
            Server::changed(&["reset"]),
            b"GET / HTTP/1.1\r\nHost: o\r\n\r\n",
        ),
    ] {
        let mut client = server.connect();
        client.send(request);
        let error = client.stream.read(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert_eq!(server.counter("tare_origin_resets_total"), 1);
    }
}

#[test]
fn resets_come_with_their_probability_and_count_as_no_answers() {
    let server = Server::changed(&["p=0.5&reset"]);
    let (mut resets, mut answers) = (0, 0);
    while resets + answers < 40 {
        let mut client = server.connect();
        client.send(b"GET / HTTP/1.1\r\nHost: o\r\n\r\n");
        match client.stream.read(&mut [0; 100]) {
            Ok(count) => answers += u64::from(count > 0),
            Err(_) => resets += 1,
        }
    }
    assert!(resets > 5 && answers > 5, "{resets} resets of 40");
    assert_eq!(server.counter("tare_origin_resets_total"), resets);
    assert_eq!(
        server.counter("tare_origin_requests_total{status=\"200\"}"),
        answers
    );
}
