//! How a Kafka producer writes: batching, acknowledgements, keys and payloads.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Kafka producer. Each request of the plan is a topic: its path is the topic's name, its body the payload, its headers those
/// of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProduceSpec {
    /// Client ID for the brokers' logs and quotas.
    pub client_id: String,
    /// Acknowledgements to wait for.
    pub acks: Acks,
    /// Idempotent producer: brokers drop duplicate batches by number.
    pub idempotence: bool,
    /// Time that a batch waits for more records (linger).
    pub linger_ns: u64,
    /// Batch size, uncompressed.
    pub batch_bytes: u32,
    /// Greatest size of a request, over all of its batches.
    pub request_bytes_max: u32,
    /// Concurrent requests per connection.
    pub in_flight_max: u16,
    /// Greatest size of all batches of a worker together.
    pub buffer_bytes: u64,
    /// Compression of batches.
    pub compression: Codec,
    /// Compression level, for codecs that have levels.
    pub compression_level: Option<i32>,
    /// Partition choice for records without a key.
    pub partitioner: Partitioner,
    /// Key choice.
    pub keys: Keys,
    /// Payloads of the records, in turn.
    pub payloads: Payloads,
    /// Number of the run in the records' timestamps, for end-to-end latency; `None`: records have no timestamps.
    pub timestamp_run: Option<u64>,
    /// Numbering of records, so that acknowledged ones can be verified by reading them back; `None`: not numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serials: Option<SerialSpec>,
    /// SASL login; `None`: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<LoginSpec>,
}

/// Numbering of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SerialSpec {
    /// Number of the run, which distinguishes its records from those of other runs.
    pub run: u64,
    /// Writer number of the first worker; the others follow.
    pub first_writer: u32,
}

/// Kafka `acks`: which replicas must acknowledge a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Acks {
    /// None.
    #[serde(rename = "0")]
    None,
    /// The leader.
    #[serde(rename = "1")]
    Leader,
    /// All in-sync replicas.
    #[serde(rename = "all")]
    All,
}

/// Compression of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// No compression.
    None,
    /// Gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Partition choice for records without a key. Records with a key go by its murmur2 hash, as in Java.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partitioner {
    /// One partition until its batch is closed, then the next.
    Sticky,
    /// Round robin.
    RoundRobin,
}

/// Key choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "keys", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Keys {
    /// No keys.
    None,
    /// Round robin.
    RoundRobin {
        /// Number of keys.
        count: u64,
    },
    /// Uniformly distributed.
    Random {
        /// Number of keys.
        count: u64,
    },
    /// Zipf-distributed: the first keys most often.
    Zipf {
        /// Number of keys.
        count: u64,
        /// Exponent of the distribution.
        exponent: f64,
    },
}

/// Source of payloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "payloads", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Payloads {
    /// The body of the request.
    Body,
    /// Random payloads from the seed, all of one size; a share of the bytes is random, the rest is compressible.
    Drawn {
        /// Number of different payloads.
        count: u32,
        /// Size of each.
        bytes: u32,
        /// Share of random bytes, 0 to 1.
        randomness: f64,
    },
    /// Given payloads, in standard base64 with padding.
    Given {
        /// The payloads, used in turn.
        base64: Vec<String>,
    },
}

impl Default for ProduceSpec {
    /// The defaults of the Java producer, except for larger batches.
    fn default() -> Self {
        Self {
            client_id: "tare".into(),
            acks: Acks::All,
            idempotence: true,
            linger_ns: 5_000_000,
            batch_bytes: 128 * 1024,
            request_bytes_max: 1024 * 1024,
            in_flight_max: 5,
            buffer_bytes: 32 << 20,
            compression: Codec::None,
            compression_level: None,
            partitioner: Partitioner::Sticky,
            keys: Keys::None,
            payloads: Payloads::Body,
            timestamp_run: None,
            serials: None,
            sasl: None,
        }
    }
}

/// SASL credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginSpec {
    /// SASL mechanism: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub mechanism: String,
    /// User name.
    pub user: String,
    /// File whose first line is the password. Plans are kept in records, which must not hold passwords.
    pub password_file: std::path::PathBuf,
}
