//! The TCP client against peers that echo, stop, send too much, or read slowly.

use std::collections::HashMap;

use tare_record::load::Stop;

use super::{Direction, Tcp, TcpContent, TcpExchange, pattern};
use crate::arrivals::{Arrivals, ClosedLoop, SharedCount};
use crate::client::{Closed, ConnId};
use crate::connection_pool::PoolConfig;
use crate::engine::sim::{Act, Far, MS, S, Sim, connections};
use crate::tally::Quantity;

const ECHO: TcpExchange = TcpExchange::Echo {
    send_bytes: 30,
    expect_bytes: 30,
    content: TcpContent::Pattern,
};

/// Echoes after a millisecond, and closes when the client half-closes.
#[derive(Default)]
struct Echo {
    /// Changes what comes back.
    change: Option<fn(Vec<u8>) -> Vec<u8>>,
    received: HashMap<ConnId, usize>,
}

impl Far for Echo {
    fn connect(&mut self, _now_ns: u64, conn: ConnId) -> Vec<(u64, Act)> {
        self.received.insert(conn, 0);
        vec![(0, Act::Accept)]
    }

    fn bytes(&mut self, _now_ns: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        *self.received.entry(conn).or_default() += bytes.len();
        let answer = self
            .change
            .map_or_else(|| bytes.to_vec(), |change| change(bytes.to_vec()));
        vec![(MS, Act::Send(answer))]
    }

    fn end(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        vec![(5 * MS, Act::Close(Closed::Eof))]
    }
}

fn tcp(exchange: TcpExchange, count: usize, exchanges_max: u64) -> Tcp {
    let plan = PoolConfig {
        exchanges_max,
        ..connections(count, S)
    };
    Tcp::new(exchange, &plan)
}

/// Ten exchanges of one client over one connection.
fn ten(client: Tcp, far: impl Far) -> Sim<Tcp, impl Far> {
    let shared = SharedCount::new(10, 1);
    let looped = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 10 }, &shared);
    let mut sim = Sim::new(client, Arrivals::ClosedLoop(looped), 1, far);
    sim.run_until(100 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    sim
}

/// Successful exchanges, reconnects, and the classes of the errors.
fn ends(sim: &mut Sim<Tcp, impl Far>) -> (u64, u64, Vec<String>) {
    let counts = sim.engine.recorder().counts();
    let (ok, again) = (counts.window.ok, counts.connections.reconnects);
    let classes = sim.classes.seen();
    let classes = classes.iter().map(|seen| seen.class.to_string()).collect();
    (ok, again, classes)
}

#[test]
fn an_echo_of_set_size_is_right_and_keeps_its_connection() {
    let mut sim = ten(tcp(ECHO, 1, u64::MAX), Echo::default());
    assert_eq!(ends(&mut sim), (10, 0, vec![]));
    let service = sim.observed().of(Quantity::Service, "");
    assert_eq!(service.len(), 10);
    assert!(
        service
            .iter()
            .all(|ns| (MS * 99 / 100..MS * 101 / 100).contains(ns))
    );
}

#[test]
fn a_connection_is_opened_anew_after_so_many_exchanges() {
    let mut sim = ten(tcp(ECHO, 1, 3), Echo::default());
    assert_eq!(ends(&mut sim), (10, 3, vec![]), "after 3, 6 and 9");
}

#[test]
fn an_answer_that_is_not_the_pattern_is_wrong_at_its_first_wrong_byte() {
    fn change(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[27] = b'!';
        bytes
    }
    let far = Echo {
        change: Some(change),
        ..Echo::default()
    };
    let mut sim = ten(tcp(ECHO, 1, u64::MAX), far);
    assert_eq!(ends(&mut sim), (0, 0, vec!["wrong-body".to_owned()]));
    let example = sim.classes.seen()[0].example.clone().unwrap();
    assert!(example.contains("byte 27"), "{example}");
}

#[test]
fn more_than_was_expected_is_wrong_and_costs_the_connection() {
    fn change(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.push(b'e');
        bytes
    }
    let far = Echo {
        change: Some(change),
        ..Echo::default()
    };
    let mut sim = ten(tcp(ECHO, 1, u64::MAX), far);
    assert_eq!(ends(&mut sim), (0, 10, vec!["wrong-body".to_owned()]));
}

#[test]
fn an_answer_that_stays_short_is_a_timeout() {
    fn change(bytes: Vec<u8>) -> Vec<u8> {
        bytes[1..].to_vec()
    }
    let exchange = TcpExchange::Echo {
        send_bytes: 30,
        expect_bytes: 30,
        content: TcpContent::Any,
    };
    let far = Echo {
        change: Some(change),
        ..Echo::default()
    };
    let mut sim = ten(tcp(exchange, 1, u64::MAX), far);
    assert_eq!(ends(&mut sim), (0, 10, vec!["timeout".to_owned()]));
}

