//! One sum for Kafka, too: each intended record or fetch is ok, an error, unfinished or never sent, whatever the schedule, the
//! brokers' behaviour, the length of the queue and the end of the load.

use proptest::prelude::*;
use tare_load::Quantity;
use tare_load::arrivals::{ArrivalSchedule, Arrivals, ClosedLoop, OpenLoop, SharedCount};
use tare_load::client::Client;
use tare_load::engine::ArrivalKind;
use tare_load::engine::sim::{MS, S, Sim};
use tare_record::load::{FetchEnd, FetchSpec, FetchUntil, Stop};

use crate::fetch::{self, Fetch};
use crate::produce::{self, Produce};
use crate::sim::{Asked, Brokers, Fate};

/// How a load ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// By its stop condition, with a drain of this length.
    Planned { drain_ns: u64 },
    /// By a signal at this time.
    Interrupted { at_ns: u64 },
    /// At once, by a second signal, while the generator is late by this much.
    Aborted { at_ns: u64, late_ns: u64 },
}

/// A load and its brokers.
#[derive(Debug, Clone)]
struct Case {
    /// Records a second; `None` for a closed loop.
    rate: Option<f64>,
    warmup_ns: u64,
    stop: Stop,
    queue: usize,
    ending: Ending,
    /// What becomes of the requests, in turn.
    fates: Vec<u8>,
    broker_is_down: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let stop = prop_oneof![
        (1..3000_u64).prop_map(|ms| Stop::Duration { window_ns: ms * MS }),
        (1..300_u64).prop_map(|exchanges| Stop::Count { exchanges }),
    ];
    let ending = prop_oneof![
        (0..3000_u64).prop_map(|ms| Ending::Planned { drain_ns: ms * MS }),
        (0..3000_u64).prop_map(|ms| Ending::Interrupted { at_ns: ms * MS }),
        (0..3000_u64, 0..500_u64).prop_map(|(at_ms, late_ms)| Ending::Aborted {
            at_ns: at_ms * MS,
            late_ns: late_ms * MS,
        }),
    ];
    (
        prop::option::of(1.0..300.0_f64),
        0..500_u64,
        stop,
        1..60_usize,
        ending,
        prop::collection::vec(any::<u8>(), 1..60),
        any::<bool>(),
    )
        .prop_map(
            |(rate, warmup_ms, stop, queue, ending, fates, broker_is_down)| Case {
                rate,
                warmup_ns: warmup_ms * MS,
                stop,
                queue,
                ending,
                fates,
                broker_is_down,
            },
        )
}

impl Case {
    fn arrivals(&self, clients: usize) -> Arrivals {
        match self.rate {
            Some(rate) => {
                let even = ArrivalSchedule::even(rate);
                Arrivals::OpenLoop(OpenLoop::new(even, self.warmup_ns, self.stop, 0, 1))
            }
            None => {
                let exchanges = match self.stop {
                    Stop::Count { exchanges } => exchanges,
                    _ => 0,
                };
                let shared = SharedCount::new(exchanges, 1);
                let warmup_ns = self.warmup_ns;
                let closed = ClosedLoop::new(clients, MS, warmup_ns, self.stop, &shared);
                Arrivals::ClosedLoop(closed)
            }
        }
    }

    fn brokers(&self) -> Brokers {
        let mut brokers = Brokers::new(&[1, 2], 3);
        if self.broker_is_down {
            brokers.down.push(2);
        }
        let fates = self.fates.clone();
        brokers.rule = Box::new(
            move |asked: Asked| match fates[asked.number % fates.len()] {
                0..128 => Fate::Take,
                128..144 => Fate::Refuse(6),
                144..160 => Fate::Refuse(19),
                160..176 => Fate::Refuse(87),
                176..192 => Fate::TakeAndRefuse(7),
                192..208 => Fate::Close,
                208..224 => Fate::TakeAndClose,
                224..240 => Fate::Silence,
                240.. => Fate::Rubbish,
            },
        );
        brokers
    }

    /// Starts that the schedule has in the time that ran, counted one by one: warm-up and window.
    fn scheduled(&self, ended_ns: u64) -> Option<(u64, u64)> {
        let mut schedule = ArrivalSchedule::even(self.rate?);
        let (mut before, mut within, mut index) = (0, 0, 0);
        while let Some(at_ns) = schedule.at(index) {
            let is_over = match self.stop {
                Stop::Duration { window_ns } => at_ns >= self.warmup_ns + window_ns,
                Stop::Count { exchanges } => within == exchanges,
                Stop::Interrupted => false,
            };
            if is_over || S + at_ns >= ended_ns {
                break;
            }
            match at_ns < self.warmup_ns {
                true => before += 1,
                false => within += 1,
            }
            index += 1;
        }
        Some((before, within))
    }

    /// Runs a load to its end, as a worker does, and checks its sum.
    fn check<C: Client>(&self, client: C, clients: usize) -> Result<(), TestCaseError> {
        let mut sim = Sim::new(client, self.arrivals(clients), self.queue, self.brokers());
        let mut ended_ns = u64::MAX;
        match self.ending {
            Ending::Planned { drain_ns } => {
                for second in 2..400 {
                    sim.run_until(second * S);
                    if sim.engine.recorder().arrivals().is_over(sim.net.now_ns) {
                        break;
                    }
                }
                let until_ns = sim.net.now_ns + drain_ns;
                sim.run_until(until_ns);
            }
            Ending::Interrupted { at_ns } => {
                ended_ns = S + at_ns;
                sim.engine.recorder_mut().end_window_at(ended_ns);
                sim.run_until(ended_ns + S / 2);
            }
            Ending::Aborted { at_ns, late_ns } => {
                sim.run_until(S + at_ns);
                sim.net.now_ns = sim.net.now_ns.max(S + at_ns);
                sim.hold_up(late_ns);
                ended_ns = sim.net.now_ns;
            }
        }
        sim.engine.abandon(&mut sim.net);
        let counts = sim.engine.recorder().counts().clone();
        prop_assert!(counts.add_up(), "{counts:?}");
        if let Some((before, within)) = self.scheduled(ended_ns) {
            let (all, window) = (counts.all.intended, counts.window.intended);
            prop_assert_eq!((all - window, window), (before, within));
        }
        prop_assert!(matches!(counts.released, ArrivalKind::Exchanges));
        let seen = sim.observed().count(Quantity::Latency) as u64;
        prop_assert_eq!(seen, counts.exchanges_of_window().intended);
        Ok(())
    }
}

proptest! {
    #[test]
    fn producing(case in cases(), idempotence in any::<bool>()) {
        let client = Produce::new(produce::tests::plan(idempotence)).unwrap();
        case.check(client, 8)?;
    }

    #[test]
    fn consuming(
        case in cases(),
        backlog in any::<bool>(),
        records in prop::option::of(1..200_u64),
        idle_ms in prop::option::of(1..3000_u64),
    ) {
        let spec = FetchSpec {
            until: FetchUntil {
                records,
                backlog,
                idle_ns: idle_ms.map(|ms| ms * MS),
            },
            at_end: FetchEnd::Wait,
            ..fetch::tests::spec()
        };
        let clients = usize::from(spec.in_flight_max);
        let case = Case { rate: None, ..case };
        case.check(Fetch::new(fetch::tests::plan(spec, (0, 1))), clients)?;
    }
}
