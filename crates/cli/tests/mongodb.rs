//! `tare load mongodb://` over real sockets: against the database in memory, over TLS by name, and when it goes wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use rig::{finish, origin, stderr, stdout, tare};
use tare_record::load_report::LoadReport;

const LIMIT: Duration = Duration::from_secs(60);

fn load(url: &str, more: &[&str]) -> LoadReport {
    let (report, output) = rig::load(url, &[more, &["--no-calibrate"]].concat(), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    report
}

/// A page of the server: the same port speaks HTTP to whoever does.
fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn operations(page: &str, kind: &str, name: &str) -> u64 {
    let wanted = format!("tare_origin_mongodb_{kind}_total{{operation=\"{name}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&wanted));
    line.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn every_operation_arrives_once_and_succeeds() {
    let (_origin, address) = origin(&[]);
    let more = [
        "--count",
        "3000",
        "--clients",
        "4",
        "--mongodb-documents",
        "1200",
        "--mongodb-mix",
        "find=5,insert=2,update=2,delete=1",
    ];
    let report = load(&format!("mongodb://{address}/shop.cart"), &more);
    let result = &report.result;
    assert_eq!((result.ok, result.errors, result.unfinished), (3000, 0, 0));
    assert_eq!(result.connections.opened, 4);
    let page = page(&address);
    for name in ["find", "update", "delete"] {
        let sent = result.by_request[name];
        assert!(sent.sent > 100 && sent.sent == sent.ok, "{name}: {sent:?}");
        assert_eq!(operations(&page, "operations", name), sent.sent, "{name}");
    }
    // Three more messages put the documents there.
    let inserted = result.by_request["insert"].sent;
    assert_eq!(operations(&page, "operations", "insert"), inserted + 3);
    assert_eq!(operations(&page, "failed_operations", "insert"), 0);
    // A second load finds them: they stay, and nothing is wrong with that.
    let again = load(&format!("mongodb://{address}/shop.cart"), &more);
    assert_eq!((again.result.ok, again.result.errors), (3000, 0));
}

#[test]
fn at_a_rate_as_many_operations_are_made_as_were_asked_for() {
    let (_origin, address) = origin(&[]);
    let more = [
        "--rate",
        "1000",
        "--duration",
        "1s",
        "--connections",
        "8",
        "--mongodb-documents",
        "100",
    ];
    let result = load(&format!("mongodb://{address}"), &more).result;
    assert_eq!((result.intended, result.ok, result.errors), (1000, 1000, 0));
    assert_eq!(result.connections.opened, 8);
}

#[test]
fn over_tls_the_server_is_called_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let ca = ca.to_str().unwrap();
    let (_origin, address) = origin(&["--tls", "--ca-out", ca]);
    let port = address.rsplit(':').next().unwrap();
    let url = format!("mongodb://localhost:{port}/d.c?tls=true");
    let more = [
        "--count",
        "500",
        "--clients",
        "3",
        "--mongodb-documents",
        "50",
        "--cacert",
        ca,
    ];
    let result = load(&url, &more).result;
    assert_eq!((result.ok, result.errors), (500, 0));
    let handshakes: u64 = result.tls.iter().map(|tls| tls.full + tls.resumed).sum();
    assert_eq!(handshakes, 3);
    assert!(
        result.tls.iter().all(|tls| tls.seen.version == "1.3"),
        "{:?}",
        result.tls
    );
    // Without the authority nobody is trusted, and that is what is said.
    let mut refused = tare(&["load", &url, "--count", "10", "--no-calibrate"]);
    let output = finish(&mut refused, LIMIT);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("certificate"), "{said}");
}

/// The first bytes that a client sends.
fn first_bytes(url: impl Fn(u16) -> String, more: &[&str]) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 4096];
        // Without a timeout: a socket that has one is interrupted when a child of this process ends.
        let read = stream.read(&mut bytes).unwrap();
        bytes.truncate(read);
        bytes
    });
    let url = url(port);
    let mut command = tare(&[
        "load",
        &url,
        "--count",
        "1",
        "--clients",
        "1",
        "--timeout",
        "1s",
    ]);
    finish(command.arg("--no-calibrate").args(more), LIMIT);
    seen.join().unwrap()
}

#[test]
fn the_name_is_shown_to_whoever_routes_by_it() {
    let says = |bytes: &[u8], name: &str| bytes.windows(name.len()).any(|at| at == name.as_bytes());
    let of_url = first_bytes(|port| format!("mongodb://localhost:{port}/?tls=true"), &[]);
    assert!(says(&of_url, "localhost"));
    let other = ["--sni", "db.airline.example"];
    let asked = first_bytes(
        |port| format!("mongodb://127.0.0.1:{port}/?tls=true"),
        &other,
    );
    assert!(says(&asked, "db.airline.example"));
}

#[test]
fn what_the_database_refuses_is_an_error_of_the_target_with_its_words() {
    let (_origin, address) = origin(&["--answer", "p=0.5&status=500", "--seed", "3"]);
    let more = [
        "--count",
        "400",
        "--clients",
        "2",
        "--mongodb-mix",
        // A document that could not be put there before the load would be missed by every find.
        "insert=1",
    ];
    let mut command = tare(&[
        "load",
        &format!("mongodb://{address}"),
        "--json",
        "--no-calibrate",
    ]);
    let output = finish(command.args(more), LIMIT);
    let report: LoadReport = serde_json::from_str(&stdout(&output)).unwrap();
    let result = report.result;
    assert_eq!(result.ok + result.errors, 400);
    assert!((100..300).contains(&result.errors), "{}", result.errors);
    let wrong = result
        .outcomes
        .iter()
        .find(|outcome| outcome.class != "ok")
        .unwrap();
    assert_eq!(wrong.error_source, tare_record::agent::ErrorSource::Target);
    let example = wrong.example.as_deref().unwrap_or_default();
    assert!(example.contains("status=500"), "{wrong:?}");
}
