//! A connection pool whose connections carry numbers, against an outlet that records what it is called with.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use super::connect_scheduler::ATTEMPTS_MAX;
use super::*;
use crate::client::{ExchangeId, Status, TIMERS_MAX, Written};
use crate::engine::sim::{MS, S, connections};

/// State of a connection: how often it was opened.
#[derive(Debug, Default)]
struct Lives(u32);

impl ConnectionState for Lives {
    fn reset(&mut self) {
        self.0 += 1;
    }
}

/// Calls, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Connect(u32, u16),
    Close(u32),
    Done(u32, String),
    Fault(String),
}
use Asked::{Close, Connect, Fault};

struct Log {
    now_ns: u64,
    asked: Vec<Asked>,
    timers: [Option<u64>; TIMERS_MAX],
    timers_set: usize,
}

impl Outlet for Log {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        self.asked.push(Connect(conn.0, address.port()));
    }
    fn write(&mut self, _conn: ConnId, _bytes: &[u8]) -> Written {
        unreachable!("a pool writes nothing")
    }
    fn try_write(&mut self, _conn: ConnId, _bytes: &[u8]) -> usize {
        unreachable!("a pool writes nothing")
    }
    fn half_close(&mut self, _conn: ConnId) {
        unreachable!("a pool closes both directions")
    }
    fn close(&mut self, conn: ConnId) {
        self.asked.push(Close(conn.0));
    }
    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        self.timers[usize::from(timer.0)] = Some(at_ns);
        self.timers_set += 1;
    }
    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        let outcome = match done.outcome {
            ExchangeOutcome::Ok(_) => "ok".to_owned(),
            ExchangeOutcome::Failed(class) => format!("{class}: {}", done.example),
            ExchangeOutcome::Unfinished => format!("unfinished: {}", done.example),
        };
        self.asked.push(Asked::Done(ticket.0, outcome));
    }
    fn fault(&mut self, class: ErrorClass, example: &dyn Display) {
        self.asked.push(Fault(format!("{class}: {example}")));
    }
}

/// A pool with its outlet.
struct Rig {
    pool: ConnectionPool<Lives, u8>,
    log: Log,
}

impl Rig {
    fn new(plan: &PoolConfig) -> Self {
        let mut rig = Rig {
            pool: ConnectionPool::new(plan, Lives::default),
            log: Log {
                now_ns: S,
                asked: Vec::new(),
                timers: [None; TIMERS_MAX],
                timers_set: 0,
            },
        };
        rig.pool.open_more(&mut rig.log);
        rig
    }

    /// This many connections, all of them open and free; the timeout is a second.
    fn open(count: usize) -> Self {
        let mut rig = Rig::new(&connections(count, S));
        (0..count as u32).for_each(|at| rig.connected(at));
        assert!(rig.pool.are_all_open());
        rig.asked();
        rig
    }

    /// Calls since the last look.
    fn asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.log.asked)
    }

    fn begin(&mut self, at: u32, ticket: u32) {
        let begun_ns = self.log.now_ns;
        self.pool.slot(at).state = State::Busy(Exchange {
            due: due(ticket),
            begun_ns,
            sent_ns: Some(begun_ns),
            waited: None,
            last: None,
            own: 7,
        });
        self.pool.watch(begun_ns, &mut self.log);
    }

    /// The connection of an exchange, if one was free.
    fn due(&mut self, ticket: u32) -> Option<u32> {
        let at = self.pool.acquire(due(ticket))?;
        self.begin(at, ticket);
        Some(at)
    }

    /// The next exchange of a connection, if one was waiting.
    fn offer(&mut self, at: u32) -> Option<u32> {
        let ticket = self.pool.next_waiting(at)?.ticket.0;
        self.begin(at, ticket);
        Some(ticket)
    }

    fn connected(&mut self, at: u32) {
        self.pool.connected(at, &mut self.log);
        self.offer(at);
    }

    /// A correct response.
    fn answered(&mut self, at: u32) {
        self.pool.reset_backoff();
        self.pool.slot(at).answers += 1;
        let ended = Stamp::event(self.log.now_ns);
        let log = &mut self.log;
        self.pool
            .end(at, ExchangeOutcome::Ok(Status::NONE), ended, &"", log);
    }

    fn closed(&mut self, at: u32, why: Closed) -> Option<u32> {
        let exchange = self.pool.closed(at, why, &mut self.log)?;
        Some(exchange.due.ticket.0)
    }

    /// Time passes, and each timer due by then fires once.
    fn pass(&mut self, ns: u64) {
        self.log.now_ns += ns;
        for at in 0..TIMERS_MAX {
            if self.log.timers[at].is_some_and(|at_ns| at_ns <= self.log.now_ns) {
                self.log.timers[at] = None;
                let late = |limit_ms, exchange: Exchange<u8>| {
                    format!("{} within {limit_ms} ms", exchange.own)
                };
                self.pool.timer(TimerId(at as u8), late, &mut self.log);
            }
        }
    }
}