#[test]
fn a_half_closed_exchange_ends_with_the_stream_and_is_stamped_by_its_last_byte() {
    let exchange = TcpExchange::HalfClose {
        send_bytes: 30,
        expect_bytes: Some(30),
        content: TcpContent::Pattern,
    };
    let mut sim = ten(tcp(exchange, 1, u64::MAX), Echo::default());
    assert_eq!(ends(&mut sim), (10, 10, vec![]), "a connection each");
    let service = sim.observed().of(Quantity::Service, "");
    assert!(service.iter().all(|&ns| ns < 2 * MS), "{service:?}");
}

#[test]
fn a_stream_that_ends_early_is_wrong() {
    fn change(bytes: Vec<u8>) -> Vec<u8> {
        bytes[..9].to_vec()
    }
    let exchange = TcpExchange::HalfClose {
        send_bytes: 30,
        expect_bytes: Some(30),
        content: TcpContent::Pattern,
    };
    let far = Echo {
        change: Some(change),
        ..Echo::default()
    };
    let mut sim = ten(tcp(exchange, 1, u64::MAX), far);
    assert_eq!(ends(&mut sim), (0, 10, vec!["wrong-body".to_owned()]));
    let example = sim.classes.seen()[0].example.clone().unwrap();
    assert_eq!(example, "9 bytes came back, not 30");
}

#[test]
fn a_kernel_that_takes_little_is_fed_as_it_has_room() {
    let exchange = TcpExchange::Echo {
        send_bytes: 1000,
        expect_bytes: 1000,
        content: TcpContent::Pattern,
    };
    let shared = SharedCount::new(1, 1);
    let looped = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 1 }, &shared);
    let client = tcp(exchange, 1, u64::MAX);
    let mut sim = Sim::new(client, Arrivals::ClosedLoop(looped), 1, Echo::default());
    sim.net.room.insert(ConnId(0), 7);
    for _ in 0..200 {
        let until_ns = sim.net.now_ns + 2 * MS;
        sim.run_until(until_ns);
        sim.net.room.insert(ConnId(0), 7);
        sim.engine.on_writable(ConnId(0), &mut sim.net);
    }
    assert_eq!(ends(&mut sim), (1, 0, vec![]));
}

#[test]
fn blocks_go_up_as_fast_as_the_kernel_takes_them_and_each_is_counted() {
    let exchange = TcpExchange::Throughput {
        direction: Direction::Up,
        block_bytes: 1 << 20,
    };
    /// Reads everything and sends nothing.
    struct Discard(u64);
    impl Far for Discard {
        fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
            vec![(0, Act::Accept)]
        }
        fn bytes(&mut self, _now_ns: u64, _conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
            self.0 += bytes.len() as u64;
            assert!(self.0 <= 10 << 20);
            vec![]
        }
    }
    let mut sim = ten(tcp(exchange, 1, u64::MAX), Discard(0));
    assert_eq!(ends(&mut sim), (10, 0, vec![]));
}

#[test]
fn what_flows_down_behind_the_end_of_a_block_belongs_to_the_next() {
    let exchange = TcpExchange::Throughput {
        direction: Direction::Down,
        block_bytes: 1000,
    };
    /// Sends 2500 bytes every millisecond, four times.
    struct Source;
    impl Far for Source {
        fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
            let piece = |number| (number * MS, Act::Send(pattern()[..2500].to_vec()));
            let mut acts = vec![(0, Act::Accept)];
            acts.extend((1..=4).map(piece));
            acts
        }
        fn bytes(&mut self, _now_ns: u64, _conn: ConnId, _bytes: &[u8]) -> Vec<(u64, Act)> {
            unreachable!("nothing goes up")
        }
    }
    let mut sim = ten(tcp(exchange, 1, u64::MAX), Source);
    assert_eq!(
        ends(&mut sim),
        (10, 0, vec![]),
        "10,000 bytes are ten blocks"
    );
    let latency = sim.observed().of(Quantity::Latency, "");
    assert!(latency.iter().all(|&ns| ns <= 2 * MS), "{latency:?}");
}

#[test]
fn bytes_that_nobody_asked_for_are_a_fault_of_the_target() {
    /// Sends a greeting first, as many servers do.
    struct Banner;
    impl Far for Banner {
        fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
            vec![(0, Act::Accept), (0, Act::Send(b"220 hello\r\n".to_vec()))]
        }
        fn bytes(&mut self, _now_ns: u64, _conn: ConnId, _bytes: &[u8]) -> Vec<(u64, Act)> {
            vec![]
        }
    }
    let client = tcp(ECHO, 1, u64::MAX);
    let arrivals = crate::engine::sim::rate(10.0, 1);
    let mut sim = Sim::new(client, arrivals, 100, Banner);
    sim.run_until(3 * S);
    let seen = sim.classes.seen();
    assert!(
        seen.iter()
            .any(|seen| seen.class.to_string() == "malformed")
    );
    assert!(sim.net.attempts.len() < 20, "it pauses between attempts");
}
