//! One timer for the deadlines of all connections and exchanges.

use crate::arrivals::NEVER;
use crate::client::{Outlet, TimerId};

/// Deadlines of exchanges and of attempts.
pub(crate) const DEADLINE: TimerId = TimerId(0);

/// The timer is set to the earliest deadline known at that time. Later deadlines are found when it fires, so a load with a
/// timeout of 10 s sets the timer once in 10 s, not once per exchange.
#[derive(Debug)]
pub(crate) struct Deadlines {
    at_ns: u64,
}

impl Deadlines {
    /// No deadline is known.
    pub fn new() -> Self {
        Self { at_ns: NEVER }
    }

    /// Fires the timer at this deadline or earlier.
    #[inline]
    pub fn watch(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.at_ns {
            self.at_ns = at_ns;
            out.timer(DEADLINE, at_ns);
        }
    }

    /// The timer fired: all deadlines still ahead must be registered again.
    pub fn elapsed(&mut self) {
        self.at_ns = NEVER;
    }
}
