//! Attempts to get in with a wrong secret: how many an address may make.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Wrong secrets of an address within [`ATTEMPTS_WINDOW`]; then it has to wait.
const ATTEMPTS_MAX: usize = 5;
const ATTEMPTS_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Addresses that are remembered; the one whose last attempt is the oldest is forgotten.
const ADDRESSES_MAX: usize = 4096;

/// Times of the attempts that failed, by address.
#[derive(Default)]
pub struct LoginAttempts(Mutex<BTreeMap<IpAddr, VecDeque<Duration>>>);

/// What becomes of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub enum Attempt {
    Right,
    Wrong,
    /// Not looked at: there is another one after this time.
    TooMany(Duration),
}

impl LoginAttempts {
    /// Makes an attempt, unless this address has made too many; those of one address are made one after the other.
    pub fn attempt(
        &self,
        address: IpAddr,
        now: Duration,
        is_right: impl FnOnce() -> bool,
    ) -> Attempt {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = all.entry(address).or_default();
        failed.retain(|at| now.saturating_sub(*at) < ATTEMPTS_WINDOW);
        let outcome = match failed.front() {
            Some(first) if failed.len() >= ATTEMPTS_MAX => {
                Attempt::TooMany((*first + ATTEMPTS_WINDOW).saturating_sub(now))
            }
            _ if is_right() => Attempt::Right,
            _ => {
                failed.push_back(now);
                Attempt::Wrong
            }
        };
        if failed.is_empty() {
            all.remove(&address);
        }
        if all.len() > ADDRESSES_MAX {
            let oldest = all.iter().min_by_key(|(_, failed)| failed.back().copied());
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                all.remove(&oldest);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_five_wrong_attempts_in_five_minutes() {
        let attempts = LoginAttempts::default();
        let [one, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let at = Duration::from_secs;
        let is_wrong = || false;
        for second in 0..5 {
            assert_eq!(attempts.attempt(one, at(second), is_wrong), Attempt::Wrong);
        }
        // Also the right one is not looked at.
        let late = attempts.attempt(one, at(5), || panic!("it was looked at"));
        assert_eq!(late, Attempt::TooMany(at(295)));
        assert_eq!(attempts.attempt(other, at(5), || true), Attempt::Right);
        assert_eq!(attempts.attempt(one, at(300), || true), Attempt::Right);
        assert_eq!(attempts.attempt(one, at(300), is_wrong), Attempt::Wrong);
        assert!(matches!(
            attempts.attempt(one, at(300), is_wrong),
            Attempt::TooMany(_)
        ));
        for number in 0..10_000_u32 {
            attempts.attempt(IpAddr::from(number.to_be_bytes()), at(1000), is_wrong);
        }
        assert!(attempts.0.lock().unwrap().len() <= ADDRESSES_MAX);
    }
}
