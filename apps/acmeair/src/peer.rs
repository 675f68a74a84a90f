//! HTTP client of another service.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serving::metrics::{Counter, MetricsPage};

/// Largest response body.
const ANSWER_MAX: usize = 1 << 20;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);
/// Idle connections kept.
const IDLE_MAX: usize = 256;

/// Another service.
#[derive(Debug)]
pub struct Peer {
    pub name: &'static str,
    /// The calling service.
    caller: &'static str,
    authority: String,
    client: Client<HttpConnector, Full<Bytes>>,
    calls: Counter,
}

/// A response of any status.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// No connection: nothing was sent.
    #[error("{0} cannot be reached: {1}")]
    Unsent(&'static str, String),
    /// A timeout. The request may have been executed.
    #[error("{0} took longer than {1} ms")]
    Timeout(&'static str, u128),
    /// The connection broke. The request may have been executed.
    #[error("the connection to {0} broke: {1}")]
    Broken(&'static str, String),
}

impl Unanswered {
    /// Whether the request may have been executed.
    pub fn uncertain(&self) -> bool {
        !matches!(self, Unanswered::Unsent(..))
    }
}

impl Peer {
    /// The service `name` at `host:port`, called by `caller`.
    pub fn new(caller: &'static str, name: &'static str, authority: &str) -> Peer {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Peer {
            name,
            caller,
            authority: authority.to_owned(),
            client,
            calls: Counter::default(),
        }
    }

    /// Posts a form.
    /// Fails if there is no response in time.
    pub async fn post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        within: Duration,
    ) -> Result<Answer, Unanswered> {
        // A block of its own: the serializer must not be held across an await.
        let body = {
            let mut body = form_urlencoded::Serializer::new(String::new());
            body.extend_pairs(form);
            Bytes::from(body.finish())
        };
        self.send(Method::POST, path, body, within).await
    }

    /// Sends a GET request.
    /// Fails if there is no response in time.
    pub async fn get(&self, path: &str, within: Duration) -> Result<Answer, Unanswered> {
        self.send(Method::GET, path, Bytes::new(), within).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        within: Duration,
    ) -> Result<Answer, Unanswered> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.authority));
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| Unanswered::Unsent(self.name, error.to_string()))?;
        self.exchange(request, within).await
    }

    /// Sends a request whose URI has the authority of this service.
    /// Fails if there is no response in time.
    pub async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<Answer, Unanswered> {
        self.calls.count();
        let call = async {
            let response = self.client.request(request).await.map_err(|error| {
                let reason = root_cause(&error);
                match error.is_connect() {
                    true => Unanswered::Unsent(self.name, reason),
                    false => Unanswered::Broken(self.name, reason),
                }
            })?;
            let (head, body) = response.into_parts();
            let read = Limited::new(body, ANSWER_MAX).collect().await;
            let body = read.map_err(|error| Unanswered::Broken(self.name, error.to_string()))?;
            Ok(Answer {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let late = |_| Unanswered::Timeout(self.name, within.as_millis());
        tokio::time::timeout(within, call).await.map_err(late)?
    }

    /// The authority, for forwarded requests.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Writes the number of calls.
    pub fn write(&self, page: &mut MetricsPage) {
        let (caller, name) = (self.caller, self.name);
        let labels = format!("edge=\"{caller}__{name}\"");
        let help = "Calls made to other services, every try counted.";
        page.counter("acmeair_calls_total", help, &labels, &self.calls);
    }
}

/// The root cause, which is the most specific.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
