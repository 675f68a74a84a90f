//! Common parts of the two gRPC services: methods by name, counters, fault injection, health.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{any_service, post};
use serving::admin::AdminPage;
use tonic::Status;
use tonic_health::ServingStatus;

use crate::faults::{Faults, InjectedOutcome};
use crate::metrics::{self, Family};
use crate::rpc;

/// A gRPC service and its methods.
pub trait Service: Send + Sync + 'static {
    /// Its full name.
    const NAME: &'static str;

    fn methods() -> Vec<String>;

    /// Answers a call; `None` if the method does not exist.
    fn answer(
        &self,
        method: &str,
        request: Request,
    ) -> impl Future<Output = Option<Response>> + Send;
}

/// A service with counters and fault injection.
#[derive(Debug)]
pub struct Instrumented<S> {
    service: S,
    faults: Faults,
    requests: Family,
    failures: Family,
}

impl<S: Service> Instrumented<S> {
    /// Wraps a service, with these faults.
    pub fn new(service: S, faults: Faults) -> Arc<Instrumented<S>> {
        let requests = "Requests received.";
        let failures = "Of the requests received, those answered with an error on purpose.";
        Arc::new(Instrumented {
            service,
            faults,
            requests: Family::new("emojivoto_requests_total", requests, "method", S::methods()),
            failures: Family::new("emojivoto_failures_total", failures, "method", S::methods()),
        })
    }

    /// Its methods and the standard health service.
    pub async fn router(self: Arc<Self>) -> Router {
        let (reporter, health) = tonic_health::server::health_reporter();
        for name in ["", S::NAME] {
            reporter
                .set_service_status(name, ServingStatus::Serving)
                .await;
        }
        Router::new()
            .route(&format!("/{}/{{method}}", S::NAME), post(call::<S>))
            .with_state(self)
            .route_service("/grpc.health.v1.Health/{method}", any_service(health))
            .fallback(async || rpc::unknown("of this name"))
    }
}

async fn call<S: Service>(
    State(served): State<Arc<Instrumented<S>>>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    served.requests.count(&method);
    if served.faults.next().await == InjectedOutcome::Fail {
        served.failures.count(&method);
        let status = Status::internal("failed on purpose (--fail-share)");
        return status
            .into_http::<tonic::body::Body>()
            .map(axum::body::Body::new);
    }
    match served.service.answer(&method, request).await {
        Some(response) => response,
        None => rpc::unknown(&method),
    }
}

impl<S: Service> AdminPage for Instrumented<S> {
    fn metrics(&self) -> String {
        metrics::page([&self.requests, &self.failures])
    }

    async fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}
