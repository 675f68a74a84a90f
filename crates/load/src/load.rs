//! Builder for loads, for use from other programs: every setting has a default.

use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::ControlFlow;
use std::time::Duration;

use tare_record::FORMAT_VERSION;
use tare_record::load::{
    AddressPolicy, Body, ClientSpec, Cores, Endpoint, Expect, ExpectBody, ExpectStatus, LoadPlan,
    LoadSpec, Pacing, RequestSpec, Stop, TemplateMode, ThinkDistribution,
};
use thiserror::Error;

use crate::control::StopHandle;
use crate::generator::{LoadError, LoadOutcome, run};
use crate::protocols::http1;
use crate::protocols::http2::Http2Options;

/// Why a URL cannot be used.
#[derive(Debug, Error)]
pub enum UrlError {
    #[error("{0:?} is not a valid URL for a load: write http://host:port/path")]
    Form(String),
    #[error("{host} has no address ({why}): check the name")]
    Host { host: String, why: String },
}

/// A load to run: a [`LoadPlan`] with defaults. What has no method here is set with [`Load::plan_mut`].
///
/// Without a rate: 16 connections as fast as possible, for 10 seconds, over HTTP/1.1; 2xx and 3xx are correct.
///
/// No address is refused here: the caller is responsible for having the consent of the server's operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    plan: LoadPlan,
}

impl Load {
    /// GET requests to this URL.
    ///
    /// # Errors
    /// When it is no `http://` URL, or its host has no address.
    pub fn get(url: &str) -> Result<Self, UrlError> {
        Self::new(url, "GET", Body::None)
    }

    /// POST requests with this body to this URL.
    ///
    /// # Errors
    /// As [`Load::get`].
    pub fn post(url: &str, body: impl Into<String>) -> Result<Self, UrlError> {
        Self::new(url, "POST", Body::Text { text: body.into() })
    }

    fn new(url: &str, method: &str, body: Body) -> Result<Self, UrlError> {
        let (host, path) = split(url).ok_or_else(|| UrlError::Form(url.to_owned()))?;
        let plan = LoadPlan {
            version: FORMAT_VERSION,
            role: "client".into(),
            start_at_unix_us: None,
            start_lead_ns: None,
            seed: 1,
            endpoint: Endpoint {
                addresses: resolve(&host)?,
                host,
            },
            allowed_addresses: AddressPolicy::Public,
            address_overrides: Vec::new(),
            cores: Cores::Shared,
            cpu_per_exchange_ns: None,
            load: LoadSpec {
                requests: vec![request(method, path, body)],
                ..LoadSpec::new(http1::client(LoadSpec::CONNECTIONS))
            },
        };
        Ok(Self { plan })
    }

    /// Open loop at this rate: starts are fixed in advance, so a slow answer delays no other request.
    #[must_use]
    pub fn rate(mut self, per_second: f64) -> Self {
        self.plan.load.pacing = Pacing::Constant {
            rate_per_s: per_second,
        };
        self
    }

    /// Closed loop: each client sends its next request when its last one is answered.
    #[must_use]
    pub fn clients(mut self, clients: u32) -> Self {
        self.plan.load.pacing = Pacing::Closed {
            clients,
            think_time_ns: 0,
            think_distribution: ThinkDistribution::None,
        };
        self.connections(clients)
    }

    /// Length of the measurement.
    #[must_use]
    pub fn duration(mut self, window: Duration) -> Self {
        self.plan.load.stop = Stop::Duration {
            window_ns: nanoseconds(window),
        };
        self
    }

    /// Number of requests to measure.
    #[must_use]
    pub fn count(mut self, exchanges: u64) -> Self {
        self.plan.load.stop = Stop::Count { exchanges };
        self
    }

    /// Length of the warm-up, which does not count.
    #[must_use]
    pub fn warmup(mut self, length: Duration) -> Self {
        self.plan.load.warmup_ns = nanoseconds(length);
        self
    }

