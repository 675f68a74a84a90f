//! Connections as exchanges, on the virtual clock.

use super::{AfterOpen, Connect};
use crate::client::{Closed, ConnId};
use crate::engine::sim::{Act, Far, MS, S, Sim, connections, rate};
use crate::tally::Quantity;

/// Accepts after a while, or does something else, by the number of the attempt.
struct Listener<F>(u64, F);

impl<F: FnMut(u64) -> (u64, Act)> Far for Listener<F> {
    fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        self.0 += 1;
        vec![(self.1)(self.0)]
    }

    fn bytes(&mut self, _now_ns: u64, _conn: ConnId, _bytes: &[u8]) -> Vec<(u64, Act)> {
        Vec::new()
    }
}

fn client(concurrent_attempts: usize) -> Connect {
    Connect::new(connections(concurrent_attempts, S), AfterOpen::Close)
}

#[test]
fn each_exchange_is_one_connection_timed_until_it_is_open() {
    let far = Listener(0, |_| (2 * MS, Act::Accept));
    let mut sim = Sim::new(client(4), rate(100.0, 1), 104, far);
    sim.run_until(10 * S);
    assert_eq!(sim.net.attempts.len(), 100);
    let observed = sim.observed();
    let latency = observed.of(Quantity::Latency, "");
    assert_eq!(latency.len(), 100);
    assert!(latency.iter().all(|&ns| ns.abs_diff(2 * MS) < MS / 100));
    assert_eq!(observed.of(Quantity::Connect, "").len(), 100);
}

#[test]
fn what_fails_is_wrong_what_hangs_times_out_and_the_next_goes_on() {
    let far = Listener(0, |number| match number % 3 {
        0 => (MS, Act::Close(Closed::Refused)),
        1 => (MS, Act::Accept),
        _ => (100 * S, Act::Accept),
    });
    let mut sim = Sim::new(client(2), rate(9.0, 1), 102, far);
    sim.run_until(60 * S);
    let observed = sim.observed();
    let count = |class: &str| observed.of(Quantity::Latency, class).len();
    assert_eq!(
        (count(""), count("refused"), count("connect-timeout")),
        (3, 3, 3)
    );
}
