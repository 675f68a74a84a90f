//! Schedule, window, drain, queue and stall arithmetic, on a virtual clock.

use tare_record::load::Stop;

use super::sim::{Act, Far, MS, Rule, S, Sim, answer, patient_pool, pool, rate};
use crate::arrivals::{Arrivals, ClosedLoop, OpenLoop, SharedCount};
use crate::client::ConnId;
use crate::tally::Quantity;

/// Answers a millisecond later, but nothing between these times.
fn stalling(from_ns: u64, to_ns: u64) -> impl Far {
    Rule(move |now_ns: u64, _: ConnId, _: &[u8]| {
        let ready_ns = now_ns + MS;
        let at_ns = if (from_ns..to_ns).contains(&ready_ns) {
            to_ns
        } else {
            ready_ns
        };
        vec![(at_ns - now_ns, Act::Send(answer()))]
    })
}

#[test]
fn a_server_that_stalls_a_second_is_waited_for_by_a_thousand_and_slow_in_service_once_per_connection()
 {
    const CONNECTIONS: usize = 10;
    let far = stalling(3 * S, 4 * S);
    let mut sim = Sim::new(patient_pool(CONNECTIONS), rate(1000.0, 5), 10_000, far);
    sim.run_until(20 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    let observed = sim.observed();
    let latency = observed.of(Quantity::Latency, "");
    let service = observed.of(Quantity::Service, "");
    assert_eq!((latency.len(), service.len()), (5000, 5000));
    let slow = |values: &[u64]| values.iter().filter(|&&v| v > 20 * MS).count();
    // The queue left by the stall is worked off at 10,000/s against 1000/s arriving: a ninth longer than the stall.
    assert!((980..=1120).contains(&slow(&latency)), "{}", slow(&latency));
    assert!(slow(&service) <= CONNECTIONS, "{}", slow(&service));
    // Spread over the whole second: each tenth has its share.
    for tenth in 1..9 {
        let within = latency.iter().filter(|&&v| v / (100 * MS) == tenth).count();
        assert!(
            (95..=125).contains(&within),
            "{within} between {tenth} and one more tenths"
        );
    }
    assert_eq!(
        observed.of(Quantity::Lateness, "").last(),
        Some(&0),
        "we were on time all along"
    );
    let queue_waits = sim.engine.recorder().counts().queue_waits[0];
    assert!(
        (980..=1120).contains(&queue_waits.count),
        "they waited for a connection: {}",
        queue_waits.count
    );
}

/// A second in which our loop does nothing, at 1000/s; from this lateness on a start counts as bunched.
fn held_up(bunched_after_ns: u64) -> Sim<impl crate::client::Client, impl Far> {
    let counting = |recorder: super::ExchangeRecorder| recorder.counting_bunched(bunched_after_ns);
    let far = stalling(0, 0);
    let mut sim = Sim::with_recorder(patient_pool(1000), rate(1000.0, 5), 10_000, far, counting);
    sim.run_until(3 * S);
    sim.hold_up(S);
    sim.run_until(20 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    sim
}

#[test]
fn a_second_in_which_our_worker_stalls_is_lateness_and_in_no_latency() {
    let mut sim = held_up(5 * MS);
    let observed = sim.observed();
    let slow = |quantity| {
        let values = observed.of(quantity, "");
        assert_eq!(values.len(), 5000);
        values.iter().filter(|&&v| v > 20 * MS).count()
    };
    assert_eq!(
        slow(Quantity::Latency),
        0,
        "a punctual client would have waited for none"
    );
    assert!(slow(Quantity::Service) == 0);
    let late = slow(Quantity::Lateness);
    assert!((975..=985).contains(&late), "{late}");
    let waited = slow(Quantity::Response);
    assert!(
        waited.abs_diff(late) <= 2,
        "{waited}: what this client waited for in fact"
    );
    let lag = observed.of(Quantity::Lag, "");
    let lagging = lag.iter().filter(|&&v| v > 0).count();
    assert!(lagging <= 2, "{lagging}: answers that were on their way");
    assert!(*lag.last().unwrap() >= 998 * MS);
}

#[test]
fn starts_that_leave_in_a_burst_behind_a_stall_of_our_worker_are_counted() {
    let bunched = |sim: &Sim<_, _>| sim.engine.recorder().counts().bunched;
    let all = bunched(&held_up(0));
    assert!((999..=1001).contains(&all), "{all}");
    let late = bunched(&held_up(100 * MS));
    assert!(
        (899..=901).contains(&late),
        "{late}: one for each millisecond beyond"
    );
    assert_eq!(bunched(&held_up(S)), 0);
}

#[test]
fn what_became_due_meanwhile_goes_out_before_the_next_answer_is_handled() {
    let mut requests = 0;
    let far = Rule(move |_, _: ConnId, _: &[u8]| {
        requests += 1;
        let bytes = answer();
        let (head, body) = bytes.split_at(bytes.len() - 1);
        match requests {
            // Both are there when the loop looks; the second start is due while it is busy with the first of them.
            1 => vec![
                (100 * MS - MS / 10, Act::Send(head.to_vec())),
                (100 * MS - MS / 10, Act::Send(body.to_vec())),
            ],
            _ => vec![(MS, Act::Send(bytes))],
        }
    });
    let mut sim = Sim::new(pool(1), rate(10.0, 1), 1000, far);
    sim.net.handling_ns = MS / 5;
    sim.run_until(20 * S);
    assert_eq!(sim.engine.recorder().counts().window.ok, 10);
    let queue_waits = sim.engine.recorder().counts().queue_waits[0].count;
    assert_eq!(
        queue_waits, 1,
        "released while the connection was still busy"
    );
}

#[test]
fn warm_up_exchanges_are_sent_and_not_counted() {
    let arrivals = OpenLoop::constant(100.0, S, Stop::Duration { window_ns: 2 * S }, 0, 1);
    let mut sim = Sim::new(pool(2), Arrivals::OpenLoop(arrivals), 1000, stalling(0, 0));
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.intended, counts.window.ok), (200, 200));
    assert_eq!((counts.all.intended, counts.all.sent), (300, 300));
    assert_eq!(sim.observed().of(Quantity::Latency, "").len(), 200);
}

