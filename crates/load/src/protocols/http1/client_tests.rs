//! The client against servers that refuse, close, answer wrongly or too much.

use std::net::SocketAddr;

use tare_record::load::{ExpectBody, Stop};

use super::client::Http1Client;
use crate::arrivals::{Arrivals, ClosedLoop, SharedCount};
use crate::client::{Closed, ConnId};
use crate::connection_pool::OpenSchedule;
use crate::engine::sim::{
    Act, Far, MS, Rule, S, Sim, answer, pool, pool_expecting, pool_ruled, pool_to, rate,
};
use crate::tally::Quantity;

fn errors<F: Far>(sim: &mut Sim<Http1Client, F>) -> Vec<(String, usize)> {
    let classes = sim.classes.seen();
    let observed = sim.observed();
    classes
        .iter()
        .map(|seen| seen.class.to_string())
        .map(|class| (class.clone(), observed.of(Quantity::Latency, &class).len()))
        .collect()
}

/// Ten exchanges, one after the other, over one connection, against a scripted server.
fn ten(rule: impl FnMut(u64, ConnId, &[u8]) -> Vec<(u64, Act)>) -> Sim<Http1Client, impl Far> {
    let shared = SharedCount::new(10, 1);
    let arrivals = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 10 }, &shared);
    let mut sim = Sim::new(pool(1), Arrivals::ClosedLoop(arrivals), 1, Rule(rule));
    sim.run_until(100 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    sim
}

fn reply(bytes: &[u8]) -> (u64, Act) {
    (MS, Act::Send(bytes.to_vec()))
}

#[test]
fn an_answer_that_ends_the_connection_is_right_and_a_new_one_is_opened_at_once() {
    let mut sim = ten(|_, _, _| {
        vec![reply(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        )]
    });
    assert_eq!(sim.engine.recorder().counts().window.ok, 10);
    assert_eq!(sim.engine.recorder().counts().connections.reconnects, 10);
    assert_eq!(
        sim.observed().of(Quantity::Wait, "").len(),
        9,
        "each but the first waited for it"
    );
}

#[test]
fn a_body_until_close_is_whole_at_the_close_and_stamped_by_its_last_byte() {
    let mut sim = ten(|_, _, _| {
        vec![
            reply(b"HTTP/1.0 200 OK\r\n\r\nhi"),
            (50 * MS, Act::Close(Closed::Eof)),
        ]
    });
    assert_eq!(sim.engine.recorder().counts().window.ok, 10);
    assert!(*sim.observed().of(Quantity::Service, "").last().unwrap() < 2 * MS);
}

