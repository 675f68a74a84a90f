//! Behaviour of answers, and its notation: by options for all requests, by query or header for one.

use std::time::Duration;

use thiserror::Error;

use crate::delay::{Delay, Rng, parse_probability};

/// The largest body that `size=` asks for.
pub const SIZE_BYTES_MAX: u64 = 1 << 30;

const KEYS: &str = "size, delay, status, close, reset, body, timestamps, p";

/// How the end of an answer's body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyFraming {
    /// `body=length`: by Content-Length.
    #[default]
    Length,
    /// `body=chunked`: in chunks.
    Chunked,
    /// `body=close`: by the end of the connection.
    UntilClose,
}

/// What happens to the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum After {
    /// It stays open, if the client permits.
    #[default]
    KeepAlive,
    /// `close`: it is closed.
    Close,
    /// `reset`: there is no answer, but a reset: of the connection, or with HTTP/2 of the stream.
    Reset,
}

/// An override of the default behaviour, written as `size=100&delay=exp:5ms`, `p=0.01&status=503`, `close`, `timestamps`.
///
/// `p` is the probability of `delay`, `status`, `close` and `reset`; the other keys always apply. Values are not percent-decoded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BehaviourOverride {
    probability: Option<f64>,
    size_bytes: Option<u64>,
    delay: Option<Delay>,
    status: Option<u16>,
    after: Option<After>,
    framing: Option<BodyFraming>,
    timestamps: bool,
}

/// An error in a written override.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BehaviourError {
    /// No such key.
    #[error("unknown behaviour {key}; known are {KEYS}")]
    UnknownKey {
        /// The key as written.
        key: String,
    },
    /// The value does not fit the key.
    #[error("{key}={value} is not understood; write {example}")]
    BadValue {
        key: &'static str,
        /// The value as written.
        value: String,
        /// Values that work.
        example: &'static str,
    },
}

/// How to treat a key that is not a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Refuse,
    Ignore,
}

impl BehaviourOverride {
    /// Parses an override from an option.
    ///
    /// # Errors
    /// Unknown keys and invalid values, with the valid ones.
    pub fn parse(text: &str) -> Result<Self, BehaviourError> {
        let mut change = Self::default();
        change.read(text, Unknown::Refuse)?;
        Ok(change)
    }

    pub(crate) fn read(&mut self, text: &str, unknown: Unknown) -> Result<(), BehaviourError> {
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "p" => {
                    let parsed = parse_probability(value);
                    self.probability = Some(parsed.ok_or_else(|| bad("p", value, "0 to 1"))?);
                }
                "size" => {
                    let parsed = value.parse().ok().filter(|&size| size <= SIZE_BYTES_MAX);
                    let size = parsed.ok_or_else(|| bad("size", value, "bytes, at most 2^30"))?;
                    self.size_bytes = Some(size);
                }
                "delay" => {
                    let example = "5ms, exp:5ms, bimodal:1ms,50ms,0.01 or pareto:1ms,1.5";
                    let parsed = Delay::parse(value);
                    self.delay = Some(parsed.ok_or_else(|| bad("delay", value, example))?);
                }
                "status" => {
                    let parsed = value.parse().ok().filter(|s| (200..=599).contains(s));
                    self.status = Some(parsed.ok_or_else(|| bad("status", value, "200 to 599"))?);
                }
                "body" => {
                    self.framing = Some(match value {
                        "length" => BodyFraming::Length,
                        "chunked" => BodyFraming::Chunked,
                        "close" => BodyFraming::UntilClose,
                        _ => return Err(bad("body", value, "length, chunked or close")),
                    });
                }
                "close" => self.after = Some(After::Close),
                "reset" => self.after = Some(After::Reset),
                "timestamps" => self.timestamps = true,
                _ if unknown == Unknown::Ignore => {}
                _ => {
                    return Err(BehaviourError::UnknownKey {
                        key: key.to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn apply(&self, behaviour: &mut Behaviour, rng: &mut Rng) {
        behaviour.size_bytes = self.size_bytes.unwrap_or(behaviour.size_bytes);
        behaviour.framing = self.framing.unwrap_or(behaviour.framing);
        behaviour.timestamps |= self.timestamps;
        if self
            .probability
            .is_some_and(|probability| !rng.happens(probability))
        {
            return;
        }
        if let Some(delay) = self.delay {
            behaviour.delay = delay.draw(rng);
        }
        behaviour.status = self.status.unwrap_or(behaviour.status);
        behaviour.after = self.after.unwrap_or(behaviour.after);
    }
}

fn bad(key: &'static str, value: &str, example: &'static str) -> BehaviourError {
    BehaviourError::BadValue {
        key,
        value: value.to_owned(),
        example,
    }
}

/// The behaviour of one answer, with all overrides applied and all probabilities drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Behaviour {
    pub size_bytes: u64,
    pub delay: Duration,
    pub status: u16,
    pub after: After,
    pub framing: BodyFraming,
    /// The answer has a header with the times when its request arrived and when it was sent.
    pub timestamps: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            size_bytes: 0,
            delay: Duration::ZERO,
            status: 200,
            after: After::KeepAlive,
            framing: BodyFraming::Length,
            timestamps: false,
        }
    }
}

impl Behaviour {
    /// An answer without a body that was asked for.
    pub(crate) fn of_status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_key_by_key_and_errors_say_what_works() {
        let change =
            BehaviourOverride::parse("size=3&status=503&close&body=chunked&timestamps").unwrap();
        let mut behaviour = Behaviour::default();
        change.apply(&mut behaviour, &mut Rng::new(1, 0));
        let expected = Behaviour {
            size_bytes: 3,
            status: 503,
            after: After::Close,
            framing: BodyFraming::Chunked,
            timestamps: true,
            ..Behaviour::default()
        };
        assert_eq!(behaviour, expected);
        let unknown = BehaviourOverride::parse("sise=3").unwrap_err().to_string();
        assert!(
            unknown.contains("sise") && unknown.contains("size"),
            "{unknown}"
        );
        for wrong in [
            "size=-1",
            "size=2000000000",
            "status=99",
            "status=x",
            "p=2",
            "body=x",
        ] {
            assert!(BehaviourOverride::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_probability_governs_faults_but_not_the_size() {
        let change = BehaviourOverride::parse("p=0.25&status=500&size=7").unwrap();
        let mut rng = Rng::new(42, 0);
        let mut failed = 0;
        for _ in 0..10_000 {
            let mut behaviour = Behaviour::default();
            change.apply(&mut behaviour, &mut rng);
            assert_eq!(behaviour.size_bytes, 7);
            failed += u32::from(behaviour.status == 500);
        }
        // Five standard deviations of a binomial.
        assert!((2283..=2717).contains(&failed), "{failed}");
    }
}
