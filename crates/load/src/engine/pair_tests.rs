//! The client contract proved by a protocol that is nothing like HTTP: two connections, one to ask and one to listen,
//! batches by linger, and one answer that ends many exchanges.

use std::net::SocketAddr;

use super::sim::{Act, Far, MS, S, Sim, rate};
use crate::client::{
    Client, Closed, Completion, ConnId, DueExchange, ExchangeOutcome, Outlet, Stamp, Status,
    TimerId, TimestampBound, WaitCause, Written,
};
use crate::tally::Quantity;

const ASK: ConnId = ConnId(0);
const LISTEN: ConnId = ConnId(1);
const LINGER: TimerId = TimerId(3);
const LINGER_NS: u64 = 20 * MS;

/// Collects exchanges for 20 ms, asks for all of them in one write, and hears of them by one byte on the other connection.
#[derive(Default)]
struct Pair {
    open: [bool; 2],
    lingering: Vec<DueExchange>,
    asked: Vec<(DueExchange, u64)>,
}

impl Client for Pair {
    fn on_start(&mut self, out: &mut impl Outlet) {
        let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
        out.connect(ASK, address);
        out.connect(LISTEN, address);
    }

    fn capacity(&self) -> usize {
        100
    }

    fn is_open(&self) -> bool {
        self.open == [true, true]
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        if self.lingering.is_empty() {
            out.set_timer(LINGER, out.now_ns() + LINGER_NS);
        }
        self.lingering.push(due);
    }

    fn on_connected(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.open[conn.0 as usize] = true;
    }

    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        assert_eq!((conn, bytes.len()), (LISTEN, 1));
        let answered: Vec<_> = self.asked.drain(..usize::from(bytes[0])).collect();
        for (due, sent_ns) in answered {
            let done = Completion {
                outcome: ExchangeOutcome::Ok(Status::NONE),
                sent_ns: Some(sent_ns),
                ended: stamp,
                bound: TimestampBound::Upper,
                waited: Some(WaitCause::Linger),
                example: &"",
            };
            out.complete(due.ticket, &done);
        }
    }

    fn on_write_started(&mut self, _: ConnId, _: u64, _: &mut impl Outlet) {}

    fn on_closed(&mut self, _: ConnId, _: Closed, _: &mut impl Outlet) {}

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        assert_eq!(timer, LINGER);
        let count = u8::try_from(self.lingering.len()).unwrap();
        let Written::Sent(sent_ns) = out.write(ASK, &[count]) else {
            panic!("the wire takes all")
        };
        self.asked
            .extend(self.lingering.drain(..).map(|due| (due, sent_ns)));
    }

    fn abandon(&mut self, _: &mut impl Outlet) {}
}

/// Hears on one connection, answers on the other 5 ms later.
struct Echo;

impl Far for Echo {
    fn connect(&mut self, _: u64, _: ConnId) -> Vec<(u64, Act)> {
        vec![(0, Act::Accept)]
    }

    fn bytes(&mut self, _: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        assert_eq!(conn, ASK);
        vec![(5 * MS, Act::Send(bytes.to_vec()))]
    }
}

#[test]
fn one_answer_ends_a_batch_and_the_linger_is_counted_as_wait() {
    let mut sim = Sim::new(Pair::default(), rate(1000.0, 1), 1000, Echo);
    sim.net.reply_on(ASK, LISTEN);
    sim.run_until(10 * S);
    assert!(sim.engine.client().is_open());
    let counts = sim.engine.recorder().counts().clone();
    assert_eq!((counts.window.intended, counts.window.ok), (1000, 1000));
    assert_eq!(
        (
            counts.generator.kernel_timestamps,
            counts.generator.timestamp_upper_bounds
        ),
        (1000, 1000)
    );
    let linger = counts.queue_waits[WaitCause::Linger as usize];
    assert_eq!(linger.count, 1000);
    let observed = sim.observed();
    let within = |quantity, from_ns, to_ns| {
        let values = observed.of(quantity, "");
        assert_eq!(values.len(), 1000);
        assert!(
            values[0] >= from_ns && values[999] <= to_ns,
            "{quantity:?}: {} to {}",
            values[0],
            values[999]
        );
    };
    within(Quantity::Wait, 0, LINGER_NS + MS);
    within(Quantity::Service, 5 * MS - MS / 10, 5 * MS + MS / 10);
    within(Quantity::Latency, 5 * MS - MS / 10, 25 * MS + MS / 10);
}

#[test]
fn a_timestamp_before_the_send_is_counted() {
    let stamps_before_send = |clock_behind_ns| {
        let mut sim = Sim::new(Pair::default(), rate(1000.0, 1), 1000, Echo);
        sim.net.reply_on(ASK, LISTEN);
        sim.net.clock_behind_ns = clock_behind_ns;
        sim.run_until(10 * S);
        sim.engine
            .recorder()
            .counts()
            .generator
            .timestamps_before_send
    };
    assert_eq!(stamps_before_send(4 * MS), 0);
    assert_eq!(stamps_before_send(6 * MS), 1000);
}
