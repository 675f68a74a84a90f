//! Our BSON against the crate `bson`, on documents like Acme Air's: check what came in, look for one field, write the answer of a find.
//! `cargo run --release -p tare-mongo --example bson`; nothing is measured by ./test.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use bson::raw::{RawArrayBuf, RawDocument, RawDocumentBuf, cstr};
use tare_mongo::bson::{Doc, Value, document};

const DOCUMENTS: usize = 10_000;
const ROUNDS: usize = 9;

/// A booking.
fn booking(number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    document(&mut out, |w| {
        w.str("_id", &format!("7f3c2a10-5b7e-4c1d-9a55-{number:012}"))
            .str("customerId", &format!("uid{}@email.com", number % 200))
            .str("flightId", &format!("2026-11-21-{:04}", number % 394))
            .str("flightSegmentId", &format!("AA{}", number % 394))
            .value("dateOfBooking", Value::Date(1_795_264_496_789));
    });
    out
}

fn ours(bytes: &[u8], wanted: &str, out: &mut Vec<u8>) -> bool {
    let doc = Doc::check(bytes).unwrap();
    let is_found = doc.get("customerId").and_then(|value| value.as_str()) == Some(wanted);
    document(out, |w| {
        w.doc("cursor", |w| {
            w.array("firstBatch", |a| {
                a.value(Value::Document(doc));
            });
            w.i64("id", 0).str("ns", "acmeair.booking");
        });
        w.f64("ok", 1.0);
    });
    is_found
}

fn theirs(bytes: &[u8], wanted: &str, out: &mut Vec<u8>) -> bool {
    let doc = RawDocument::from_bytes(bytes).unwrap();
    // `from_bytes` looks at the frame only; `Doc::check` at every element.
    assert!(doc.iter().all(|element| element.is_ok()));
    let is_found = doc.get_str("customerId").ok() == Some(wanted);
    let mut batch = RawArrayBuf::new();
    batch.push(doc);
    let mut cursor = RawDocumentBuf::new();
    cursor.append(cstr!("firstBatch"), batch);
    cursor.append(cstr!("id"), 0_i64);
    cursor.append(cstr!("ns"), "acmeair.booking");
    let mut reply = RawDocumentBuf::new();
    reply.append(cstr!("cursor"), cursor);
    reply.append(cstr!("ok"), 1.0);
    out.extend_from_slice(reply.as_bytes());
    is_found
}

fn main() {
    type Run = fn(&[u8], &str, &mut Vec<u8>) -> bool;
    let runs: [(&str, Run); 2] = [("ours", ours), ("bson", theirs)];
    let documents: Vec<Vec<u8>> = (0..DOCUMENTS).map(booking).collect();
    let mut out = Vec::new();
    for (name, run) in [runs; ROUNDS].concat() {
        let began = Instant::now();
        let mut found = 0;
        for bytes in &documents {
            out.clear();
            found += usize::from(run(black_box(bytes), "uid7@email.com", &mut out));
        }
        let ns = began.elapsed().as_nanos() / DOCUMENTS as u128;
        println!("{name} {ns} ns each, {found} found, {} bytes", out.len());
    }
}