fn due(ticket: u32) -> DueExchange {
    DueExchange {
        ticket: ExchangeId(ticket),
        request: 0,
    }
}

fn done(ticket: u32, outcome: &str) -> Asked {
    Asked::Done(ticket, outcome.to_owned())
}

#[test]
fn addresses_are_used_in_turn_over_the_whole_load() {
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let mut rig = Rig::new(&PoolConfig {
        addresses: [address(80), address(81), address(82)].into(),
        first: 4,
        ..connections(3, S)
    });
    let attempts = [Connect(0, 81), Connect(1, 82), Connect(2, 80)];
    assert_eq!(rig.asked(), attempts);
}

#[test]
fn only_so_many_attempts_are_under_way_at_once() {
    let mut rig = Rig::new(&connections(ATTEMPTS_MAX + 2, S));
    assert_eq!(rig.asked().len(), ATTEMPTS_MAX);
    rig.connected(5);
    assert_eq!(rig.asked(), [Connect(ATTEMPTS_MAX as u32, 80)]);
    assert!(!rig.pool.are_all_open());
}

#[test]
fn connections_are_opened_as_their_turn_comes() {
    let mut rig = Rig::new(&PoolConfig {
        opening: OpenSchedule::spread(Duration::from_nanos(40 * MS), 0, 4, 4),
        ..connections(4, S)
    });
    assert_eq!(rig.asked(), [Connect(0, 80)]);
    rig.pass(9 * MS);
    assert_eq!(rig.asked(), []);
    rig.pass(MS);
    assert_eq!(rig.asked(), [Connect(1, 80)]);
    rig.pass(20 * MS);
    assert_eq!(rig.asked(), [Connect(2, 80), Connect(3, 80)]);
}

#[test]
fn free_connections_are_used_in_turn_and_what_waits_is_served_in_order() {
    let mut rig = Rig::open(2);
    let got = [1, 2, 3, 4].map(|ticket| rig.due(ticket));
    assert_eq!(got, [Some(0), Some(1), None, None]);
    rig.answered(1);
    assert_eq!(rig.offer(1), Some(3));
    rig.answered(0);
    assert_eq!(rig.offer(0), Some(4));
    rig.answered(0);
    assert_eq!(rig.offer(0), None);
    rig.answered(1);
    assert_eq!(rig.offer(1), None);
    assert_eq!([5, 6].map(|ticket| rig.due(ticket)), [Some(0), Some(1)]);
}

#[test]
fn a_connection_that_ended_while_it_was_free_carries_nothing_until_it_is_open_again_and_then_one() {
    let mut rig = Rig::open(2);
    rig.due(1);
    rig.answered(0);
    rig.offer(0);
    assert_eq!(rig.closed(0, Closed::Eof), None);
    assert_eq!(
        rig.asked()[1..],
        [Connect(0, 80)],
        "at once: it had brought an answer"
    );
    assert_eq!(rig.due(2), Some(1));
    assert_eq!(rig.due(3), None, "the other one is not open");
    rig.connected(0);
    let State::Busy(exchange) = rig.pool.slot(0).state else {
        panic!("what waited begins on it");
    };
    assert_eq!(exchange.due, due(3));
    assert_eq!(rig.pool.slot(0).conn.0, 2, "lives");
    assert_eq!(rig.due(4), None);
}

#[test]
fn a_connection_opened_again_before_its_turn_stands_in_the_queue_once() {
    let mut rig = Rig::open(1);
    rig.due(1);
    rig.answered(0);
    rig.offer(0);
    // It was freed before it was reopened, so it is still in the queue when it is offered again.
    rig.closed(0, Closed::Eof);
    rig.connected(0);
    assert_eq!(rig.due(2), Some(0));
    assert_eq!(rig.due(3), None);
}

#[test]
fn after_a_failed_attempt_nobody_tries_for_a_while_and_without_any_connection_what_waits_has_failed()
 {
    let mut rig = Rig::new(&connections(2, S));
    rig.due(1);
    rig.asked();
    rig.closed(0, Closed::Refused);
    let why = Closed::Refused;
    assert_eq!(rig.asked(), [done(1, &format!("refused: {why}"))]);
    rig.closed(1, Closed::Refused);
    rig.due(2);
    assert_eq!(rig.asked(), [], "a round of failures counts once");
    rig.pass(10 * MS);
    assert_eq!(rig.asked(), [Connect(0, 80), Connect(1, 80)]);
    rig.connected(1);
    rig.due(3);
    rig.closed(0, Closed::Refused);
    assert_eq!(rig.asked(), [], "there is one to wait for");
    rig.pass(19 * MS);
    assert_eq!(rig.asked(), [], "the second pause is longer");
    rig.pass(MS);
    assert_eq!(rig.asked(), [Connect(0, 80)]);
    rig.answered(1);
    rig.closed(0, Closed::Refused);
    rig.pass(10 * MS);
    assert_eq!(
        rig.asked(),
        [done(2, "ok"), Connect(0, 80)],
        "behind an answer pauses are short again"
    );
}

