//! What a producer of Kafka sends: how records become batches, whose word is waited for, and what is in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A producer. Each of the plan's requests is a topic: its path names it, its body is the payload, its headers are the records'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProduceSpec {
    /// What the brokers see in their logs and quotas.
    pub client_id: String,
    /// Whose word is waited for.
    pub acks: Acks,
    /// Whether batches are numbered, so that none is taken twice.
    pub idempotence: bool,
    /// How long a batch waits for more records.
    pub linger_ns: u64,
    /// Size at which a batch is full, uncompressed.
    pub batch_bytes: u32,
    /// Size of all batches of one request.
    pub request_bytes_max: u32,
    /// Requests on one connection at once.
    pub in_flight_max: u16,
    /// Size of all batches of one worker together.
    pub buffer_bytes: u64,
    /// How batches are compressed.
    pub compression: Codec,
    /// How hard, where the codec has levels.
    pub compression_level: Option<i32>,
    /// How partitions are chosen.
    pub partitioner: Partitioner,
    /// How keys are chosen.
    pub keys: Keys,
    /// Payloads of which records have one after the other; where there are none, the request's body.
    pub payloads: Payloads,
    /// The number of the run in the stamps of its records; `None`: they have no stamps.
    pub stamps_of_run: Option<u64>,
    /// What numbers its records, so that what was acknowledged can be read back and accounted for; `None`: nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serials: Option<SerialSpec>,
    /// Who we are, where brokers ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginSpec>,
}

/// Whose numbers records bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SerialSpec {
    /// Number of the run: records of another one are told apart.
    pub run: u64,
    /// Number of the first worker among the writers of the run; the next ones follow.
    pub first_writer: u32,
}

/// Whose word is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Acks {
    /// Nobody's.
    #[serde(rename = "0")]
    None,
    /// The leader's.
    #[serde(rename = "1")]
    Leader,
    /// That of all replicas in sync.
    #[serde(rename = "all")]
    All,
}

/// How batches are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// Not at all.
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

/// How partitions are chosen for records without a key; with one, by its murmur2 hash as Java does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partitioner {
    /// One until its batch is closed, then the next.
    Sticky,
    /// One after the other.
    RoundRobin,
}

/// How keys are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "keys", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Keys {
    /// Records have none.
    None,
    /// One after the other.
    RoundRobin {
        /// How many there are.
        count: u64,
    },
    /// Each as likely as the others.
    Random {
        /// How many there are.
        count: u64,
    },
    /// The first ones more often, by a power of their number.
    Zipf {
        /// How many there are.
        count: u64,
        /// The power.
        exponent: f64,
    },
}

/// Where payloads come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "payloads", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Payloads {
    /// The body of the request.
    Body,
    /// Drawn from the seed: so many of a size, of which a share is random bytes and the rest compresses to nothing.
    Drawn {
        /// How many.
        count: u32,
        /// Size of each.
        bytes: u32,
        /// Share of random bytes, 0 to 1.
        randomness: f64,
    },
    /// These, in the standard alphabet of base64 with padding.
    Given {
        /// One after the other.
        base64: Vec<String>,
    },
}

impl Default for ProduceSpec {
    /// As Java's producer has it by default, but for larger batches.
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
            stamps_of_run: None,
            serials: None,
            login: None,
        }
    }
}

/// Who we are to brokers that ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginSpec {
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub mechanism: String,
    /// The user.
    pub user: String,
    /// A file whose first line is the password: plans are kept, and passwords are not to be kept with them.
    pub password_file: std::path::PathBuf,
}
