//! Loads at random, run to their end, of which each exchange has to be counted once: for the tests of all protocols.

use std::fmt::Debug;
use std::sync::Arc;

use tare_record::load::{AtEnd, LoadSpec, Pacing, Shard, Stop};

use super::{Far, MS, S, Sim};
use crate::arrivals::{
    ArrivalSchedule, ArrivalTrace, Arrivals, ClosedLoop, NEVER, OpenLoop, SharedCount,
};
use crate::client::Client;
use crate::engine::{ArrivalKind, ExchangeRecorder};
use crate::protocols::http1;
use crate::tally::Quantity;

/// What a load is made of, apart from its protocol.
#[derive(Debug, Clone)]
pub struct RandomLoad {
    pub pacing: RandomPace,
    pub warmup_ns: u64,
    pub stop: Stop,
    /// Exchanges that may be in flight or wait.
    pub queue: usize,
    pub ending: RandomEnd,
    /// The server's behaviour.
    pub script: Vec<u8>,
}

/// When exchanges start.
#[derive(Debug, Clone)]
pub enum RandomPace {
    Constant(f64),
    Poisson(f64),
    Replay(Vec<u64>, AtEnd),
    Closed(usize),
}

/// How a load ends.
#[derive(Debug, Clone, Copy)]
pub enum RandomEnd {
    /// By its stop condition, with a drain of this length.
    Planned { drain_ns: u64 },
    /// By a signal at this time, with a drain.
    Interrupted { at_ns: u64 },
    /// At once, by a second signal, while the generator is late by this much.
    Aborted { at_ns: u64, late_ns: u64 },
}

impl RandomLoad {
    /// The schedule; `None` for a closed loop.
    fn schedule(&self) -> Option<ArrivalSchedule> {
        match &self.pacing {
            RandomPace::Constant(rate_per_s) => Some(ArrivalSchedule::even(*rate_per_s)),
            RandomPace::Poisson(rate_per_s) => {
                let load = LoadSpec {
                    pacing: Pacing::Poisson {
                        rate_per_s: *rate_per_s,
                    },
                    ..LoadSpec::new(http1::client(1))
                };
                ArrivalSchedule::of_load(&load, 7).unwrap()
            }
            RandomPace::Replay(starts_ns, at_end) => {
                let shard = Shard::ALL;
                let trace = ArrivalTrace::of("a", starts_ns.clone(), 1.0, *at_end, shard).unwrap();
                Some(ArrivalSchedule::Recorded(Arc::new(trace)))
            }
            RandomPace::Closed(_) => None,
        }
    }

    fn arrivals(&self) -> Arrivals {
        match (self.schedule(), &self.pacing) {
            (Some(schedule), _) => {
                let open = OpenLoop::new(schedule, self.warmup_ns, self.stop, 0, 1);
                Arrivals::OpenLoop(open)
            }
            (None, RandomPace::Closed(clients)) => {
                let Stop::Count { exchanges } = self.stop else {
                    let shared = SharedCount::new(0, 1);
                    let looped = ClosedLoop::new(*clients, MS, self.warmup_ns, self.stop, &shared);
                    return Arrivals::ClosedLoop(looped);
                };
                let shared = SharedCount::new(exchanges, 1);
                let looped = ClosedLoop::new(*clients, MS, self.warmup_ns, self.stop, &shared);
                Arrivals::ClosedLoop(looped)
            }
            (None, _) => panic!("only a closed loop has no schedule"),
        }
    }

    /// When the load ends that begins at a second.
    fn end_ns(&self, sim_now_ns: u64) -> u64 {
        match self.ending {
            RandomEnd::Planned { .. } => NEVER,
            RandomEnd::Interrupted { at_ns } => S + at_ns,
            RandomEnd::Aborted { .. } => sim_now_ns,
        }
    }

    /// Starts that the schedule has in the time that ran, counted one by one: warm-up and window.
    fn scheduled(&self, ended_ns: u64) -> Option<(u64, u64)> {
        let mut schedule = self.schedule()?;
        let length_ns = schedule.length_ns();
        let (mut before, mut within, mut index) = (0, 0, 0);
        while let Some(at_ns) = schedule.at(index) {
            let is_over = match self.stop {
                Stop::Duration { window_ns } => at_ns >= self.warmup_ns + window_ns,
                Stop::Count { exchanges } => within == exchanges,
                Stop::Interrupted => false,
            };
            if is_over || at_ns >= length_ns || S + at_ns >= ended_ns {
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
    ///
    /// # Errors
    /// With what does not add up.
    pub fn check<C: Client, F: Far>(
        &self,
        client: C,
        far: F,
        adapt: impl FnOnce(ExchangeRecorder) -> ExchangeRecorder,
    ) -> Result<(), String> {
        let queue = match self.pacing {
            RandomPace::Closed(clients) => clients,
            _ => self.queue,
        };
        let adapt = |recorder: ExchangeRecorder| adapt(recorder.with_timeout(S));
        let mut sim = Sim::with_recorder(client, self.arrivals(), queue, far, adapt);
        match self.ending {
            RandomEnd::Planned { drain_ns } => {
                // Longer than any of these schedules: a count of 300 at one a second.
                for second in 2..400 {
                    sim.run_until(second * S);
                    if sim.engine.recorder().arrivals().is_over(sim.net.now_ns) {
                        break;
                    }
                }
                let until_ns = sim.net.now_ns + drain_ns;
                sim.run_until(until_ns);
            }
            RandomEnd::Interrupted { at_ns } => {
                // An order lies ahead, so that nothing beyond it has begun.
                sim.engine.recorder_mut().end_window_at(S + at_ns);
                sim.run_until(S + at_ns + S / 2);
            }
            RandomEnd::Aborted { at_ns, late_ns } => {
                sim.run_until(S + at_ns);
                sim.net.now_ns = sim.net.now_ns.max(S + at_ns);
                sim.hold_up(late_ns);
            }
        }
        let ended_ns = self.end_ns(sim.net.now_ns);
        sim.engine.abandon(&mut sim.net);
        let counts = sim.engine.recorder().counts().clone();
        if !counts.add_up() {
            return Err(format!("the counts do not add up: {counts:?}"));
        }
        if let Some((before, within)) = self.scheduled(ended_ns) {
            let (all, window) = (counts.all.intended, counts.window.intended);
            equal(
                "starts before and in the window",
                (all - window, window),
                (before, within),
            )?;
        }
        let result = counts.exchanges_of_window();
        if let ArrivalKind::Exchanges = counts.released {
            // Each has one latency, a bound where there was no answer.
            let seen = sim.observed().count(Quantity::Latency) as u64;
            equal("latencies", seen, result.intended)?;
        }
        Ok(())
    }
}

fn equal<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?} instead of {expected:?}")),
    }
}
