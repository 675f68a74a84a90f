//! Where connections lead over real sockets: Unix sockets, headers of the PROXY protocol, names with dead addresses, redirects.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

mod rig;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use rig::{OK, Server, measure, plan};
use tare_record::load::{ClientSpec, ProxyProtocol, Stop};

#[test]
fn a_load_goes_to_a_unix_socket_whatever_the_address() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("server");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut part = [0; 4096];
                while stream.read(&mut part).is_ok_and(|count| count > 0) {
                    stream.write_all(OK).unwrap();
                }
            });
        }
    });
    // Not allowed, and nobody answers there.
    let mut plan = plan("192.0.2.1:9".parse().unwrap());
    plan.load.connections.unix_socket = Some(path.to_str().unwrap().to_owned());
    let result = measure(&plan).result;
    assert_eq!(
        (result.ok, result.errors),
        (100, 0),
        "{:?}",
        result.outcomes
    );
    assert_eq!(result.connections.opened, 2);
    plan.load.connections.unix_socket = Some(place.path().join("none").display().to_string());
    let refused = rig::try_measure(&plan).unwrap_err().to_string();
    assert!(refused.contains("none: connection refused"), "{refused}");
}

#[test]
fn each_connection_begins_with_a_header_of_the_proxy_protocol() {
    for (version, length) in [(ProxyProtocol::V1, None), (ProxyProtocol::V2, Some(28))] {
        let server = Server::start(move |conn| {
            let client = conn.stream.peer_addr().unwrap();
            let mut reader = BufReader::new(conn.stream.try_clone().unwrap());
            let mut header = Vec::new();
            match length {
                None => {
                    reader.read_until(b'\n', &mut header).unwrap();
                    let expected = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} ", client.port());
                    assert!(header.starts_with(expected.as_bytes()));
                }
                Some(length) => {
                    header.resize(length, 0);
                    reader.read_exact(&mut header).unwrap();
                    assert_eq!(header[24..26], client.port().to_be_bytes());
                }
            }
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
                if line.ends_with("\r\n\r\n") {
                    assert!(line.starts_with("GET / HTTP/1.1\r\n"));
                    line.clear();
                    conn.stream.write_all(OK).unwrap();
                }
            }
        });
        let mut plan = plan(server.address);
        plan.load.connections.proxy_protocol = Some(version);
        let result = measure(&plan).result;
        assert_eq!(result.ok, 100, "{version:?}: {:?}", result.outcomes);
    }
}

#[test]
fn a_name_with_a_dead_address_is_served_by_the_other_and_the_dead_one_is_named() {
    let server = Server::answering(OK);
    let dead = TcpListener::bind("127.0.0.2:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for connections in [1, 8] {
        let mut plan = plan(dead);
        plan.endpoint.addresses.push(server.address);
        plan.load.client = ClientSpec::new("http1", connections);
        plan.load.stop = Stop::Count { exchanges: 50 };
        let result = measure(&plan).result;
        assert_eq!((result.ok, result.errors), (50, 0), "{:?}", result.outcomes);
        assert_eq!(result.connections.opened, u64::from(connections));
        let [failed] = &result.failed_addresses[..] else {
            panic!("{:?}", result.failed_addresses);
        };
        assert_eq!((failed.address, failed.class.as_str()), (dead, "refused"));
        assert_eq!(failed.count, result.connections.failed);
    }
}

#[test]
fn redirects_are_counted_with_the_place_of_the_first_whether_they_are_successful_or_not() {
    let moved = b"HTTP/1.1 301 Moved\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n";
    let server = Server::answering(moved);
    let mut plan = plan(server.address);
    for (expected, ok) in [
        (tare_record::load::ExpectStatus::Success, 100),
        (tare_record::load::ExpectStatus::Exactly(200), 0),
    ] {
        plan.load.requests[0].expect.status = expected;
        let result = measure(&plan).result;
        assert_eq!(result.ok, ok);
        let redirects = result.redirects.unwrap();
        assert_eq!(redirects.count, 100);
        assert_eq!(redirects.location.as_deref(), Some("https://elsewhere/"));
    }
    let server = Server::answering(OK);
    assert_eq!(measure(&rig::plan(server.address)).result.redirects, None);
}
