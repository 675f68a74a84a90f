//! Arguments of Kafka producers.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use tare_schema::load::{Acks, Codec, Keys, Partitioner};
use tare_schema::units::{Period, Size};

/// Producing to Kafka.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Kafka producer (kafka://host:port,…/topic, over TLS kafka+tls://host:port,…/topic): each record is a request"
)]
pub struct KafkaArgs {
    /// Acknowledgments per batch (acks): 0 (none), 1 (leader), all (in-sync replicas) [default: all].
    #[arg(long, value_name = "0|1|ALL", ignore_case = true)]
    pub acks: Option<AcksArg>,
    /// Maximum wait of a batch for more records (linger.ms) [default: 5ms].
    #[arg(long, value_name = "TIME")]
    pub linger: Option<Period>,
    /// Maximum size of a batch, uncompressed (batch.size) [default: 128KiB].
    #[arg(long, value_name = "SIZE")]
    pub batch_size: Option<Size>,
    /// Compression codec of batches (compression.type) [default: none].
    #[arg(long, value_name = "CODEC")]
    pub compression: Option<CodecArg>,
    /// Compression level, for codecs with levels [default: the codec's].
    #[arg(long, value_name = "N", requires = "compression")]
    pub compression_level: Option<i32>,
    /// Size of a record value [default: 100B].
    #[arg(long, value_name = "SIZE", conflicts_with = "payload_file")]
    pub payload: Option<Size>,
    /// File of record values, one per line, used in turn.
    #[arg(long, value_name = "FILE")]
    pub payload_file: Option<PathBuf>,
    /// Share of random bytes in a value, 0 to 1; the rest is compressible [default: a fixed pattern].
    #[arg(long, value_name = "0..1", conflicts_with = "payload_file")]
    pub payload_random: Option<f64>,
    /// Record keys: none, or one of N keys by round-robin:N, random:N or zipf:N:EXPONENT [default: none].
    #[arg(long, value_name = "KEYS")]
    pub keys: Option<KeysArg>,
    /// Partitioner of records without a key [default: sticky].
    #[arg(long, value_name = "PARTITIONER")]
    pub partitioner: Option<PartitionerArg>,
    /// Maximum number of requests in flight per connection (max.in.flight.requests.per.connection) [default: 5].
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<u16>,
    /// Idempotent producer: no duplicates by retries (enable.idempotence) [default: on with acks=all].
    #[arg(long, value_name = "ON|OFF")]
    pub idempotence: Option<OnOff>,
    /// Maximum size of all batches of a worker (buffer.memory) [default: 32MiB].
    #[arg(long, value_name = "SIZE")]
    pub buffer_memory: Option<Size>,
    /// Maximum size of a produce request (max.request.size) [default: 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub max_request_size: Option<Size>,
    /// Client ID in the brokers' logs and quotas (client.id) [default: tare].
    #[arg(long, value_name = "NAME")]
    pub client_id: Option<String>,
    /// SASL user name.
    #[arg(long, value_name = "USER", requires = "sasl_password_file")]
    pub sasl_user: Option<String>,
    /// File with the SASL password in its first line.
    #[arg(long, value_name = "FILE", requires = "sasl_user")]
    pub sasl_password_file: Option<PathBuf>,
    /// SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 [default: SCRAM-SHA-512].
    #[arg(long, value_name = "NAME", requires = "sasl_user")]
    pub sasl_mechanism: Option<String>,
}

/// Acknowledgements as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcksArg {
    /// No acknowledgment.
    #[value(name = "0")]
    None,
    /// Acknowledgment of the leader.
    #[value(name = "1")]
    Leader,
    /// Acknowledgment of all in-sync replicas.
    #[value(name = "all", alias = "-1")]
    All,
}

impl From<AcksArg> for Acks {
    fn from(acks: AcksArg) -> Self {
        match acks {
            AcksArg::None => Acks::None,
            AcksArg::Leader => Acks::Leader,
            AcksArg::All => Acks::All,
        }
    }
}

/// A codec as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CodecArg {
    /// None.
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

impl From<CodecArg> for Codec {
    fn from(codec: CodecArg) -> Self {
        match codec {
            CodecArg::None => Codec::None,
            CodecArg::Gzip => Codec::Gzip,
            CodecArg::Snappy => Codec::Snappy,
            CodecArg::Lz4 => Codec::Lz4,
            CodecArg::Zstd => Codec::Zstd,
        }
    }
}

/// A partitioner as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PartitionerArg {
    /// One partition until its batch is closed.
    Sticky,
    /// Partitions in turn.
    RoundRobin,
}

impl From<PartitionerArg> for Partitioner {
    fn from(partitioner: PartitionerArg) -> Self {
        match partitioner {
            PartitionerArg::Sticky => Partitioner::Sticky,
            PartitionerArg::RoundRobin => Partitioner::RoundRobin,
        }
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// Keys as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeysArg(pub Keys);

impl FromStr for KeysArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed =
            || format!("{text:?}: write none, round-robin:1000, random:1000 or zipf:1000:1.1");
        let parts: Vec<&str> = text.split(':').collect();
        let count = |text: &str| text.parse::<u64>().map_err(|_| malformed());
        let keys = match parts.as_slice() {
            ["none"] => Keys::None,
            ["round-robin", number] => Keys::RoundRobin {
                count: count(number)?,
            },
            ["random", number] => Keys::Random {
                count: count(number)?,
            },
            ["zipf", number, exponent] => Keys::Zipf {
                count: count(number)?,
                exponent: exponent.parse().map_err(|_| malformed())?,
            },
            _ => return Err(malformed()),
        };
        Ok(Self(keys))
    }
}

impl KafkaArgs {
    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.acks.is_some(), "--acks"),
            (self.linger.is_some(), "--linger"),
            (self.batch_size.is_some(), "--batch-size"),
            (self.compression.is_some(), "--compression"),
            (self.payload.is_some(), "--payload"),
            (self.payload_file.is_some(), "--payload-file"),
            (self.payload_random.is_some(), "--payload-random"),
            (self.keys.is_some(), "--keys"),
            (self.partitioner.is_some(), "--partitioner"),
            (self.max_in_flight.is_some(), "--max-in-flight"),
            (self.idempotence.is_some(), "--idempotence"),
            (self.buffer_memory.is_some(), "--buffer-memory"),
            (self.max_request_size.is_some(), "--max-request-size"),
            (self.client_id.is_some(), "--client-id"),
            (self.sasl_user.is_some(), "--sasl-user"),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_word_with_its_numbers() {
        let keys = |text: &str| text.parse::<KeysArg>().map(|KeysArg(keys)| keys);
        assert_eq!(keys("none"), Ok(Keys::None));
        assert_eq!(keys("round-robin:7"), Ok(Keys::RoundRobin { count: 7 }));
        assert_eq!(keys("random:7"), Ok(Keys::Random { count: 7 }));
        let exponent = 1.2;
        assert_eq!(keys("zipf:7:1.2"), Ok(Keys::Zipf { count: 7, exponent }));
        for wrong in ["", "zipf:7", "random", "random:x", "hot"] {
            assert!(
                keys(wrong).unwrap_err().contains("zipf:1000:1.1"),
                "{wrong}"
            );
        }
    }
}
