//! Arguments of output, and of what makes the exit code 1.

use std::path::PathBuf;

use tare_schema::units::Share;

use crate::commands::load::assertion::Assertion;

/// The output of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON (`tare schema load-report` prints its schema; of a search or a curve, `search-report` and `curve-report`).
    #[arg(long)]
    pub json: bool,
    /// Print one JSON object a line while the load goes on (`tare schema load-event`), the result last.
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
    /// Show nothing while the load goes on.
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the latencies as a HdrHistogram log.
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Write the samples of the run, one a second, as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the result of a Kafka load as CSV with the columns of kafka-consumer-perf-test, or those figures that kafka-producer-perf-test
    /// prints.
    #[arg(long, value_name = "FILE")]
    pub perf_csv: Option<PathBuf>,
    /// Write the result as Fortio's JSON, for `fortio report` and tools that read it.
    #[arg(long, value_name = "FILE")]
    pub fortio: Option<PathBuf>,
    /// Exit code 1 when the offered rate was not reached.
    #[arg(long, requires = "schedule")]
    pub require_rate: bool,
    /// Exit code 1 when more than this share of the requests failed: 0.1%.
    #[arg(long, value_name = "SHARE")]
    pub max_error_rate: Option<Share>,
    /// Exit code 1 unless this holds: 'p99<5ms', 'service-p99.9<=20ms', 'rate>=1000', 'error-rate<0.1%', 'lateness-p99<100us'; may be given several times.
    #[arg(long = "assert", value_name = "METRIC<LIMIT")]
    pub assertions: Vec<Assertion>,
    /// Do not measure first, for half a second and once per boot, what the generator finds against a server that does nothing.
    #[arg(long)]
    pub no_calibrate: bool,
}

/// Form of what is printed to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// For people.
    Text,
    /// One document.
    Json,
    /// One object a line.
    JsonLines,
}

impl OutputArgs {
    /// The form that these flags ask for.
    pub fn form(&self) -> OutputForm {
        match (self.json, self.json_lines) {
            (true, _) => OutputForm::Json,
            (false, true) => OutputForm::JsonLines,
            (false, false) => OutputForm::Text,
        }
    }
}
