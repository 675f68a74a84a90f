//! Errors of the API, as JSON with a status.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use tare_record::api::ErrorReply;

use crate::audit::RefusalReason;

/// Time after which what is busy is asked again.
const RETRY_S: u64 = 10;

/// An error with its status.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub error: ErrorReply,
    /// Seconds after which the same may be allowed.
    pub retry_after_s: Option<u64>,
}

/// Result of a handler.
pub type Reply<T> = Result<T, Refusal>;

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal {
            status,
            error: ErrorReply {
                message: message.into(),
                line: None,
                column: None,
            },
            retry_after_s: None,
        }
    }

    /// The same, with the time to wait in its answer.
    pub fn retry_after(self, seconds: u64) -> Refusal {
        Refusal {
            retry_after_s: Some(seconds),
            ..self
        }
    }

    pub fn not_found(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, message)
    }

    pub fn bad(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }

    /// What is asked for is right, but not now.
    pub fn conflict(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::CONFLICT, message)
    }

    /// An experiment or a load is wrong.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    pub fn forbidden(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, message)
    }

    /// There is no room for it at the moment.
    pub fn busy(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(RETRY_S)
    }

    /// The machine does not do what the server needs.
    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        match error.kind() {
            std::io::ErrorKind::NotFound => Refusal::not_found("there is no such file"),
            _ => Refusal::failed(error.to_string()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let wait = self.retry_after_s;
        let wait = wait.map(|seconds| [(header::RETRY_AFTER, seconds.to_string())]);
        let problem = Extension(RefusalReason(self.error.message.clone()));
        (self.status, wait, problem, Json(self.error)).into_response()
    }
}
