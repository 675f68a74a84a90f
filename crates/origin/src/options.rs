//! Options: address, workers, behaviour, limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::behaviour::BehaviourOverride;
use crate::error::OriginError;
use crate::stall::{PlannedStall, STALL_MAX};
use crate::tls::TlsOptions;

/// Default of [`Limits::buffer_bytes_max`].
const BUFFER_BYTES_MAX: usize = 512 << 20;

/// Limits on the resources that clients can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head.
    pub head_bytes_max: usize,
    /// Bytes of a request's body.
    pub body_bytes_max: u64,
    /// Bytes in the buffers of all connections of a worker: bodies to echo, unsent answers, incomplete messages. Whoever asks for more
    /// is refused (status 503, ENHANCE_YOUR_CALM, RESOURCE_EXHAUSTED), and closed where that does not help.
    pub buffer_bytes_max: usize,
    /// Streams of an HTTP/2 connection open at one time; more are refused.
    pub streams_max: u32,
    /// Connections open at one time; more are closed immediately.
    pub connections_max: usize,
    /// Idle timeout of connections.
    pub idle_max: Duration,
    /// How long a TLS handshake may take.
    pub handshake_max: Duration,
    /// How long answers in progress may take after a stop.
    pub drain_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            body_bytes_max: 64 << 20,
            buffer_bytes_max: BUFFER_BYTES_MAX,
            streams_max: 1000,
            connections_max: 20_000,
            idle_max: Duration::from_secs(600),
            handshake_max: Duration::from_secs(10),
            drain_max: Duration::from_secs(1),
        }
    }
}

/// Whether the kernel timestamps received packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReceiveTimestamps {
    /// It does: `Tare-Timestamps` has the arrival time.
    #[default]
    Kernel,
    /// It does not: `Tare-Timestamps` has "-" for the arrival.
    Off,
}

/// The protocol above TCP or TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerProtocol {
    /// Detected from the first bytes of a connection: HTTP/2 (and gRPC over it), MongoDB's protocol, else HTTP/1.1. Over TLS both
    /// versions of HTTP are offered.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 and gRPC; without TLS by prior knowledge.
    Http2,
    /// Plain bytes.
    Tcp(TcpMode),
    /// MongoDB's protocol.
    Mongodb,
    /// UDP: datagrams are echoed.
    Udp,
}

impl ServerProtocol {
    /// The protocols offered by ALPN (RFC 7301).
    pub(crate) fn alpn(self) -> Vec<Vec<u8>> {
        let names: &[&[u8]] = match self {
            Self::Auto => &[b"h2", b"http/1.1"],
            Self::Http1 => &[b"http/1.1"],
            Self::Http2 => &[b"h2"],
            Self::Tcp(_) | Self::Mongodb | Self::Udp => &[],
        };
        names.iter().map(|name| name.to_vec()).collect()
    }
}

/// What a TCP server does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpMode {
    /// Echoes them; closes when the client has closed its side.
    Echo,
    /// Answers each request of a fixed size with a fixed size.
    Sized(TcpSizes),
    /// Reads and drops them.
    Discard,
    /// Sends bytes as fast as the client reads them; its input is read and dropped.
    Source,
}

/// The sizes of an exchange over TCP. The answer's bytes are those of [`crate::expected_body`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSizes {
    /// Size of a request; at least 1.
    pub request_bytes: u64,
    /// Size of an answer.
    pub answer_bytes: u64,
}

/// How an origin listens and answers.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Event loops, 1 to 64. Each connection is assigned to the one with the fewest.
    pub workers: usize,
    /// The protocol above TCP or TLS.
    pub protocol: ServerProtocol,
    /// TLS; none without.
    pub tls: Option<TlsOptions>,
    /// A second address that serves counters and control by plain HTTP/1.1: needed where the main listener does not.
    pub control: Option<SocketAddr>,
    /// Applied to every request in this order, before the request's own behaviour.
    pub overrides: Vec<BehaviourOverride>,
    /// Stalls planned from the start of `run`.
    pub stalls: Vec<PlannedStall>,
    pub receive_timestamps: ReceiveTimestamps,
    /// Seed of the random number generator.
    pub seed: u64,
    pub limits: Limits,
}

impl Default for OriginOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            protocol: ServerProtocol::default(),
            tls: None,
            control: None,
            overrides: Vec::new(),
            stalls: Vec::new(),
            receive_timestamps: ReceiveTimestamps::default(),
            seed: 1,
            limits: Limits::default(),
        }
    }
}

impl OriginOptions {
    pub(crate) fn check(&self) -> Result<(), OriginError> {
        let refuse =
            |option, value: String, allowed| Err(OriginError::Option(option, value, allowed));
        let limits = &self.limits;
        if !(1..=64).contains(&self.workers) {
            return refuse("workers", self.workers.to_string(), "1 to 64");
        }
        if limits.head_bytes_max < 256 {
            return refuse(
                "head limit",
                limits.head_bytes_max.to_string(),
                "at least 256",
            );
        }
        if !(1..=100_000).contains(&limits.streams_max) {
            return refuse(
                "stream limit",
                limits.streams_max.to_string(),
                "1 to 100000",
            );
        }
        if limits.connections_max == 0 {
            return refuse("connection limit", "0".into(), "at least 1");
        }
        if limits.idle_max < Duration::from_millis(10) {
            return refuse(
                "idle limit",
                format!("{:?}", limits.idle_max),
                "at least 10ms",
            );
        }
        if let ServerProtocol::Tcp(TcpMode::Sized(TcpSizes {
            request_bytes: 0, ..
        })) = self.protocol
        {
            return refuse("tcp request size", "0".into(), "at least 1");
        }
        if self.protocol == ServerProtocol::Udp && self.tls.is_some() {
            return refuse("TLS", "on".into(), "none over UDP");
        }
        for stall in &self.stalls {
            let longest = stall.after.max(stall.lasts);
            if longest > STALL_MAX {
                return refuse("stall", format!("{longest:?}"), "at most 1h");
            }
        }
        Ok(())
    }
}
