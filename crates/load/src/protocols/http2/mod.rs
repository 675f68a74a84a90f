//! HTTP/2: the codec of one connection, and the client over many of them.

pub mod client;
pub mod codec;
pub mod error;
pub mod request;
pub mod stream_protocol;

use std::sync::Arc;

pub use client::{Http2, Http2Plan, Windows};
use codec::Limits;
use request::Prepared;
use serde::{Deserialize, Serialize};
use stream_protocol::{Http, StreamProtocol};
use tare_record::load::{ClientOptions, ClientSpec};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};
use tare_record::schemas::JsonSchema;

pub use tare_http2_frames::hpack;

use super::{ConnectionSecurity, Protocol, check_range};
use crate::generator::{Launch, LoadError, LoadOutcome, Setup, WorkerShare, prepare};

/// HTTP/2 with multiplexed exchanges.
pub static PROTOCOL: Protocol = Protocol {
    // Its URLs are those of HTTP/1.1: a flag chooses the version.
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<Http2Options>),
    alpn: Some("h2"),
    ..Protocol::new(
        ProtocolInfo {
            name: Http2Options::PROTOCOL,
            over_tcp: OverTcp::OnRequest,
            load: Some(LoadInfo {
                client: |connections, _| ClientSpec::with(connections, &Http2Options::default()),
                check: |client| check_streams(client.options::<Http2Options>()?.streams),
                requests: RequestUse::Many,
                connection_rules: true,
            }),
        },
        run,
    )
};

/// Default number of streams on a connection.
pub(crate) const STREAMS: u16 = 8;
const STREAMS_MAX: u16 = 10_000;

/// Options of an HTTP/2 client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http2Options {
    /// Concurrent exchanges per connection (streams); the server may allow fewer.
    pub streams: u16,
}

impl Default for Http2Options {
    fn default() -> Self {
        Self { streams: STREAMS }
    }
}

impl ClientOptions for Http2Options {
    const PROTOCOL: &'static str = "http2";
}

pub(crate) fn check_streams(streams: u16) -> Result<(), String> {
    let what = "the number of streams on a connection";
    check_range(what, streams, 1..=STREAMS_MAX)
}

fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let Http2Options { streams } = launch.options()?;
    let security = ConnectionSecurity::of(&plan.load.transport);
    let requests = prepare(plan, |spec, host| Prepared::new(spec, host, security))?;
    launch.clients(|part| client_of::<Http>(setup, &part, streams, &requests))
}

/// The client of one worker.
pub(crate) fn client_of<D: StreamProtocol>(
    setup: &Setup,
    part: &WorkerShare,
    streams: u16,
    requests: &Arc<[D::Request]>,
) -> Http2<D> {
    Http2::new(Http2Plan {
        requests: Arc::clone(requests),
        connections: setup.pooled(part, part.connections * usize::from(streams)),
        streams,
        windows: Windows::default(),
        limits: Limits::default(),
    })
}
