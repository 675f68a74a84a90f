//! Errors of the API, as JSON with a status.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use tare_record::api::ErrorReply;

use crate::audit::RefusalReason;

/// Longest text of an error that a library answers with.
const TEXT_BYTES_MAX: usize = 4096;
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

/// Gives errors that no handler made the shape of all others: a method that an address does not take, a part of a path or a query
/// that cannot be read.
pub async fn as_json(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let response = next.run(request).await;
    let status = response.status();
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error
        || response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(is_json)
    {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = axum::body::to_bytes(body, TEXT_BYTES_MAX).await;
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let message = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            format!("this address does not take {method}, its header Allow names what it takes")
        }
        _ if text.trim().is_empty() => status.canonical_reason().unwrap_or("an error").to_owned(),
        _ => text,
    };
    let message = format!("{message}: GET /api/v1/openapi.json describes the API");
    let mut answer = Refusal::new(status, message).into_response();
    for (name, value) in &parts.headers {
        if *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH {
            answer.headers_mut().append(name, value.clone());
        }
    }
    answer
}
