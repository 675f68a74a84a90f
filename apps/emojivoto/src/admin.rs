//! The administration page of a service: `/metrics` in the Prometheus text format, `/ready` for probes.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// What a service tells about itself.
pub trait Told: Send + Sync + 'static {
    /// Its counters.
    fn metrics(&self) -> String;

    /// Whether it can answer requests; if not, what is missing.
    fn ready(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// The page of a service.
pub fn page<T: Told>(of: Arc<T>) -> Router {
    Router::new()
        .route("/metrics", get(metrics::<T>))
        .route("/ready", get(ready::<T>))
        .with_state(of)
}

async fn metrics<T: Told>(State(of): State<Arc<T>>) -> Response {
    let format = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (format, of.metrics()).into_response()
}

async fn ready<T: Told>(State(of): State<Arc<T>>) -> Response {
    match of.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")).into_response(),
    }
}
