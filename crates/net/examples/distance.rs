//! What a link does to round trips and to one TCP stream, as JSON on standard output: the way `bench/link` measures it.
//!
//! `distance WAY_JSON SECONDS [default] [LINKS]`: a way as in a link's plan (`{"delay_ns": 12000000, …}`), the seconds of the stream. With
//! several links (at most 16) there is one stream over each, all at once.
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
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rig::{Pair, permitted};
use serde_json::{Value, json};
use tare_net::link::{
    CountsPerDirection, DirectionPlan, Pool, Scheduling, connected, raise_tcp_buffers, round_trips,
    throughput,
};

/// 2 Gbit/s over 250 ms.
const WINDOW_BYTES: u64 = 64 << 20;
/// As many as a 99th percentile needs.
const ECHOES: u64 = 1050;
const LINKS_MAX: usize = 16;

fn main() {
    let mut words = std::env::args().skip(1);
    let way = words
        .next()
        .expect("a way as JSON, such as {\"delay_ns\": 12000000}");
    let way: Value = serde_json::from_str(&way).expect("JSON");
    let number = |key: &str| way.get(key).and_then(Value::as_u64);
    let way = DirectionPlan {
        delay_ns: number("delay_ns").unwrap_or_default(),
        jitter_ns: number("jitter_ns").unwrap_or_default(),
        rate_bits_per_s: number("rate_bits_per_s"),
        queue_bytes: number("queue_bytes").unwrap_or_default(),
        loss: way.get("loss").and_then(Value::as_f64).unwrap_or_default(),
    };
    let seconds: f64 = words.next().expect("seconds").parse().expect("seconds");
    let (mut scheduling, mut links) = (Scheduling::RealTime, 1);
    for word in words {
        match word.as_str() {
            "default" => scheduling = Scheduling::Default,
            number => links = number.parse().expect("default, or a number of links"),
        }
    }
    assert!((1..=LINKS_MAX).contains(&links), "1 to {LINKS_MAX} links");
    assert!(permitted(), "this needs root");
    let pool = Arc::<Pool>::default();
    let pairs: Vec<Pair> = (0..links)
        .map(|_| Pair::in_pool(&way, scheduling, &pool))
        .collect();
    for namespace in pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
        raise_tcp_buffers(namespace.as_fd(), WINDOW_BYTES).unwrap();
    }
    let trips = round_trips(pairs[0].path(), ECHOES).unwrap();
    let counts =
        || -> Vec<CountsPerDirection> { pairs.iter().map(|pair| pair.link.counts()).collect() };
    let after_trips = (counts(), link_cpu_ns());
    let bits_per_s = streams(&pairs, Duration::from_secs_f64(seconds));
    let stream_cpu_ns = link_cpu_ns() - after_trips.1;
    let found = json!({
        "scheduled": pairs[0].link.scheduled(),
        "round_trips": trips,
        "bits_per_s": bits_per_s,
        "stream_link_cores": stream_cpu_ns as f64 / 1e9 / seconds,
        "counts_after_trips": after_trips.0,
        "counts": counts(),
        "peak_bytes": peak_bytes(),
    });
    println!("{found}");
}

/// One stream over each link, all at once; bits per second of all together.
fn streams(pairs: &[Pair], length: Duration) -> f64 {
    thread::scope(|scope| {
        let streams: Vec<_> = pairs
            .iter()
            .map(|pair| {
                let (near, far) = connected(pair.path()).unwrap();
                scope.spawn(move || throughput(near, far, length).unwrap().bits_per_s())
            })
            .collect();
        let ended = streams.into_iter().map(|stream| stream.join().unwrap());
        ended.sum()
    })
}

/// The most memory that this process had so far: what it holds for streams beside the links is a megabyte each.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.unwrap().trim_end_matches("kB").trim();
    kib.parse::<u64>().unwrap() * 1024
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
