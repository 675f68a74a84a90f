//! `tare perfcheck`: starts the program `tare-perfcheck`, which compares micro-benchmarks with golden files or an old revision.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_lab::doctor::describe;
use tare_record::api::{GoldenUpdate, PerfReference, PerfcheckOptions};
use tare_record::record::MachineRecord;
use tare_record::units::Share;

use crate::commands::replace_by;
use crate::screen::screen_options;

/// Arguments of `tare perfcheck`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder below which benchmarks are looked for: of Go, Criterion, JMH, Google Benchmark, pytest-benchmark, and `bench.yaml`.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Measure only benchmarks whose name matches this regular expression.
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["update", "reset"])]
    benchmarks: Option<String>,
    /// Repeats of every benchmark, in rounds of random order [default: those of the golden file, else 5; with --against 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// Difference that is too small to matter.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    margin: Share,
    /// Compare with this revision of git: build it beside the sources and measure both in turn.
    #[arg(long, value_name = "REV")]
    against: Option<String>,
    /// Fail if the golden files have no values of this machine.
    #[arg(long, conflicts_with = "against")]
    require_golden: bool,
    /// Add this session to the golden files.
    #[arg(long, conflicts_with = "against")]
    update: bool,
    /// Begin the golden files of this machine anew with this session.
    #[arg(long, conflicts_with_all = ["against", "update"])]
    reset: bool,
    /// Write golden files without a question.
    #[arg(long)]
    yes: bool,
    /// Write the result as JUnit to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the result as Markdown to this file.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print the result as JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Replaces this process by `tare-perfcheck`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = PerfcheckOptions {
        folder: args.folder,
        benchmarks: args.benchmarks,
        repeats: args.repeats,
        margin: args.margin.0,
        reference: match (args.against, args.require_golden) {
            (Some(revision), _) => PerfReference::Revision(revision),
            (None, true) => PerfReference::RequiredGolden,
            (None, false) => PerfReference::Golden,
        },
        update: match (args.update, args.reset) {
            (true, _) => GoldenUpdate::Add,
            (false, true) => GoldenUpdate::Reset,
            (false, false) => GoldenUpdate::Keep,
        },
        yes: args.yes,
        json: args.json,
        junit: args.junit,
        markdown: args.markdown,
        machine: MachineRecord::from(&describe("local", "", Vec::new())),
        screen: screen_options(),
    };
    match replace_by("perfcheck", &options)? {}
}
