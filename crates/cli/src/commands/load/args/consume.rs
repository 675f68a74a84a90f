//! Arguments of Kafka consumers.

use std::str::FromStr;

use clap::ValueEnum;
use tare_schema::load::FetchFrom;
use tare_schema::units::{Period, Size};

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
    #[arg(long, value_name = "ASSIGNOR", requires = "group")]
    pub assignor: Option<AssignorArg>,
    /// Start position without a committed offset: start, end, or a time in ms since 1970 [default: start].
    #[arg(long, value_name = "POSITION", requires = "consume")]
    pub from: Option<FromArg>,
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
    /// Skip the verification of checksums (check.crcs=false).
    #[arg(long)]
    pub no_check_crcs: bool,
}

/// An assignor as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AssignorArg {
    /// Contiguous partitions per member.
    Range,
    /// Even shares; members keep their partitions in a rebalance.
    Sticky,
}

impl AssignorArg {
    /// Name of the assignor in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            AssignorArg::Range => "range",
            AssignorArg::Sticky => "sticky",
        }
    }
}

/// A beginning as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromArg(pub FetchFrom);

impl FromStr for FromArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "start" => FetchFrom::Start,
            "end" => FetchFrom::End,
            time => FetchFrom::Time {
                unix_ms: time.parse().map_err(|_| {
                    format!(
                        "{time:?}: write start, end, or a time in ms since 1970 as 1700000000000"
                    )
                })?,
            },
        }))
    }
}

impl ConsumeArgs {
    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.consume, "--consume"),
            (self.end_to_end, "--end-to-end"),
            (self.fetch_min_bytes.is_some(), "--fetch-min-bytes"),
            (self.fetch_max_wait.is_some(), "--fetch-max-wait"),
            (self.fetch_max_bytes.is_some(), "--fetch-max-bytes"),
            (
                self.max_partition_fetch_bytes.is_some(),
                "--max-partition-fetch-bytes",
            ),
            (self.no_check_crcs, "--no-check-crcs"),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_a_word_or_a_time() {
        let from = |text: &str| text.parse::<FromArg>().map(|FromArg(from)| from);
        assert_eq!(from("start"), Ok(FetchFrom::Start));
        assert_eq!(from("end"), Ok(FetchFrom::End));
        assert_eq!(from("17"), Ok(FetchFrom::Time { unix_ms: 17 }));
        assert!(from("yesterday").unwrap_err().contains("ms since 1970"));
    }
}
