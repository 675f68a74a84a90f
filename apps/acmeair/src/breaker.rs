//! A circuit breaker: pauses calls to a service that fails too often.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serving::metrics::Counter;

/// Calls in the sliding window.
const WINDOW: usize = 4;
/// Failures in the window that open the breaker: one half.
const FAILURES: usize = 2;
/// How long it stays open.
const DELAY: Duration = Duration::from_secs(1);
/// Consecutive trial calls that close it again; as many are permitted at once.
const SUCCESSES: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls are permitted.
    Closed,
    /// Calls are rejected.
    Open,
    /// Trial calls are permitted.
    HalfOpen,
}

impl BreakerState {
    pub fn word(self) -> &'static str {
        match self {
            BreakerState::Closed => "closed",
            BreakerState::Open => "open",
            BreakerState::HalfOpen => "half-open",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The service answered.
    Success,
    /// The call failed.
    Failure,
}

/// Permission for one call, to be used with its outcome. A permit that is dropped unused (a caller that disconnected) frees its
/// slot.
#[derive(Debug)]
#[must_use]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    /// State generation; outcomes of earlier generations are ignored.
    generation: u64,
}

impl Permit<'_> {
    pub fn report(self, outcome: CallOutcome, now: Instant) {
        self.breaker.record(self.generation, outcome, now);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut inner = self.breaker.lock();
        if let (generation, Inner::HalfOpen { in_flight, .. }) = &mut *inner
            && *generation == self.generation
        {
            *in_flight = in_flight.saturating_sub(1);
        }
    }
}

#[derive(Debug)]
enum Inner {
    Closed(VecDeque<CallOutcome>),
    Open { until: Instant },
    HalfOpen { in_flight: u32, succeeded: u32 },
}

/// The circuit breaker of one kind of call.
#[derive(Debug)]
pub struct Breaker {
    inner: Mutex<(u64, Inner)>,
    /// How often it opened.
    pub openings: Counter,
    /// Calls rejected because it was open.
    pub refused: Counter,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker {
            inner: Mutex::new((0, Inner::Closed(VecDeque::with_capacity(WINDOW)))),
            openings: Counter::default(),
            refused: Counter::default(),
        }
    }
}

impl Breaker {
    /// A permit for a call, unless the breaker is open.
    pub fn admit(&self, now: Instant) -> Option<Permit<'_>> {
        let mut inner = self.lock();
        let (generation, state) = &mut *inner;
        if matches!(state, Inner::Open { until } if *until <= now) {
            *generation += 1;
            *state = Inner::HalfOpen {
                in_flight: 0,
                succeeded: 0,
            };
        }
        let permit = match state {
            Inner::Closed(_) => true,
            Inner::HalfOpen {
                in_flight,
                succeeded,
            } if *in_flight + *succeeded < SUCCESSES => {
                *in_flight += 1;
                true
            }
            Inner::HalfOpen { .. } | Inner::Open { .. } => false,
        };
        if !permit {
            self.refused.count();
            return None;
        }
        Some(Permit {
            breaker: self,
            generation: *generation,
        })
    }

    fn record(&self, of: u64, outcome: CallOutcome, now: Instant) {
        let mut inner = self.lock();
        let (generation, state) = &mut *inner;
        if of != *generation {
            return;
        }
        let next = match (state, outcome) {
            (Inner::Closed(window), outcome) => {
                if window.len() == WINDOW {
                    window.pop_front();
                }
                window.push_back(outcome);
                let failed = window
                    .iter()
                    .filter(|one| **one == CallOutcome::Failure)
                    .count();
                (window.len() == WINDOW && failed >= FAILURES).then(|| self.opened(now))
            }
            (Inner::HalfOpen { .. }, CallOutcome::Failure) => Some(self.opened(now)),
            (Inner::HalfOpen { succeeded, .. }, CallOutcome::Success) => {
                *succeeded += 1;
                (*succeeded == SUCCESSES).then(|| Inner::Closed(VecDeque::with_capacity(WINDOW)))
            }
            (Inner::Open { .. }, _) => None,
        };
        if let Some(next) = next {
            *inner = (inner.0 + 1, next);
        }
    }

    /// The current state.
    pub fn state(&self) -> BreakerState {
        match self.lock().1 {
            Inner::Closed(_) => BreakerState::Closed,
            Inner::Open { .. } => BreakerState::Open,
            Inner::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    fn opened(&self, now: Instant) -> Inner {
        self.openings.count();
        Inner::Open { until: now + DELAY }
    }

    /// No code that holds the lock can panic.
    fn lock(&self) -> MutexGuard<'_, (u64, Inner)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::CallOutcome::{Failure, Success};
    use super::*;

    fn calls(breaker: &Breaker, now: Instant, outcomes: &[CallOutcome]) {
        for outcome in outcomes {
            breaker.admit(now).unwrap().report(*outcome, now);
        }
    }

    #[test]
    fn half_of_four_failures_open_it_and_three_calls_never_do() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure, Failure, Failure]);
        assert_eq!(breaker.state(), BreakerState::Closed);
        calls(&breaker, now, &[Success]);
        assert_eq!(
            (breaker.state(), breaker.openings.get()),
            (BreakerState::Open, 1)
        );
        assert!(breaker.admit(now).is_none());
        assert_eq!(breaker.refused.get(), 1);
    }

    #[test]
    fn one_failure_in_every_four_leaves_it_closed() {
        let now = Instant::now();
        let breaker = Breaker::default();
        for _ in 0..10 {
            calls(&breaker, now, &[Failure, Success, Success, Success]);
        }
        assert_eq!(
            (breaker.state(), breaker.openings.get()),
            (BreakerState::Closed, 0)
        );
    }

    #[test]
    fn after_a_second_ten_successes_close_it() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure; 4]);
        assert!(
            breaker
                .admit(now + DELAY - Duration::from_millis(1))
                .is_none()
        );
        let later = now + DELAY;
        calls(&breaker, later, &[Success; 9]);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        calls(&breaker, later, &[Success]);
        assert_eq!(
            (breaker.state(), breaker.openings.get()),
            (BreakerState::Closed, 1)
        );
    }

    #[test]
    fn one_failed_trial_opens_it_again() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure; 4]);
        let later = now + DELAY;
        calls(&breaker, later, &[Success, Success, Failure]);
        assert_eq!(
            (breaker.state(), breaker.openings.get()),
            (BreakerState::Open, 2)
        );
        assert!(breaker.admit(later).is_none());
    }

    #[test]
    fn no_more_trials_are_under_way_than_can_close_it() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure; 4]);
        let later = now + DELAY;
        let leaves: Vec<_> = (0..SUCCESSES)
            .map(|_| breaker.admit(later).unwrap())
            .collect();
        assert!(breaker.admit(later).is_none());
        let mut leaves = leaves.into_iter();
        // Whoever asked for this one has gone.
        drop(leaves.next());
        breaker.admit(later).unwrap().report(Success, later);
        for permit in leaves {
            permit.report(Success, later);
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn a_call_that_began_before_it_opened_decides_nothing_after() {
        let now = Instant::now();
        let breaker = Breaker::default();
        let old = breaker.admit(now).unwrap();
        calls(&breaker, now, &[Failure; 4]);
        let later = now + DELAY;
        calls(&breaker, later, &[Success]);
        old.report(Failure, later);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
    }
}