#[test]
fn every_way_to_fail_has_its_class() {
    let answer = |head: &str| vec![reply(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes())];
    let many = "A: b\r\n".repeat(1001);
    let cases: [(&str, Vec<(u64, Act)>); 13] = [
        (
            "status-999",
            vec![reply(b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n")],
        ),
        (
            "length-and-transfer-encoding",
            answer("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ),
        (
            "transfer-encoding-in-http10",
            vec![reply(
                b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            )],
        ),
        ("header-name", answer("A b: c\r\n\r\n")),
        ("head-too-large", answer(&format!("{many}\r\n"))),
        (
            "unsolicited-bytes",
            vec![reply(
                b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            )],
        ),
        (
            "status-503",
            vec![reply(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")],
        ),
        ("malformed", vec![reply(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")]),
        (
            "unsolicited-bytes",
            vec![reply(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more",
            )],
        ),
        ("closed", vec![(MS, Act::Close(Closed::Eof))]),
        (
            "closed",
            vec![
                reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"),
                (2 * MS, Act::Close(Closed::Eof)),
            ],
        ),
        ("reset", vec![(MS, Act::Close(Closed::Reset))]),
        ("timeout", vec![reply(b"HTTP/1.1 200 OK\r\nContent-Le")]),
    ];
    for (class, acts) in cases {
        let mut sim = ten(|_, _, _| acts.clone());
        assert_eq!(errors(&mut sim), [(class.to_owned(), 10)]);
        assert!(
            sim.classes.seen()[0].example.is_some(),
            "{class} has an example in words"
        );
    }
}

#[test]
fn a_server_that_speaks_http2_makes_the_load_impossible_unless_one_has_answered() {
    // SETTINGS with one entry, as a gRPC server sends them to every connection.
    const SETTINGS: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 64, 0];
    let problem = |answers: usize| {
        let mut asked = 0;
        let far = Rule(move |_: u64, _: ConnId, _: &[u8]| {
            asked += 1;
            match asked <= answers {
                true => vec![reply(&answer())],
                false => vec![reply(SETTINGS)],
            }
        });
        let mut sim = Sim::new(pool(1), rate(10.0, 1), 100, far);
        sim.run_until(10 * S);
        let seen = sim.classes.seen();
        let example = seen[0].example.clone().unwrap();
        assert!(example.contains("--http2"), "{example}");
        crate::client::Client::problem(sim.engine.client())
    };
    assert!(problem(0).unwrap().contains("--grpc-call"));
    assert_eq!(problem(1), None);
}

#[test]
fn a_wrong_body_is_an_error_of_its_own() {
    let far = Rule(|_: u64, _: ConnId, _: &[u8]| vec![(MS, Act::Send(answer()))]);
    let client = pool_expecting(1, S, ExpectBody::Text("ho".into()));
    let mut sim = Sim::new(client, rate(10.0, 1), 100, far);
    sim.run_until(10 * S);
    assert_eq!(errors(&mut sim), [("wrong-body".to_owned(), 10)]);
    assert_eq!(
        sim.engine.recorder().counts().connections.reconnects,
        0,
        "the connection is as good as before"
    );
}

#[test]
fn bytes_nobody_asked_for_are_a_fault_of_the_connection_and_spoil_no_exchange() {
    let mut sim = ten(|_, _, _| vec![reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")]);
    assert_eq!(sim.engine.recorder().counts().window.ok, 10);
    let far = Rule(|_: u64, _: ConnId, _: &[u8]| {
        vec![
            (MS, Act::Send(answer())),
            (3 * MS, Act::Send(b"boo".to_vec())),
        ]
    });
    sim.engine.recorder_mut().end_window_at(0);
    let mut sim = Sim::new(pool(1), rate(10.0, 1), 100, far);
    sim.run_until(10 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.ok, counts.window.errors), (10, 0));
    assert_eq!(counts.faults, [(1, 10)]);
    assert_eq!(sim.classes.seen()[0].class.to_string(), "unsolicited-bytes");
}

#[test]
fn a_line_end_behind_an_answer_spoils_neither_it_nor_the_next_one() {
    let mut sim = ten(|_, _, _| {
        vec![
            reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
            (MS + MS / 2, Act::Send(b"\r\n".to_vec())),
        ]
    });
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.ok, counts.connections.reconnects), (10, 0));
    assert!(counts.faults.is_empty());
    // The line end arrives while the next request is under way, and is not the first byte of its response.
    let service = sim.observed().of(Quantity::Service, "");
    assert!(service.iter().all(|&ns| ns >= MS), "{service:?}");
}

#[test]
fn a_408_on_an_idle_connection_is_named_and_fails_no_exchange() {
    let idle = b"HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n\r\n";
    for after_ns in [MS, 50 * MS] {
        let far = Rule(move |_: u64, _: ConnId, _: &[u8]| {
            vec![
                (MS, Act::Send(answer())),
                (after_ns, Act::Send(idle.to_vec())),
            ]
        });
        let mut sim = Sim::new(pool(1), rate(10.0, 1), 100, far);
        sim.run_until(10 * S);
        let counts = sim.engine.recorder().counts();
        assert_eq!((counts.window.ok, counts.window.errors), (10, 0));
        assert_eq!(counts.connections.reconnects, 10);
        assert_eq!(sim.classes.seen()[0].class.to_string(), "idle-timeout");
    }
}

/// A server that refuses connections until a time.
struct Refusing {
    until_ns: u64,
}

impl Far for Refusing {
    fn connect(&mut self, now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        match now_ns < self.until_ns {
            true => vec![(0, Act::Close(Closed::Refused))],
            false => vec![(0, Act::Accept)],
        }
    }

    fn bytes(&mut self, _: u64, _: ConnId, _: &[u8]) -> Vec<(u64, Act)> {
        vec![(MS, Act::Send(answer()))]
    }
}

#[test]
fn while_nobody_listens_exchanges_fail_as_refused_and_attempts_thin_out() {
    let mut sim = Sim::new(pool(4), rate(100.0, 6), 1000, Refusing { until_ns: 4 * S });
    sim.run_until(20 * S);
    let stages = sim.engine.recorder().counts().window;
    assert_eq!(stages.intended, 600);
    assert_eq!(stages.ok + stages.errors, 600);
    let refused = errors(&mut sim);
    assert_eq!(refused[0].0, "refused");
    // Three seconds of them, but for those that waited for the last attempt: a second at most.
    assert!((200..=301).contains(&refused[0].1), "{refused:?}");
    assert!(
        sim.net.attempts.len() < 60,
        "{} attempts",
        sim.net.attempts.len()
    );
    assert!(sim.engine.recorder().counts().connections.failed >= 8);
}

/// A server with several addresses, of which only those with the first port answer.
struct OneAnswers {
    dead: Option<Closed>,
}

impl Far for OneAnswers {
    fn connect(&mut self, _: u64, _: ConnId) -> Vec<(u64, Act)> {
        unreachable!("the address decides")
    }

    fn connect_to(&mut self, _: u64, _: ConnId, address: SocketAddr) -> Vec<(u64, Act)> {
        match (address.port(), self.dead) {
            (1, _) => vec![(MS, Act::Accept)],
            (_, Some(why)) => vec![(0, Act::Close(why))],
            (_, None) => Vec::new(),
        }
    }

    fn bytes(&mut self, _: u64, _: ConnId, _: &[u8]) -> Vec<(u64, Act)> {
        vec![(MS, Act::Send(answer()))]
    }
}

#[test]
fn a_name_with_dead_addresses_is_served_by_those_that_answer_and_the_dead_are_named() {
    for (dead, class) in [
        (Some(Closed::Refused), "refused"),
        (None, "connect-timeout"),
    ] {
        for (first, count) in [(0, 1), (1, 1), (0, 16), (1, 16)] {
            let far = OneAnswers { dead };
            let mut sim = Sim::new(pool_to(3, first, count), rate(100.0, 5), 1000, far);
            sim.run_until(20 * S);
            let counts = sim.engine.recorder().counts();
            let what = format!("{class}, first {first}, {count} connections");
            assert_eq!((counts.window.ok, counts.window.errors), (500, 0), "{what}");
            assert_eq!(counts.connections.opened, count as u64, "{what}");
            let classes = sim.classes.seen();
            let failed: Vec<_> = counts.failed_attempts.iter().collect();
            assert!(failed.len() <= 2, "{what}: {failed:?}");
            assert!(count == 1 || failed.len() == 2, "{what}: {failed:?}");
            for attempts in failed {
                assert_ne!(attempts.address.port(), 1, "{what}");
                let seen = &classes[usize::from(attempts.class) - 1];
                assert_eq!(seen.class.to_string(), class, "{what}");
                assert!(attempts.count <= 2, "{what}: {attempts:?}");
            }
        }
    }
}

#[test]
fn all_addresses_that_answer_get_the_same_share_of_connections() {
    let far = Rule(|_: u64, _: ConnId, _: &[u8]| vec![(MS, Act::Send(answer()))]);
    let mut sim = Sim::new(pool_to(4, 0, 16), rate(100.0, 1), 100, far);
    sim.run_until(5 * S);
    let mut share = std::collections::BTreeMap::new();
    for address in &sim.net.addresses {
        *share.entry(address.port()).or_insert(0) += 1;
    }
    assert_eq!(share.into_values().collect::<Vec<_>>(), [4, 4, 4, 4]);
}

#[test]
fn an_attempt_without_an_answer_is_given_up_after_the_timeout() {
    struct Silent;
    impl Far for Silent {
        fn connect(&mut self, _: u64, _: ConnId) -> Vec<(u64, Act)> {
            Vec::new()
        }
        fn bytes(&mut self, _: u64, _: ConnId, _: &[u8]) -> Vec<(u64, Act)> {
            Vec::new()
        }
    }
    let mut sim = Sim::new(pool(1), rate(10.0, 2), 100, Silent);
    sim.run_until(S + 1500 * MS);
    assert_eq!(errors(&mut sim)[0].0, "connect-timeout");
    assert_eq!(sim.engine.recorder().counts().connections.failed, 1);
}

#[test]
fn a_server_that_accepts_and_drops_is_not_hammered() {
    struct Dropping;
    impl Far for Dropping {
        fn connect(&mut self, _: u64, _: ConnId) -> Vec<(u64, Act)> {
            vec![(0, Act::Accept), (MS, Act::Close(Closed::Eof))]
        }
        fn bytes(&mut self, _: u64, _: ConnId, _: &[u8]) -> Vec<(u64, Act)> {
            Vec::new()
        }
    }
    let mut sim = Sim::new(pool(4), rate(1.0, 1), 100, Dropping);
    sim.run_until(10 * S);
    assert!(
        sim.net.attempts.len() < 100,
        "{} attempts in 9 s",
        sim.net.attempts.len()
    );
}

#[test]
fn free_connections_take_turns() {
    let mut used = std::collections::BTreeMap::new();
    let far = Rule(move |_: u64, conn: ConnId, _: &[u8]| {
        *used.entry(conn).or_insert(0) += 1;
        assert!(used.values().max().unwrap() - used.values().min().unwrap() <= 1 || used.len() < 5);
        vec![(MS, Act::Send(answer()))]
    });
    let mut sim = Sim::new(pool(5), rate(100.0, 1), 100, far);
    sim.run_until(10 * S);
    assert_eq!(sim.engine.recorder().counts().window.ok, 100);
}

#[test]
fn a_connection_is_opened_anew_after_as_many_answers_as_it_may_bring() {
    for (exchanges_max, reconnects) in [(1, 10), (3, 3), (10, 1), (11, 0)] {
        let shared = SharedCount::new(10, 1);
        let arrivals = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 10 }, &shared);
        let far = Rule(|_: u64, _: ConnId, _: &[u8]| vec![(MS, Act::Send(answer()))]);
        let client = pool_ruled(1, exchanges_max, OpenSchedule::default());
        let mut sim = Sim::new(client, Arrivals::ClosedLoop(arrivals), 1, far);
        sim.run_until(100 * S);
        let counts = sim.engine.recorder().counts();
        assert_eq!(counts.window.ok, 10);
        assert_eq!(counts.connections.reconnects, reconnects, "{exchanges_max}");
    }
}

#[test]
fn connections_are_opened_one_after_the_other_when_a_time_is_given() {
    let over = std::time::Duration::from_millis(400);
    let client = pool_ruled(4, u64::MAX, OpenSchedule::spread(over, 0, 4, 4));
    let far = Rule(|_: u64, _: ConnId, _: &[u8]| vec![(MS, Act::Send(answer()))]);
    let mut sim = Sim::new(client, rate(10.0, 1), 100, far);
    sim.run_until(3 * S);
    let attempts: Vec<u64> = sim
        .net
        .attempts
        .iter()
        .map(|(at_ns, _)| at_ns - S)
        .collect();
    assert_eq!(attempts, [0, 100 * MS, 200 * MS, 300 * MS]);
}
