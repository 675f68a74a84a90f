//! Calls to another service that go through a breaker, are tried again, and end in an answer or in words.

use std::time::{Duration, Instant};

use crate::breaker::{Breaker, Outcome};
use crate::metrics::{Counter, Page};
use crate::peer::{Answer, Peer, Unanswered};

/// Tries after the first.
const RETRIES: u32 = 3;
/// No try begins later than this after the first.
const RETRY_WITHIN: Duration = Duration::from_secs(5);
/// Before a further try.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// A service answers so when its database took too long.
const GATEWAY_TIMEOUT: u16 = 504;

/// Whether a call may be made again when it may have been done already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Twice is as good as once.
    Always,
    /// Twice would be one too many.
    UnlessDone,
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// It was not made.
    #[error("{0} failed too often and is not called for a moment")]
    Open(&'static str),
    /// It was answered with an error.
    #[error("{0} answered with status {1}")]
    Status(&'static str, u16),
    /// It was not answered.
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
}

impl Failed {
    /// Whether what was asked may have been done.
    #[must_use]
    pub fn uncertain(&self) -> bool {
        match self {
            Failed::Open(_) => false,
            // The other service gave up waiting for what it had begun.
            Failed::Status(_, status) => *status == GATEWAY_TIMEOUT,
            Failed::Unanswered(unanswered) => unanswered.uncertain(),
        }
    }
}

/// One kind of call to another service.
#[derive(Debug)]
pub struct Guarded {
    name: &'static str,
    within: Duration,
    repeat: Repeat,
    breaker: Breaker,
    retries: Counter,
    late: Counter,
    given_up: Counter,
}

impl Guarded {
    /// Calls of this name, each answered within this time.
    #[must_use]
    pub fn new(name: &'static str, within: Duration, repeat: Repeat) -> Guarded {
        Guarded {
            name,
            within,
            repeat,
            breaker: Breaker::default(),
            retries: Counter::default(),
            late: Counter::default(),
            given_up: Counter::default(),
        }
    }

    /// Posts a form until there is an answer, at most as often and as long as is allowed. A refusal (status 4xx) is an answer.
    ///
    /// # Errors
    /// Why the last try brought nothing; it is for the caller to have something to fall back on.
    pub async fn post(
        &self,
        peer: &Peer,
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, Failed> {
        let begun = Instant::now();
        let mut tried = 0;
        loop {
            let failed = match self.once(peer, path, form).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let again = match self.repeat {
                Repeat::Always => true,
                Repeat::UnlessDone => !failed.uncertain(),
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

    async fn once(&self, peer: &Peer, path: &str, form: &[(&str, &str)]) -> Result<Answer, Failed> {
        let leave = self.breaker.admit(Instant::now());
        let leave = leave.ok_or(Failed::Open(peer.name))?;
        let result = match peer.post(path, form, self.within).await {
            Ok(answer) if answer.status.is_server_error() => {
                Err(Failed::Status(peer.name, answer.status.as_u16()))
            }
            Ok(answer) => Ok(answer),
            Err(unanswered) => {
                if matches!(unanswered, Unanswered::Late(..)) {
                    self.late.count();
                }
                Err(Failed::Unanswered(unanswered))
            }
        };
        let outcome = match result {
            Ok(_) => Outcome::Success,
            Err(_) => Outcome::Failure,
        };
        leave.used(outcome, Instant::now());
        result
    }

    /// Writes down how the breaker stands and what was counted.
    pub fn write(&self, page: &mut Page) {
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
            page.counter(metric, help, &labels, counter.get());
        }
    }

    /// The same for people.
    #[must_use]
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
        let late = Unanswered::Late("customer", 10);
        let unsent = Unanswered::Unsent("customer", "refused".to_owned());
        for (failed, uncertain) in [
            (Failed::Status("customer", 504), true),
            (Failed::Unanswered(late), true),
            (Failed::Status("customer", 503), false),
            (Failed::Unanswered(unsent), false),
            (Failed::Open("customer"), false),
        ] {
            assert_eq!(failed.uncertain(), uncertain, "{failed}");
        }
    }
}
