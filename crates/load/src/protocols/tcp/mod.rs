//! Plain TCP: echo with given sizes, half-closed connections, and throughput.

mod client;
mod options;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

pub use client::Tcp;
pub(crate) use options::body_bytes;
pub use options::{Direction, TcpContent, TcpExchange};
use tare_record::load::{ClientOptions, ClientSpec};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};

use super::{Protocol, UrlScheme, UrlTls};

/// Bare TCP, one exchange per connection at a time.
pub static PROTOCOL: Protocol = Protocol {
    schemes: &[
        UrlScheme::over_tcp("tcp", UrlTls::Never, "tls://"),
        UrlScheme::over_tcp("tls", UrlTls::Always, "tls://"),
    ],
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<TcpExchange>),
    ..Protocol::new(
        ProtocolInfo {
            name: TcpExchange::PROTOCOL,
            over_tcp: OverTcp::Usual,
            load: Some(LoadInfo {
                client: |connections, requests| {
                    ClientSpec::with(connections, &options::echo(requests.first()))
                },
                check: |client| options::check(client.options()?),
                requests: RequestUse::One,
                connection_rules: true,
            }),
        },
        |launch| {
            let (setup, exchange) = (launch.setup, launch.options::<TcpExchange>()?);
            launch.clients(|part| Tcp::new(exchange, &setup.pooled(&part, part.connections)))
        },
    )
};

/// Bytes of one write at most.
const PIECE_BYTES: usize = 128 * 1024;

/// The byte pattern that is sent and expected. Every exchange begins with its first byte. It is longer than
/// [`PIECE_BYTES`] by one period, so that a piece can begin at any byte of the period. All clients read the same.
pub(crate) fn pattern() -> &'static [u8] {
    static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let letters = (b'a'..=b'z').cycle();
        letters.take(PIECE_BYTES + PATTERN_PERIOD).collect()
    });
    &PATTERN
}

/// Bytes after which the pattern repeats.
const PATTERN_PERIOD: usize = 26;
