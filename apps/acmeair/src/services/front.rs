//! The service main: the page for people, the way to the other services, and the audit of all of them.

mod audit;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::metrics::Page;
use crate::mileage::AIRPORTS;
use crate::peer::{Peer, Unanswered};
use crate::refusal::Refusal;
use crate::service::Service;

/// The page; its script asks the other services for what it shows.
const PAGE: &str = include_str!("front/page.html");
/// A request that is handed on; longer than all that can happen behind it.
const HAND_ON_LIMIT: Duration = Duration::from_secs(15);
/// A look at another service.
const LOOK_LIMIT: Duration = Duration::from_secs(1);
/// Loading everything.
const LOAD_LIMIT: Duration = Duration::from_secs(60);
/// Headers that belong to one connection (RFC 9110, 7.6.1), or are made anew.
const OF_CONNECTION: [header::HeaderName; 8] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHORIZATION,
];

/// The service.
#[derive(Debug)]
pub struct Front {
    auth: Peer,
    customer: Peer,
    flight: Peer,
    booking: Peer,
}

impl Front {
    /// In front of these.
    #[must_use]
    pub fn new(auth: Peer, customer: Peer, flight: Peer, booking: Peer) -> Arc<Front> {
        Arc::new(Front {
            auth,
            customer,
            flight,
            booking,
        })
    }

    fn peers(&self) -> [&Peer; 4] {
        [&self.auth, &self.customer, &self.flight, &self.booking]
    }

