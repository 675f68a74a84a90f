//! What is shown and written, and what makes the exit code 1.

use std::path::PathBuf;

/// The output of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// No live line.
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the latencies as a HdrHistogram log.
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Write the samples of the run, one a second, as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Exit code 1 when the rate asked for was not reached.
    #[arg(long, requires = "schedule")]
    pub require_rate: bool,
}
