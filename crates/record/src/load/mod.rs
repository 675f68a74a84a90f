//! Load plans: what an agent does, as pacing × stop × client × transport.

use std::net::SocketAddr;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

mod client;
mod fetch;
mod grpc;
mod pacing;
mod paths;
mod produce;
mod profile;
mod reach;
mod request;
pub mod session;
pub mod template;
mod transport;

pub use client::{ClientOptions, ClientSpec, ConnectionRules, ProxyProtocol};
pub use fetch::{FetchAssignment, FetchDecode, FetchEnd, FetchFrom, FetchSpec, FetchUntil};
pub use grpc::{CallKind, CallSpec, Deadline, MessagePace};
pub use pacing::{AtEnd, Interarrival, Pacing, RateStep, Shard, ThinkDistribution};
pub use paths::PathList;
pub use produce::{Acks, Codec, Keys, LoginSpec, Partitioner, Payloads, ProduceSpec, SerialSpec};
pub use profile::RateProfile;
pub use reach::{AddressNotAllowed, AddressPolicy};
pub use request::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec, STATUS_MAX, TemplateMode};
pub use session::SessionSpec;
pub use transport::{Identity, Resumption, TlsSpec, TlsVersion, Transport, Trust};

/// Load plan of one agent in one trial, fully resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Role of this agent in the trial, the first word of its histogram tags.
    pub role: String,
    /// Start of the warm-up, µs since the epoch; `None`: as soon as the agent is ready.
    pub start_at_unix_us: Option<u64>,
    /// Time from the making of this plan to that start, openings of connections included: an agent whose clock shows more than a minute
    /// beyond it was given a start by another clock, and refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_lead_ns: Option<u64>,
    /// Seed of every random choice of this agent.
    pub seed: u64,
    /// Server to connect to.
    pub endpoint: Endpoint,
    /// Addresses that may be connected to: those of the endpoint, and those that servers advertise.
    #[serde(default)]
    pub allowed_addresses: AddressPolicy,
    /// Servers (brokers) that are reached at another address than they advertise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_overrides: Vec<AddressOverride>,
    /// Whether the workers have cores of their own.
    #[serde(default)]
    pub cores: Cores,
    /// CPU time of a worker per exchange, if known from a calibration or an earlier trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_per_exchange_ns: Option<u64>,
    /// The load.
    pub load: LoadSpec,
}

/// The load of a role, without the server's address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Pacing: when exchanges start.
    pub pacing: Pacing,
    /// Stop condition: when the window ends.
    pub stop: Stop,
    /// Warm-up: exchanges intended in this time after the start are sent but not counted.
    pub warmup_ns: u64,
    /// Timeout of an exchange, of a connection attempt, and of the drain after the window.
    pub timeout_ns: u64,
    /// Worker threads; each has its own connections, schedule and histograms.
    pub workers: u32,
    /// How a worker waits for the last microseconds before a start.
    pub spin: Spin,
    /// Kernel scheduling of the workers.
    #[serde(default)]
    pub sched: Sched,
    /// Interval between two samples.
    pub sample_every_ns: u64,
    /// TCP or TLS.
    pub transport: Transport,
    /// Client: protocol and connections.
    pub client: ClientSpec,
    /// When connections are opened and closed.
    #[serde(default)]
    pub connections: ConnectionRules,
    /// Requests, of which one is sent per exchange; empty with a session.
    pub requests: Vec<RequestSpec>,
    /// How exchanges are made from requests.
    #[serde(default)]
    pub mix: Mix,
}

impl LoadSpec {
    /// Default number of connections, in experiments and for `tare load`: that of published studies of proxies.
    pub const CONNECTIONS: u32 = 16;
    /// Default window.
    pub const WINDOW_NS: u64 = 10_000_000_000;

