//! Another service: its address, the connections to it, and one call over them.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::metrics::{Counter, Page};

/// Largest answer that is read.
const ANSWER_MAX: usize = 1 << 20;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);
/// Idle connections that are kept.
const IDLE_MAX: usize = 256;

/// Another service.
#[derive(Debug)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Who calls it.
    caller: &'static str,
    authority: String,
    client: Client<HttpConnector, Full<Bytes>>,
    calls: Counter,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// There is no connection, so nothing was sent.
    #[error("{0} cannot be reached: {1}")]
    Unsent(&'static str, String),
    /// It took too long. It may have been done all the same.
    #[error("{0} took longer than {1} ms")]
    Late(&'static str, u128),
    /// The connection broke. It may have been done all the same.
    #[error("the connection to {0} broke: {1}")]
    Broken(&'static str, String),
}

impl Unanswered {
    /// Whether what was asked may have been done.
    #[must_use]
    pub fn uncertain(&self) -> bool {
        !matches!(self, Unanswered::Unsent(..))
    }
}

impl Peer {
    /// The service `name` at `host:port`, called by `caller`.
    #[must_use]
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
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        within: Duration,
    ) -> Result<Answer, Unanswered> {
        // A block of its own: the serializer cannot be held while waiting.
        let body = {
            let mut body = form_urlencoded::Serializer::new(String::new());
            body.extend_pairs(form);
            Bytes::from(body.finish())
        };
        self.send(Method::POST, path, body, within).await
    }

    /// Gets a page.
    ///
    /// # Errors
    /// When there is no answer in time.
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

    /// One request and its answer, with the authority of this service in the request's URI.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<Answer, Unanswered> {
        let (_, answer) = self.whole(request, within).await?;
        Ok(answer)
    }

    /// The same with the head of the answer.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn whole(
        &self,
        request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<(axum::http::HeaderMap, Answer), Unanswered> {
        self.calls.count();
        let asked = async {
            let response = self.client.request(request).await.map_err(|error| {
                let reason = root(&error);
                match error.is_connect() {
                    true => Unanswered::Unsent(self.name, reason),
                    false => Unanswered::Broken(self.name, reason),
                }
            })?;
            let (head, body) = response.into_parts();
            let read = Limited::new(body, ANSWER_MAX).collect().await;
            let body = read.map_err(|error| Unanswered::Broken(self.name, error.to_string()))?;
            let answer = Answer {
                status: head.status,
                body: body.to_bytes(),
            };
            Ok((head.headers, answer))
        };
        let late = |_| Unanswered::Late(self.name, within.as_millis());
        tokio::time::timeout(within, asked).await.map_err(late)?
    }

    /// The authority, for requests that are handed on.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Writes down how often it was called.
    pub fn write(&self, page: &mut Page) {
        let (caller, name) = (self.caller, self.name);
        let labels = format!("edge=\"{caller}__{name}\"");
        let help = "Calls made to other services, every try counted.";
        page.counter("acmeair_calls_total", help, &labels, self.calls.get());
    }
}

/// The innermost reason, which says most.
fn root(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
