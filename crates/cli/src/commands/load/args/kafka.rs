//! Arguments of Kafka producers and consumers.

use std::path::PathBuf;

use tare_record::load::{Acks, Codec, FetchFrom, Keys, Partitioner};
use tare_record::units::{Period, Size};

use crate::arguments::{choices, words};

/// Producing to Kafka.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Kafka producer (kafka://host:port,…/topic, over TLS kafka+tls://host:port,…/topic): each record is a request"
)]
pub struct KafkaArgs {
    /// Acknowledgments per batch (acks): 0 (none), 1 (leader), all (in-sync replicas) [default: all].
    #[arg(long, value_name = "0|1|ALL", ignore_case = true, value_parser = choices(&[
        ("0", "No acknowledgment", Acks::None),
        ("1", "Acknowledgment of the leader", Acks::Leader),
        ("all|-1", "Acknowledgment of all in-sync replicas", Acks::All),
    ]))]
    pub acks: Option<Acks>,
    /// Maximum wait of a batch for more records (linger.ms) [default: 5ms].
    #[arg(long, value_name = "TIME")]
    pub linger: Option<Period>,
    /// Maximum size of a batch, uncompressed (batch.size) [default: 128KiB].
    #[arg(long, value_name = "SIZE")]
    pub batch_size: Option<Size>,
    /// Compression codec of batches (compression.type) [default: none].
    #[arg(long, value_name = "CODEC", value_parser = words::<Codec>(&[
        ("none", ""), ("gzip", ""), ("snappy", ""), ("lz4", ""), ("zstd", "Zstandard"),
    ]))]
    pub compression: Option<Codec>,
    /// Compression level, for codecs with levels [default: the codec's].
    #[arg(long, value_name = "N", requires = "compression")]
    pub compression_level: Option<i32>,
    /// Size of a record value [default: 100B].
    #[arg(long, value_name = "SIZE", conflicts_with = "payload_file")]
    pub payload: Option<Size>,
    /// File of record values, used in turn: one per line, or as --payload-delimiter says.
    #[arg(long, value_name = "FILE")]
    pub payload_file: Option<PathBuf>,
    /// What stands between the values of --payload-file, with \n, \r, \t, \0, \xFF and \\ for bytes; '': the file is one value
    /// [default: line ends, of a file of text].
    #[arg(long, value_name = "TEXT", requires = "payload_file", value_parser = parse_delimiter)]
    pub payload_delimiter: Option<PayloadDelimiter>,
    /// Share of random bytes in a value, 0 to 1; the rest is compressible [default: a fixed pattern].
    #[arg(long, value_name = "0..1", conflicts_with = "payload_file")]
    pub payload_random: Option<f64>,
    /// Record keys: none, or one of N keys by round-robin:N, random:N or zipf:N:EXPONENT [default: none].
    #[arg(long, value_name = "KEYS", value_parser = parse_keys)]
    pub keys: Option<Keys>,
    /// Partitioner of records without a key [default: sticky].
    #[arg(long, value_name = "PARTITIONER", value_parser = words::<Partitioner>(&[
        ("sticky", "One partition until its batch is closed"),
        ("round-robin", "Partitions in turn"),
    ]))]
    pub partitioner: Option<Partitioner>,
    /// Maximum number of requests in flight per connection (max.in.flight.requests.per.connection) [default: 5].
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<u16>,
    /// Idempotent producer: no duplicates by retries (enable.idempotence) [default: on with acks=all].
    #[arg(long, value_name = "ON|OFF", value_parser = choices(&[("on", "", true), ("off", "", false)]))]
    pub idempotence: Option<bool>,
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

/// The bytes between values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadDelimiter(pub Vec<u8>);

/// Text with escapes for bytes.
fn parse_delimiter(text: &str) -> Result<PayloadDelimiter, String> {
    let wrong = |what: &str| format!("\\{what}: write \\n, \\r, \\t, \\0, \\xFF or \\\\");
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        let kind = escape.chars().next().ok_or_else(|| wrong(""))?;
        rest = &escape[kind.len_utf8()..];
        bytes.push(match kind {
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            '0' => 0,
            '\\' => b'\\',
            'x' => {
                let digits = rest.get(..2).unwrap_or(rest);
                rest = &rest[digits.len()..];
                let is_byte = digits.len() == 2 && digits.bytes().all(|c| c.is_ascii_hexdigit());
                let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_byte);
                byte.ok_or_else(|| wrong(&format!("x{digits}")))?
            }
            other => return Err(wrong(&other.to_string())),
        });
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(PayloadDelimiter(bytes))
}

