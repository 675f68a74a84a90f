//! What a link does to round trips and to one TCP stream, as JSON on standard output: the way `bench/link` measures it.
//!
//! `distance WAY_JSON SECONDS [usual]`: a way as in a link's plan (`{"delay_ns": 12000000, …}`), the seconds of the stream.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program for a bench may end by panicking"
)]

#[path = "../tests/rig/mod.rs"]
mod rig;

use std::fs;
use std::os::fd::AsFd;
use std::time::Duration;

use rig::{Pair, permitted};
use serde_json::{Value, json};
use tare_net::link::{Scheduling, WayPlan, connected, round_trips, throughput, widen};

/// 2 Gbit/s over 250 ms.
const WINDOW_BYTES: u64 = 64 << 20;
/// As many as a 99th percentile needs.
const ECHOES: u64 = 1050;

fn main() {
    let mut words = std::env::args().skip(1);
    let way = words
        .next()
        .expect("a way as JSON, such as {\"delay_ns\": 12000000}");
    let way: Value = serde_json::from_str(&way).expect("JSON");
    let number = |key: &str| way.get(key).and_then(Value::as_u64);
    let way = WayPlan {
        delay_ns: number("delay_ns").unwrap_or_default(),
        jitter_ns: number("jitter_ns").unwrap_or_default(),
        rate_bits_per_s: number("rate_bits_per_s"),
        queue_bytes: number("queue_bytes").unwrap_or_default(),
        loss: way.get("loss").and_then(Value::as_f64).unwrap_or_default(),
    };
    let seconds: f64 = words.next().expect("seconds").parse().expect("seconds");
    let scheduling = match words.next().as_deref() {
        Some("usual") => Scheduling::Usual,
        _ => Scheduling::First,
    };
    assert!(permitted(), "this needs root");
    let pair = Pair::scheduled(&way, scheduling);
    for namespace in [&pair.a, &pair.b] {
        widen(namespace.as_fd(), WINDOW_BYTES).unwrap();
    }
    let trips = round_trips(pair.path(), ECHOES).unwrap();
    let after_trips = (pair.link.counts(), link_cpu_ns());
    let (near, far) = connected(pair.path()).unwrap();
    let carried = throughput(near, far, Duration::from_secs_f64(seconds)).unwrap();
    let stream_cpu_ns = link_cpu_ns() - after_trips.1;
    let found = json!({
        "scheduled": pair.link.scheduled(),
        "round_trips": trips,
        "bits_per_s": carried.bits_per_s(),
        "stream_link_cores": stream_cpu_ns as f64 / 1e9 / seconds,
        "counts_after_trips": after_trips.0,
        "counts": pair.link.counts(),
    });
    println!("{found}");
}

/// CPU time of the link's own threads so far.
fn link_cpu_ns() -> u64 {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .filter(|task| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("link-"))
        })
        .filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_ascii_whitespace().next()?.parse::<u64>().ok()
        })
        .sum()
}
