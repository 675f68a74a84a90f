//! Errors of requests, with their HTTP status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// The error of a request; the message is for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The request is malformed.
    #[error("{0}")]
    Malformed(String),
    /// No valid token.
    #[error("log in first: {0}")]
    Unauthorized(String),
    /// Another user is logged in, or login and password do not match.
    #[error("{0}")]
    Forbidden(String),
    /// The resource does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A dependency is not available.
    #[error("{0}; try again")]
    Unavailable(String),
    /// A dependency returned an error.
    #[error("{0}")]
    BadGateway(String),
    /// A dependency timed out.
    #[error("{0}; try again")]
    Timeout(String),
}

impl ApiError {
    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            ApiError::Malformed(_) => StatusCode::BAD_REQUEST,
            ApiError::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            ApiError::Forbidden(_) => StatusCode::FORBIDDEN,
            ApiError::NotFound(_) => StatusCode::NOT_FOUND,
            ApiError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            ApiError::BadGateway(_) => StatusCode::BAD_GATEWAY,
            ApiError::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.to_string() });
        (self.status(), Json(body)).into_response()
    }
}
