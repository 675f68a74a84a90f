//! Pacing × stop: when the exchanges of one worker are intended to start.

mod looped;
mod planned;
mod recorded;
mod recording;
#[cfg(test)]
mod tests;
mod times;

pub use looped::{Looped, SharedCount};
pub use planned::Planned;
pub use recording::{Recording, RecordingError};
pub use times::{RandomTimes, Times};

/// "Never": later than any time.
pub const NEVER: u64 = u64::MAX;

/// The intended starts of one worker.
#[derive(Debug)]
pub enum Arrivals {
    /// Fixed in advance.
    Planned(Planned),
    /// Each follows the end of another.
    Looped(Looped),
}

impl Arrivals {
    /// Fixes when the load starts.
    pub fn begin(&mut self, start_ns: u64) {
        match self {
            Arrivals::Planned(planned) => planned.begin(start_ns),
            Arrivals::Looped(looped) => looped.begin(start_ns),
        }
    }

    /// Whether starts are fixed in advance.
    #[inline]
    #[must_use]
    pub fn is_planned(&self) -> bool {
        matches!(self, Arrivals::Planned(_))
    }

    /// The next intended start that was not taken; [`NEVER`] when none is known.
    #[inline]
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        match self {
            Arrivals::Planned(planned) => planned.next_ns(),
            Arrivals::Looped(looped) => looped.next_ns(),
        }
    }

    /// Takes the next one; `None` when the stop rule is reached.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        match self {
            Arrivals::Planned(planned) => planned.take(),
            Arrivals::Looped(looped) => looped.take(),
        }
    }

    /// Takes the next one and up to `most` in all of the same time: their time, and how many they are.
    #[inline]
    pub fn take_run(&mut self, most: u32) -> Option<(u64, u32)> {
        match self {
            Arrivals::Planned(planned) => planned.take().map(|at_ns| (at_ns, 1)),
            Arrivals::Looped(looped) => looped.take_run(most),
        }
    }

    /// So many exchanges ended (or never began): a closed loop goes on.
    #[inline]
    pub fn ended(&mut self, at_ns: u64, count: u32) {
        match self {
            Arrivals::Planned(_) => {}
            Arrivals::Looped(looped) => looped.ended(at_ns, count),
        }
    }

    /// Ends the window here: nothing intended at or after this time is taken.
    pub fn cut(&mut self, end_ns: u64) {
        match self {
            Arrivals::Planned(planned) => planned.cut(end_ns),
            Arrivals::Looped(looped) => looped.cut(end_ns),
        }
    }

    /// Whether no further exchange can become due, at the earliest known at `now_ns`.
    #[must_use]
    pub fn is_over(&self, now_ns: u64) -> bool {
        match self {
            Arrivals::Planned(planned) => planned.next_ns() == NEVER,
            Arrivals::Looped(looped) => looped.is_over(now_ns),
        }
    }

    /// The end of the window, where the plan or a signal fixes it; [`NEVER`] while it does not.
    #[must_use]
    pub fn window_end_ns(&self) -> u64 {
        match self {
            Arrivals::Planned(planned) => planned.window_end_ns(),
            Arrivals::Looped(looped) => looped.window_end_ns(),
        }
    }

    /// The start of the window.
    #[must_use]
    pub fn window_start_ns(&self) -> u64 {
        match self {
            Arrivals::Planned(planned) => planned.window_start_ns(),
            Arrivals::Looped(looped) => looped.window_start_ns(),
        }
    }
}
