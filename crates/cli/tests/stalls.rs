//! A server that is stopped for a while: who waited because of it is arithmetic, on every protocol.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs::File;
use std::io::BufReader;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rig::{kill, origin, stderr, stdout, tare, turn};
use tare_stats::{Latencies, hlog};

/// Requests a second.
const RATE: u64 = 1000;
/// What is under this is not counted as slow: a busy machine does that without a stall.
const SLOW_MS: u64 = 60;
/// Slower than anything here.
const FOREVER_MS: u64 = 60_000;

/// Observations above `from_ms` and up to `to_ms`.
fn between(latencies: &Latencies, from_ms: u64, to_ms: u64) -> u64 {
    latencies
        .buckets()
        .filter(|(low_ns, _, _)| (from_ms..to_ms).contains(&(low_ns / 1_000_000)))
        .map(|(_, _, count)| count)
        .sum()
}

/// What a load met: how long the server was stopped really, and its histograms.
struct Met {
    stopped_ms: u64,
    felt: Latencies,
    service: Latencies,
}

/// Runs a load of 2 s and more, and stops the server in its midst.
fn stop_amid(scheme: &str, served: &[&str], load: &[&str], stall: Duration) -> Met {
    let (server, address) = origin(served);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("latency.hlog");
    let length = format!("{}ms", 2500 + stall.as_millis());
    let url = format!("{scheme}://{address}/");
    let child = tare(&["load", &url, "--rate", &RATE.to_string(), "-d", &length])
        .args(["--json", "--hlog", log.to_str().unwrap()])
        .args(load)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Wherever in the load it comes: calibration and connecting take their time before.
    std::thread::sleep(Duration::from_millis(2000));
    let begun = Instant::now();
    kill(server.0.id(), "STOP");
    std::thread::sleep(stall);
    kill(server.0.id(), "CONT");
    let stopped_ms = begun.elapsed().as_millis() as u64;
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&found["result"]["errors"], &found["result"]["unfinished"]),
        (&0.into(), &0.into()),
        "every one is answered in the end"
    );
    let log = BufReader::new(File::open(log).unwrap());
    let tags = hlog::read_merged(log, Duration::ZERO..Duration::MAX).unwrap();
    let of = |end: &str| {
        let found = tags.iter().find(|(tag, _)| tag.ends_with(end));
        found.unwrap().1.clone()
    };
    Met {
        stopped_ms,
        felt: of(".felt"),
        service: of(".service"),
    }
}

/// Every arrival of the stall waited for its rest; only what was under way when it began was served slowly.
fn is_arithmetic(met: &Met, under_way_max: u64) {
    let expected = RATE * met.stopped_ms.saturating_sub(SLOW_MS) / 1000;
    let slow = between(&met.felt, SLOW_MS, FOREVER_MS);
    // After a stall the queue of it has to be worked off, which a busy machine does slowly.
    let most = expected + expected / 5 + 120;
    assert!(
        (expected - expected / 10..=most).contains(&slow),
        "{slow} felt a stall of {} ms, expected about {expected}",
        met.stopped_ms
    );
    let longest_ms = met
        .felt
        .buckets()
        .map(|(low_ns, _, _)| low_ns)
        .max()
        .unwrap()
        / 1_000_000;
    assert!(
        (met.stopped_ms - met.stopped_ms / 10..=met.stopped_ms + 500).contains(&longest_ms),
        "{longest_ms} ms for a stall of {} ms",
        met.stopped_ms
    );
    let served_slowly = between(&met.service, met.stopped_ms / 2, FOREVER_MS);
    assert!(
        (1..=under_way_max).contains(&served_slowly),
        "{served_slowly} served slowly"
    );
}

#[test]
fn stalls_of_a_fifth_of_a_second_one_and_three_seconds_are_felt_as_arithmetic_says() {
    let _turn = turn();
    for stall_ms in [200, 1000, 3000] {
        let stall = Duration::from_millis(stall_ms);
        let met = stop_amid("http", &[], &["--connections", "10"], stall);
        is_arithmetic(&met, 10);
    }
}

#[test]
fn a_stall_is_the_same_arithmetic_over_tls_and_on_shared_connections() {
    let _turn = turn();
    let stall = Duration::from_millis(1000);
    let over_tls = ["--insecure", "--connections", "10"];
    is_arithmetic(&stop_amid("https", &["--tls"], &over_tls, stall), 10);
    let shared = ["--http2", "--connections", "4", "--streams", "8"];
    is_arithmetic(&stop_amid("http", &[], &shared, stall), 32);
    let both = [&shared[..], &["--insecure"]].concat();
    is_arithmetic(&stop_amid("https", &["--tls"], &both, stall), 32);
}
