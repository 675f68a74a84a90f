//! Opens a client's connections: order, start time, address, and pauses after failures.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Addresses;
use crate::client::{ConnId, Outlet, TimerId};

/// Configuration of a client's connections.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// Addresses, used in turn.
    pub addresses: Arc<[SocketAddr]>,
    /// Index of the first one in the whole load: addresses are used in turn over all workers.
    pub first: usize,
    /// Number of connections.
    pub count: usize,
    /// A connection is reopened after this many exchanges.
    pub exchanges_max: u64,
    /// When they are opened.
    pub opening: OpenSchedule,
    /// Timeout of an exchange and of a connection attempt.
    pub timeout_ns: u64,
    /// Most exchanges in the wait queue.
    pub waiting_max: usize,
}

impl PoolConfig {
    /// The address of a connection, by its index in this worker.
    pub(crate) fn address(&self, at: usize) -> SocketAddr {
        self.addresses[(self.first + at) % self.addresses.len()]
    }
}

/// Concurrent attempts. More would overflow the accept queue of an ordinary server, and a dropped SYN is retransmitted only after
/// a second.
pub(super) const ATTEMPTS_MAX: usize = 64;

/// Timer: end of a backoff pause.
pub const RETRY: TimerId = TimerId(1);
/// Timer: the next scheduled connection.
pub(crate) const OPEN: TimerId = TimerId(2);

/// Opens connections and counts them.
#[derive(Debug)]
pub(crate) struct ConnectScheduler {
    config: PoolConfig,
    addresses: Addresses,
    /// Index of the address of each connection.
    address_of: Vec<usize>,
    backoff: Backoff,
    /// Connections neither open nor being opened.
    turns: VecDeque<u32>,
    under_way: usize,
    open: usize,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// The server has another address, which may answer.
    NextAddress,
    Pause,
}

/// An attempt that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The connection.
    pub at: u32,
    /// When it times out.
    pub deadline_ns: u64,
}

impl ConnectScheduler {
    /// With no connection open.
    pub fn new(config: &PoolConfig) -> Self {
        Self {
            config: config.clone(),
            addresses: Addresses::new(&config.addresses, config.first),
            address_of: vec![0; config.count],
            backoff: Backoff::default(),
            turns: (0..config.count as u32).collect(),
            under_way: 0,
            open: 0,
        }
    }

    /// Starts the next attempt, if one may start now. Otherwise call again when `RETRY` or `OPEN` fires, or when a connection was
    /// opened or lost.
    pub fn attempt(&mut self, out: &mut impl Outlet) -> Option<Attempt> {
        if self.under_way >= ATTEMPTS_MAX || self.backoff.is_waiting() {
            return None;
        }
        let &at = self.turns.front()?;
        let now_ns = out.now_ns();
        if let Err(until_ns) = self.config.opening.due(now_ns) {
            out.set_timer(OPEN, until_ns);
            return None;
        }
        let choice = self.addresses.choose(now_ns)?;
        self.config.opening.advance();
        self.turns.pop_front();
        self.under_way += 1;
        self.address_of[at as usize] = choice.index;
        let limit_ns = choice.limit_ns.unwrap_or(u64::MAX);
        let deadline_ns = now_ns.saturating_add(self.config.timeout_ns.min(limit_ns));
        out.connect(ConnId(at), choice.address);
        Some(Attempt { at, deadline_ns })
    }

    /// An attempt succeeded.
    pub fn opened(&mut self, at: u32) {
        self.under_way -= 1;
        self.open += 1;
        self.addresses.answered(self.address_of[at as usize]);
    }

    /// An attempt failed: another address is next, or a pause.
    pub fn failed(&mut self, at: u32, out: &mut impl Outlet) -> AfterFailure {
        self.under_way -= 1;
        let index = self.address_of[at as usize];
        if self.addresses.failed(index, out.now_ns()) {
            self.turns.push_front(at);
            return AfterFailure::NextAddress;
        }
        self.turns.push_back(at);
        self.pause(out);
        AfterFailure::Pause
    }

    /// An open connection is gone.
    pub fn lost(&mut self, at: u32) {
        self.open -= 1;
        self.turns.push_back(at);
    }

    /// Starts a pause.
    pub fn pause(&mut self, out: &mut impl Outlet) {
        let until_ns = self.backoff.failed(out.now_ns());
        out.set_timer(RETRY, until_ns);
    }

    /// The server works: resets the backoff.
    #[inline]
    pub fn reset_backoff(&mut self) {
        self.backoff.succeeded();
    }