#[test]
fn an_answer_counts_in_the_window_it_arrives_in_whenever_it_was_intended() {
    let arrivals = OpenLoop::constant(100.0, S, Stop::Duration { window_ns: 2 * S }, 0, 1);
    // The load starts at 1 s, its window at 2 s. The answers of the last 105 ms of the warm-up arrive in it; what would be ready
    // after 3.5 s arrives behind its end.
    let far = Rule(|now_ns: u64, _: ConnId, _: &[u8]| {
        let delay_ns = 105 * MS;
        let held_ns = if now_ns + delay_ns >= 3 * S + 500 * MS {
            6 * S - now_ns
        } else {
            delay_ns
        };
        vec![(held_ns, Act::Send(answer()))]
    });
    let mut sim = Sim::new(patient_pool(200), Arrivals::OpenLoop(arrivals), 1000, far);
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.ok, counts.window.errors), (200, 0));
    let answered = counts.completed_in_window;
    // Intended from 1.90 s to 3.39 s.
    assert_eq!((answered.ok, answered.errors), (150, 0));
}

#[test]
fn what_has_no_answer_when_the_drain_ends_is_unfinished_at_its_age() {
    // The last answer before 1.9 s; the timeout of a second is not reached before the drain is broken off.
    let far = stalling(S + 900 * MS, 100 * S);
    let mut sim = Sim::new(pool(4), rate(100.0, 1), 1000, far);
    sim.run_until(2 * S + 400 * MS);
    sim.engine.abandon(&mut sim.net);
    let stages = sim.engine.recorder().counts().window;
    assert_eq!(stages.intended, 100);
    assert_eq!(stages.unfinished + stages.ok, 100);
    assert_eq!((stages.unfinished, stages.errors), (10, 0));
    assert_eq!(
        stages.sent,
        stages.ok + 4,
        "one on each connection, the others still waited"
    );
    let ages = sim.observed().of(Quantity::Latency, "unfinished");
    assert_eq!(ages.len(), 10);
    assert!(ages[0] >= 400 * MS && ages[9] <= 501 * MS, "{ages:?}");
}

