//! Schedules connection attempts: order, start time, address, backoff.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use super::backoff::Backoff;
use super::{Connections, Opening};
use crate::client::{ConnId, Outlet, TimerId};

/// Concurrent attempts. More would overflow the accept queue of an ordinary server, and a dropped SYN is retransmitted only after
/// a second.
pub(super) const ATTEMPTS_MAX: usize = 64;

/// Timer: end of a backoff pause.
pub(crate) const RETRY: TimerId = TimerId(1);
/// Timer: the next scheduled connection.
pub(crate) const OPEN: TimerId = TimerId(2);

/// Opens connections and counts them.
#[derive(Debug)]
pub(crate) struct Opener {
    addresses: Arc<[SocketAddr]>,
    first: usize,
    timeout_ns: u64,
    schedule: Opening,
    backoff: Backoff,
    /// Connections neither open nor being opened.
    turns: VecDeque<u32>,
    under_way: usize,
    open: usize,
    count: usize,
}

/// An attempt that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The connection.
    pub at: u32,
    /// When it times out.
    pub deadline_ns: u64,
}

impl Opener {
    /// With no connection open.
    pub fn new(plan: &Connections) -> Self {
        Self {
            addresses: Arc::clone(&plan.addresses),
            first: plan.first,
            timeout_ns: plan.timeout_ns,
            schedule: plan.opening.clone(),
            backoff: Backoff::default(),
            turns: (0..plan.count as u32).collect(),
            under_way: 0,
            open: 0,
            count: plan.count,
        }
    }

    /// Starts the next attempt, if one may start now. Otherwise call again when `RETRY` or `OPEN` fires, or when a connection was
    /// opened or lost.
    pub fn attempt(&mut self, out: &mut impl Outlet) -> Option<Attempt> {
        if self.under_way >= ATTEMPTS_MAX || self.backoff.is_waiting() {
            return None;
        }
        let &at = self.turns.front()?;
        if let Err(until_ns) = self.schedule.pass(out.now_ns()) {
            out.timer(OPEN, until_ns);
            return None;
        }
        self.turns.pop_front();
        self.under_way += 1;
        let deadline_ns = out.now_ns().saturating_add(self.timeout_ns);
        let address = self.addresses[(self.first + at as usize) % self.addresses.len()];
        out.connect(ConnId(at), address);
        Some(Attempt { at, deadline_ns })
    }

    /// An attempt succeeded.
    pub fn opened(&mut self) {
        self.under_way -= 1;
        self.open += 1;
    }

    /// An attempt failed: starts a pause.
    pub fn failed(&mut self, at: u32, out: &mut impl Outlet) {
        self.under_way -= 1;
        self.turns.push_back(at);
        self.pause(out);
    }

    /// An open connection is gone.
    pub fn lost(&mut self, at: u32) {
        self.open -= 1;
        self.turns.push_back(at);
    }

    /// Starts a pause.
    pub fn pause(&mut self, out: &mut impl Outlet) {
        let until_ns = self.backoff.failed(out.now_ns());
        out.timer(RETRY, until_ns);
    }

    /// The server works: resets the backoff.
    #[inline]
    pub fn worked(&mut self) {
        self.backoff.succeeded();
    }

    /// A timer fired.
    pub fn timer(&mut self, timer: TimerId) {
        if timer == RETRY {
            self.backoff.elapsed();
        }
    }

    /// Whether no connection is open.
    pub fn is_none_open(&self) -> bool {
        self.open == 0
    }

    /// Whether every connection is open.
    pub fn are_all_open(&self) -> bool {
        self.open == self.count
    }
}
