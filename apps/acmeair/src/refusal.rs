//! Why a request gets no answer of its kind.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// The reason, in words for who asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was sent cannot be understood.
    #[error("{0}")]
    Malformed(String),
    /// Nobody is logged in, or the token is not good.
    #[error("log in first: {0}")]
    Stranger(String),
    /// Somebody else is logged in, or login and password do not belong together.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// What is needed is not there now.
    #[error("{0}; try again")]
    Unavailable(String),
    /// Something behind this service answered with an error.
    #[error("{0}")]
    Behind(String),
    /// Something behind this service took too long.
    #[error("{0}; try again")]
    Late(String),
}

impl Refusal {
    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::Stranger(_) => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
            Refusal::Missing(_) => StatusCode::NOT_FOUND,
            Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Behind(_) => StatusCode::BAD_GATEWAY,
            Refusal::Late(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let said = serde_json::json!({ "error": self.to_string() });
        (self.status(), Json(said)).into_response()
    }
}
