//! Closed loop: a client starts again after the end of its last exchange. "As fast as possible" is a closed loop without pauses,
//! with as many clients as the connections can carry.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tare_record::load::{Stop, ThinkDistribution};
use tare_stats::random::Random;

use super::NEVER;

/// The first starts of all clients are spread over at most this time.
const STAGGER_NS_MAX: u64 = 100_000_000;

/// Gap between the first starts of two clients without think time.
const STAGGER_GAP_NS: u64 = 50_000;

/// A number of exchanges shared by the workers, claimed in blocks to keep contention low.
#[derive(Debug)]
pub struct SharedCount {
    left: AtomicU64,
    block: u64,
}

impl SharedCount {
    #[must_use]
    pub fn new(exchanges: u64, workers: u32) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(exchanges),
            block: (exchanges / (u64::from(workers.max(1)) * 16)).clamp(1, 1024),
        })
    }

    fn claim(&self) -> u64 {
        let mut left = self.left.load(Ordering::Relaxed);
        loop {
            let taken = left.min(self.block);
            let swap = self.left.compare_exchange_weak(
                left,
                left - taken,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swap {
                Ok(_) => return taken,
                Err(now) => left = now,
            }
        }
    }
}

/// How a closed loop ends.
#[derive(Debug)]
enum Limit {
    /// At this time from the start of the load.
    At(u64),
    /// When the shared count is used up; `claimed` is what this worker has left of its block.
    Count {
        shared: Arc<SharedCount>,
        claimed: u64,
        used_up_at_ns: u64,
    },
}

/// When each waiting client continues.
#[derive(Debug)]
enum Ready {
    /// Sorted, because the pause is the same for all: time and number of clients.
    Alike(VecDeque<(u64, u32)>),
    /// Every pause is random.
    Drawn {
        spread: ThinkDistribution,
        random: Random,
        at_ns: BinaryHeap<Reverse<u64>>,
    },
}

impl Ready {
    fn new(clients: usize, spread: ThinkDistribution, random: Random) -> Self {
        match spread {
            ThinkDistribution::None => Ready::Alike(VecDeque::with_capacity(clients)),
            ThinkDistribution::Uniform | ThinkDistribution::Exponential => Ready::Drawn {
                spread,
                random,
                at_ns: BinaryHeap::with_capacity(clients),
            },
        }
    }

    fn first(&self) -> Option<u64> {
        match self {
            Ready::Alike(at_ns) => at_ns.front().map(|&(at_ns, _)| at_ns),
            Ready::Drawn { at_ns, .. } => at_ns.peek().map(|&Reverse(at_ns)| at_ns),
        }
    }

    /// Takes up to `most` clients of the earliest time.
    #[inline]
    fn take(&mut self, most: u32) -> Option<(u64, u32)> {
        match self {
            Ready::Alike(ready) => {
                let (at_ns, count) = ready.front_mut()?;
                if *count > most {
                    *count -= most;
                    return Some((*at_ns, most));
                }
                ready.pop_front()
            }
            Ready::Drawn { at_ns, .. } => at_ns.pop().map(|Reverse(at_ns)| (at_ns, 1)),
        }
    }

    fn begin(&mut self, starts_ns: impl Iterator<Item = u64>) {
        match self {
            Ready::Alike(at_ns) => at_ns.extend(starts_ns.map(|at_ns| (at_ns, 1))),
            Ready::Drawn { at_ns, .. } => at_ns.extend(starts_ns.map(Reverse)),
        }
    }

    /// `count` clients pause from now on.
    #[inline]
    fn pause(&mut self, now_ns: u64, think_time_ns: u64, count: u32) {
        match self {
            Ready::Alike(at_ns) => {
                let ready_ns = now_ns.saturating_add(think_time_ns);
                // Ends arrive in order except for the last microsecond: this keeps the queue sorted.
                match at_ns.back_mut() {
                    Some((last_ns, of)) if *last_ns >= ready_ns => *of += count,
                    _ => at_ns.push_back((ready_ns, count)),
                }
            }
            Ready::Drawn {
                spread,
                random,
                at_ns,
            } => {
                for _ in 0..count {
                    let share = match spread {
                        ThinkDistribution::None => 1.0,
                        ThinkDistribution::Uniform => 2.0 * random.unit(),
                        ThinkDistribution::Exponential => random.exponential(),
                    };
                    let pause_ns = (think_time_ns as f64 * share).round() as u64;
                    at_ns.push(Reverse(now_ns.saturating_add(pause_ns)));
                }
            }
        }
    }
}

