//! `tare load` against `tare origin`, both as users start them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use rig::{finish, origin, stderr, stdout, tare, turn};
use tare_stats::{Latencies, hlog};

const LIMIT: Duration = Duration::from_secs(60);

/// Observations above `from_ms` and up to `to_ms`.
fn between(latencies: &Latencies, from_ms: u64, to_ms: u64) -> u64 {
    latencies
        .buckets()
        .filter(|(low_ns, _, _)| (from_ms..to_ms).contains(&(low_ns / 1_000_000)))
        .map(|(_, _, count)| count)
        .sum()
}

#[test]
fn a_stall_of_a_second_is_felt_by_a_thousand_and_served_slowly_once_per_connection() {
    let _turn = turn();
    let (_origin, address) = origin(&["--stall", "1s@2s"]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("latency.hlog");
    let url = format!("http://{address}/");
    let mut load = tare(&["load", &url, "--rate", "1000", "--duration", "4s"]);
    load.args([
        "--connections",
        "10",
        "--json",
        "--hlog",
        log.to_str().unwrap(),
    ]);
    let output = finish(&mut load, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        found["result"]["right"], 4000,
        "every one is answered in the end"
    );

    let log = BufReader::new(File::open(log).unwrap());
    let tags = hlog::read_merged(log, Duration::ZERO..Duration::MAX).unwrap();
    let of = |end: &str| tags.iter().find(|(tag, _)| tag.ends_with(end)).unwrap().1;
    // Due during the stall: one each millisecond, waiting from a second down to nothing.
    let quarters: Vec<u64> = [(0, 250), (250, 500), (500, 750), (750, 1100)]
        .map(|(from, to)| between(of(".felt"), from.max(20), to))
        .into();
    let slow: u64 = quarters.iter().sum();
    assert!((900..=1200).contains(&slow), "{quarters:?}");
    for quarter in &quarters {
        assert!((180..=420).contains(quarter), "{quarters:?}");
    }
    let served_slowly = between(of(".service"), 250, 10_000);
    assert!((1..=10).contains(&served_slowly), "{served_slowly}");
}

#[test]
fn public_addresses_are_refused_with_the_way_to_allow_them() {
    let output = finish(
        &mut tare(&["load", "http://192.0.2.1/", "--duration", "1s"]),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--allow-public-target"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_rate_that_is_not_reached_is_said_and_fails_where_it_is_required() {
    let _turn = turn();
    // One connection and 20 ms an answer: fifty a second is all there is.
    let (_origin, address) = origin(&["--answer", "delay=20ms"]);
    let url = format!("http://{address}/");
    let run = |more: &[&str]| {
        let mut load = tare(&["load", &url, "--rate", "500", "--duration", "1s"]);
        load.args(["--connections", "1", "--timeout", "1s"])
            .args(more);
        finish(&mut load, LIMIT)
    };
    let lenient = run(&[]);
    assert_eq!(lenient.status.code(), Some(0), "{}", stderr(&lenient));
    assert!(
        stdout(&lenient).to_lowercase().contains("not reached"),
        "{}",
        stdout(&lenient)
    );
    assert_eq!(run(&["--require-rate"]).status.code(), Some(1));
}
