//! Memory of links that share a pool: as much as is under way on all of them, and given back.
#![allow(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod rig;

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rig::{PATIENCE, Pair, datagrams, entered, permitted, send, settled};
use tare_net::link::{DirectionPlan, Pool, Scheduling, connected, raise_tcp_buffers};

const MS: u64 = 1_000_000;
/// What no conductor may take.
const PEAK_BYTES_MAX: u64 = 200_000_000;
/// Tests share the memory of their process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Four links of this delay, and their pool.
fn four(delay_ns: u64) -> (Vec<Pair>, Arc<Pool>) {
    let way = DirectionPlan {
        delay_ns,
        ..DirectionPlan::default()
    };
    let pool = Arc::default();
    let pairs = (0..4).map(|_| Pair::in_pool(&way, Scheduling::RealTime, &pool));
    (pairs.collect(), pool)
}

/// A line of this process' status, in bytes.
fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.unwrap().trim_end_matches("kB").trim();
    kib.parse::<u64>().unwrap() * 1024
}

#[test]
fn four_links_take_what_is_under_way_and_give_it_back() {
    if !permitted() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = status_bytes("VmRSS:");
    let (pairs, pool) = four(3_000 * MS);
    let sockets: Vec<_> = pairs.iter().map(datagrams).collect();
    let mut most = 0;
    for (pair, (near, _)) in pairs.iter().zip(&sockets) {
        let none = pair.link.counts().there;
        send(near, 5000, 1000, || entered(pair, none));
        most = most.max(status_bytes("VmRSS:"));
    }
    let sent: u64 = pairs
        .iter()
        .map(|pair| pair.link.counts().there.entered_bytes)
        .sum();
    assert!(sent >= 4 * 5000 * 1000, "{sent}");
    // At the end of each block is room for the largest packet, and each packet has a line in a list.
    assert!(pool.bytes() as u64 <= sent * 3 / 2, "{}", pool.bytes());
    let grown = most.saturating_sub(before);
    assert!(grown < 2 * sent, "{grown} for {sent}");

    for pair in &pairs {
        let counts = settled(pair);
        assert_eq!(counts.there.dropped_packets(), 0, "{counts:?}");
    }
    let deadline = Instant::now() + PATIENCE;
    while pool.bytes() > 0 {
        assert!(Instant::now() < deadline, "{} kept", pool.bytes());
        std::thread::sleep(Duration::from_millis(10));
    }
    let kept = status_bytes("VmRSS:").saturating_sub(before);
    assert!(kept < sent / 2, "{kept} of {sent}");
}

#[test]
fn streams_over_four_links_at_once_leave_the_process_small() {
    if !permitted() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (pairs, pool) = four(12 * MS);
    let chunk = vec![0x5a; 1 << 18];
    let chunks = 256;
    let arrived: Vec<u64> = std::thread::scope(|scope| {
        let streams: Vec<_> = pairs
            .iter()
            .map(|pair| {
                for namespace in [&pair.a, &pair.b] {
                    raise_tcp_buffers(namespace.as_fd(), 64 << 20).unwrap();
                }
                let (mut near, mut far) = connected(pair.path()).unwrap();
                let chunk = &chunk;
                scope.spawn(move || {
                    for _ in 0..chunks {
                        near.write_all(chunk).unwrap();
                    }
                    near.shutdown(Shutdown::Write).unwrap();
                });
                scope.spawn(move || io::copy(&mut far, &mut io::sink()).unwrap())
            })
            .collect();
        let ended = streams.into_iter().map(|stream| stream.join().unwrap());
        ended.collect()
    });
    assert_eq!(arrived, [chunks * chunk.len() as u64; 4]);
    assert!(pool.bytes() as u64 <= 128 << 20);
    let peak = status_bytes("VmHWM:");
    assert!(peak < PEAK_BYTES_MAX, "{peak}");
}