    /// A timer fired.
    pub fn timer(&mut self, timer: TimerId) {
        if timer == RETRY {
            self.backoff.elapsed();
            self.addresses.retry();
        }
    }

    /// Whether no connection is open.
    pub fn is_none_open(&self) -> bool {
        self.open == 0
    }

    /// Whether every connection is open.
    pub fn are_all_open(&self) -> bool {
        self.open == self.config.count
    }
}

/// The opening schedule of one worker's connections.
#[derive(Debug, Clone, Default)]
pub struct OpenSchedule {
    /// Interval between two connections of the whole load.
    gap_ns: f64,
    /// Index of this worker's next connection in the whole load.
    next: usize,
    /// One past its last index.
    end: usize,
    start_ns: Option<u64>,
}

impl OpenSchedule {
    /// Connections `first` to `first + count` of `all`, spread over a time. All workers start at the same time, so connections
    /// are opened one by one.
    #[must_use]
    pub fn spread(over: Duration, first: usize, count: usize, all: usize) -> Self {
        Self {
            gap_ns: over.as_nanos() as f64 / all.max(1) as f64,
            next: first,
            end: if over.is_zero() { first } else { first + count },
            start_ns: None,
        }
    }

    /// Opens the next connection, if it may be opened.
    ///
    /// # Errors
    /// When it may not yet: the time at which it may.
    #[inline]
    pub fn pass(&mut self, now_ns: u64) -> Result<(), u64> {
        self.due(now_ns)?;
        self.advance();
        Ok(())
    }

    fn due(&mut self, now_ns: u64) -> Result<(), u64> {
        if self.next >= self.end {
            // All were opened once: connections are reopened immediately.
            return Ok(());
        }
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        let due_ns = start_ns.saturating_add((self.next as f64 * self.gap_ns).round() as u64);
        if now_ns < due_ns {
            return Err(due_ns);
        }
        Ok(())
    }

    /// The next connection is being opened.
    fn advance(&mut self) {
        if self.next < self.end {
            self.next += 1;
        }
    }
}

/// First pause.
const FIRST_NS: u64 = 10_000_000;
/// Longest pause.
const LONGEST_NS: u64 = 1_000_000_000;

/// Doubles the pause with each round of failures, up to a second; a success resets it.
#[derive(Debug, Default)]
pub struct Backoff {
    pause_ns: u64,
    until_ns: Option<u64>,
}

impl Backoff {
    /// An attempt failed; returns the end of the pause. Failures during a pause count once.
    pub fn failed(&mut self, now_ns: u64) -> u64 {
        if let Some(until_ns) = self.until_ns {
            return until_ns;
        }
        self.pause_ns = (self.pause_ns * 2).clamp(FIRST_NS, LONGEST_NS);
        let until_ns = now_ns.saturating_add(self.pause_ns);
        self.until_ns = Some(until_ns);
        until_ns
    }

    /// A connection works: resets the pause.
    pub fn succeeded(&mut self) {
        self.pause_ns = 0;
        self.until_ns = None;
    }

    /// The pause is over.
    pub fn elapsed(&mut self) {
        self.until_ns = None;
    }

    /// Whether a pause is on.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.until_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_second_and_a_success_ends_them() {
        let mut backoff = Backoff::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            pauses.push(backoff.failed(0) / 1_000_000);
            assert_eq!(
                backoff.failed(5_000),
                backoff.failed(0),
                "one round counts once"
            );
            backoff.elapsed();
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        backoff.succeeded();
        assert_eq!(backoff.failed(0), FIRST_NS);
    }

    #[test]
    fn two_workers_open_one_after_the_other_and_again_at_once() {
        let over = Duration::from_nanos(400);
        let mut first = OpenSchedule::spread(over, 0, 2, 4);
        let mut second = OpenSchedule::spread(over, 2, 2, 4);
        assert_eq!(first.pass(1000), Ok(()));
        assert_eq!(first.pass(1000), Err(1100));
        assert_eq!(second.pass(1000), Err(1200));
        assert_eq!(first.pass(1100), Ok(()));
        assert_eq!(first.pass(1100), Ok(()), "one that is opened again");
        assert_eq!(second.pass(1350), Ok(()));
        assert_eq!(second.pass(1350), Ok(()));
    }

    #[test]
    fn without_a_time_all_are_opened_at_once() {
        let mut opening = OpenSchedule::spread(Duration::ZERO, 7, 9, 20);
        assert!((0..20).all(|_| opening.pass(5) == Ok(())));
    }
}
