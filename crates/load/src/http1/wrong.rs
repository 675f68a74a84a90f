//! Why a whole answer is not the right one.

use std::sync::Arc;

use tare_schema::agent::Fault;
use thiserror::Error;

use super::codec::BodyMismatch;
use crate::client::ErrorClass;

/// Why a whole answer is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Wrong {
    /// Another status.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// Another body.
    #[error(transparent)]
    Body(#[from] BodyMismatch),
    /// A body in which the expected text is not found.
    #[error("the expected pattern is not in the first {within_bytes} bytes of the body")]
    NoMatch {
        /// How much was looked at.
        within_bytes: u32,
    },
    /// An answer without what a session needs of it.
    #[error("capture of {name:?}: {why}")]
    Capture {
        /// The variable.
        name: Arc<str>,
        /// What is wrong.
        why: WrongCapture,
    },
}

/// Why something could not be captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WrongCapture {
    /// Nothing there.
    #[error("the answer does not have it; with `missing: unset` the session would go on")]
    Missing,
    /// Too large a body.
    #[error("the body has more than {max_bytes} bytes: raise capture-limit of this step")]
    TooLarge {
        /// The step's limit.
        max_bytes: u32,
    },
    /// Not JSON.
    #[error("the body is no JSON (at line {line}, column {column})")]
    BadJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Not UTF-8 where text is needed.
    #[error("the body is no text")]
    NoText,
}

impl Wrong {
    /// The class of an exchange that ended so.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Wrong::Status(status) => ErrorClass {
                name: "status",
                code: Some(*status),
                fault: Fault::Target,
            },
            Wrong::Body(_) | Wrong::NoMatch { .. } => ErrorClass::WRONG_BODY,
            Wrong::Capture { why, .. } => match why {
                WrongCapture::Missing => ErrorClass::of("capture-missing", Fault::Target),
                WrongCapture::TooLarge { .. } => ErrorClass::of("capture-too-large", Fault::Client),
                WrongCapture::BadJson { .. } | WrongCapture::NoText => {
                    ErrorClass::of("capture-bad-json", Fault::Target)
                }
            },
        }
    }
}
