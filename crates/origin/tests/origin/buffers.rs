//! Clients that together ask for more memory than the origin gives to all of them.

use std::io::Write as _;
use std::time::Instant;

use tare_origin::{Limits, OriginOptions, ServerProtocol};

use crate::rig::{Client, HANG, Server};

const MIB: usize = 1 << 20;

/// Bytes for the buffers of all connections.
const BUFFERS: usize = 4 * MIB;

/// What asks for a counter is counted, too.
const POLL: &str = "GET /metrics HTTP/1.1\r\nHost: o\r\n\r\n";

fn server(protocol: ServerProtocol) -> Server {
    limited_to(BUFFERS, protocol)
}

fn limited_to(buffer_bytes_max: usize, protocol: ServerProtocol) -> Server {
    Server::start(OriginOptions {
        protocol,
        workers: 1,
        control: Some("127.0.0.1:0".parse().unwrap()),
        limits: Limits {
            buffer_bytes_max,
            ..Limits::default()
        },
        ..OriginOptions::default()
    })
}

/// Opens connections one after another, each with the start of a request of 8 MiB, until one is answered before its request has ended.
/// Returns those that wait, and that one.
fn until_one_is_refused(server: &Server, start: &[u8]) -> (Vec<Client>, Client) {
    let mut waiting = Vec::new();
    let began = Instant::now();
    loop {
        let before = server.counter("tare_origin_received_bytes_total");
        let mut client = server.connect();
        client.send(start);
        // What is refused in between is not read to its end.
        let mut sent = 0;
        while sent < MIB && client.stream.write_all(&[b'x'; 64 * 1024]).is_ok() {
            sent += 64 * 1024;
        }
        let mut whole = before + (start.len() + MIB) as u64;
        client.stream.set_nonblocking(true).unwrap();
        let is_refused = loop {
            assert!(began.elapsed() < HANG, "{} wait", waiting.len());
            if client.stream.peek(&mut [0]).is_ok() {
                break true;
            }
            whole += POLL.len() as u64;
            if server.counter("tare_origin_received_bytes_total") >= whole {
                break false;
            }
        };
        client.stream.set_nonblocking(false).unwrap();
        match is_refused {
            true => return (waiting, client),
            false => waiting.push(client),
        }
    }
}

/// At least two of a mebibyte each fit, whatever a buffer doubles to, and no more than the limit and an eighth.
fn are_as_many_as_fit(waiting: &[Client]) {
    assert!((2..=5).contains(&waiting.len()), "{}", waiting.len());
}

#[test]
fn a_body_to_echo_beyond_the_buffers_of_all_connections_is_refused_until_others_have_ended() {
    let server = server(ServerProtocol::Http1);
    let start = b"POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: 8388608\r\n\r\n";
    let (waiting, mut refused) = until_one_is_refused(&server, start);
    are_as_many_as_fit(&waiting);
    let answer = refused.answer();
    assert_eq!(answer.status, 503);
    assert!(
        answer.text().contains("buffers are full"),
        "{}",
        answer.text()
    );
    // Others are served, those that ask for memory excepted.
    assert_eq!(server.connect().get("/?size=100000").body.len(), 100_000);
    let echo = || {
        let mut client = server.connect();
        client.send(b"POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: 1572864\r\n\r\n");
        client.send(&[b'x'; 3 * MIB / 2]);
        client.answer().status
    };
    assert_eq!(echo(), 503);
    drop(waiting);
    let began = Instant::now();
    while echo() != 200 {
        assert!(began.elapsed() < HANG, "nothing became free");
    }
}

#[test]
fn a_mongodb_message_beyond_the_buffers_of_all_connections_is_refused() {
    let server = server(ServerProtocol::Mongodb);
    let mut start = vec![0; 16];
    start[..4].copy_from_slice(&(8 * MIB as u32).to_le_bytes());
    start[12..].copy_from_slice(&2013_u32.to_le_bytes());
    let (waiting, mut refused) = until_one_is_refused(&server, &start);
    are_as_many_as_fit(&waiting);
    let answer = String::from_utf8_lossy(&refused.rest()).into_owned();
    assert!(answer.contains("buffers are full"), "{answer}");
}

#[test]
fn what_arrives_during_a_stall_and_is_more_than_the_buffers_of_all_connections_is_refused() {
    let server = limited_to(65 << 10, ServerProtocol::Http1);
    let mut client = server.connect();
    client.send(b"POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: 1048576\r\n\r\n");
    let planned = server.connect().get("/control/stall?for=300ms");
    assert_eq!(planned.status, 200);
    // Received in one turn of the connection after the stall.
    client.send(&[b'x'; MIB]);
    let answer = client.answer();
    assert_eq!(answer.status, 503, "{}", answer.text());
}
