//! One timer for the deadlines of all connections and exchanges.

use crate::arrivals::NEVER;
use crate::client::{Outlet, TimerId};

/// Deadlines of exchanges and of attempts.
pub(crate) const DEADLINE: TimerId = TimerId(0);

/// The timer stands at the earliest deadline that was known when it was set: later ones are found when it goes off, so a load
/// with a timeout of 10 s touches the timer once in 10 s and not once an exchange.
#[derive(Debug)]
pub(crate) struct Deadlines {
    at_ns: u64,
}

impl Deadlines {
    /// None is known.
    pub fn new() -> Self {
        Self { at_ns: NEVER }
    }

    /// Has the timer go off at this deadline at the latest.
    #[inline]
    pub fn watch(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.at_ns {
            self.at_ns = at_ns;
            out.timer(DEADLINE, at_ns);
        }
    }

    /// The timer went off: every deadline that is still to come is to be told anew.
    pub fn elapsed(&mut self) {
        self.at_ns = NEVER;
    }
}