    /// The service that an address belongs to. What services ask each other is not for people.
    fn behind(&self, path: &str) -> Option<&Peer> {
        if path.starts_with("/customer/internal/") {
            return None;
        }
        let mut peers = self.peers().into_iter();
        peers.find(|peer| {
            let rest = path
                .strip_prefix('/')
                .and_then(|path| path.strip_prefix(peer.name));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// What another service tells about itself.
    async fn look(&self, peer: &Peer) -> Result<Value, String> {
        let path = format!("/{}/status", peer.name);
        let answer = peer.get(&path, LOOK_LIMIT).await;
        let answer = answer.map_err(|error| error.to_string())?;
        serde_json::from_slice(&answer.body).map_err(|error| format!("{}: {error}", peer.name))
    }
}

fn refused(unanswered: Unanswered) -> Refusal {
    let why = unanswered.to_string();
    match unanswered {
        Unanswered::Unsent(..) => Refusal::Unavailable(why),
        Unanswered::Late(..) => Refusal::Late(why),
        Unanswered::Broken(..) => Refusal::Behind(why),
    }
}

async fn hand_on(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    // The other service would decode it, so a hidden slash or letter is no way round.
    let plain = percent_decoded(head.uri.path());
    let nowhere = || Refusal::Missing("there is nothing at this address".to_owned());
    let peer = front.behind(&plain).ok_or_else(nowhere)?;
    let uri: Uri = format!("http://{}{path}", peer.authority())
        .parse()
        .map_err(|_| nowhere())?;
    let body: Bytes = axum::body::to_bytes(body, 16 << 10)
        .await
        .map_err(|error| Refusal::Malformed(format!("the body cannot be read: {error}")))?;
    let mut onward = axum::http::Request::new(Full::new(body));
    *onward.method_mut() = head.method;
    *onward.uri_mut() = uri;
    *onward.headers_mut() = without_connection(head.headers);
    let (headers, answer) = peer.whole(onward, HAND_ON_LIMIT).await.map_err(refused)?;
    let mut response = (answer.status, answer.body).into_response();
    *response.headers_mut() = without_connection(headers);
    Ok(response)
}

fn without_connection(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

/// A path without `%`, `//` and dots, as a lenient reader might see it.
fn percent_decoded(path: &str) -> String {
    let text = path.replace('+', "%2B");
    let decoded = form_urlencoded::parse(text.as_bytes())
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned());
    let parts: Vec<&str> = decoded
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    format!("/{}", parts.join("/"))
}

async fn airports() -> Json<Value> {
    Json(json!(AIRPORTS))
}

async fn check(State(front): State<Arc<Front>>) -> Response {
    audit::audit(&front).await
}

/// Loads what the three services have: flights, bookings (none), customers.
async fn load(State(front): State<Arc<Front>>) -> Result<Json<Value>, Refusal> {
    let mut told = json!({});
    for peer in [&front.flight, &front.booking, &front.customer] {
        let path = format!("/{}/loader/load", peer.name);
        let answer = peer.get(&path, LOAD_LIMIT).await.map_err(refused)?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if !answer.status.is_success() {
            return Err(Refusal::Behind(format!(
                "{} could not load: {}",
                peer.name, said["error"]
            )));
        }
        told[peer.name] = said;
    }
    Ok(Json(told))
}

async fn system(State(front): State<Arc<Front>>) -> Json<Value> {
    let mut told = json!({});
    for peer in front.peers() {
        told[peer.name] = match front.look(peer).await {
            Ok(status) => status,
            Err(why) => json!({ "ready": false, "missing": why }),
        };
    }
    Json(told)
}

impl Service for Front {
    const NAME: &'static str = "main";
    const ROOT: &'static str = "/acmeair";
    const ROUTES: &'static [&'static str] = &[
        "/",
        "/acmeair",
        "/acmeair/",
        "/acmeair/airports",
        "/acmeair/system",
        "/acmeair/audit",
        "/acmeair/loader/load",
        "/auth/{*rest}",
        "/customer/{*rest}",
        "/flight/{*rest}",
        "/booking/{*rest}",
    ];

    fn router(self: Arc<Self>) -> Router {
        let to_page = || get(async || Redirect::to("/acmeair/"));
        Router::new()
            .route("/", to_page())
            .route("/acmeair", to_page())
            .route("/acmeair/", get(async || Html(PAGE)))
            .route("/acmeair/airports", get(airports))
            .route("/acmeair/system", get(system))
            .route("/acmeair/audit", get(check))
            .route("/acmeair/loader/load", get(load))
            .route("/auth/{*rest}", any(hand_on))
            .route("/customer/{*rest}", any(hand_on))
            .route("/flight/{*rest}", any(hand_on))
            .route("/booking/{*rest}", any(hand_on))
            .with_state(self)
    }

    fn write(&self, page: &mut Page) {
        for peer in self.peers() {
            peer.write(page);
        }
    }

    fn status(&self) -> Value {
        json!({})
    }

    /// It is ready when all others are, and those that check tokens have the key.
    async fn ready(&self) -> Result<(), String> {
        for peer in self.peers() {
            let status = self.look(peer).await?;
            if status["ready"] != json!(true) {
                return Err(format!("{} is not ready: {}", peer.name, status["missing"]));
            }
            if status.get("keys") == Some(&json!(false)) {
                return Err(format!("{} has not yet the key of auth", peer.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_service_of_its_root_and_inner_ones_to_none() {
        let peer = |name| Peer::new("main", name, "127.0.0.1:1");
        let front = Front::new(
            peer("auth"),
            peer("customer"),
            peer("flight"),
            peer("booking"),
        );
        let whose = |path: &str| front.behind(&percent_decoded(path)).map(|peer| peer.name);
        assert_eq!(whose("/auth/login"), Some("auth"));
        assert_eq!(whose("/customer/byid/uid1@email.com"), Some("customer"));
        assert_eq!(whose("/booking/byuser/a%40b"), Some("booking"));
        for hidden in [
            "/customer/internal/validateid",
            "/customer/%69nternal/validateid",
            "/customer//internal/validateid",
            "/customer%2Finternal/validateid",
            "/customer/./internal/validateid",
        ] {
            assert_eq!(whose(hidden), None, "{hidden}");
        }
        assert_eq!(whose("/flightless/x"), None);
        assert_eq!(whose("/acmeair/"), None);
    }
}
