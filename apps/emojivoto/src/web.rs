//! The service `web`: web page and its API, over HTTP/1.1.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serving::admin::AdminPage;
use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::{Code, Status};

use crate::emoji::{EmojiService, FIND, LIST_ALL};
use crate::emoji_table::{self, ALL};
use crate::error::StartError;
use crate::faults::{Faults, InjectedOutcome};
use crate::messages::{
    Emoji, FindByShortcodeRequest, FindByShortcodeResponse, ListAllRequest, ListAllResponse,
    ResultsRequest, ResultsResponse, VoteRequest, VoteResponse,
};
use crate::metrics::{self, Family};
use crate::rpc::{Backend, Method};
use crate::service::Service;
use crate::voting::{RESULTS, VotingService};

/// Concurrent requests; further ones are refused.
const REQUESTS_MAX: usize = 4096;
/// The page, the same for both paths; its script calls the API.
const PAGE: &str = include_str!("page.html");
const ROUTES: [&str; 5] = [
    "/",
    "/leaderboard",
    "/api/list",
    "/api/vote",
    "/api/leaderboard",
];

/// Where the other services are.
#[derive(Debug, Clone, clap::Args)]
pub struct Backends {
    /// The service emoji.
    #[arg(long, value_name = "HOST:PORT")]
    pub emoji: String,
    /// The service voting.
    #[arg(long, value_name = "HOST:PORT")]
    pub voting: String,
    /// Milliseconds that a call to one of them may take.
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    pub call_timeout: u64,
}

/// The service with its backends.
#[derive(Debug)]
pub struct Web {
    emoji: Backend,
    list: Method,
    find: Method,
    voting: Backend,
    results: Method,
    /// By index in the table.
    votes: Vec<Method>,
    faults: Faults,
    permits: Semaphore,
    requests: Family,
    failures: Family,
}

impl Web {
    /// With these backends.
    /// Fails if an address is invalid.
    pub fn new(backends: &Backends, faults: Faults) -> Result<Arc<Web>, StartError> {
        let within = Duration::from_millis(backends.call_timeout);
        let called = "Calls made to other services.";
        let calls = |edge: &str, methods: Vec<String>| {
            Family::new("emojivoto_calls_total", called, "method", methods).with("edge", edge)
        };
        let of_emoji = calls("web__emoji", EmojiService::methods());
        let of_voting = calls("web__voting", VotingService::methods());
        let routes = || ROUTES.map(str::to_owned);
        let failed = "Of the requests received, those answered with an error.";
        let votes = ALL
            .iter()
            .map(|emoji| Method::new(VotingService::NAME, &emoji.method()));
        Ok(Arc::new(Web {
            emoji: Backend::new(EmojiService::NAME, &backends.emoji, within, of_emoji)?,
            list: Method::new(EmojiService::NAME, LIST_ALL)?,
            find: Method::new(EmojiService::NAME, FIND)?,
            voting: Backend::new(VotingService::NAME, &backends.voting, within, of_voting)?,
            results: Method::new(VotingService::NAME, RESULTS)?,
            votes: votes.collect::<Result<_, _>>()?,
            faults,
            permits: Semaphore::new(REQUESTS_MAX),
            requests: Family::new(
                "emojivoto_requests_total",
                "Requests received.",
                "route",
                routes(),
            ),
            failures: Family::new("emojivoto_failures_total", failed, "route", routes()),
        }))
    }

    /// Its routes.
    pub fn router(self: Arc<Self>) -> Router {
        let page = |route| get(move |web: State<Arc<Web>>| show(web, route));
        Router::new()
            .route("/", page("/"))
            .route("/leaderboard", page("/leaderboard"))
            .route("/api/list", get(list))
            .route("/api/vote", get(vote))
            .route("/api/leaderboard", get(leaderboard))
            .with_state(self)
    }

