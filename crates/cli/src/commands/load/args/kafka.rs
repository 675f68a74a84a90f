//! Arguments of Kafka producers.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use tare_schema::load::{Acks, Codec, Keys, Partitioner};
use tare_schema::units::{Period, Size};

/// Producing to Kafka.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Kafka (kafka://host:port,…/topic, over TLS kafka+tls://host:port,…/topic): each record is a request"
)]
pub struct KafkaArgs {
    /// Whose word is waited for: nobody's, the leader's, that of all replicas in sync [default: all].
    #[arg(long, value_name = "0|1|ALL", ignore_case = true)]
    pub acks: Option<AcksArg>,
    /// How long a batch waits for more records [default: 5ms].
    #[arg(long, value_name = "TIME")]
    pub linger: Option<Period>,
    /// Size at which a batch is full, uncompressed [default: 128KiB].
    #[arg(long, value_name = "SIZE")]
    pub batch_size: Option<Size>,
    /// How batches are compressed [default: none].
    #[arg(long, value_name = "CODEC")]
    pub compression: Option<CodecArg>,
    /// How hard, where the codec has levels.
    #[arg(long, value_name = "N", requires = "compression")]
    pub compression_level: Option<i32>,
    /// Size of a record's value [default: 100B].
    #[arg(long, value_name = "SIZE", conflicts_with = "payload_file")]
    pub payload: Option<Size>,
    /// Take the values from the lines of this file, one after the other.
    #[arg(long, value_name = "FILE")]
    pub payload_file: Option<PathBuf>,
    /// Share of random bytes in a value; the rest compresses to nothing [default: one letter after the other].
    #[arg(long, value_name = "0..1", conflicts_with = "payload_file")]
    pub payload_random: Option<f64>,
    /// Keys: none, round-robin:N, random:N or zipf:N:EXPONENT, of N keys [default: none].
    #[arg(long, value_name = "KEYS")]
    pub keys: Option<KeysArg>,
    /// How partitions are chosen for records without a key [default: sticky].
    #[arg(long, value_name = "HOW")]
    pub partitioner: Option<PartitionerArg>,
    /// Requests on one connection at once [default: 5].
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<u16>,
    /// Whether batches are numbered so that none is taken twice [default: on with acks=all].
    #[arg(long, value_name = "ON|OFF")]
    pub idempotence: Option<OnOff>,
    /// Size of all batches of a worker together [default: 32MiB].
    #[arg(long, value_name = "SIZE")]
    pub buffer_memory: Option<Size>,
    /// Most bytes of a request [default: 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub max_request_size: Option<Size>,
    /// What the brokers see in their logs and quotas [default: tare].
    #[arg(long, value_name = "NAME")]
    pub client_id: Option<String>,
    /// Log in as this user.
    #[arg(long, value_name = "USER", requires = "sasl_password_file")]
    pub sasl_user: Option<String>,
    /// A file whose first line is the password.
    #[arg(long, value_name = "FILE", requires = "sasl_user")]
    pub sasl_password_file: Option<PathBuf>,
    /// PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 [default: SCRAM-SHA-512].
    #[arg(long, value_name = "NAME", requires = "sasl_user")]
    pub sasl_mechanism: Option<String>,
}

/// Acknowledgements as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcksArg {
    /// Nobody's.
    #[value(name = "0")]
    None,
    /// The leader's.
    #[value(name = "1")]
    Leader,
    /// All.
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
    /// One until its batch is closed.
    Sticky,
    /// One after the other.
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
