//! Early stopping: ends a probe that can no longer meet the objective.

use std::time::Duration;

use tare_stats::knee::ACHIEVED_SHARE_MIN;

/// The counts of a running probe. It is stopped only when no further responses can make it pass.
#[derive(Debug, Clone)]
pub struct Backlog {
    rate_per_s: f64,
    start_ns: u64,
    end_ns: u64,
    /// A latency in ns, and the share of the exchanges that may exceed it.
    tails: Vec<(f64, f64)>,
    intended: u64,
    done: u64,
    /// Exchanges completed, and in flight, when the window began.
    at_window_start: (u64, u64),
}

/// Whether a probe can still pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EarlyStop {
    /// It can.
    None,
    /// The window has ended without the required rate.
    RateLost,
    /// More exchanges exceed the limit than the tail condition allows.
    TailLost {
        limit_ns: f64,
        /// Lower bound of their number.
        late: u64,
    },
}

impl Backlog {
    /// For a probe at this rate with these tail conditions (see `Objective::tails`).
    pub fn new(
        rate_per_s: f64,
        warmup: Duration,
        window: Duration,
        tails: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            rate_per_s,
            start_ns: warmup.as_nanos() as u64,
            end_ns: (warmup + window).as_nanos() as u64,
            tails: tails.into_iter().collect(),
            intended: 0,
            done: 0,
            at_window_start: (0, 0),
        }
    }

    /// Adds a sample that ends at `offset_ns`: exchanges intended and completed in it.
    pub fn add(&mut self, offset_ns: u64, intended: u64, done: u64) -> EarlyStop {
        self.intended += intended;
        self.done += done;
        let open = self.intended.saturating_sub(self.done);
        if offset_ns <= self.start_ns {
            self.at_window_start = (self.done, open);
            return EarlyStop::None;
        }
        let all = self.rate_per_s * self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        // Samples that only overlap the window count in full: an error in favour of the probe.
        let answered = self.done - self.at_window_start.0;
        if offset_ns >= self.end_ns && (answered as f64) < ACHIEVED_SHARE_MIN * all.floor() {
            return EarlyStop::RateLost;
        }
        let waits = open as f64 - self.at_window_start.1 as f64;
        // Exchanges that started less than the limit ago may still be in time.
        let late = |limit_ns: f64| waits - self.rate_per_s * limit_ns / 1e9 - 1.0;
        let lost = self
            .tails
            .iter()
            .find(|&&(limit_ns, share)| late(limit_ns) > share * all);
        lost.map_or(EarlyStop::None, |&(limit_ns, _)| EarlyStop::TailLost {
            limit_ns,
            late: late(limit_ns) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The sample of 100 ms that ends a probe of 1000/s for 10 s after 1 s of warm-up, with this many answers in each.
    fn given_up(tails: &[(f64, f64)], answered: impl Fn(u64) -> u64) -> Option<u64> {
        let (warmup, window) = (Duration::from_secs(1), Duration::from_secs(10));
        let mut backlog = Backlog::new(1000.0, warmup, window, tails.iter().copied());
        (1..=300).find(|&sample| {
            let intended = if sample <= 110 { 100 } else { 0 };
            backlog.add(sample * 100 * MS, intended, answered(sample)) != EarlyStop::None
        })
    }

    #[test]
    fn a_rate_that_was_not_reached_needs_no_drain() {
        assert_eq!(given_up(&[], |_| 50), Some(110));
        assert_eq!(
            given_up(&[], |sample| if sample <= 110 { 100 } else { 0 }),
            None
        );
    }

    #[test]
    fn a_tail_is_lost_when_more_wait_too_long_than_may() {
        // 50 more wait in every sample, 500 when the window begins; 100 may be later than 20 ms, and 20 are younger.
        let p99 = (20.0 * MS as f64, 0.01);
        assert_eq!(given_up(&[p99], |_| 50), Some(13));
    }

    #[test]
    fn a_queue_that_stays_as_it_was_at_the_beginning_proves_nothing() {
        let answered = |sample| match sample {
            1..=10 => 0,
            _ => 100,
        };
        assert_eq!(given_up(&[(20.0 * MS as f64, 0.01)], answered), None);
    }
}
