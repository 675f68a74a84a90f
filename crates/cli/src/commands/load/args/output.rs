//! Arguments of output, and of what makes the exit code 1.

use std::path::PathBuf;

use tare_record::units::Share;

use crate::arguments::is_standard_stream;
use crate::commands::load::assertion::Assertion;
use crate::commands::load::profiles::ProfiledProcess;
use crate::json_output::JsonOutput;

/// The output of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON (schema: `tare schema load-report`; for a search or a curve, `search-report` or `curve-report`).
    #[arg(long)]
    pub json: bool,
    /// Print one JSON object per line while the load runs (`tare schema load-event`), the result last.
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
    /// Suppress progress output.
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the latencies to this file, as an HdrHistogram log for `tare merge`; `-`: print them in place of the result.
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Write the samples, one per second, to this CSV file; `-`: print them in place of the result.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the result of a Kafka load to this CSV file, with the columns of kafka-consumer-perf-test or the figures of
    /// kafka-producer-perf-test; `-`: print it in place of the result.
    #[arg(long, value_name = "FILE")]
    pub perf_csv: Option<PathBuf>,
    /// Write the result to this file, as Fortio's JSON, for `fortio report`; `-`: print it in place of the result.
    #[arg(long, value_name = "FILE")]
    pub fortio: Option<PathBuf>,
    /// Keep the load in a new folder below this directory: report, histograms, and its progress while it runs.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["search", "curve", "end_to_end"])]
    pub out: Option<PathBuf>,
    /// Sample the stacks of a process while the load runs: `pid:1234`, or `self` for the generator; may be given several times. The
    /// flame graphs are in `profiles` of the load's folder. Sampling takes CPU time: such a load is judged by no assertion.
    #[arg(long, value_name = "PROCESS", requires = "out")]
    pub profile: Vec<ProfiledProcess>,
    /// Labels of the load in its report, to find and compare it later.
    #[arg(long, value_name = "TEXT")]
    pub labels: Option<String>,
    /// Exit code 1 when the offered rate was not reached.
    #[arg(long, requires = "schedule")]
    pub require_rate: bool,
    /// Exit code 1 when more than this share of the requests failed: 0.1%.
    #[arg(long, value_name = "SHARE")]
    pub max_error_rate: Option<Share>,
    /// Exit code 1 unless this holds: 'p99<5ms', 'service-p99.9<=20ms', 'rate>=1000', 'error-rate<0.1%', 'lateness-p99<100us'; may be given several times.
    #[arg(long = "assert", value_name = "METRIC<LIMIT")]
    pub assertions: Vec<Assertion>,
    /// Skip the calibration of the generator against a null server (half a second, once per boot).
    #[arg(long)]
    pub no_calibrate: bool,
}

impl OutputArgs {
    /// The number of files that are standard output.
    pub fn printed_files(&self) -> usize {
        let files = [&self.hlog, &self.csv, &self.perf_csv, &self.fortio];
        let named = files.into_iter().flatten();
        named.filter(|file| is_standard_stream(file)).count()
    }

    /// The form that these flags ask for.
    pub fn form(&self) -> JsonOutput {
        match (self.json, self.json_lines) {
            (true, _) => JsonOutput::Document,
            (false, true) => JsonOutput::Lines,
            (false, false) => JsonOutput::No,
        }
    }
}
