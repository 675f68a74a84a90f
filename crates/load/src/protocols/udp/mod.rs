//! UDP echo: numbered datagrams at a set rate, matched to their answers by number; what is lost, late or doubled is counted.
//!
//! A datagram starts with a key of the worker (8 bytes) and its number (8 bytes); letters a to z, repeated, fill it to its length.
//! Any server that returns datagrams as they are will do (RFC 862). Exchanges do not wait for each other: a rate is kept whatever is
//! lost. One without an answer within the timeout is an error of class `timeout`.

mod client;
#[cfg(test)]
mod tests;

pub use client::{Udp, UdpPlan};
use serde::{Deserialize, Serialize};
use tare_record::load::{ClientOptions, ClientSpec, RequestSpec};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};
use tare_record::schemas::JsonSchema;
use tare_stats::random::Random;

use super::tcp::body_bytes;
use super::{Flags, Protocol, SocketKind, UrlScheme, UrlServers, UrlTls, check_range};
use crate::clock::realtime_ns;
use crate::generator::{Launch, LoadError, LoadOutcome};

/// UDP echo.
pub static PROTOCOL: Protocol = Protocol {
    schemes: &[UrlScheme {
        name: "udp",
        rest: "host:port",
        tls: UrlTls::Never,
        port: None,
        servers: UrlServers::One,
        secured: None,
    }],
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<UdpOptions>),
    flags: Flags::OfOptions,
    sockets: SocketKind::Datagram,
    ..Protocol::new(
        ProtocolInfo {
            name: UdpOptions::PROTOCOL,
            over_tcp: OverTcp::Impossible,
            load: Some(LoadInfo {
                client: |connections, requests| {
                    ClientSpec::with(connections, &default_options(requests))
                },
                check: |client| check(client.options()?),
                requests: RequestUse::One,
                connection_rules: false,
            }),
        },
        run,
    )
};

/// Options of a UDP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpOptions {
    /// Length of a datagram: 16B to 65507B; 100B by default, or that of the request's body.
    pub datagram_bytes: u32,
    /// Datagrams in flight per connection in a load as fast as possible; a rate is kept whatever is in flight. Default: 1.
    pub in_flight_max: u16,
}

impl ClientOptions for UdpOptions {
    const PROTOCOL: &'static str = "udp";
}

/// Key and number.
const HEADER_BYTES: usize = 16;
const DEFAULT_BYTES: u32 = 100;
/// The largest payload of UDP over IPv4.
const DATAGRAM_BYTES_MAX: u32 = 65_507;
const IN_FLIGHT_MAX: u16 = 10_000;

fn default_options(requests: &[RequestSpec]) -> UdpOptions {
    let of_body = requests.first().map(|request| body_bytes(&request.body));
    UdpOptions {
        datagram_bytes: match of_body {
            None | Some(0) => DEFAULT_BYTES,
            Some(bytes) => u32::try_from(bytes).unwrap_or(u32::MAX),
        },
        in_flight_max: 1,
    }
}

fn check(options: UdpOptions) -> Result<(), String> {
    let bytes = HEADER_BYTES as u32..=DATAGRAM_BYTES_MAX;
    check_range("the length of a datagram", options.datagram_bytes, bytes)?;
    let what = "the number of datagrams in flight";
    check_range(what, options.in_flight_max, 1..=IN_FLIGHT_MAX)
}

fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let options: UdpOptions = launch.options()?;
    let setup = launch.setup;
    launch.clients(|part| {
        let purpose = format!("datagrams of worker {}", part.worker);
        let capacity = part.connections * usize::from(options.in_flight_max);
        Udp::new(UdpPlan {
            connections: setup.pooled(&part, capacity),
            options,
            // Datagrams of an earlier load, which come late, must not be taken for those of this one.
            key: Random::for_purpose(setup.seed ^ realtime_ns(), &purpose).bits(),
        })
    })
}
