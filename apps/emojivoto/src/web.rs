//! The service `web`: the page for people and the API behind it, over HTTP/1.1.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::{Code, Status};

use crate::admin::Told;
use crate::catalogue::{self, ALL};
use crate::emoji::{EmojiService, FIND, LIST_ALL};
use crate::error::StartError;
use crate::faults::{Fate, Faults};
use crate::messages::{
    Emoji, FindByShortcodeRequest, FindByShortcodeResponse, ListAllRequest, ListAllResponse,
    ResultsRequest, ResultsResponse, VoteRequest, VoteResponse,
};
use crate::metrics::{self, Family};
use crate::rpc::{Backend, Method};
use crate::service::Service;
use crate::voting::{RESULTS, VotingService};

/// Requests under way at once; further ones are refused.
const REQUESTS_MAX: usize = 4096;
/// The page, the same for both addresses; it asks the API for what it shows.
const PAGE: &str = include_str!("page.html");
/// The addresses.
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

/// The service with what it calls.
#[derive(Debug)]
pub struct Web {
    emoji: Backend,
    list: Method,
    find: Method,
    voting: Backend,
    results: Method,
    /// By place in the table.
    votes: Vec<Method>,
    faults: Faults,
    room: Semaphore,
    requests: Family,
    failures: Family,
}

impl Web {
    /// The service in front of these.
    ///
    /// # Errors
    /// When an address is none.
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
            room: Semaphore::new(REQUESTS_MAX),
            requests: Family::new(
                "emojivoto_requests_total",
                "Requests received.",
                "route",
                routes(),
            ),
            failures: Family::new("emojivoto_failures_total", failed, "route", routes()),
        }))
    }

    /// Its addresses.
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

    /// Counts a request and lets it in, if there is room and no fault is due.
    async fn admit(&self, route: &'static str) -> Result<SemaphorePermit<'_>, Refusal> {
        self.requests.count(route);
        let admitted = match self.room.try_acquire() {
            Ok(place) if self.faults.next().await == Fate::Answer => Ok(place),
            Ok(_) => Err(Refusal::OnPurpose),
            Err(_) => Err(Refusal::Full),
        };
        self.noted(route, admitted)
    }

    /// Counts what failed.
    fn noted<T>(&self, route: &'static str, result: Result<T, Refusal>) -> Result<T, Refusal> {
        if result.is_err() {
            self.failures.count(route);
        }
        result
    }

    async fn find(&self, shortcode: &str) -> Result<Option<Emoji>, Status> {
        let asked = FindByShortcodeRequest {
            shortcode: shortcode.to_owned(),
        };
        let found: FindByShortcodeResponse = self.emoji.call(&self.find, asked).await?;
        Ok(found.emoji)
    }

    /// Two calls: is there such an emoji, and the vote for it.
    async fn vote(&self, choice: Option<&str>) -> Result<(), Refusal> {
        let choice = choice.ok_or(Refusal::NoChoice)?;
        let unknown = || Refusal::Unknown(choice.to_owned());
        let emoji = self.find(choice).await?.ok_or_else(unknown)?;
        // Both services have the table; the one asked decides what there is.
        let place = catalogue::place(&emoji.shortcode);
        let method = place.and_then(|place| self.votes.get(place));
        let VoteResponse {} = self
            .voting
            .call(method.ok_or_else(unknown)?, VoteRequest {})
            .await?;
        Ok(())
    }

    /// One call for the results, and one for every emoji in them, one after the other.
    async fn standing(&self) -> Result<Vec<Place>, Refusal> {
        let told: ResultsResponse = self.voting.call(&self.results, ResultsRequest {}).await?;
        let mut standing = Vec::with_capacity(told.results.len());
        for result in told.results {
            let found = self.find(&result.shortcode).await?;
            let emoji = found.ok_or(Refusal::Unknown(result.shortcode))?;
            standing.push(Place {
                unicode: emoji.unicode,
                shortcode: emoji.shortcode,
                votes: result.votes,
            });
        }
        Ok(standing)
    }
}

/// An emoji of the list.
#[derive(Debug, Serialize)]
struct Listed {
    unicode: String,
    shortcode: String,
}

/// A place on the leaderboard.
#[derive(Debug, Serialize)]
struct Place {
    unicode: String,
    shortcode: String,
    votes: u64,
}

/// What a vote is for.
#[derive(Debug, Deserialize)]
struct Choice {
    choice: Option<String>,
}

async fn show(State(web): State<Arc<Web>>, route: &'static str) -> Result<Response, Refusal> {
    let _place = web.admit(route).await?;
    Ok(Html(PAGE).into_response())
}

async fn list(State(web): State<Arc<Web>>) -> Result<Response, Refusal> {
    const ROUTE: &str = "/api/list";
    let _place = web.admit(ROUTE).await?;
    let listed = web.emoji.call(&web.list, ListAllRequest {}).await;
    let listed: ListAllResponse = web.noted(ROUTE, listed.map_err(Refusal::from))?;
    let emojis: Vec<Listed> = listed
        .list
        .into_iter()
        .map(|emoji| Listed {
            unicode: emoji.unicode,
            shortcode: emoji.shortcode,
        })
        .collect();
    Ok(Json(emojis).into_response())
}

async fn vote(
    State(web): State<Arc<Web>>,
    Query(Choice { choice }): Query<Choice>,
) -> Result<Response, Refusal> {
    const ROUTE: &str = "/api/vote";
    let _place = web.admit(ROUTE).await?;
    let voted = web.vote(choice.as_deref()).await;
    web.noted(ROUTE, voted)?;
    let format = [(header::CONTENT_TYPE, "application/json")];
    Ok((format, r#"{"vote":"counted"}"#).into_response())
}

async fn leaderboard(State(web): State<Arc<Web>>) -> Result<Response, Refusal> {
    const ROUTE: &str = "/api/leaderboard";
    let _place = web.admit(ROUTE).await?;
    let standing = web.standing().await;
    Ok(Json(web.noted(ROUTE, standing)?).into_response())
}

/// Why a request got no answer of its kind.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("say what you vote for: /api/vote?choice=:doughnut:")]
    NoChoice,
    #[error("there is no emoji {0:?}; /api/list has them all")]
    Unknown(String),
    #[error("too many requests under way; try again")]
    Full,
    #[error("failed on purpose (--fail-share)")]
    OnPurpose,
    #[error("a service behind this one failed: {0}")]
    Call(#[from] Box<Status>),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Refusal {
        Refusal::Call(Box::new(status))
    }
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::NoChoice => StatusCode::BAD_REQUEST,
            Refusal::Unknown(_) => StatusCode::NOT_FOUND,
            Refusal::Full => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::OnPurpose => StatusCode::INTERNAL_SERVER_ERROR,
            Refusal::Call(status) => match status.code() {
                // The channel calls a call that it gave up cancelled.
                Code::DeadlineExceeded | Code::Cancelled => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::BAD_GATEWAY,
            },
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let said = serde_json::json!({ "error": self.to_string() });
        (self.status(), Json(said)).into_response()
    }
}

impl Told for Web {
    fn metrics(&self) -> String {
        metrics::page([
            &self.requests,
            &self.failures,
            &self.emoji.calls,
            &self.voting.calls,
        ])
    }

    /// It is ready when both services behind it are, asked over the connections that calls will take.
    async fn ready(&self) -> Result<(), String> {
        for (name, backend) in [("emoji", &self.emoji), ("voting", &self.voting)] {
            let served = backend.serves().await;
            served.map_err(|status| format!("{name} is not ready: {}", status.message()))?;
        }
        Ok(())
    }
}
