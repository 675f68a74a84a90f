//! The UDP client against servers that lose, delay, double, swap and change datagrams.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Udp, UdpOptions, UdpPlan};
use crate::client::{Client, Closed, ConnId};
use crate::engine::sim::{Act, Far, MS, Rule, S, Sim, connections, rate};
use crate::engine::sum_tests::{as_is, cases, check};
use crate::tally::Quantity;

const KEY: u64 = 0x1234_5678_9abc_def0;

fn client(count: usize) -> Udp {
    Udp::new(UdpPlan {
        connections: connections(count, S),
        options: UdpOptions {
            datagram_bytes: 40,
            in_flight_max: 1,
        },
        key: KEY,
    })
}

/// A hundred datagrams, ten milliseconds apart, to a server that answers by a rule on their numbers.
fn hundred(mut rule: impl FnMut(u64, &[u8]) -> Vec<(u64, Vec<u8>)>) -> Sim<Udp, impl Far> {
    let far = Rule(move |_now_ns: u64, _conn: ConnId, bytes: &[u8]| {
        assert_eq!(bytes.len(), 40);
        assert_eq!(bytes[..8], KEY.to_be_bytes());
        let number = u64::from_be_bytes(bytes[8..16].try_into().unwrap());
        let answers = rule(number, bytes).into_iter();
        answers
            .map(|(at_ns, bytes)| (at_ns, Act::Send(bytes)))
            .collect()
    });
    let mut sim = Sim::new(client(2), rate(100.0, 1), 1000, far);
    sim.run_until(100 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    sim
}

/// Successful and failed exchanges, and the counters above zero.
fn ends(sim: &Sim<Udp, impl Far>) -> (u64, u64, BTreeMap<&'static str, u64>) {
    let window = sim.engine.recorder().counts().window;
    let mut counts = BTreeMap::new();
    sim.engine.client().counts(&mut |name, count| {
        if count > 0 {
            counts.insert(name, count);
        }
    });
    (window.ok, window.errors, counts)
}

fn classes(sim: &Sim<Udp, impl Far>) -> Vec<String> {
    let seen = sim.classes.seen();
    seen.iter().map(|seen| seen.class.to_string()).collect()
}

#[test]
fn every_datagram_is_matched_to_its_answer_while_others_are_in_flight() {
    let mut sim = hundred(|_, bytes| vec![(55 * MS, bytes.to_vec())]);
    let sent = BTreeMap::from([("datagrams-sent", 100)]);
    assert_eq!(ends(&sim), (100, 0, sent));
    let service = sim.observed().of(Quantity::Service, "");
    assert_eq!(service.len(), 100);
    let expected = 55 * MS * 99 / 100..55 * MS * 101 / 100;
    assert!(
        service.iter().all(|ns| expected.contains(ns)),
        "{service:?}"
    );
}

#[test]
fn what_has_no_answer_within_the_timeout_is_lost_and_delays_nothing() {
    let mut sim = hundred(|number, bytes| match number % 10 {
        3 => Vec::new(),
        _ => vec![(MS, bytes.to_vec())],
    });
    let (ok, errors, counts) = ends(&sim);
    assert_eq!(
        (ok, errors, classes(&sim)),
        (90, 10, vec!["timeout".to_owned()])
    );
    assert_eq!(counts["datagrams-lost"], 10);
    let lost = sim.observed().of(Quantity::Latency, "timeout");
    let timeout = S * 99 / 100..S * 101 / 100;
    assert!(lost.iter().all(|ns| timeout.contains(ns)), "{lost:?}");
    let example = sim.classes.seen()[0].example.clone().unwrap();
    assert!(example.starts_with("no answer within 1000 ms"), "{example}");
}

#[test]
fn late_doubled_and_swapped_answers_are_counted() {
    let sim = hundred(|number, bytes| match number {
        // After the timeout; then twice; then overtaken by the next.
        10 => vec![(S + MS, bytes.to_vec())],
        20 => vec![(MS, bytes.to_vec()), (2 * MS, bytes.to_vec())],
        30 => vec![(15 * MS, bytes.to_vec())],
        40 => vec![(S + MS, bytes.to_vec()), (S + 2 * MS, bytes.to_vec())],
        _ => vec![(MS, bytes.to_vec())],
    });
    let counts = BTreeMap::from([
        ("datagrams-sent", 100),
        ("datagrams-late", 2),
        ("datagrams-duplicated", 2),
        ("datagrams-reordered", 1),
    ]);
    assert_eq!(ends(&sim), (98, 2, counts));
}

#[test]
fn datagrams_that_answer_nothing_are_counted_and_change_nothing() {
    let sim = hundred(|number, bytes| {
        let mut answers = vec![(2 * MS, bytes.to_vec())];
        let mut stranger = bytes.to_vec();
        match number {
            // Of another load, too short for a number, of a number that was not sent.
            1 => stranger[0] ^= 1,
            2 => stranger.truncate(15),
            3 => stranger[8] ^= 1,
            4 => stranger.clear(),
            _ => return answers,
        }
        answers.push((MS, stranger));
        answers
    });
    let counts = BTreeMap::from([("datagrams-sent", 100), ("datagrams-unknown", 4)]);
    assert_eq!(ends(&sim), (100, 0, counts));
}

#[test]
fn changed_bytes_are_a_wrong_answer() {
    let sim = hundred(|number, bytes| {
        let mut answer = bytes.to_vec();
        match number {
            5 => answer[39] = b'!',
            6 => answer.truncate(39),
            7 => answer.push(b'a'),
            _ => {}
        }
        vec![(MS, answer)]
    });
    let (ok, errors, _) = ends(&sim);
    assert_eq!(
        (ok, errors, classes(&sim)),
        (97, 3, vec!["wrong-body".to_owned()])
    );
}

#[test]
fn a_refusal_fails_what_is_in_flight_and_the_next_datagram_is_sent_again() {
    let far = Rule(
        |now_ns: u64, _conn: ConnId, bytes: &[u8]| match now_ns < S + 500 * MS {
            true => vec![(MS, Act::Close(Closed::Refused))],
            false => vec![(MS, Act::Send(bytes.to_vec()))],
        },
    );
    let mut sim = Sim::new(client(1), rate(100.0, 1), 1000, far);
    sim.run_until(100 * S);
    let (ok, errors, counts) = ends(&sim);
    assert_eq!(
        (ok, errors, classes(&sim)),
        (50, 50, vec!["refused".to_owned()])
    );
    assert_eq!(counts["datagrams-sent"], 100);
}

#[test]
fn a_full_socket_buffer_delays_a_datagram_and_passes_it_to_another_connection() {
    let far = || Rule(|_: u64, _: ConnId, bytes: &[u8]| vec![(MS, Act::Send(bytes.to_vec()))]);
    let mut sim = Sim::new(client(2), rate(100.0, 1), 1000, far());
    sim.net.room.insert(ConnId(0), 0);
    sim.run_until(100 * S);
    assert_eq!(ends(&sim).0, 100, "the other one sends all");

    let mut sim = Sim::new(client(1), rate(100.0, 1), 1000, far());
    sim.net.room.insert(ConnId(0), 0);
    sim.run_until(S + 300 * MS);
    assert_eq!(ends(&sim).2.get("datagrams-sent"), None);
    sim.net.room.clear();
    let Sim { engine, net, .. } = &mut sim;
    engine.on_writable(ConnId(0), net);
    sim.run_until(100 * S);
    assert_eq!(ends(&sim).0, 100, "all that waited was sent");
    let latency = sim.observed().of(Quantity::Latency, "");
    assert!(latency[99] > 290 * MS, "waiting is part of the latency");
}

proptest! {
    #[test]
    fn each_datagram_ends_in_one_of_four_ways(case in cases()) {
        let server = case.server(<[u8]>::to_vec).accepting_all();
        check(client(2), server, &case, as_is)?;
    }
}
