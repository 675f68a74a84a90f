//! Administration routes of a service: `/metrics` in the Prometheus text format, `/ready` for probes.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Metrics and readiness of a service.
pub trait AdminPage: Send + Sync + 'static {
    /// Its metrics page.
    fn metrics(&self) -> String;

    /// Whether it is ready; if not, what is missing.
    fn ready(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// The routes of a service.
pub fn page<T: AdminPage>(of: Arc<T>) -> Router {
    Router::new()
        .route("/metrics", get(metrics::<T>))
        .route("/ready", get(ready::<T>))
        .with_state(of)
}

async fn metrics<T: AdminPage>(State(of): State<Arc<T>>) -> Response {
    let format = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (format, of.metrics()).into_response()
}

async fn ready<T: AdminPage>(State(of): State<Arc<T>>) -> Response {
    match of.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")).into_response(),
    }
}
