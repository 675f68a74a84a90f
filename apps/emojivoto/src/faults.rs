//! Fault injection: a share of requests that fail, and a delay before every answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest delay: callers have timed out before.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Shares are stored in millionths, so that sums are exact.
const MILLION: u64 = 1_000_000;

/// The faults of a service.
#[derive(Debug)]
pub struct Faults {
    millionths: u64,
    delay: Duration,
    requests: AtomicU64,
}

/// The injected outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedOutcome {
    /// None: answer normally.
    Answer,
    /// An error.
    Fail,
}

impl Faults {
    /// A share of requests between 0 and 1 that fail, and a delay; both are clamped to their limits.
    pub fn new(share: f64, delay: Duration) -> Faults {
        Faults {
            millionths: (share.clamp(0.0, 1.0) * MILLION as f64).round() as u64,
            delay: delay.min(DELAY_MAX),
            requests: AtomicU64::new(0),
        }
    }

    /// Waits for the delay and returns the outcome of this request.
    pub async fn next(&self) -> InjectedOutcome {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.decide()
    }

    /// Failures are spread evenly: of the first n requests, exactly ⌊n × share⌋ fail.
    fn decide(&self) -> InjectedOutcome {
        if self.millionths == 0 {
            return InjectedOutcome::Answer;
        }
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        let failed = |requests: u64| {
            u128::from(requests) * u128::from(self.millionths) / u128::from(MILLION)
        };
        if failed(before + 1) > failed(before) {
            InjectedOutcome::Fail
        } else {
            InjectedOutcome::Answer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(share: f64, of: u64) -> usize {
        let faults = Faults::new(share, Duration::ZERO);
        (0..of)
            .filter(|_| faults.decide() == InjectedOutcome::Fail)
            .count()
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
        let fates: Vec<InjectedOutcome> = (0..8).map(|_| faults.decide()).collect();
        let (answer, fail) = (InjectedOutcome::Answer, InjectedOutcome::Fail);
        let expected = [answer, answer, answer, fail, answer, answer, answer, fail];
        assert_eq!(fates, expected);
    }
}
