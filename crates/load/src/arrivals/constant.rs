//! An open loop at a constant rate.

use tare_schema::load::Stop;

use super::NEVER;

/// Every n-th arrival of a constant rate. Each time is computed from its index, so nothing adds up to a drift.
#[derive(Debug)]
pub struct Constant {
    /// Distance of two arrivals of the whole load.
    gap_ns: f64,
    start_ns: u64,
    /// Index of this worker's next arrival in the whole load.
    next_index: u64,
    /// Workers that share the load.
    step: u64,
    next_ns: u64,
    /// First index of the window, and the first behind it.
    window: (u64, u64),
    /// Where the window starts and ends, from the start of the load.
    window_ns: (u64, u64),
    cut_ns: u64,
}

impl Constant {
    /// The arrivals of worker `worker` of `workers`.
    #[must_use]
    pub fn new(rate_per_s: f64, warmup_ns: u64, stop: Stop, worker: u32, workers: u32) -> Self {
        let gap_ns = 1e9 / rate_per_s;
        let offset = |index: u64| offset_ns(index, gap_ns);
        let first = index_at(warmup_ns, gap_ns);
        let window = match stop {
            Stop::Duration { window_ns } => {
                let end_ns = warmup_ns.saturating_add(window_ns);
                ((first, index_at(end_ns, gap_ns)), (warmup_ns, end_ns))
            }
            Stop::Count { exchanges } => {
                let end = first.saturating_add(exchanges);
                ((first, end), (offset(first), offset(end)))
            }
            Stop::Interrupted => ((first, u64::MAX), (warmup_ns, NEVER)),
        };
        Self {
            gap_ns,
            start_ns: 0,
            next_index: u64::from(worker),
            step: u64::from(workers.max(1)),
            next_ns: NEVER,
            window: window.0,
            window_ns: window.1,
            cut_ns: NEVER,
        }
    }

    pub(super) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.find_next();
    }

    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    pub(super) fn take(&mut self) -> Option<u64> {
        if self.next_ns == NEVER {
            return None;
        }
        let taken = self.next_ns;
        self.next_index += self.step;
        self.find_next();
        Some(taken)
    }

    pub(super) fn cut(&mut self, end_ns: u64) {
        self.cut_ns = self.cut_ns.min(end_ns);
        if self.next_ns >= self.cut_ns {
            self.next_ns = NEVER;
        }
    }

    pub(super) fn window_start_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.window_ns.0)
    }

    pub(super) fn window_end_ns(&self) -> u64 {
        let planned = self.start_ns.saturating_add(self.window_ns.1);
        planned.min(self.cut_ns)
    }

    fn find_next(&mut self) {
        let at_ns = self
            .start_ns
            .saturating_add(offset_ns(self.next_index, self.gap_ns));
        let beyond = self.next_index >= self.window.1 || at_ns >= self.cut_ns;
        self.next_ns = if beyond { NEVER } else { at_ns };
    }
}

/// Exact to the nanosecond up to 2^53 ns, 104 days.
fn offset_ns(index: u64, gap_ns: f64) -> u64 {
    (index as f64 * gap_ns).round() as u64
}

/// The first index at or behind an offset.
fn index_at(at_ns: u64, gap_ns: f64) -> u64 {
    let mut index = (at_ns as f64 / gap_ns).ceil() as u64;
    // Division and multiplication round apart: settle it by the times themselves.
    while index > 0 && offset_ns(index - 1, gap_ns) >= at_ns {
        index -= 1;
    }
    while offset_ns(index, gap_ns) < at_ns {
        index += 1;
    }
    index
}
