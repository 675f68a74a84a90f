//! Records timed from their intended sending to their arrival: none is left out, and the linger is in it.

use tare_load::LoadOutcome;
use tare_record::load::{FetchDecode, FetchFrom, FetchUntil, Pacing};

use crate::bed::{
    Running, S, Stand, bed, consumer, count, fetch, produce, producer, records, run, written,
};

const RUN: u64 = 0x00c0_ffee;

/// Writes so many records with their times and reads them; what the reader leaves.
fn timed(topic: &str, rate_per_s: f64, total: u64, linger_ns: u64) -> LoadOutcome {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic(topic, &[]);
    written(&plain, topic, 1000);
    let mut reading = consumer(&plain, topic);
    let mut spec = fetch(&mut reading);
    spec.from = FetchFrom::End;
    spec.decode = FetchDecode::Timestamps { run: RUN };
    spec.until = FetchUntil {
        records: Some(total),
        backlog: false,
        idle_ns: None,
    };
    drop(spec);
    let reading = Running::start(reading);
    reading.ready();
    // Of another run: read, and not counted.
    written(&plain, topic, 300);
    let mut writing = producer(&plain, topic, Pacing::Constant { rate_per_s }, total);
    produce(&mut writing).timestamp_run = Some(RUN);
    produce(&mut writing).linger_ns = linger_ns;
    assert_eq!(run(&writing).unwrap().result.ok, total);
    let outcome = reading.outcome().unwrap();
    assert_eq!(records(&outcome), total);
    assert_eq!(count(&outcome, "records-of-other-runs"), 300);
    outcome
}

#[test]
fn every_record_has_its_time_and_parts_of_a_millisecond_are_kept() {
    let outcome = timed("timed", 4000.0, 8000, 0);
    let ages = outcome.sum(|tag| tag.quantity == "end-to-end").unwrap();
    assert_eq!(ages.count(), 8000, "none is left out");
    let log = &outcome.result.latency_hlog;
    assert!(log.contains("end-to-end"), "the log has them");
    let shortest = ages.min_ns().unwrap();
    // With whole milliseconds there would be as many values as milliseconds.
    let longest = ages.max().map_or(0, |max| match max {
        tare_stats::Quantile::Exact(ns) | tare_stats::Quantile::Above(ns) => ns,
        tare_stats::Quantile::TooFew => 0,
    });
    assert!(
        shortest > 0 && shortest < longest,
        "{shortest} to {longest}"
    );
    assert!(!shortest.is_multiple_of(1_000_000), "{shortest}");
}

#[test]
fn what_a_record_waits_for_its_batch_is_in_its_time() {
    let linger_ns = 400 * (S / 1000);
    let outcome = timed("lingering", 1000.0, 2000, linger_ns);
    let ages = outcome.sum(|tag| tag.quantity == "end-to-end").unwrap();
    assert_eq!(ages.count(), 2000);
    // Each batch holds what came in 400 ms: its records waited from nothing to that, half of them for half of it.
    let median = ages.quantile(0.5);
    assert!(
        matches!(median, tare_stats::Quantile::Exact(ns) if ns > linger_ns / 4),
        "{median:?}"
    );
}