    /// Counts a request and admits it, unless too many are in flight or a fault is injected.
    async fn admit(&self, route: &'static str) -> Result<SemaphorePermit<'_>, ApiError> {
        self.requests.count(route);
        let admitted = match self.permits.try_acquire() {
            Ok(place) if self.faults.next().await == InjectedOutcome::Answer => Ok(place),
            Ok(_) => Err(ApiError::Injected),
            Err(_) => Err(ApiError::Full),
        };
        self.count_failure(route, admitted)
    }

    /// Counts failures.
    fn count_failure<T>(
        &self,
        route: &'static str,
        result: Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        if result.is_err() {
            self.failures.count(route);
        }
        result
    }

    async fn find(&self, shortcode: &str) -> Result<Option<Emoji>, Status> {
        let request = FindByShortcodeRequest {
            shortcode: shortcode.to_owned(),
        };
        let found: FindByShortcodeResponse = self.emoji.call(&self.find, request).await?;
        Ok(found.emoji)
    }

    /// Two calls: looks up the emoji, then votes for it.
    async fn vote(&self, choice: Option<&str>) -> Result<(), ApiError> {
        let choice = choice.ok_or(ApiError::NoChoice)?;
        let unknown = || ApiError::Unknown(choice.to_owned());
        let emoji = self.find(choice).await?.ok_or_else(unknown)?;
        // Both services have the table; the emoji service decides what exists.
        let place = emoji_table::place(&emoji.shortcode);
        let method = place.and_then(|place| self.votes.get(place));
        let VoteResponse {} = self
            .voting
            .call(method.ok_or_else(unknown)?, VoteRequest {})
            .await?;
        Ok(())
    }

    /// One call for the results, and one for each emoji in them, in sequence.
    async fn ranking(&self) -> Result<Vec<Place>, ApiError> {
        let response: ResultsResponse = self.voting.call(&self.results, ResultsRequest {}).await?;
        let mut ranking = Vec::with_capacity(response.results.len());
        for result in response.results {
            let found = self.find(&result.shortcode).await?;
            let emoji = found.ok_or(ApiError::Unknown(result.shortcode))?;
            let votes = result.votes;
            ranking.push(Place { emoji, votes });
        }
        Ok(ranking)
    }
}

/// A place on the leaderboard.
#[derive(Debug, Serialize)]
struct Place {
    #[serde(flatten)]
    emoji: Emoji,
    votes: u64,
}

/// The query of a vote.
#[derive(Debug, Deserialize)]
struct Choice {
    choice: Option<String>,
}

async fn show(State(web): State<Arc<Web>>, route: &'static str) -> Result<Response, ApiError> {
    let _permit = web.admit(route).await?;
    Ok(Html(PAGE).into_response())
}

async fn list(State(web): State<Arc<Web>>) -> Result<Response, ApiError> {
    const ROUTE: &str = "/api/list";
    let _permit = web.admit(ROUTE).await?;
    let listed = web.emoji.call(&web.list, ListAllRequest {}).await;
    let listed: ListAllResponse = web.count_failure(ROUTE, listed.map_err(ApiError::from))?;
    Ok(Json(listed.list).into_response())
}

async fn vote(
    State(web): State<Arc<Web>>,
    Query(Choice { choice }): Query<Choice>,
) -> Result<Response, ApiError> {
    const ROUTE: &str = "/api/vote";
    let _permit = web.admit(ROUTE).await?;
    let voted = web.vote(choice.as_deref()).await;
    web.count_failure(ROUTE, voted)?;
    let format = [(header::CONTENT_TYPE, "application/json")];
    Ok((format, r#"{"vote":"counted"}"#).into_response())
}

async fn leaderboard(State(web): State<Arc<Web>>) -> Result<Response, ApiError> {
    const ROUTE: &str = "/api/leaderboard";
    let _permit = web.admit(ROUTE).await?;
    let ranking = web.ranking().await;
    Ok(Json(web.count_failure(ROUTE, ranking)?).into_response())
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum ApiError {
    #[error("say what you vote for: /api/vote?choice=:doughnut:")]
    NoChoice,
    #[error("there is no emoji {0:?}; /api/list has them all")]
    Unknown(String),
    #[error("too many requests under way; try again")]
    Full,
    #[error("failed on purpose (--fail-share)")]
    Injected,
    #[error("a service behind this one failed: {0}")]
    Call(#[from] Box<Status>),
}

impl From<Status> for ApiError {
    fn from(status: Status) -> ApiError {
        ApiError::Call(Box::new(status))
    }
}

impl ApiError {
    fn status(&self) -> StatusCode {
        match self {
            ApiError::NoChoice => StatusCode::BAD_REQUEST,
            ApiError::Unknown(_) => StatusCode::NOT_FOUND,
            ApiError::Full => StatusCode::SERVICE_UNAVAILABLE,
            ApiError::Injected => StatusCode::INTERNAL_SERVER_ERROR,
            ApiError::Call(status) => match status.code() {
                // Tonic's channel reports a timed-out call as cancelled.
                Code::DeadlineExceeded | Code::Cancelled => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::BAD_GATEWAY,
            },
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.to_string() });
        (self.status(), Json(body)).into_response()
    }
}

impl AdminPage for Web {
    fn metrics(&self) -> String {
        metrics::page([
            &self.requests,
            &self.failures,
            &self.emoji.calls,
            &self.voting.calls,
        ])
    }

    /// Ready when both backends are, checked over the connections of the calls.
    async fn ready(&self) -> Result<(), String> {
        for (name, backend) in [("emoji", &self.emoji), ("voting", &self.voting)] {
            let served = backend.check_health().await;
            served.map_err(|status| format!("{name} is not ready: {}", status.message()))?;
        }
        Ok(())
    }
}
