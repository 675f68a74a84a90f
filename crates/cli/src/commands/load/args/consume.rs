//! Arguments of Kafka consumers.

use std::str::FromStr;

use clap::ValueEnum;
use tare_schema::load::FetchFrom;
use tare_schema::units::{Period, Size};

/// Consuming from Kafka.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reading from Kafka: each fetch is a request")]
pub struct ConsumeArgs {
    /// Read the topic in place of writing to it: all that is there, --count records, or for --duration. Each worker reads its
    /// share of the partitions.
    #[arg(long, conflicts_with = "end_to_end")]
    pub consume: bool,
    /// Write records with the time in them and read them at once: from the intended sending to the arrival.
    #[arg(long)]
    pub end_to_end: bool,
    /// Read as members of this group, one a worker; offsets are committed every second.
    #[arg(long, value_name = "NAME", requires = "consume")]
    pub group: Option<String>,
    /// How the group shares partitions out [default: range].
    #[arg(long, value_name = "HOW", requires = "group")]
    pub assignor: Option<AssignorArg>,
    /// Where to begin without a committed offset: start, end, or a time in ms since 1970 [default: start].
    #[arg(long, value_name = "WHERE", requires = "consume")]
    pub from: Option<FromArg>,
    /// Fewest bytes that a broker answers with (fetch.min.bytes) … [default: 1B].
    #[arg(long, value_name = "SIZE")]
    pub fetch_min_bytes: Option<Size>,
    /// … or after this time [default: 500ms].
    #[arg(long, value_name = "TIME")]
    pub fetch_max_wait: Option<Period>,
    /// Most bytes of an answer [default: 50MiB].
    #[arg(long, value_name = "SIZE")]
    pub fetch_max_bytes: Option<Size>,
    /// Most bytes of a partition in an answer [default: 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub max_partition_fetch_bytes: Option<Size>,
    /// Look at each record, decompressed: bytes are then those of keys and values, as Kafka's own tool counts them. Else records
    /// are counted as the headers of their batches say, and bytes are those of the batches.
    #[arg(long, requires = "consume")]
    pub decode_records: bool,
    /// Do not compare checksums.
    #[arg(long)]
    pub no_check_crcs: bool,
}

/// An assignor as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AssignorArg {
    /// Neighbouring partitions.
    Range,
    /// Evenly, and everybody keeps what it had.
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
