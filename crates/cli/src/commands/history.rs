//! `tare history`: starts the program `tare-history`, which keeps an index of the runs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use tare_experiment::problem::hint;
use tare_record::api::{HistoryCommand, HistoryOptions, HistoryOutput, SeriesFilter};
use tare_record::metric::Metric;
use tare_record::plan::Form;

use crate::arguments::RunsArgs;
use crate::commands::replace_by;
use crate::exit::bad_input;
use crate::screen::screen_options;

/// Arguments of `tare history`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    show: ShowArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the index of the runs again.
    Index {
        #[command(flatten)]
        runs: RunsArgs,
    },
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Experiment, as in the list that is printed without it.
    experiment: Option<String>,
    /// Metric, such as p99 [default: the primary metrics of the experiment].
    #[arg(long, value_name = "METRIC", requires = "experiment")]
    metric: Option<String>,
    /// Arm.
    #[arg(long, value_name = "ARM", requires = "experiment")]
    arm: Option<String>,
    /// Level.
    #[arg(long, value_name = "LEVEL", requires = "experiment")]
    level: Option<String>,
    /// Machine: the beginning of its hash, as printed.
    #[arg(long, value_name = "HASH", requires = "experiment")]
    machine: Option<String>,
    /// Form of the experiment.
    #[arg(long, value_name = "FORM", requires = "experiment")]
    form: Option<FormName>,
    /// Find change points: runs from which on the values have another mean.
    #[arg(long, requires = "experiment")]
    changes: bool,
    /// Most runs of a series that are printed, the last ones [default: 50; in a chart 1000; as JSON and CSV all].
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is written; tables for the terminal when nothing is asked for.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct OutputArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print all values as CSV, one per line.
    #[arg(long, requires = "experiment")]
    csv: bool,
    /// Write a chart of one series to this file.
    #[arg(long, value_name = "FILE", requires = "experiment")]
    svg: Option<PathBuf>,
}

/// A form of an experiment, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormName {
    /// The experiment as written.
    Full,
    /// With its `quick` section.
    Quick,
}

/// Replaces this process by `tare-history`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let show = args.show;
    let (runs, output) = match args.command {
        Some(Command::Index { runs }) => (runs.out, HistoryOutput::Index),
        None => (show.runs.out, show.output.chosen()),
    };
    let options = HistoryOptions {
        runs,
        filter: SeriesFilter {
            experiment: show.experiment,
            form: show.form.map(|form| match form {
                FormName::Full => Form::Full,
                FormName::Quick => Form::Quick,
            }),
            metric: show.metric.as_deref().map(metric).transpose()?,
            arm: show.arm,
            level: show.level,
            machine: show.machine,
        },
        changes: show.changes,
        last: show.last.unwrap_or(match output {
            HistoryOutput::Text | HistoryOutput::Index => 50,
            HistoryOutput::Svg(_) => 1000,
            HistoryOutput::Json | HistoryOutput::Csv => usize::MAX,
        }),
        output,
        screen: screen_options(),
    };
    match replace_by("history", &HistoryCommand::History(options))? {}
}

impl OutputArgs {
    fn chosen(self) -> HistoryOutput {
        match self.svg {
            Some(file) => HistoryOutput::Svg(file),
            None if self.json => HistoryOutput::Json,
            None if self.csv => HistoryOutput::Csv,
            None => HistoryOutput::Text,
        }
    }
}

fn metric(name: &str) -> anyhow::Result<Metric> {
    let all = || Metric::ALL.into_iter().chain(Metric::OF_BENCHMARKS);
    let found = all().find(|metric| metric.name() == name);
    found.ok_or_else(|| {
        let known = all().map(Metric::name);
        bad_input(format!("unknown metric \"{name}\"{}", hint(name, known)))
    })
}
