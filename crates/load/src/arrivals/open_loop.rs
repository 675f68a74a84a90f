//! Open loop: every start is fixed in advance, as a function of the plan and the index of the exchange.

use tare_record::load::Stop;

use super::NEVER;
use super::schedule::ArrivalSchedule;

/// Every n-th start of a schedule, the share of one of n workers. All workers have the same schedule, so together they follow it
/// exactly, whatever their number.
#[derive(Debug)]
pub struct OpenLoop {
    schedule: ArrivalSchedule,
    start_ns: u64,
    /// Index of this worker's next start in the whole load.
    next_index: u64,
    /// Number of workers.
    step: u64,
    next_ns: u64,
    end: End,
    /// Start of the window, from the start of the load.
    window_start_ns: u64,
    /// End of the window; [`NEVER`] while that is not known.
    window_end_ns: u64,
    window_cut_ns: u64,
}

/// What ends a schedule.
#[derive(Debug, Clone, Copy)]
enum End {
    /// No starts from this time on, counted from the start of the load.
    Time(u64),
    /// No starts from this index on.
    Index(u64),
}

impl OpenLoop {
    /// The starts of worker `worker` of `workers`.
    #[must_use]
    pub fn new(
        schedule: ArrivalSchedule,
        warmup_ns: u64,
        stop: Stop,
        worker: u32,
        workers: u32,
    ) -> Self {
        let length_ns = schedule.length_ns();
        let (end, window_start_ns, window_end_ns) = match stop {
            Stop::Duration { window_ns } => {
                let end_ns = warmup_ns.saturating_add(window_ns).min(length_ns);
                (End::Time(end_ns), warmup_ns, end_ns)
            }
            Stop::Count { exchanges } => {
                let first = schedule.first_from(warmup_ns);
                let end = first.saturating_add(exchanges);
                // Poisson starts can only be computed in order: the time is known when the schedule comes to it.
                let known_ns = |index| schedule.known_ns(index).unwrap_or(NEVER);
                let start_ns = match known_ns(first) {
                    NEVER => warmup_ns,
                    at_ns => at_ns,
                };
                (End::Index(end), start_ns, known_ns(end).min(length_ns))
            }
            Stop::Interrupted => (End::Time(length_ns), warmup_ns, length_ns),
        };
        Self {
            schedule,
            start_ns: 0,
            next_index: u64::from(worker),
            step: u64::from(workers.max(1)),
            next_ns: NEVER,
            end,
            window_start_ns,
            window_end_ns,
            window_cut_ns: NEVER,
        }
    }

    /// The same at a constant rate.
    #[must_use]
    pub fn constant(
        rate_per_s: f64,
        warmup_ns: u64,
        stop: Stop,
        worker: u32,
        workers: u32,
    ) -> Self {
        Self::new(
            ArrivalSchedule::even(rate_per_s),
            warmup_ns,
            stop,
            worker,
            workers,
        )
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

    pub(super) fn end_window_at(&mut self, end_ns: u64) {
        self.window_cut_ns = self.window_cut_ns.min(end_ns);
        if self.next_ns >= self.window_cut_ns {
            self.next_ns = NEVER;
        }
    }

    pub(super) fn window_start_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.window_start_ns)
    }

    pub(super) fn window_end_ns(&self) -> u64 {
        let planned = self.start_ns.saturating_add(self.window_end_ns);
        planned.min(self.window_cut_ns)
    }

    fn find_next(&mut self) {
        self.next_ns = NEVER;
        let offset_ns = match self.end {
            End::Index(end) if self.next_index >= end => {
                if self.window_end_ns == NEVER {
                    self.window_end_ns = self.schedule.at(end).unwrap_or(NEVER);
                }
                return;
            }
            End::Index(_) | End::Time(_) => self.schedule.at(self.next_index),
        };
        let Some(offset_ns) = offset_ns else { return };
        let at_ns = self.start_ns.saturating_add(offset_ns);
        let is_beyond = matches!(self.end, End::Time(end_ns) if offset_ns >= end_ns);
        if !is_beyond && at_ns < self.window_cut_ns {
            self.next_ns = at_ns;
        }
    }
}