    /// A load with the defaults of experiments and `tare load`, without requests: at maximum rate, without a warm-up.
    #[must_use]
    pub fn new(client: ClientSpec) -> LoadSpec {
        LoadSpec {
            pacing: Pacing::Max,
            stop: Stop::Duration {
                window_ns: LoadSpec::WINDOW_NS,
            },
            warmup_ns: 0,
            timeout_ns: 10_000_000_000,
            workers: 1,
            spin: Spin::Bounded,
            sched: Sched::default(),
            sample_every_ns: 1_000_000_000,
            transport: Transport::Tcp,
            client,
            connections: ConnectionRules::default(),
            requests: Vec::new(),
            mix: Mix::default(),
        }
    }
}

/// Addresses and host name of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Addresses to connect to, used in turn.
    pub addresses: Vec<SocketAddr>,
    /// Host name to send (`Host`, `:authority`, SNI).
    pub host: String,
}

/// A server that is reached at another address than it advertises: through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressOverride {
    /// Address that the server advertises.
    pub advertised: SocketAddr,
    /// Address to connect to.
    pub connect_to: SocketAddr,
}

/// Stop condition: when the window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stop {
    /// After a time, warm-up excluded.
    Duration {
        /// Length of the window.
        window_ns: u64,
    },
    /// After a number of exchanges, warm-up excluded.
    Count {
        /// Exchanges in the window, of all workers together.
        exchanges: u64,
    },
    /// On a signal.
    Interrupted,
}

impl Stop {
    /// The share of one agent: a count is divided among agents, a duration is the same for all.
    #[must_use]
    pub fn share(self, shard: Shard) -> Stop {
        match self {
            Stop::Count { exchanges } => {
                let parts = u64::from(shard.count.max(1));
                let more = u64::from(u64::from(shard.index) < exchanges % parts);
                Stop::Count {
                    exchanges: exchanges / parts + more,
                }
            }
            Stop::Duration { .. } | Stop::Interrupted => self,
        }
    }
}

/// How a worker waits for the last microseconds before an intended start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spin {
    /// Busy-waiting, limited to half of a core of its own or a tenth of a shared one; off above the rate at which that would not
    /// suffice.
    Bounded,
    /// Sleeping only.
    Off,
}

/// Kernel scheduling of the workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sched {
    /// `fifo` for an open loop on cores of its own that needs clearly less than a core, else `normal`.
    #[default]
    Auto,
    /// `SCHED_FIFO`, priority 1, not inherited by children.
    Fifo,
    /// `SCHED_OTHER` with niceness −10.
    Normal,
}

/// Whether workers have cores of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cores {
    /// Other processes of the run may be on the same cores.
    #[default]
    Shared,
    /// Each worker has a core that no other process of the run is placed on.
    Dedicated,
}

/// How exchanges are made from requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Order of requests.
    #[serde(default)]
    pub order: Order,
    /// Data tables for templates.
    #[serde(default)]
    pub tables: Vec<DataTable>,
    /// A session. If given, each start is one of a session and the plan has no requests of its own.
    #[serde(default)]
    pub session: Option<SessionSpec>,
    /// A list of paths. If given, each exchange sends the next one, with what the request that is its route says besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathList>,
}

/// Order of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// At random, by weight.
    #[default]
    Weighted,
    /// Round robin.
    RoundRobin,
}

/// Largest size of all values of a table together: plans are sent as one message and kept in records.
pub const TABLE_BYTES_MAX: usize = 16 << 20;

/// A data table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataTable {
    /// Name of the table, before the dot in `{{ users.name }}`.
    pub name: String,
    /// Names of the columns, after the dot.
    pub columns: Vec<String>,
    /// Rows, with a value for each column.
    pub rows: Vec<Vec<String>>,
    /// Which row is used.
    pub order: Rows,
}

/// Which row of a table an exchange or a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// One after the other, repeated.
    #[default]
    Sequential,
    /// At random.
    Random,
    /// A row that no other session in progress uses.
    Unique,
}
