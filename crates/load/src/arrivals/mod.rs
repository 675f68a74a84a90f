//! Intended starts of the exchanges of one worker, from pacing and stop.

mod closed_loop;
mod open_loop;
mod parse;
mod schedule;
#[cfg(test)]
mod tests;
mod trace;

pub use closed_loop::{ClosedLoop, SharedCount};
pub use open_loop::OpenLoop;
pub use schedule::{ArrivalSchedule, PoissonSchedule};
pub use trace::{ArrivalTrace, TraceError};

/// "Never": later than any time.
pub const NEVER: u64 = u64::MAX;

/// The intended starts of one worker.
#[derive(Debug)]
pub enum Arrivals {
    /// Fixed in advance.
    OpenLoop(OpenLoop),
    /// Each follows the end of another one.
    ClosedLoop(ClosedLoop),
}

impl Arrivals {
    /// Fixes when the load starts.
    pub fn begin(&mut self, start_ns: u64) {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.begin(start_ns),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.begin(start_ns),
        }
    }

    /// Whether starts are fixed in advance.
    #[inline]
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        matches!(self, Arrivals::OpenLoop(_))
    }

    /// The next intended start; [`NEVER`] when none is known.
    #[inline]
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.next_ns(),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.next_ns(),
        }
    }

    /// Takes the next start; `None` when the load has its number of exchanges.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.take(),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.take(),
        }
    }

    /// Takes up to `most` starts of the same time: the time, and their number.
    #[inline]
    pub fn take_batch(&mut self, most: u32) -> Option<(u64, u32)> {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.take().map(|at_ns| (at_ns, 1)),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.take_batch(most),
        }
    }

    /// Exchanges ended, or were dropped: their clients continue in a closed loop.
    #[inline]
    pub fn ended(&mut self, at_ns: u64, count: u32) {
        match self {
            Arrivals::OpenLoop(_) => {}
            Arrivals::ClosedLoop(closed_loop) => closed_loop.ended(at_ns, count),
        }
    }

    /// Ends the window: nothing intended at or after this time is taken.
    pub fn end_window_at(&mut self, end_ns: u64) {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.end_window_at(end_ns),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.end_window_at(end_ns),
        }
    }

    /// Whether no further exchange can become due, as far as known at `now_ns`.
    #[must_use]
    pub fn is_over(&self, now_ns: u64) -> bool {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.next_ns() == NEVER,
            Arrivals::ClosedLoop(closed_loop) => closed_loop.is_over(now_ns),
        }
    }

    /// The end of the window, once fixed by the plan or by a stop; [`NEVER`] before.
    #[must_use]
    pub fn window_end_ns(&self) -> u64 {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.window_end_ns(),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.window_end_ns(),
        }
    }

    #[must_use]
    pub fn window_start_ns(&self) -> u64 {
        match self {
            Arrivals::OpenLoop(open_loop) => open_loop.window_start_ns(),
            Arrivals::ClosedLoop(closed_loop) => closed_loop.window_start_ns(),
        }
    }
}
