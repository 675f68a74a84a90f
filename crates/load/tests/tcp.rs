//! TCP exchanges, the life of connections and schedules against real sockets.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod rig;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rig::{MS, Server, count, measure, plan};
use tare_load::protocols::tcp::{Direction, TcpContent, TcpExchange};
use tare_record::load::{AtEnd, ClientSpec, Interarrival, LoadPlan, Pacing, RateStep, Shard, Stop};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// A listener that hands each stream to a function, on a thread of its own, for as long as the test runs.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&accepted);
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counter.fetch_add(1, Ordering::Relaxed);
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    (address, accepted)
}

fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn tcp(address: SocketAddr, exchange: TcpExchange) -> LoadPlan {
    let mut plan = plan(address);
    plan.load.client = ClientSpec::with(2, &exchange);
    plan
}

#[test]
fn an_echo_larger_than_any_buffer_comes_back_whole() {
    let (address, _) = listen(echo);
    let exchange = TcpExchange::Echo {
        send_bytes: 20_000_003,
        expect_bytes: 20_000_003,
        content: TcpContent::Pattern,
    };
    let mut plan = tcp(address, exchange);
    plan.load.pacing = Pacing::Max;
    plan.load.stop = Stop::Count { exchanges: 4 };
    let outcome = measure(&plan);
    assert_eq!(outcome.result.ok, 4, "{:?}", outcome.result.outcomes);
    assert_eq!(outcome.result.bytes_sent, 4 * 20_000_003);
    assert_eq!(outcome.result.bytes_received, 4 * 20_000_003);
    assert_eq!(outcome.result.connections.reconnects, 0);
}

#[test]
fn half_closed_exchanges_are_read_to_their_end_over_a_connection_each() {
    let (address, accepted) = listen(echo);
    let exchange = TcpExchange::HalfClose {
        send_bytes: 500_000,
        expect_bytes: Some(500_000),
        content: TcpContent::Pattern,
    };
    let mut plan = tcp(address, exchange);
    plan.load.pacing = Pacing::Max;
    plan.load.stop = Stop::Count { exchanges: 20 };
    let outcome = measure(&plan);
    assert_eq!(outcome.result.ok, 20, "{:?}", outcome.result.outcomes);
    assert!(accepted.load(Ordering::Relaxed) >= 20);
}

#[test]
fn blocks_flow_up_down_and_both_ways() {
    let discard = |mut stream: TcpStream| {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(1..) = stream.read(&mut buffer) {}
    };
    let source = |mut stream: TcpStream| while stream.write_all(&[b'x'; 50_000]).is_ok() {};
    let up = listen(discard).0;
    let down = listen(source).0;
    let both = listen(echo).0;
    for (direction, address) in [
        (Direction::Up, up),
        (Direction::Down, down),
        (Direction::Both, both),
    ] {
        let exchange = TcpExchange::Throughput {
            direction,
            block_bytes: 1 << 20,
        };
        let mut plan = tcp(address, exchange);
        plan.load.pacing = Pacing::Max;
        plan.load.stop = Stop::Count { exchanges: 100 };
        let result = measure(&plan).result;
        assert_eq!(result.ok, 100, "{direction:?}: {:?}", result.outcomes);
        let least = 98 << 20;
        if direction != Direction::Down {
            assert!(result.bytes_sent >= least, "{direction:?}");
        }
        if direction != Direction::Up {
            assert!(result.bytes_received >= least, "{direction:?}");
        }
    }
}

#[test]
fn a_server_that_hangs_up_on_an_exchange_is_the_peers_fault() {
    let (address, _) = listen(|mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 10]);
    });
    let exchange = TcpExchange::Echo {
        send_bytes: 10,
        expect_bytes: 10,
        content: TcpContent::Pattern,
    };
    let mut plan = tcp(address, exchange);
    plan.load.stop = Stop::Count { exchanges: 10 };
    plan.load.pacing = Pacing::Closed {
        clients: 1,
        think_time_ns: 0,
        think_distribution: tare_record::load::ThinkDistribution::None,
    };
    let outcome = measure(&plan);
    assert_eq!(count(&outcome, "closed") + count(&outcome, "reset"), 10);
}

#[test]
fn connections_are_counted_when_each_carries_so_many_requests() {
    for (exchanges_max, again) in [(1, 60), (7, 8)] {
        let server = Server::answering(OK);
        let mut plan = plan(server.address);
        plan.load.pacing = Pacing::Max;
        plan.load.stop = Stop::Count { exchanges: 60 };
        plan.load.client = ClientSpec::new("http1", 1);
        plan.load.connections.exchanges_max = Some(exchanges_max);
        let result = measure(&plan).result;
        assert_eq!(result.ok, 60, "{:?}", result.outcomes);
        assert_eq!(result.errors, 0);
        let reconnects = result.connections.reconnects;
        assert!(
            (again - 1..=again).contains(&reconnects),
            "{reconnects}: the last may be cut off"
        );
    }
}

#[test]
fn connections_opened_over_a_time_are_all_open_before_the_first_request() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.client = ClientSpec::new("http1", 8);
    plan.load.workers = 2;
    plan.load.connections.open_over_ns = 80 * MS;
    let result = measure(&plan).result;
    assert_eq!(result.ok, 100);
    assert_eq!(result.connections.opened, 8);
}

#[test]
fn every_open_loop_starts_exactly_what_its_schedule_says_on_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let recording: String = (0..50)
        .map(|n| format!("{:.4}\n", f64::from(n) * 0.002))
        .collect();
    std::fs::write(&file, recording).unwrap();
    let step = |rate_per_s, ms| RateStep {
        rate_per_s,
        length_ns: ms * MS,
    };
    let paces = [
        (
            Pacing::Ramp {
                from_per_s: 0.0,
                to_per_s: 2000.0,
                ramp_ns: 200 * MS,
                interarrival: Interarrival::Constant,
            },
            Stop::Duration {
                window_ns: 200 * MS,
            },
            200,
        ),
        (
            Pacing::Steps {
                steps: vec![step(1000.0, 50), step(0.0, 30), step(500.0, 100)],
                interarrival: Interarrival::Constant,
            },
            Stop::Duration {
                window_ns: 180 * MS,
            },
            100,
        ),
        (
            Pacing::Replay {
                file: file.to_string_lossy().into_owned(),
                speed: 2.0,
                at_end: AtEnd::Stop,
                shard: Shard::ALL,
            },
            Stop::Interrupted,
            50,
        ),
        (
            Pacing::Poisson { rate_per_s: 1000.0 },
            Stop::Count { exchanges: 77 },
            77,
        ),
    ];
    for (pacing, stop, expected) in paces {
        for workers in [1, 2] {
            let server = Server::answering(OK);
            let mut plan = plan(server.address);
            plan.load.pacing = pacing.clone();
            plan.load.stop = stop;
            plan.load.workers = workers;
            let result = measure(&plan).result;
            assert_eq!(result.intended, expected, "{pacing:?} on {workers}");
            assert_eq!(result.ok, expected, "{:?}", result.outcomes);
        }
    }
}
