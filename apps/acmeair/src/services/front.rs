//! The service main: web page, gateway to the other services, and audit.

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
use serving::metrics::MetricsPage;

use crate::airports::AIRPORTS;
use crate::api_error::ApiError;
use crate::peer::{Peer, Unanswered};
use crate::service::Service;

/// The page; its script calls the other services.
const PAGE: &str = include_str!("front/page.html");
/// Timeout of a status request.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of loading a service.
const LOAD_LIMIT: Duration = Duration::from_secs(60);
/// Hop-by-hop headers (RFC 9110, 7.6.1), and headers that are set anew.
const HOP_BY_HOP: [header::HeaderName; 8] = [
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
    /// Timeout of a forwarded request.
    timeout: Duration,
}

impl Front {
    /// In front of these services: auth, customer, flight and booking.
    pub fn new([auth, customer, flight, booking]: [Peer; 4], timeout: Duration) -> Arc<Front> {
        Arc::new(Front {
            auth,
            customer,
            flight,
            booking,
            timeout,
        })
    }

    fn peers(&self) -> [&Peer; 4] {
        [&self.auth, &self.customer, &self.flight, &self.booking]
    }

    /// The service of a path. Internal paths are not forwarded.
    fn peer_for(&self, path: &str) -> Option<&Peer> {
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

    /// The status of another service.
    async fn fetch_status(&self, peer: &Peer) -> Result<Value, String> {
        let path = format!("/{}/status", peer.name);
        let answer = peer.get(&path, STATUS_TIMEOUT).await;
        let answer = answer.map_err(|error| error.to_string())?;
        serde_json::from_slice(&answer.body).map_err(|error| format!("{}: {error}", peer.name))
    }
}

fn refused(unanswered: Unanswered) -> ApiError {
    let why = unanswered.to_string();
    match unanswered {
        Unanswered::Unsent(..) => ApiError::Unavailable(why),
        Unanswered::Timeout(..) => ApiError::Timeout(why),
        Unanswered::Broken(..) => ApiError::BadGateway(why),
    }
}

async fn forward(State(front): State<Arc<Front>>, request: Request) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    // The other service decodes the path, so an encoded slash or letter must not bypass the routing.
    let plain = percent_decoded(head.uri.path());
    let nowhere = || ApiError::NotFound("there is nothing at this address".to_owned());
    let peer = front.peer_for(&plain).ok_or_else(nowhere)?;
    let uri: Uri = format!("http://{}{path}", peer.authority())
        .parse()
        .map_err(|_| nowhere())?;
    let body: Bytes = axum::body::to_bytes(body, 16 << 10)
        .await
        .map_err(|error| ApiError::Malformed(format!("the body cannot be read: {error}")))?;
    let mut forwarded = axum::http::Request::new(Full::new(body));
    *forwarded.method_mut() = head.method;
    *forwarded.uri_mut() = uri;
    *forwarded.headers_mut() = strip_hop_by_hop(head.headers);
    let answer = peer.exchange(forwarded, front.timeout).await;
    let answer = answer.map_err(refused)?;
    let mut response = (answer.status, answer.body).into_response();
    *response.headers_mut() = strip_hop_by_hop(answer.headers);
    Ok(response)
}

fn strip_hop_by_hop(mut headers: HeaderMap) -> HeaderMap {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers
}

/// A path with percent-encoding, empty and `.` segments resolved, as a lenient server might see it.
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

/// Loads the three services with data: flights, bookings (none), customers.
async fn load(State(front): State<Arc<Front>>) -> Result<Json<Value>, ApiError> {
    let mut reply = json!({});
    for peer in [&front.flight, &front.booking, &front.customer] {
        let path = format!("/{}/loader/load", peer.name);
        let answer = peer.get(&path, LOAD_LIMIT).await.map_err(refused)?;
        let loaded: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if !answer.status.is_success() {
            return Err(ApiError::BadGateway(format!(
                "{} could not load: {}",
                peer.name, loaded["error"]
            )));
        }
        reply[peer.name] = loaded;
    }
    Ok(Json(reply))
}

async fn system(State(front): State<Arc<Front>>) -> Json<Value> {
    let mut reply = json!({});
    for peer in front.peers() {
        reply[peer.name] = match front.fetch_status(peer).await {
            Ok(status) => status,
            Err(why) => json!({ "ready": false, "missing": why }),
        };
    }
    Json(reply)
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
            .route("/auth/{*rest}", any(forward))
            .route("/customer/{*rest}", any(forward))
            .route("/flight/{*rest}", any(forward))
            .route("/booking/{*rest}", any(forward))
            .with_state(self)
    }

    fn write(&self, page: &mut MetricsPage) {
        for peer in self.peers() {
            peer.write(page);
        }
    }

    fn status(&self) -> Value {
        json!({})
    }

    /// Ready once all others are ready, and those that check tokens have the key.
    async fn ready(&self) -> Result<(), String> {
        for peer in self.peers() {
            let status = self.fetch_status(peer).await?;
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
        let peers = ["auth", "customer", "flight", "booking"].map(peer);
        let front = Front::new(peers, Duration::from_secs(1));
        let whose = |path: &str| front.peer_for(&percent_decoded(path)).map(|peer| peer.name);
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
