//! HTTP/1.1: the codec of one connection, and the client over a pool of connections.

pub mod body_scan;
pub mod client;
#[cfg(test)]
mod client_tests;
pub mod codec;
pub mod listed;
mod mismatch;
pub mod request;
pub mod requests;
pub mod templated;

use std::sync::Arc;

use client::Http1Client;
pub use mismatch::{CaptureError, CodingError, ResponseMismatch};
use request::Prepared;
use tare_record::load::ClientSpec;
use tare_record::protocol::OverTcp;

use super::{Protocol, UrlScheme, UrlTls, without_options};
use crate::generator::{Launch, LoadError, LoadOutcome, prepare};

/// HTTP/1.1 over a pool of connections, one exchange per connection at a time.
pub static PROTOCOL: Protocol = Protocol {
    schemes: &[
        UrlScheme {
            rest: "host:port/path",
            port: Some(80),
            ..UrlScheme::over_tcp("http", UrlTls::Never, "https://")
        },
        UrlScheme {
            rest: "host:port/path",
            port: Some(443),
            ..UrlScheme::over_tcp("https", UrlTls::Always, "https://")
        },
    ],
    alpn: Some("http/1.1"),
    ..Protocol::new(
        without_options(NAME, OverTcp::OnRequest, true, |connections, _| {
            client(connections)
        }),
        run,
    )
};

/// Name of the protocol.
pub const NAME: &str = "http1";

/// The client of a load.
#[must_use]
pub fn client(connections: u32) -> ClientSpec {
    ClientSpec::new(NAME, connections)
}

fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    if let Some(paths) = setup.paths.clone() {
        let requests = listed::compile(plan, paths)?;
        return launch.clients(|part| Http1Client::new(requests(), &setup.pooled_sessions(&part)));
    }
    if templated::is_needed(&plan.load.requests) {
        let requests_of = templated::compile(plan, setup.workers)?;
        return launch.clients(|part| {
            Http1Client::new(requests_of(part.worker), &setup.pooled_sessions(&part))
        });
    }
    let requests = prepare(plan, Prepared::new)?;
    launch.clients(|part| Http1Client::new(Arc::clone(&requests), &setup.pooled_sessions(&part)))
}
