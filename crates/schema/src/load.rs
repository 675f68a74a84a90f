//! What one agent is told to do: pacing × stop × client × transport, each a type of its own.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One agent's orders for one trial, complete: nothing in it means "default".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Role of this agent in the trial, the first word of its histogram tags.
    pub role: String,
    /// Wall-clock start of the warm-up in µs since the epoch; `None`: as soon as it is ready.
    pub start_at_unix_us: Option<u64>,
    /// Seed of every random choice of this agent.
    pub seed: u64,
    /// Where the first byte goes.
    pub endpoint: Endpoint,
    /// What the load looks like.
    pub load: LoadSpec,
}

/// The load of one role, before it is known where it goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// When exchanges start.
    pub pacing: Pacing,
    /// When the window ends.
    pub stop: Stop,
    /// Exchanges intended this long after the start are sent but not counted.
    pub warmup_ns: u64,
    /// Limit of one exchange, of one connection attempt, and of the drain after the window.
    pub timeout_ns: u64,
    /// Worker threads; each has its own connections, schedule and histograms.
    pub workers: u32,
    /// What to do in the last microseconds before a start.
    pub spin: Spin,
    /// Distance between two samples.
    pub sample_every_ns: u64,
    /// How bytes travel.
    pub transport: Transport,
    /// The protocol and its connections.
    pub client: ClientSpec,
    /// What is sent; one is chosen per exchange by weight.
    pub requests: Vec<RequestSpec>,
}

/// Address and name of the thing that is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Addresses to connect to, used in turn.
    pub addresses: Vec<SocketAddr>,
    /// Name to send as host (`Host`, `:authority`, SNI).
    pub host: String,
}

/// When exchanges start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pacing {
    /// Open loop at a constant rate: start times are fixed in advance.
    Constant {
        /// Exchanges per second over all workers.
        rate_per_s: f64,
    },
    /// Closed loop: each client starts its next exchange when the last one ended.
    Closed {
        /// Clients, each with at most one exchange under way.
        clients: u32,
        /// Pause of a client between an answer and its next request.
        think_ns: u64,
    },
    /// As fast as the connections carry it.
    Max,
}

/// When the window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stop {
    /// After this time (the warm-up not included).
    Duration {
        /// Length of the window.
        window_ns: u64,
    },
    /// After this many exchanges (the warm-up not included).
    Count {
        /// Exchanges in the window, over all workers.
        exchanges: u64,
    },
    /// When told by a signal.
    Interrupted,
}

/// What a worker does in the last microseconds before an intended start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spin {
    /// Busy-wait through them, at most 10 % of a core; above that rate it switches itself off.
    Bounded,
    /// Sleep only.
    Off,
}

/// How bytes travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transport {
    /// Plain TCP.
    Tcp,
}

/// The protocol spoken and how many connections carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClientSpec {
    /// HTTP/1.1 with a pool of connections, one exchange per connection at a time.
    Http1 {
        /// Connections over all workers.
        connections: u32,
    },
    /// HTTP/2 with many exchanges on each connection.
    Http2 {
        /// Connections over all workers.
        connections: u32,
        /// Exchanges on one connection at a time; the server may allow fewer.
        streams: u16,
    },
    /// Unary gRPC calls over HTTP/2: the path is `/package.Service/Method`, the body is the message, and the status of the
    /// expectation is that of the call.
    Grpc {
        /// Connections over all workers.
        connections: u32,
        /// Calls on one connection at a time; the server may allow fewer.
        streams: u16,
    },
    /// A protocol that can be planned but that this version's agent does not speak: it refuses it by name.
    Planned {
        /// Name of the protocol.
        name: String,
        /// Connections over all workers.
        connections: u32,
    },
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Name of the request, the second word of its histogram tags.
    pub name: String,
    /// Share of this request among all, relative to the others.
    pub weight: f64,
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers in order, besides those the protocol needs.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Body,
    /// What a right answer is.
    pub expect: Expect,
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Body {
    /// No body.
    None,
    /// This text.
    Text {
        /// The text.
        text: String,
    },
    /// So many bytes of a fixed printable pattern.
    Filler {
        /// Length.
        bytes: u64,
    },
}

/// What makes an answer right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Accepted status.
    pub status: ExpectStatus,
    /// Accepted body.
    pub body: ExpectBody,
}

/// Which status is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectStatus {
    /// Any 2xx or 3xx.
    Success,
    /// Just this one.
    Exactly(u16),
    /// All are right.
    Any,
}

/// Which body is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectBody {
    /// All are right (framing errors are errors all the same).
    Any,
    /// Just so many bytes.
    Length(u64),
    /// Just these bytes.
    Text(String),
}
