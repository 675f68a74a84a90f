//! MongoDB's protocol: messages however they are cut, one database for all connections, faults; and its official driver.

use std::path::PathBuf;
use std::process::Command;

use tare_mongo::bson::{Doc, Value, Writer};
use tare_mongo::message::{Header, MESSAGE_BYTES_MAX, Message, write_msg};
use tare_origin::{BehaviourOverride, OriginOptions, ServerProtocol};

use crate::rig::{Client, Server};
use crate::tls;

fn server(overrides: &[&str], workers: usize) -> Server {
    Server::start(OriginOptions {
        protocol: ServerProtocol::Mongodb,
        workers,
        control: Some("127.0.0.1:0".parse().unwrap()),
        overrides: overrides
            .iter()
            .map(|text| BehaviourOverride::parse(text).unwrap())
            .collect(),
        ..OriginOptions::default()
    })
}

fn command(id: i32, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut sent = Vec::new();
    write_msg(&mut sent, id, 0, |w| {
        write(w);
        w.str("$db", "d");
    });
    sent
}

fn insert(id: i32) -> Vec<u8> {
    command(id, |w| {
        w.str("insert", "c").array("documents", |list| {
            list.doc(|w| {
                w.i32("_id", id);
            });
        });
    })
}

fn find() -> Vec<u8> {
    command(99, |w| {
        w.str("find", "c");
    })
}

/// The next answer: the request that it answers, and its document.
fn answer(client: &mut Client) -> (i32, Vec<u8>) {
    let head = client.exactly(16);
    let header = Header::read(&head, MESSAGE_BYTES_MAX).unwrap().unwrap();
    let whole = [head, client.exactly(header.length - 16)].concat();
    let Message::Msg(msg) = Message::read(&header, &whole).unwrap() else {
        panic!("no OP_MSG")
    };
    (header.response_to, msg.body.bytes().to_vec())
}

fn number(doc: &[u8], name: &str) -> Option<i64> {
    Doc::trusted(doc).get(name).and_then(|value| value.as_i64())
}

/// How many documents a find brought.
fn found(doc: &[u8]) -> usize {
    let cursor = Doc::trusted(doc).get("cursor").unwrap().as_doc().unwrap();
    let batch = cursor.get("firstBatch").unwrap().as_array().unwrap();
    batch.iter().count()
}

#[test]
fn a_server_of_everything_knows_the_database_s_protocol_by_the_first_bytes() {
    let server = Server::start(OriginOptions {
        workers: 1,
        ..OriginOptions::default()
    });
    // The first two bytes of a length decide nothing; so do those of a request.
    for cut in [1, 3, 4, 16, 20] {
        let mut client = server.connect();
        let sent = insert(cut);
        let (front, rest) = sent.split_at(cut as usize);
        client.send(front);
        client.send(rest);
        assert_eq!(number(&answer(&mut client).1, "n"), Some(1), "{cut}");
        let mut client = server.connect();
        let (front, rest) = b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n".split_at(cut as usize);
        client.send(front);
        client.send(rest);
        assert_eq!(client.answer().status, 200, "{cut}");
    }
    let mut client = server.connect();
    client.send(&find());
    assert_eq!(found(&answer(&mut client).1), 5);
}

#[test]
fn what_one_connection_inserts_the_others_find_whichever_worker_they_are_with() {
    let server = server(&[], 3);
    for id in 0..9 {
        let mut client = server.connect();
        client.send(&insert(id));
        assert_eq!(number(&answer(&mut client).1, "n"), Some(1));
        client.send(&find());
        let (to, all) = answer(&mut client);
        assert_eq!((to, found(&all)), (99, id as usize + 1));
    }
    let operations = |name| {
        server.counter(&format!(
            "tare_origin_mongodb_operations_total{{operation=\"{name}\"}}"
        ))
    };
    assert_eq!(
        (
            operations("insert"),
            operations("find"),
            operations("update")
        ),
        (9, 9, 0)
    );
    assert_eq!(server.stop().requests, 18);
}

#[test]
fn messages_are_answered_in_order_however_they_are_cut() {
    let server = server(&[], 1);
    let mut client = server.connect();
    let all: Vec<u8> = (0..30).flat_map(insert).collect();
    for pieces in [1, 7, all.len()] {
        for piece in all.chunks(pieces) {
            client.send(piece);
        }
        for id in 0..30 {
            assert_eq!(answer(&mut client).0, id);
        }
    }
    client.send(&find());
    assert_eq!(found(&answer(&mut client).1), 30);
}

