//! Why a complete response is not the expected one.

use std::sync::Arc;

use tare_record::agent::ErrorSource;
use thiserror::Error;

use super::codec::BodyMismatch;
use crate::client::ErrorClass;

/// Why a complete response is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResponseMismatch {
    #[error("the server answered with status {0}")]
    Status(u16),
    /// The body is not the expected one.
    #[error(transparent)]
    Body(#[from] BodyMismatch),
    #[error("the expected pattern is not in the first {match_limit_bytes} bytes of the body")]
    NoMatch {
        /// Bytes that the pattern was matched against.
        match_limit_bytes: u32,
    },
    #[error(transparent)]
    Coding(#[from] CodingError),
    #[error("capture of {name:?}: {why}")]
    Capture { name: Arc<str>, why: CaptureError },
}

/// Why a body that is looked into cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodingError {
    #[error(
        "the body has a content-encoding other than gzip, which Tare does not decode: ask for gzip or nothing in Accept-Encoding"
    )]
    Unknown,
    #[error("the body is not the gzip that its content-encoding says")]
    NotGzip,
    /// Over HTTP/2 bodies are compared as they come.
    #[error(
        "the body is encoded, which the request did not ask for: ask for it (-H 'Accept-Encoding: gzip'), and it is decoded before it is compared"
    )]
    NotDecoded,
}

/// Why a capture failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CaptureError {
    #[error("the answer does not have it; with `missing: unset` the session would go on")]
    Missing,
    #[error("the body has more than {max_bytes} bytes: raise capture-limit of this step")]
    TooLarge { max_bytes: u32 },
    #[error("the body is not valid JSON (at line {line}, column {column})")]
    BadJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    #[error("the body is not text")]
    NoText,
}

impl ResponseMismatch {
    /// The error class of the exchange.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            ResponseMismatch::Status(status) => ErrorClass {
                name: "status",
                code: Some(*status),
                error_source: match status {
                    // Too Many Requests.
                    429 => ErrorSource::Quota,
                    _ => ErrorSource::Target,
                },
            },
            ResponseMismatch::Body(_) | ResponseMismatch::NoMatch { .. } => ErrorClass::WRONG_BODY,
            ResponseMismatch::Coding(CodingError::NotGzip) => {
                ErrorClass::of("content-encoding", ErrorSource::Target)
            }
            ResponseMismatch::Coding(CodingError::Unknown | CodingError::NotDecoded) => {
                ErrorClass::of("content-encoding", ErrorSource::OwnLimit)
            }
            ResponseMismatch::Capture { why, .. } => match why {
                CaptureError::Missing => ErrorClass::of("capture-missing", ErrorSource::Target),
                CaptureError::TooLarge { .. } => {
                    ErrorClass::of("capture-too-large", ErrorSource::OwnLimit)
                }
                CaptureError::BadJson { .. } | CaptureError::NoText => {
                    ErrorClass::of("capture-invalid-json", ErrorSource::Target)
                }
            },
        }
    }
}
