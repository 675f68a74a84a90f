//! How a Kafka consumer fetches: partitions, start offset, sizes, and when it ends.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoginSpec;

/// A Kafka consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchSpec {
    /// Topics; all of their partitions are fetched.
    pub topics: Vec<String>,
    /// Client ID for the brokers' logs and quotas.
    pub client_id: String,
    /// Greatest number of concurrent fetches per worker. There is one per broker that leads partitions of the worker.
    pub in_flight_max: u16,
    /// Partition assignment.
    pub assignment: FetchAssignment,
    /// Start offset.
    pub from: FetchFrom,
    /// Bytes for which a broker waits before it responds (`fetch.min.bytes`) …
    pub min_bytes: u32,
    /// … at most this long (`fetch.max.wait.ms`).
    pub max_wait_ms: u32,
    /// Greatest size of a response.
    pub max_bytes: u32,
    /// Greatest size of one partition in a response.
    pub partition_max_bytes: u32,
    /// Whether checksums (CRC) of batches are verified.
    pub check_crc: bool,
    /// How far received batches are decoded.
    pub decode: FetchDecode,
    /// What ends the load before its stop condition.
    pub until: FetchUntil,
    /// What follows the last record of a partition.
    #[serde(default)]
    pub at_end: FetchEnd,
    /// SASL login; `None`: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<LoginSpec>,
}

/// Partition assignment: static, or by a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "assignment", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchAssignment {
    /// Static: partitions are distributed over the workers.
    Static,
    /// By a consumer group, of which each worker is a member.
    Group {
        /// Group ID.
        group: String,
        /// Assignors of the group leader, in order of preference: `range`, `sticky`.
        assignors: Vec<String>,
        /// Interval of offset commits; `None`: never.
        commit_every_ms: Option<u64>,
        /// Time without a heartbeat after which a member is removed from the group.
        session_timeout_ms: u32,
    },
}

/// Start offset of partitions without a committed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchFrom {
    /// The oldest record.
    Start,
    /// The first record written from now on.
    End,
    /// The first record with this timestamp or a later one.
    Time {
        /// Milliseconds since the Unix epoch.
        unix_ms: i64,
    },
}

/// How far received batches are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decode", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchDecode {
    /// Batch headers only: records are counted by header.
    Batches,
    /// Each record, decompressed: bytes of keys and values are counted.
    Records,
    /// Each record, for the timestamp in it, from which end-to-end latency is computed.
    Timestamps {
        /// Number of the run whose records count.
        run: u64,
    },
}

/// What ends the load early, whichever comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchUntil {
    /// This many records have arrived, at all workers together.
    pub records: Option<u64>,
    /// Whether to end when everything that was stored at the start has arrived.
    pub backlog: bool,
    /// Time without a record after which the load is aborted: what it asked for is not there. `None`: it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
}

/// What follows the last record of a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FetchEnd {
    /// Wait for new records.
    #[default]
    Wait,
    /// Read the partition again from where it was begun: a stored backlog lasts as long as the load.
    Repeat,
}

/// Concurrent fetches per worker: more than most clusters have brokers. What is too many is not used.
const AT_ONCE: u16 = 32;

impl Default for FetchSpec {
    /// The defaults of the Java consumer: every partition, from the oldest record on. There is no topic yet.
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            client_id: "tare".into(),
            in_flight_max: AT_ONCE,
            assignment: FetchAssignment::Static,
            from: FetchFrom::Start,
            min_bytes: 1,
            max_wait_ms: 500,
            max_bytes: 50 << 20,
            partition_max_bytes: 1 << 20,
            check_crc: true,
            decode: FetchDecode::Batches,
            until: FetchUntil::default(),
            at_end: FetchEnd::Wait,
            sasl: None,
        }
    }
}
