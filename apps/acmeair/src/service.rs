//! Common parts of all services: counted routes, metrics, status and readiness pages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use serving::admin::AdminPage;
use serving::metrics::{Counter, Latency, MetricsPage};

use crate::api_error::ApiError;
use crate::database::Database;

/// Largest request body.
const BODY_MAX: usize = 16 << 10;

pub trait Service: Send + Sync + 'static {
    const NAME: &'static str;
    /// Prefix of its paths.
    const ROOT: &'static str;
    /// Its routes, for counting.
    const ROUTES: &'static [&'static str];

    /// Its routes and handlers.
    fn router(self: Arc<Self>) -> Router;

    fn database(&self) -> Option<&Database> {
        None
    }

    /// Writes its own metrics.
    fn write(&self, page: &mut MetricsPage);

    /// Its own part of the status page.
    fn status(&self) -> Value;

    /// Whether it is ready; if not, what is missing.
    fn ready(&self) -> impl Future<Output = Result<(), String>> + Send;
}

#[derive(Debug, Default)]
struct Route {
    requests: Counter,
    refused: Counter,
    failed: Counter,
    latency: Latency,
}

/// A service with its route counters.
#[derive(Debug)]
pub struct Instrumented<S> {
    service: Arc<S>,
    routes: BTreeMap<&'static str, Route>,
}

impl<S: Service> Instrumented<S> {
    /// Wraps a service.
    pub fn new(service: Arc<S>) -> Arc<Instrumented<S>> {
        let routes = S::ROUTES.iter().map(|route| (*route, Route::default()));
        Arc::new(Instrumented {
            service,
            routes: routes.collect(),
        })
    }

    /// Its routes, counted, and its status page.
    pub fn router(self: Arc<Self>) -> Router {
        let status = format!("{}/status", S::ROOT);
        Arc::clone(&self.service)
            .router()
            .route_layer(middleware::from_fn_with_state(
                Arc::clone(&self),
                count_request::<S>,
            ))
            .route(&status, get(status_page::<S>).with_state(self))
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .fallback(async || ApiError::NotFound("there is nothing at this address".to_owned()))
    }

    /// Its administration routes.
    pub fn admin(self: Arc<Self>) -> Router {
        Router::new()
            .route("/status", get(status_page::<S>))
            .with_state(Arc::clone(&self))
            .merge(serving::admin::page(self))
    }
}

async fn count_request<S: Service>(
    State(served): State<Arc<Instrumented<S>>>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let path = request.extensions().get::<MatchedPath>();
    let route = path.and_then(|path| served.routes.get(path.as_str()));
    if let Some(route) = route {
        route.requests.count();
    }
    let response = next.run(request).await;
    if let Some(route) = route {
        route.latency.took(begun.elapsed());
        match response.status() {
            status if status.is_server_error() => route.failed.count(),
            status if status.is_client_error() => route.refused.count(),
            _ => {}
        }
    }
    response
}

impl<S: Service> AdminPage for Instrumented<S> {
    fn metrics(&self) -> String {
        let mut page = MetricsPage::default();
        for (path, route) in &self.routes {
            let labels = format!("route=\"{path}\"");
            let received = "Requests received.";
            page.counter("acmeair_requests_total", received, &labels, &route.requests);
            let refused = "Of the requests received, those answered with a status 4xx.";
            page.counter("acmeair_refusals_total", refused, &labels, &route.refused);
            let failed = "Of the requests received, those answered with a status 5xx.";
            page.counter("acmeair_failures_total", failed, &labels, &route.failed);
            let took = "From the head of a request to that of its answer, in seconds.";
            page.latency("acmeair_request_seconds", took, &labels, &route.latency);
        }
        if let Some(database) = self.service.database() {
            database.counts().write(&mut page);
            let up = i64::from(database.state().why().is_none());
            page.gauge("acmeair_db_up", "Whether the database answers.", "", up);
        }
        self.service.write(&mut page);
        page.text()
    }

    async fn ready(&self) -> Result<(), String> {
        self.service.ready().await
    }
}

async fn status_page<S: Service>(State(served): State<Arc<Instrumented<S>>>) -> Response {
    let service = &served.service;
    let missing = service.ready().await.err();
    let mut status = json!({
        "service": S::NAME,
        "version": env!("CARGO_PKG_VERSION"),
        "ready": missing.is_none(),
    });
    if let Some(missing) = &missing {
        status["missing"] = json!(missing);
    }
    if let Some(database) = service.database() {
        let state = database.state();
        status["database"] = json!({
            "at": database.hosts,
            "state": state.word(),
            "why": state.why(),
            "operations": database.counts().operations(),
            "failed": database.counts().failed.get(),
            "late": database.counts().late.get(),
            "refused": database.counts().refused.get(),
        });
    }
    if let (Value::Object(all), Value::Object(own)) = (&mut status, service.status()) {
        all.extend(own);
    }
    axum::Json(status).into_response()
}
