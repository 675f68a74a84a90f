//! A circuit breaker: calls to a service that fails too often are not made for a while.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::metrics::Counter;

/// Calls that are looked back at.
const WINDOW: usize = 4;
/// Failures among them that open it: a share of one half.
const FAILURES: usize = 2;
/// How long it stays open.
const DELAY: Duration = Duration::from_secs(1);
/// Trials in a row that close it again; as many are let through at once.
const SUCCESSES: u32 = 10;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Calls are made.
    Closed,
    /// Calls are not made.
    Open,
    /// Calls are tried.
    HalfOpen,
}

impl State {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half-open",
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Success,
    /// It was not.
    Failure,
}

/// Leave to make one call, to be used with what became of it. One that is dropped unused (whoever asked has gone) makes room for
/// another.
#[derive(Debug)]
#[must_use]
pub struct Leave<'a> {
    breaker: &'a Breaker,
    /// What was decided before is no matter of the state that came since.
    era: u64,
}

impl Leave<'_> {
    /// What became of the call.
    pub fn used(self, outcome: Outcome, now: Instant) {
        self.breaker.note(self.era, outcome, now);
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut inner = self.breaker.lock();
        if let (era, Inner::HalfOpen { under_way, .. }) = &mut *inner
            && *era == self.era
        {
            *under_way = under_way.saturating_sub(1);
        }
    }
}

#[derive(Debug)]
enum Inner {
    Closed(VecDeque<Outcome>),
    Open { until: Instant },
    HalfOpen { under_way: u32, succeeded: u32 },
}

/// The breaker of one kind of call.
#[derive(Debug)]
pub struct Breaker {
    inner: Mutex<(u64, Inner)>,
    /// How often it opened.
    pub openings: Counter,
    /// Calls that were not made because it was open.
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
    /// Leave for a call, unless it is open.
    pub fn admit(&self, now: Instant) -> Option<Leave<'_>> {
        let mut inner = self.lock();
        let (era, state) = &mut *inner;
        if matches!(state, Inner::Open { until } if *until <= now) {
            *era += 1;
            *state = Inner::HalfOpen {
                under_way: 0,
                succeeded: 0,
            };
        }
        let leave = match state {
            Inner::Closed(_) => true,
            Inner::HalfOpen {
                under_way,
                succeeded,
            } if *under_way + *succeeded < SUCCESSES => {
                *under_way += 1;
                true
            }
            Inner::HalfOpen { .. } | Inner::Open { .. } => false,
        };
        if !leave {
            self.refused.count();
            return None;
        }
        Some(Leave {
            breaker: self,
            era: *era,
        })
    }

    fn note(&self, of: u64, outcome: Outcome, now: Instant) {
        let mut inner = self.lock();
        let (era, state) = &mut *inner;
        if of != *era {
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
                    .filter(|one| **one == Outcome::Failure)
                    .count();
                (window.len() == WINDOW && failed >= FAILURES).then(|| self.opened(now))
            }
            (Inner::HalfOpen { .. }, Outcome::Failure) => Some(self.opened(now)),
            (Inner::HalfOpen { succeeded, .. }, Outcome::Success) => {
                *succeeded += 1;
                (*succeeded == SUCCESSES).then(|| Inner::Closed(VecDeque::with_capacity(WINDOW)))
            }
            (Inner::Open { .. }, _) => None,
        };
        if let Some(next) = next {
            *inner = (inner.0 + 1, next);
        }
    }

    /// How it stands.
    pub fn state(&self) -> State {
        match self.lock().1 {
            Inner::Closed(_) => State::Closed,
            Inner::Open { .. } => State::Open,
            Inner::HalfOpen { .. } => State::HalfOpen,
        }
    }

    fn opened(&self, now: Instant) -> Inner {
        self.openings.count();
        Inner::Open { until: now + DELAY }
    }

    /// Nothing that holds the lock can panic half way.
    fn lock(&self) -> MutexGuard<'_, (u64, Inner)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome::{Failure, Success};
    use super::*;

    fn calls(breaker: &Breaker, now: Instant, outcomes: &[Outcome]) {
        for outcome in outcomes {
            breaker.admit(now).unwrap().used(*outcome, now);
        }
    }

    #[test]
    fn half_of_four_failures_open_it_and_three_calls_never_do() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure, Failure, Failure]);
        assert_eq!(breaker.state(), State::Closed);
        calls(&breaker, now, &[Success]);
        assert_eq!((breaker.state(), breaker.openings.get()), (State::Open, 1));
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
            (State::Closed, 0)
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
        assert_eq!(breaker.state(), State::HalfOpen);
        calls(&breaker, later, &[Success]);
        assert_eq!(
            (breaker.state(), breaker.openings.get()),
            (State::Closed, 1)
        );
    }

    #[test]
    fn one_failed_trial_opens_it_again() {
        let now = Instant::now();
        let breaker = Breaker::default();
        calls(&breaker, now, &[Failure; 4]);
        let later = now + DELAY;
        calls(&breaker, later, &[Success, Success, Failure]);
        assert_eq!((breaker.state(), breaker.openings.get()), (State::Open, 2));
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
        breaker.admit(later).unwrap().used(Success, later);
        for leave in leaves {
            leave.used(Success, later);
        }
        assert_eq!(breaker.state(), State::Closed);
    }

    #[test]
    fn a_call_that_began_before_it_opened_decides_nothing_after() {
        let now = Instant::now();
        let breaker = Breaker::default();
        let old = breaker.admit(now).unwrap();
        calls(&breaker, now, &[Failure; 4]);
        let later = now + DELAY;
        calls(&breaker, later, &[Success]);
        old.used(Failure, later);
        assert_eq!(breaker.state(), State::HalfOpen);
    }
}
