//! Calls to another service with circuit breaker and retries.

use std::time::{Duration, Instant};

use serving::metrics::{Counter, MetricsPage};

use crate::breaker::{Breaker, CallOutcome};
use crate::peer::{Answer, Peer, Unanswered};

/// Retries after the first attempt.
const RETRIES: u32 = 3;
/// No retry starts later than this after the first attempt.
const RETRY_WITHIN: Duration = Duration::from_secs(5);
/// Pause before a retry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The status of a service whose database timed out.
const GATEWAY_TIMEOUT: u16 = 504;

/// Whether a call may be repeated although it may have been executed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It is idempotent.
    Always,
    /// It is not idempotent.
    UnlessDone,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The circuit breaker is open.
    #[error("circuit breaker of {0} is open")]
    Open(&'static str),
    /// An error status.
    #[error("{0} answered with status {1}")]
    Status(&'static str, u16),
    /// No answer.
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
}

impl CallError {
    /// Whether the call may have been executed.
    pub fn uncertain(&self) -> bool {
        match self {
            CallError::Open(_) => false,
            // A timeout of a call that the service had started.
            CallError::Status(_, status) => *status == GATEWAY_TIMEOUT,
            CallError::Unanswered(unanswered) => unanswered.uncertain(),
        }
    }
}

/// One kind of call to another service.
#[derive(Debug)]
pub struct RetryingCall {
    name: &'static str,
    within: Duration,
    policy: RetryPolicy,
    breaker: Breaker,
    retries: Counter,
    late: Counter,
    given_up: Counter,
}

impl RetryingCall {
    /// Calls of this name, with a timeout per attempt.
    pub fn new(name: &'static str, within: Duration, policy: RetryPolicy) -> RetryingCall {
        RetryingCall {
            name,
            within,
            policy,
            breaker: Breaker::default(),
            retries: Counter::default(),
            late: Counter::default(),
            given_up: Counter::default(),
        }
    }

    /// Posts a form until there is an answer, within the limits of retries. A client error (status 4xx) is an answer.
    /// Errors: the error of the last attempt; fallbacks are up to the caller.
    pub async fn post(
        &self,
        peer: &Peer,
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, CallError> {
        let begun = Instant::now();
        let mut tried = 0;
        loop {
            let failed = match self.attempt(peer, path, form).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let again = match self.policy {
                RetryPolicy::Always => true,
                RetryPolicy::UnlessDone => !failed.uncertain(),
            };
            if !again || tried == RETRIES || begun.elapsed() + RETRY_PAUSE > RETRY_WITHIN {
                self.given_up.count();
                return Err(failed);
            }
            tried += 1;
            self.retries.count();
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn attempt(
        &self,
        peer: &Peer,
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, CallError> {
        let permit = self.breaker.admit(Instant::now());
        let permit = permit.ok_or(CallError::Open(peer.name))?;
        let result = match peer.post(path, form, self.within).await {
            Ok(answer) if answer.status.is_server_error() => {
                Err(CallError::Status(peer.name, answer.status.as_u16()))
            }
            Ok(answer) => Ok(answer),
            Err(unanswered) => {
                if matches!(unanswered, Unanswered::Timeout(..)) {
                    self.late.count();
                }
                Err(CallError::Unanswered(unanswered))
            }
        };
        let outcome = match result {
            Ok(_) => CallOutcome::Success,
            Err(_) => CallOutcome::Failure,
        };
        permit.report(outcome, Instant::now());
        result
    }

    /// Writes the metrics of breaker and retries.
    pub fn write(&self, page: &mut MetricsPage) {
        let labels = format!("call=\"{}\"", self.name);
        let state = self.breaker.state() as i64;
        let help = "How the breaker stands: 0 closed, 1 open, 2 half-open.";
        page.gauge("acmeair_breaker_state", help, &labels, state);
        for (metric, help, counter) in [
            (
                "acmeair_breaker_openings_total",
                "How often the breaker opened.",
                &self.breaker.openings,
            ),
            (
                "acmeair_breaker_refusals_total",
                "Calls not made because the breaker was open.",
                &self.breaker.refused,
            ),
            (
                "acmeair_retries_total",
                "Tries after the first.",
                &self.retries,
            ),
            (
                "acmeair_call_timeouts_total",
                "Tries that took too long.",
                &self.late,
            ),
            (
                "acmeair_fallbacks_total",
                "Calls that brought nothing after all tries.",
                &self.given_up,
            ),
        ] {
            page.counter(metric, help, &labels, counter);
        }
    }

    /// The same as JSON.
    pub fn status(&self) -> serde_json::Value {
        serde_json::json!({
            "call": self.name,
            "breaker": self.breaker.state().word(),
            "openings": self.breaker.openings.get(),
            "retries": self.retries.get(),
            "fallbacks": self.given_up.get(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_and_not_seen_to_end_may_have_been_done() {
        let late = Unanswered::Timeout("customer", 10);
        let unsent = Unanswered::Unsent("customer", "refused".to_owned());
        for (failed, uncertain) in [
            (CallError::Status("customer", 504), true),
            (CallError::Unanswered(late), true),
            (CallError::Status("customer", 503), false),
            (CallError::Unanswered(unsent), false),
            (CallError::Open("customer"), false),
        ] {
            assert_eq!(failed.uncertain(), uncertain, "{failed}");
        }
    }
}
