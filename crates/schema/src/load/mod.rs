//! What one agent is told to do: pacing × stop × client × transport, each a type of its own.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod client;
mod fetch;
mod grpc;
mod mix;
mod pacing;
mod produce;
mod profile;
mod reach;
mod request;
pub mod session;
pub mod template;
mod transport;

pub use client::{ClientSpec, ConnectionRules, Direction, MongoData, TcpContent, TcpExchange};
pub use fetch::{FetchDepth, FetchEnd, FetchFrom, FetchShare, FetchSpec, FetchUntil};
pub use grpc::{CallKind, CallSpec, Deadline, MessagePace};
pub use mix::{Mix, Order, Rows, TABLE_BYTES_MAX, Table};
pub use pacing::{AtEnd, Deal, Gaps, Pacing, RateStep, ThinkSpread};
pub use produce::{Acks, Codec, Keys, LoginSpec, Partitioner, Payloads, ProduceSpec, SerialSpec};
pub use profile::RateProfile;
pub use reach::{OutOfReach, Reach};
pub use request::{Body, Expect, ExpectBody, ExpectStatus, Parts, RequestSpec};
pub use session::SessionSpec;
pub use transport::{Identity, Resumption, TlsSpec, TlsVersion, Transport, Trust};

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
    /// Which addresses may be called: those of the endpoint, and those that are learnt from whoever is called.
    #[serde(default)]
    pub reach: Reach,
    /// Servers (brokers) that are called at another address than they advertise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_overrides: Vec<AddressOverride>,
    /// Whose cores the workers have.
    #[serde(default)]
    pub cores: Cores,
    /// CPU of a worker for one exchange, where that was measured before: by a calibration or an earlier trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_per_exchange_ns: Option<u64>,
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
    /// How the kernel is to schedule the workers.
    #[serde(default)]
    pub sched: Sched,
    /// Distance between two samples.
    pub sample_every_ns: u64,
    /// How bytes travel.
    pub transport: Transport,
    /// The protocol and its connections.
    pub client: ClientSpec,
    /// How connections come and go.
    #[serde(default)]
    pub connections: ConnectionRules,
    /// What is sent, unless a session says it; one is chosen per exchange.
    pub requests: Vec<RequestSpec>,
    /// How requests are chosen and put together.
    #[serde(default)]
    pub mix: Mix,
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

/// A server that is called at another address than the advertised one: through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressOverride {
    /// Its address, as it is advertised.
    pub advertised: SocketAddr,
    /// Address to connect to instead.
    pub connect_to: SocketAddr,
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

impl Stop {
    /// The share of one of several agents: a count is dealt out, a time is everybody's.
    #[must_use]
    pub fn share(self, deal: Deal) -> Stop {
        match self {
            Stop::Count { exchanges } => {
                let parts = u64::from(deal.parts.max(1));
                let more = u64::from(u64::from(deal.part) < exchanges % parts);
                Stop::Count {
                    exchanges: exchanges / parts + more,
                }
            }
            Stop::Duration { .. } | Stop::Interrupted => self,
        }
    }
}

/// What a worker does in the last microseconds before an intended start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spin {
    /// Busy-wait through them, at most half of a core of its own and a tenth of a shared one; above the rate that fits it switches
    /// itself off.
    Bounded,
    /// Sleep only.
    Off,
}

/// How the kernel is to schedule the workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sched {
    /// `fifo` for an open loop on cores of its own whose work takes clearly less than a core, else `normal`.
    #[default]
    Auto,
    /// `SCHED_FIFO`, priority 1, not inherited by children.
    Fifo,
    /// `SCHED_OTHER` with niceness −10.
    Normal,
}

/// Whose cores the workers have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cores {
    /// Others run there too.
    #[default]
    Shared,
    /// Each worker has one on which nothing else of the run is placed.
    Own,
}