#[test]
fn starts_that_find_the_queue_full_are_counted_and_not_released() {
    let far = stalling(0, 100 * S);
    let bounded = |recorder: super::ExchangeRecorder| recorder.with_timeout(10 * S);
    let mut sim = Sim::with_recorder(pool(2), rate(100.0, 1), 2 + 20, far, bounded);
    sim.run_until(S + 999 * MS);
    sim.engine.abandon(&mut sim.net);
    let stages = sim.engine.recorder().counts().window;
    assert_eq!(
        (stages.intended, stages.released, stages.overflow),
        (100, 22, 78)
    );
    assert_eq!(
        (stages.sent, stages.unfinished, stages.never_sent),
        (2, 22, 78)
    );
    let bounds = sim.observed().of(Quantity::Latency, "never-sent");
    assert_eq!(bounds.len(), 78, "each is a failure with a latency");
    assert!(
        bounds.iter().all(|ns| *ns >= 10 * S),
        "their timeout: {bounds:?}"
    );
}

#[test]
fn an_exchange_without_an_answer_times_out_and_its_connection_is_opened_again() {
    let mut first = true;
    let far = Rule(
        move |_: u64, _: ConnId, _: &[u8]| match std::mem::take(&mut first) {
            true => Vec::new(),
            false => vec![(MS, Act::Send(answer()))],
        },
    );
    let mut sim = Sim::new(pool(1), rate(1.0, 3), 100, far);
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.ok, counts.window.errors), (2, 1));
    assert_eq!(
        (counts.connections.opened, counts.connections.reconnects),
        (2, 1)
    );
    let observed = sim.observed();
    assert!(observed.of(Quantity::Latency, "timeout")[0].abs_diff(S) < MS);
    assert!(
        observed.of(Quantity::Latency, "")[0] < 2 * MS,
        "the next one goes over the new connection"
    );
}

#[test]
fn a_closed_loop_by_count_ends_with_its_last_answer() {
    let shared = SharedCount::new(10, 1);
    let arrivals = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 10 }, &shared);
    let mut sim = Sim::new(pool(1), Arrivals::ClosedLoop(arrivals), 1, stalling(0, 0));
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!((counts.window.intended, counts.window.ok), (10, 10));
    assert_eq!(counts.last_done_ns, S + 10 * MS);
}

#[test]
fn an_abandoned_loop_counts_the_starts_it_never_came_to() {
    let mut sim = Sim::new(pool(2), rate(1000.0, 1), 5000, stalling(0, 0));
    sim.run_until(S + 100 * MS);
    sim.hold_up(500 * MS);
    sim.engine.recorder_mut().end_window_at(S + 600 * MS);
    sim.engine.abandon(&mut sim.net);
    let stages = sim.engine.recorder().counts().window;
    assert_eq!(stages.intended, 600);
    assert!(stages.released <= 102, "{}", stages.released);
    assert_eq!(stages.released + stages.never_sent, 600);
    assert!(stages.adds_up());
    let ages = sim.observed().of(Quantity::Latency, "never-sent");
    assert_eq!(ages.len() as u64, stages.never_sent);
    assert!(
        ages[0] <= 2 * MS && ages[ages.len() - 1] >= 497 * MS,
        "{ages:?}"
    );
}
