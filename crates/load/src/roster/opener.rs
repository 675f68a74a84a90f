//! The way to open connections: whose turn it is, when, where to, and how long nobody tries after failures.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use super::backoff::Backoff;
use super::{Connections, Opening};
use crate::client::{ConnId, Outlet, TimerId};

/// Attempts under way at once: more would overflow the accept queue of an ordinary server, and a SYN that is dropped
/// comes again only after a second.
pub(super) const ATTEMPTS_MAX: usize = 64;

/// The end of a pause after failures.
pub(crate) const RETRY: TimerId = TimerId(1);
/// The turn of the next connection to be opened.
pub(crate) const OPEN: TimerId = TimerId(2);

/// Opens connections and counts them; what they carry is not its matter.
#[derive(Debug)]
pub(crate) struct Opener {
    addresses: Arc<[SocketAddr]>,
    first: usize,
    timeout_ns: u64,
    schedule: Opening,
    backoff: Backoff,
    /// Connections that are neither open nor being opened.
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
    /// When it is given up.
    pub deadline_ns: u64,
}

impl Opener {
    /// Nothing is open.
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

    /// Begins the next attempt, if one may begin now. Otherwise it is to be asked again when a timer of ours goes off, or when
    /// a connection came or went.
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

    /// An attempt failed: nobody tries for a while.
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

    /// Has nobody try for a while.
    pub fn pause(&mut self, out: &mut impl Outlet) {
        let until_ns = self.backoff.failed(out.now_ns());
        out.timer(RETRY, until_ns);
    }

    /// The other side works: the next pause is a short one again.
    #[inline]
    pub fn worked(&mut self) {
        self.backoff.succeeded();
    }

    /// A timer went off.
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
