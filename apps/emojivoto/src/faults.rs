//! Faults on purpose: a share of requests that fail, and a delay before every answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest delay: whatever waits longer has been given up by its caller.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Shares are kept in millionths, so that sums of them are exact.
const MILLION: u64 = 1_000_000;

/// What a service does wrong on purpose.
#[derive(Debug)]
pub struct Faults {
    millionths: u64,
    delay: Duration,
    asked: AtomicU64,
}

/// Whether a request is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// As it should be.
    Answer,
    /// With an error.
    Fail,
}

impl Faults {
    /// A share of requests between 0 and 1 that fail, and a delay; both are cut to what is possible.
    #[must_use]
    pub fn new(share: f64, delay: Duration) -> Faults {
        Faults {
            millionths: (share.clamp(0.0, 1.0) * MILLION as f64).round() as u64,
            delay: delay.min(DELAY_MAX),
            asked: AtomicU64::new(0),
        }
    }

    /// Waits as long as every request shall wait, and says what becomes of this one.
    pub async fn next(&self) -> Fate {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.fate()
    }

    /// Failures are spread evenly: of the first n requests exactly the whole part of n × share have failed.
    fn fate(&self) -> Fate {
        if self.millionths == 0 {
            return Fate::Answer;
        }
        let before = self.asked.fetch_add(1, Ordering::Relaxed);
        let failed =
            |asked: u64| u128::from(asked) * u128::from(self.millionths) / u128::from(MILLION);
        if failed(before + 1) > failed(before) {
            Fate::Fail
        } else {
            Fate::Answer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(share: f64, of: u64) -> usize {
        let faults = Faults::new(share, Duration::ZERO);
        (0..of).filter(|_| faults.fate() == Fate::Fail).count()
    }

    #[test]
    fn exactly_the_asked_share_fails() {
        assert_eq!(failed(0.0, 1000), 0);
        assert_eq!(failed(0.05, 1000), 50);
        assert_eq!(failed(0.333_333, 1000), 333);
        assert_eq!(failed(1.0, 1000), 1000);
        assert_eq!(failed(7.0, 10), 10);
    }

    #[test]
    fn failures_are_spread_and_do_not_come_in_a_row() {
        let faults = Faults::new(0.25, Duration::ZERO);
        let fates: Vec<Fate> = (0..8).map(|_| faults.fate()).collect();
        let (answer, fail) = (Fate::Answer, Fate::Fail);
        let expected = [answer, answer, answer, fail, answer, answer, answer, fail];
        assert_eq!(fates, expected);
    }
}