/// Keys of records, as `zipf:1000:1.1`.
fn parse_keys(text: &str) -> Result<Keys, String> {
    let malformed =
        || format!("{text:?}: write none, round-robin:1000, random:1000 or zipf:1000:1.1");
    let parts: Vec<&str> = text.split(':').collect();
    let count = |text: &str| text.parse::<u64>().map_err(|_| malformed());
    Ok(match parts.as_slice() {
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
    })
}

/// Consuming from Kafka.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kafka consumer: each fetch is a request")]
pub struct ConsumeArgs {
    /// Consume the topic instead of producing to it: all stored records, --count records, or for --duration. Each worker consumes
    /// its share of the partitions.
    #[arg(long, conflicts_with = "end_to_end")]
    pub consume: bool,
    /// Produce and consume at once: end-to-end latency from the intended send to the arrival of each record.
    #[arg(long)]
    pub end_to_end: bool,
    /// Consumer group (group.id), one member per worker; offsets are committed every second [default: no group].
    #[arg(long, value_name = "NAME", requires = "consume")]
    pub group: Option<String>,
    /// Partition assignment strategy of the group [default: range].
    #[arg(long, value_name = "ASSIGNOR", requires = "group", value_parser = words::<String>(&[
        ("range", "Contiguous partitions per member"),
        ("sticky", "Even shares; members keep their partitions in a rebalance"),
    ]))]
    pub assignor: Option<String>,
    /// Start position without a committed offset: start, end, or a time in ms since 1970 [default: start].
    #[arg(long, value_name = "POSITION", requires = "consume", value_parser = parse_from)]
    pub from: Option<FetchFrom>,
    /// Minimum size of a fetch response (fetch.min.bytes) [default: 1B].
    #[arg(long, value_name = "SIZE")]
    pub fetch_min_bytes: Option<Size>,
    /// Maximum wait of a broker for --fetch-min-bytes (fetch.max.wait.ms) [default: 500ms].
    #[arg(long, value_name = "TIME")]
    pub fetch_max_wait: Option<Period>,
    /// Maximum size of a fetch response (fetch.max.bytes) [default: 50MiB].
    #[arg(long, value_name = "SIZE")]
    pub fetch_max_bytes: Option<Size>,
    /// Maximum size of a partition's data in a fetch response (max.partition.fetch.bytes) [default: 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub max_partition_fetch_bytes: Option<Size>,
    /// Decompress and decode each record: bytes of keys and values, as in kafka-consumer-perf-test. Default: record counts of the
    /// batch headers, bytes of whole batches.
    #[arg(long, requires = "consume")]
    pub decode_records: bool,
    /// End without a record for this time, with exit code 1; 0: wait for ever [default: 10s with --count and where all stored
    /// records are read, else 0].
    #[arg(long, value_name = "TIME", requires = "consume")]
    pub idle_timeout: Option<Period>,
    /// Skip the verification of checksums (check.crcs=false).
    #[arg(long)]
    pub no_check_crcs: bool,
}

/// A position to start from: a word or a time.
fn parse_from(text: &str) -> Result<FetchFrom, String> {
    Ok(match text {
        "start" => FetchFrom::Start,
        "end" => FetchFrom::End,
        time => FetchFrom::Time {
            unix_ms: time.parse().map_err(|_| {
                format!("{time:?}: write start, end, or a time in ms since 1970 as 1700000000000")
            })?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_word_with_its_numbers() {
        let keys = parse_keys;
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

    #[test]
    fn a_delimiter_is_text_with_escapes_for_bytes() {
        let bytes = |text: &str| parse_delimiter(text).map(|delimiter| delimiter.0);
        assert_eq!(bytes("--é"), Ok("--é".as_bytes().to_vec()));
        assert_eq!(bytes(r"\r\n\t\0\\x"), Ok(b"\r\n\t\0\\x".to_vec()));
        assert_eq!(bytes(r"a\xffb"), Ok(b"a\xffb".to_vec()));
        assert_eq!(bytes(""), Ok(Vec::new()));
        for wrong in [r"\", r"\q", r"\x", r"\xg1", r"\x1", r"\é"] {
            let error = bytes(wrong).unwrap_err();
            assert!(error.contains(r"write \n"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_beginning_is_a_word_or_a_time() {
        let from = parse_from;
        assert_eq!(from("start"), Ok(FetchFrom::Start));
        assert_eq!(from("end"), Ok(FetchFrom::End));
        assert_eq!(from("17"), Ok(FetchFrom::Time { unix_ms: 17 }));
        assert!(from("yesterday").unwrap_err().contains("ms since 1970"));
    }
}
