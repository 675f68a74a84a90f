//! Exchanges that wait for a connection, first in, first out.

use std::collections::VecDeque;
use std::fmt::Display;

use crate::client::{Bound, Done, Due, Outcome, Outlet, Stamp, WaitCause};

/// The queue. The engine limits its length by what it releases.
#[derive(Debug)]
pub(crate) struct WaitQueue(VecDeque<Due>);

impl WaitQueue {
    /// An empty queue with this capacity.
    pub fn new(waiting_max: usize) -> Self {
        Self(VecDeque::with_capacity(waiting_max))
    }

    /// Appends an exchange.
    #[inline]
    pub fn push(&mut self, due: Due) {
        self.0.push_back(due);
    }

    /// Takes the oldest one.
    #[inline]
    pub fn pop(&mut self) -> Option<Due> {
        self.0.pop_front()
    }

    /// Ends them all.
    pub fn end_all(&mut self, outcome: Outcome, example: &dyn Display, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for due in self.0.drain(..) {
            let done = Done {
                outcome,
                sent_ns: None,
                ended,
                bound: Bound::Exact,
                waited: Some(WaitCause::Connection),
                example,
            };
            out.done(due.ticket, &done);
        }
    }
}