    /// Timeout of a request, of a connection attempt, and of the drain at the end.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.plan.load.timeout_ns = nanoseconds(limit);
        self
    }

    /// Connections over all workers; HTTP/1.1.
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.plan.load.client = http1::client(connections);
        self
    }

    /// HTTP/2 over this number of connections, each with this number of concurrent streams.
    #[must_use]
    pub fn http2(mut self, connections: u32, streams: u16) -> Self {
        self.plan.load.client = ClientSpec::with(connections, &Http2Options { streams });
        self
    }

    /// Worker threads, each with its own share of everything.
    #[must_use]
    pub fn workers(mut self, workers: u32) -> Self {
        self.plan.load.workers = workers;
        self
    }

    /// A header of every request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        for request in &mut self.plan.load.requests {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The whole plan, for what has no method here: TLS, more requests, expected responses.
    pub fn plan_mut(&mut self) -> &mut LoadPlan {
        &mut self.plan
    }

    /// The whole plan.
    #[must_use]
    pub fn plan(&self) -> &LoadPlan {
        &self.plan
    }

    /// Runs it to its end. To watch or to end it, pass [`Load::plan`] to [`run`].
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(&self) -> Result<LoadOutcome, LoadError> {
        run(&self.plan, &StopHandle::new(), &mut |_| {
            ControlFlow::Continue(())
        })
    }
}

fn request(method: &str, path: String, body: Body) -> RequestSpec {
    RequestSpec {
        name: "request".into(),
        weight: 1.0,
        method: method.into(),
        path,
        headers: Vec::new(),
        body,
        template: TemplateMode::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    }
}

/// Saturates after 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// `http://host:port/path` → `host:port`, `/path`.
fn split(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("http://")?;
    let rest = rest.split('#').next()?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let path = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/{path}"),
    };
    (!host.is_empty() && !host.contains('@')).then(|| (host.to_owned(), path))
}

/// All addresses of the first one's family: a load over IPv4 and IPv6 at once would mix two paths.
fn resolve(host: &str) -> Result<Vec<SocketAddr>, UrlError> {
    let failed = |why: String| UrlError::Host {
        host: host.to_owned(),
        why,
    };
    let behind_brackets = host.rfind(']').map_or(host, |end| &host[end..]);
    let found = if behind_brackets.contains(':') {
        host.to_socket_addrs()
    } else {
        format!("{host}:80").to_socket_addrs()
    };
    let all: Vec<SocketAddr> = found.map_err(|error| failed(error.to_string()))?.collect();
    let first = all.first().ok_or_else(|| failed("nothing found".into()))?;
    let is_v4 = first.is_ipv4();
    Ok(all
        .into_iter()
        .filter(|address| address.is_ipv4() == is_v4)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_address_host_and_path() {
        let load = Load::get("http://127.0.0.1:81?a=b#c").unwrap();
        assert_eq!(load.plan().endpoint.host, "127.0.0.1:81");
        assert_eq!(load.plan().load.requests[0].path, "/?a=b");
        let load = Load::get("http://[::1]").unwrap();
        assert_eq!(
            load.plan().endpoint.addresses,
            ["[::1]:80".parse().unwrap()]
        );
    }

    #[test]
    fn what_is_no_http_url_is_refused_with_the_next_step() {
        for url in [
            "127.0.0.1",
            "https://127.0.0.1/",
            "http:///x",
            "http://a@b/",
        ] {
            let said = Load::get(url).unwrap_err().to_string();
            assert!(said.contains("http://host:port/path"), "{url}: {said}");
        }
        let said = Load::get("http://127.0.0.1:99999/").unwrap_err();
        assert!(said.to_string().contains("check the name"), "{said}");
    }

    #[test]
    fn what_is_said_is_in_the_plan() {
        let load = Load::post("http://127.0.0.1:81/", "body")
            .unwrap()
            .rate(5.0)
            .count(7)
            .header("a", "b")
            .http2(2, 3);
        let plan = load.plan();
        assert_eq!(plan.load.pacing, Pacing::Constant { rate_per_s: 5.0 });
        assert_eq!(plan.load.stop, Stop::Count { exchanges: 7 });
        let request = &plan.load.requests[0];
        assert_eq!(request.method, "POST");
        assert_eq!(request.headers, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(
            plan.load.client,
            ClientSpec::with(2, &Http2Options { streams: 3 })
        );
    }
}
