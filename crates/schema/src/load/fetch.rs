//! What a consumer of Kafka fetches: from which partitions, from where, how much at a time, and until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoginSpec;

/// A consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchSpec {
    /// Topics, all of whose partitions are wanted.
    pub topics: Vec<String>,
    /// What the brokers see in their logs and quotas.
    pub client_id: String,
    /// Fetches under way at once in each worker: as many as brokers lead its partitions, since each gets one.
    pub at_once: u16,
    /// Who fetches what.
    pub share: FetchShare,
    /// Where to begin.
    pub from: FetchFrom,
    /// A broker answers when it has so many bytes …
    pub min_bytes: u32,
    /// … or after this time.
    pub max_wait_ms: u32,
    /// Most bytes of an answer.
    pub max_bytes: u32,
    /// Most bytes of a partition in an answer.
    pub partition_max_bytes: u32,
    /// Whether checksums of batches are compared.
    pub check_crc: bool,
    /// How much of what arrives is looked at.
    pub depth: FetchDepth,
    /// What ends the load before its time.
    pub until: FetchUntil,
    /// What follows the last record of a partition.
    #[serde(default)]
    pub at_end: FetchEnd,
    /// Who we are, where brokers ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginSpec>,
}

/// Who fetches what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "share", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchShare {
    /// The partitions are dealt out to the workers.
    Assigned,
    /// Each worker is a member of a consumer group.
    Group {
        /// Its name.
        group: String,
        /// How the leader shares partitions out, the preferred way first: `range`, `sticky`.
        assignors: Vec<String>,
        /// How often offsets are committed; `None`: never.
        commit_every_ms: Option<u64>,
        /// Without a heartbeat for so long, a member is taken for dead.
        session_timeout_ms: u32,
    },
}

/// Where to begin, in a partition without a committed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchFrom {
    /// With the oldest record.
    Start,
    /// With the first one written from now on.
    End,
    /// With the first one of this time or later.
    Time {
        /// In ms since 1970.
        unix_ms: i64,
    },
}

/// How much of what arrives is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "depth", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FetchDepth {
    /// The headers of batches: records are counted as they say.
    Batches,
    /// Each record, decompressed: the bytes of keys and values are counted.
    Records,
    /// Each record, for the time at which it should have been sent.
    Stamps {
        /// The number of the run whose records count.
        run: u64,
    },
}

/// What ends the load before its time: whichever comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchUntil {
    /// So many records have arrived, over all workers.
    pub records: Option<u64>,
    /// Everything that was there at the start has arrived.
    pub backlog: bool,
}

/// What follows the last record of a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FetchEnd {
    /// The next one that is written is waited for.
    #[default]
    Wait,
    /// It is read again, from where it was begun: a stored backlog lasts as long as the load.
    Again,
}

/// Fetches at once in a worker: more than clusters under load have brokers. What is too many is given back.
const AT_ONCE: u16 = 32;

impl Default for FetchSpec {
    /// As Java's consumer has it by default, every partition, from the oldest record on; of no topic yet.
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            client_id: "tare".into(),
            at_once: AT_ONCE,
            share: FetchShare::Assigned,
            from: FetchFrom::Start,
            min_bytes: 1,
            max_wait_ms: 500,
            max_bytes: 50 << 20,
            partition_max_bytes: 1 << 20,
            check_crc: true,
            depth: FetchDepth::Batches,
            until: FetchUntil::default(),
            at_end: FetchEnd::Wait,
            login: None,
        }
    }
}
