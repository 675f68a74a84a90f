//! Right requests in unusual shapes, and wrong ones.

use proptest::prelude::*;
use tare_origin::{Limits, OriginOptions, expected_body};

use crate::rig::Server;

#[test]
fn a_request_byte_by_byte_is_a_request() {
    let server = Server::plain();
    let mut client = server.connect();
    let request =
        b"POST /echo HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for _ in 0..2 {
        for byte in request {
            client.send(&[*byte]);
        }
        assert_eq!(client.answer().text(), "hi");
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let server = Server::plain();
    let mut client = server.connect();
    let requests: String = (0..2000)
        .map(|size| format!("GET /?size={size} HTTP/1.1\r\nHost: o\r\n\r\n"))
        .collect();
    let mut sender = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        std::io::Write::write_all(&mut sender, requests.as_bytes()).unwrap();
    });
    for size in 0..2000 {
        assert_eq!(client.answer().body.len(), size);
    }
    sending.join().unwrap();
}

#[test]
fn a_client_that_does_not_read_stops_being_read_and_loses_nothing() {
    let server = Server::plain();
    let mut client = server.connect();
    // 64 MB of answers do not fit in any socket buffer: the server has to wait for the client.
    client.send(
        "GET /?size=4000000 HTTP/1.1\r\nHost: o\r\n\r\n"
            .repeat(16)
            .as_bytes(),
    );
    assert_eq!(server.connect().get("/").status, 200, "others are served");
    for _ in 0..16 {
        assert!(client.answer().body == expected_body(4_000_000));
    }
}

#[test]
fn a_head_request_gets_the_head_only() {
    let server = Server::plain();
    let mut client = server.connect();
    client.send(b"HEAD /?size=7 HTTP/1.1\r\nHost: o\r\n\r\n");
    let (status, head) = client.head();
    assert!(status == 200 && head.contains("Content-Length: 7\r\n"));
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn http_1_0_closes_unless_asked_to_keep_alive() {
    let server = Server::plain();
    let mut client = server.connect();
    client.send(b"GET /?size=1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("keep-alive"));
    client.send(b"GET /?size=3&body=chunked HTTP/1.0\r\n\r\n");
    let answer = client.answer();
    assert_eq!(
        (answer.header("transfer-encoding"), answer.text()),
        (None, "abc".into())
    );
    assert!(client.rest().is_empty());
}

#[test]
fn a_client_that_says_close_is_closed() {
    let server = Server::plain();
    let mut client = server.connect();
    client.send(b"GET / HTTP/1.1\r\nHost: o\r\nConnection: foo, Close\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("close"));
    assert!(client.rest().is_empty());
}

#[test]
fn a_client_that_half_closes_gets_its_answers() {
    let server = Server::plain();
    let mut client = server.connect();
    client.send(
        "GET /?delay=20ms HTTP/1.1\r\nHost: o\r\n\r\n"
            .repeat(2)
            .as_bytes(),
    );
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!((client.answer().status, client.answer().status), (200, 200));
    assert!(client.rest().is_empty());
}

#[test]
fn expect_continue_is_confirmed_before_the_body() {
    let server = Server::plain();
    let mut client = server.connect();
    client.send(
        b"POST /echo HTTP/1.1\r\nHost: o\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    );
    assert_eq!(client.head().0, 100);
    client.send(b"hi");
    assert_eq!(client.answer().text(), "hi");
}

#[test]
fn malformed_requests_are_answered_and_closed() {
    let big_head = format!("GET / HTTP/1.1\r\nHost: o\r\nX: {}", "x".repeat(70_000));
    let many = format!(
        "GET / HTTP/1.1\r\nHost: o\r\n{}\r\n",
        "A: b\r\n".repeat(200)
    );
    let post = "POST /echo HTTP/1.1\r\nHost: o\r\n";
    let table: Vec<(String, u16)> = vec![
        ("rubbish\r\n\r\n".into(), 400),
        ("GET / HTTP/2.0\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\nHost: o\r\nA b: c\r\n\r\n".into(), 400),
        (
            "GET / HTTP/1.1\r\nHost: o\r\nA: b\r\n folded\r\n\r\n".into(),
            400,
        ),
        ("GET / HTTP/1.1\r\nHost: \0\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(), 400),
        (format!("{post}Content-Length: x\r\n\r\n"), 400),
        (format!("{post}Content-Length: +1\r\n\r\n"), 400),
        (
            format!("{post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            400,
        ),
        (
            format!("{post}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400,
        ),
        (format!("{post}Transfer-Encoding: gzip\r\n\r\n"), 501),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            400,
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\n2\r\nhiX\r\n"),
            400,
        ),
        (format!("{post}Content-Length: 99999999999\r\n\r\n"), 413),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n"),
            413,
        ),
        (
            format!(
                "{post}Transfer-Encoding: chunked\r\n\r\n1;{}",
                "x".repeat(66_000)
            ),
            400,
        ),
        (big_head, 431),
        (many, 431),
    ];
    let server = Server::plain();
    for (request, status) in &table {
        let mut client = server.connect();
        client.send(request.as_bytes());
        let answer = client.answer();
        let shown = &request[..request.len().min(60)];
        assert_eq!(
            (answer.status, answer.header("connection")),
            (*status, Some("close")),
            "{shown:?}"
        );
        assert!(client.rest().is_empty());
    }
    assert_eq!(server.stop().malformed, table.len() as u64);
}

#[test]
fn the_body_limit_is_the_options() {
    let limits = Limits {
        body_bytes_max: 3,
        ..Limits::default()
    };
    let server = Server::start(OriginOptions {
        limits,
        ..OriginOptions::default()
    });
    let mut client = server.connect();
    client.send(b"POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.answer().status, 200);
    client.send(b"POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: 4\r\n\r\nabcd");
    assert_eq!(client.answer().status, 413);
}

#[test]
fn malformed_input_of_any_kind_leaves_the_server_serving() {
    let server = Server::plain();
    let token = prop::sample::select(vec![
        &b"GET / HTTP/1.1\r\n"[..],
        b"POST /echo HTTP/1.1\r\n",
        b"Host: o\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n",
        b"\n",
        b"\0",
        b"abc",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"Tare-Behaviour: status=503\r\n",
    ]);
    let any_bytes = prop::collection::vec(any::<u8>(), 0..20);
    let piece = prop_oneof![6 => token.prop_map(<[u8]>::to_vec), 1 => any_bytes];
    let stream = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    proptest!(ProptestConfig::with_cases(300), |(stream in stream, cut in any::<prop::sample::Index>())| {
        let mut client = server.connect();
        let (first, second) = stream.split_at(cut.index(stream.len() + 1));
        client.send(first);
        // The server may have ended the connection already: what matters is that it serves on.
        let _ = std::io::Write::write_all(&mut client.stream, second);
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        let _ = std::io::Read::read_to_end(&mut client.stream, &mut Vec::new());
        prop_assert_eq!(server.connect().get("/ready").status, 200);
    });
}
