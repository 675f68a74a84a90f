//! What clients with and without a pool share: the queue of waiting exchanges, and one timer for all deadlines.

use std::collections::VecDeque;
use std::fmt::Display;

use crate::arrivals::NEVER;
use crate::client::{Completion, DueExchange, ExchangeOutcome, Outlet, Stamp, TimerId, WaitCause};

/// Exchanges that wait for a connection, first in, first out. The engine limits its length by what it releases.
#[derive(Debug)]
pub(crate) struct WaitQueue(VecDeque<DueExchange>);

impl WaitQueue {
    /// An empty queue with this capacity.
    pub fn new(waiting_max: usize) -> Self {
        Self(VecDeque::with_capacity(waiting_max))
    }

    /// Appends an exchange.
    #[inline]
    pub fn push(&mut self, due: DueExchange) {
        self.0.push_back(due);
    }

    /// Takes the oldest one.
    #[inline]
    pub fn pop(&mut self) -> Option<DueExchange> {
        self.0.pop_front()
    }

    /// Ends them all.
    pub fn end_all(
        &mut self,
        outcome: ExchangeOutcome,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let done = Completion {
            waited: Some(WaitCause::Connection),
            ..Completion::unsent(outcome, Stamp::event(out.now_ns()), example)
        };
        for due in self.0.drain(..) {
            out.complete(due.ticket, &done);
        }
    }
}

/// Deadlines of exchanges and of attempts.
pub const DEADLINE: TimerId = TimerId(0);

/// The timer is set to the earliest deadline known at that time. Later deadlines are found when it fires, so a load with a
/// timeout of 10 s sets the timer once in 10 s, not once per exchange.
#[derive(Debug)]
pub struct Deadlines {
    at_ns: u64,
}

impl Default for Deadlines {
    /// No deadline is known.
    fn default() -> Self {
        Self { at_ns: NEVER }
    }
}

impl Deadlines {
    /// Fires the timer at this deadline or earlier.
    #[inline]
    pub fn watch(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.at_ns {
            self.at_ns = at_ns;
            out.set_timer(DEADLINE, at_ns);
        }
    }

    /// The timer fired: all deadlines still ahead must be registered again.
    pub fn elapsed(&mut self) {
        self.at_ns = NEVER;
    }
}
