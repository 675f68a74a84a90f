//! A server that is stopped for a while: who waited because of it is arithmetic, on every protocol.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rig::{kill, metric, origin_with_counters, stderr, stdout, tare, turn, wait_for};
use tare_stats::{Latencies, hlog};

/// Requests a second.
const RATE: u64 = 1000;
/// Requests before the server is stopped.
const BEFORE: u64 = 500;
const LIMIT: Duration = Duration::from_secs(60);

/// Observations above this.
fn above(latencies: &Latencies, from_ms: u64) -> u64 {
    latencies
        .buckets()
        .filter(|(low_ns, _, _)| low_ns / 1_000_000 >= from_ms)
        .map(|(_, _, count)| count)
        .sum()
}

/// What a load met.
struct Met {
    /// The server was stopped for this at least.
    stopped_ms: u64,
    response: Latencies,
    latency: Latencies,
    service: Latencies,
    /// Other programs held up the generator: more than one release in a hundred was late by a tenth of that.
    held_up: bool,
}

/// Stops a process. One of its threads takes the signal, when it gets a core; until then the others go on.
fn stop(pid: u32) {
    kill(pid, "STOP");
    let is_stopped = |thread: &Path| {
        let stat = fs::read_to_string(thread.join("stat"));
        stat.is_ok_and(|stat| {
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('T'))
        })
    };
    wait_for(LIMIT, "stop", || {
        let mut threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads
            .all(|thread| is_stopped(&thread.unwrap().path()))
            .then_some(())
    });
}

/// Runs a load of 2 s and more, and stops the server in its midst.
fn stop_amid(scheme: &str, served: &[&str], load: &[&str], stall: Duration) -> Met {
    let (server, [address, counters]) = origin_with_counters(served);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("latency.hlog");
    let length = format!("{}ms", 2500 + stall.as_millis());
    let url = format!("{scheme}://{address}/");
    let child = tare(&["load", &url, "--rate", &RATE.to_string(), "-d", &length])
        .args(["--json", "--no-calibrate", "--hlog", log.to_str().unwrap()])
        .args(load)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(LIMIT, "requests", || {
        (metric(&counters, "requests") >= BEFORE).then_some(())
    });
    stop(server.0.id());
    std::thread::sleep(stall);
    kill(server.0.id(), "CONT");
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
    let lateness_ns = found["result"]["generator"]["lateness"]["p99_ns"].as_u64();
    Met {
        stopped_ms: stall.as_millis() as u64,
        held_up: u128::from(lateness_ns.unwrap()) > stall.as_nanos() / 10,
        response: of(".response"),
        latency: of(".latency"),
        service: of(".service"),
    }
}

/// Every start of the stall waited for its rest; only what was under way when it began was served slowly.
///
/// What waited for more than half of it counts. The exact arithmetic is in the engine's tests, on a virtual clock; this is what holds
/// on every machine. Intended instants do not move, so the least number of slow responses is known; how many more there are is the
/// machine's. A worker that the machine holds up releases late, and latency leaves that out: up to half of the slow ones may be missing
/// there. One that is held up for the first half of a stall sends nothing that is answered slowly: then nothing need be slow but responses.
fn is_arithmetic(met: &Met) {
    let stall_ms = met.stopped_ms;
    let least = RATE * stall_ms / 2 / 1000;
    let slow = |found| above(found, stall_ms / 2);
    let (responses, latencies, served) =
        (slow(&met.response), slow(&met.latency), slow(&met.service));
    let all = format!(
        "{responses} responses, {latencies} latencies, {served} service times above half of {stall_ms} ms"
    );
    assert!(responses >= least - least / 50, "{all}");
    let (released, fewest) = match met.held_up {
        true => (responses, 0),
        false => (latencies, 1),
    };
    assert!(released >= least / 2, "{all}");
    assert!((fewest..=released / 4).contains(&served), "{all}");
    let buckets = met.response.buckets().map(|(low_ns, _, _)| low_ns);
    let longest_ms = buckets.max().unwrap() / 1_000_000;
    assert!(
        longest_ms >= stall_ms - stall_ms / 50,
        "{longest_ms} ms for a stall of {stall_ms} ms"
    );
}

#[test]
fn stalls_of_half_a_second_one_and_three_seconds_are_waited_for_as_arithmetic_says() {
    let _turn = turn();
    for stall_ms in [500, 1000, 3000] {
        let stall = Duration::from_millis(stall_ms);
        let ten = ["--connections", "10"];
        is_arithmetic(&stop_amid("http", &[], &ten, stall));
    }
}

#[test]
fn a_stall_is_the_same_arithmetic_over_tls_and_on_shared_connections() {
    let _turn = turn();
    let stall = Duration::from_millis(1000);
    let over_tls = ["--insecure", "--connections", "10"];
    is_arithmetic(&stop_amid("https", &["--tls"], &over_tls, stall));
    let shared = ["--http2", "--connections", "4", "--streams", "8"];
    is_arithmetic(&stop_amid("http", &[], &shared, stall));
    let both = [&shared[..], &["--insecure"]].concat();
    is_arithmetic(&stop_amid("https", &["--tls"], &both, stall));
}