#[test]
fn large_answers_to_many_requests_at_once_all_come() {
    let server = server(&[], 1);
    let mut client = server.connect();
    let text = "x".repeat(1 << 20);
    client.send(&command(1, |w| {
        w.str("insert", "c").array("documents", |list| {
            for id in 0..20 {
                list.doc(|w| {
                    w.i32("_id", id).str("text", &text);
                });
            }
        });
    }));
    assert_eq!(number(&answer(&mut client).1, "n"), Some(20));
    client.send(&find().repeat(8));
    for _ in 0..8 {
        // Documents of 16 MiB together; the rest is left for getMore.
        assert_eq!(found(&answer(&mut client).1), 15);
    }
}

#[test]
fn what_is_not_understood_is_refused_and_ends_the_connection() {
    let server = server(&[], 1);
    let mut unanswered = insert(4);
    unanswered[16] = 2;
    let mut compressed = insert(5);
    compressed[12..16].copy_from_slice(&2012_i32.to_le_bytes());
    let mut damaged = insert(6);
    damaged[25] = 0x77;
    for sent in [
        unanswered,
        compressed,
        damaged,
        b"GET / HTTP/1.1\r\nHost: o\r\n\r\n".to_vec(),
    ] {
        let mut client = server.connect();
        client.send(&sent);
        let (_, refused) = answer(&mut client);
        assert_eq!(Doc::trusted(&refused).get("ok"), Some(Value::Double(0.0)));
        assert!(client.rest().is_empty());
    }
    assert_eq!(server.counter("tare_origin_malformed_requests_total"), 4);
}

#[test]
fn faults_come_to_operations_and_not_to_the_hello() {
    let hello = command(1, |w| {
        w.i32("hello", 1);
    });
    let failing = server(&["status=503&delay=1ms"], 1);
    let mut client = failing.connect();
    client.send(&hello);
    assert_eq!(
        Doc::trusted(&answer(&mut client).1).get("ok"),
        Some(Value::Double(1.0))
    );
    client.send(&[find(), find()].concat());
    for _ in 0..2 {
        assert_eq!(number(&answer(&mut client).1, "code"), Some(8));
    }
    let failed = failing.counter("tare_origin_mongodb_failed_operations_total{operation=\"find\"}");
    assert_eq!(failed, 2);

    let closing = server(&["close"], 1);
    let mut client = closing.connect();
    client.send(&[find(), find()].concat());
    assert_eq!(found(&answer(&mut client).1), 0);
    assert!(client.rest().is_empty());
}

/// The driver, by the ordinary client of its registry, into the cache.
fn pymongo() -> PathBuf {
    const PACKAGE: &str = "pymongo==4.20.0";
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = folder("TARE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("tare")))
        .unwrap_or_else(|| folder("HOME").unwrap().join(".cache/tare"));
    let folder = cache.join("peers").join(PACKAGE.replace("==", "-"));
    if !folder.join("pymongo").is_dir() {
        let made = cache.join(format!("peers/pymongo-{}", std::process::id()));
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--target",
        ];
        let status = Command::new("python3")
            .args(pip)
            .arg(&made)
            .arg(PACKAGE)
            .status();
        assert!(status.unwrap().success(), "pip should install {PACKAGE}");
        // Whoever is first has it; a second one is as good.
        let _ = std::fs::rename(&made, &folder);
    }
    folder
}

/// Every step that the script takes is checked by it: inserts, finds, indexes, updates, deletes, groups, cursors, refusals.
#[test]
fn the_official_driver_works_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let server = tls::server(ServerProtocol::Mongodb, tls::made(&folder));
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/origin/driver.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(format!(
            "mongodb://localhost:{}/?tls=true",
            server.address.port()
        ))
        .arg(folder.path().join("ca.pem"))
        .env("PYTHONPATH", pymongo())
        .output()
        .unwrap();
    let said = tls::text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("steps passed: 11"), "{said}");
    assert!(server.counter("tare_origin_tls_handshakes_total") > 0);
    assert_eq!(server.counter("tare_origin_malformed_requests_total"), 0);
}