#[test]
fn what_is_accepted_and_dropped_is_opened_again_after_a_pause() {
    let mut rig = Rig::open(1);
    rig.closed(0, Closed::Eof);
    assert_eq!(rig.asked(), []);
    rig.pass(10 * MS);
    assert_eq!(rig.asked(), [Connect(0, 80)]);
    rig.connected(0);
    let log = &mut rig.log;
    rig.pool
        .unsolicited(0, ErrorClass::MALFORMED, &"hello", log);
    let fault = Fault("malformed: hello".to_owned());
    assert_eq!(rig.asked(), [fault, Close(0)]);
    rig.pass(20 * MS);
    assert_eq!(rig.asked(), [Connect(0, 80)]);
}

#[test]
fn the_timer_is_set_once_for_many_exchanges_and_ends_those_alone_that_are_late() {
    let mut rig = Rig::open(3);
    rig.pass(S);
    rig.due(1);
    let set = rig.log.timers_set;
    rig.pass(400 * MS);
    rig.due(2);
    rig.pass(500 * MS);
    rig.answered(0);
    rig.offer(0);
    rig.due(3);
    assert_eq!(rig.log.timers_set, set, "later deadlines do not touch it");
    assert_eq!(rig.asked(), [done(1, "ok")]);
    rig.pass(100 * MS);
    assert_eq!(rig.asked(), [], "the one it was set for is answered");
    rig.pass(400 * MS);
    let late = done(2, "timeout: 7 within 1000 ms");
    assert_eq!(rig.asked(), [late, Close(1), Connect(1, 80)]);
    rig.pass(499 * MS);
    rig.asked();
    rig.pass(MS);
    assert_eq!(rig.asked()[0], done(3, "timeout: 7 within 1000 ms"));
}

#[test]
fn an_attempt_is_given_up_at_its_limit() {
    let mut rig = Rig::new(&connections(1, S));
    rig.due(1);
    rig.pass(S - 1);
    assert_eq!(rig.asked(), [Connect(0, 80)]);
    rig.pass(1);
    let failed = format!("connect-timeout: {}", Closed::ConnectTimeout);
    assert_eq!(rig.asked(), [Close(0), done(1, &failed)]);
    assert_eq!(rig.closed(0, Closed::Reset), None, "it is gone already");
    rig.pass(10 * MS);
    assert_eq!(rig.asked(), [Connect(0, 80)]);
}

#[test]
fn a_connection_that_ends_under_an_exchange_gives_it_back() {
    let mut rig = Rig::open(1);
    rig.due(9);
    assert_eq!(rig.closed(0, Closed::Reset), Some(9));
    assert_eq!(rig.asked(), [], "what becomes of it is the client's matter");
    let log = &mut rig.log;
    rig.pool.end(
        0,
        ExchangeOutcome::Ok(Status::NONE),
        Stamp::event(S),
        &"",
        log,
    );
    rig.pool.lost(0, log);
    assert_eq!(rig.asked(), [done(9, "ok"), Connect(0, 80)]);
}

#[test]
fn a_connection_is_used_up_after_its_answers_and_fresh_when_it_is_opened_anew() {
    let mut rig = Rig::new(&PoolConfig {
        exchanges_max: 2,
        ..connections(1, S)
    });
    rig.connected(0);
    rig.due(1);
    rig.answered(0);
    assert!(!rig.pool.is_at_exchange_limit(0));
    rig.offer(0);
    rig.due(2);
    rig.answered(0);
    assert!(rig.pool.is_at_exchange_limit(0));
    rig.asked();
    rig.pool.reopen(0, &mut rig.log);
    assert_eq!(rig.asked(), [Close(0), Connect(0, 80)]);
    assert!(!rig.pool.is_at_exchange_limit(0));
}

#[test]
fn abandoned_every_exchange_ends_once() {
    let mut rig = Rig::open(1);
    rig.due(1);
    rig.due(2);
    let abandon = |rig: &mut Rig| rig.pool.abandon(&"under way", &mut rig.log);
    abandon(&mut rig);
    let waiting = "unfinished: still waiting for a free connection when the drain ended";
    assert_eq!(
        rig.asked(),
        [done(1, "unfinished: under way"), done(2, waiting)]
    );
    abandon(&mut rig);
    assert_eq!(rig.asked(), []);
}