/// Clients of one worker in a closed loop.
#[derive(Debug)]
pub struct ClosedLoop {
    think_time_ns: u64,
    ready: Ready,
    clients: usize,
    warmup_ns: u64,
    start_ns: u64,
    limit: Limit,
    window_cut_ns: u64,
}

impl ClosedLoop {
    /// A number of clients with a constant pause. `shared` is the count of [`Stop::Count`] over all workers.
    #[must_use]
    pub fn new(
        clients: usize,
        think_time_ns: u64,
        warmup_ns: u64,
        stop: Stop,
        shared: &Arc<SharedCount>,
    ) -> Self {
        let limit = match stop {
            Stop::Duration { window_ns } => Limit::At(warmup_ns.saturating_add(window_ns)),
            Stop::Count { .. } => Limit::Count {
                shared: Arc::clone(shared),
                claimed: 0,
                used_up_at_ns: NEVER,
            },
            Stop::Interrupted => Limit::At(NEVER),
        };
        Self {
            think_time_ns,
            ready: Ready::Alike(VecDeque::with_capacity(clients)),
            clients,
            warmup_ns,
            start_ns: 0,
            limit,
            window_cut_ns: NEVER,
        }
    }

    /// Makes every pause random, with the given one as mean.
    #[must_use]
    pub fn drawing(mut self, spread: ThinkDistribution, random: Random) -> Self {
        self.ready = Ready::new(self.clients, spread, random);
        self
    }

    pub(super) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        let clients = self.clients.max(1) as u64;
        let spread_ns = match self.think_time_ns {
            0 => (clients * STAGGER_GAP_NS).min(STAGGER_NS_MAX),
            think_time_ns => think_time_ns,
        };
        self.ready
            .begin((0..self.clients as u64).map(|client| start_ns + spread_ns * client / clients));
    }

    pub(super) fn next_ns(&self) -> u64 {
        match self.ready.first() {
            Some(at_ns) if at_ns < self.end_ns() => at_ns,
            _ => NEVER,
        }
    }

    pub(super) fn take(&mut self) -> Option<u64> {
        self.take_batch(1).map(|(at_ns, _)| at_ns)
    }

    #[inline]
    pub(super) fn take_batch(&mut self, most: u32) -> Option<(u64, u32)> {
        let at_ns = self.next_ns();
        if at_ns == NEVER {
            return None;
        }
        let mut most = most;
        let in_window = at_ns >= self.window_start_ns();
        if let Limit::Count {
            shared,
            claimed,
            used_up_at_ns,
        } = &mut self.limit
            && in_window
        {
            if *claimed == 0 {
                *claimed = shared.claim();
            }
            if *claimed == 0 {
                *used_up_at_ns = at_ns;
                return None;
            }
            most = u32::try_from(*claimed).map_or(most, |claimed| most.min(claimed));
            let taken = self.ready.take(most);
            *claimed -= taken.map_or(0, |(_, count)| u64::from(count));
            return taken;
        }
        self.ready.take(most)
    }

    #[inline]
    pub(super) fn ended(&mut self, at_ns: u64, count: u32) {
        self.ready.pause(at_ns, self.think_time_ns, count);
    }

    pub(super) fn end_window_at(&mut self, end_ns: u64) {
        self.window_cut_ns = self.window_cut_ns.min(end_ns);
    }

    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns()
    }

    pub(super) fn window_start_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.warmup_ns)
    }

    pub(super) fn window_end_ns(&self) -> u64 {
        match self.limit {
            Limit::At(_) => self.end_ns(),
            // Used up: the window ends with the last exchange, which only the recorder knows.
            Limit::Count { used_up_at_ns, .. } if used_up_at_ns <= self.window_cut_ns => NEVER,
            Limit::Count { .. } => self.window_cut_ns,
        }
    }

    fn end_ns(&self) -> u64 {
        let planned = match self.limit {
            Limit::At(offset_ns) => self.start_ns.saturating_add(offset_ns),
            Limit::Count { used_up_at_ns, .. } => used_up_at_ns,
        };
        planned.min(self.window_cut_ns)
    }
}
