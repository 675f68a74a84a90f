//! `tare suite`: starts the program `tare-history`, which runs experiments in turn and says what changed.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_record::api::{HistoryCommand, SuiteOptions};

use crate::arguments::RunsArgs;
use crate::commands::plan::own_path;
use crate::commands::replace_by;
use crate::exit::bad_input;
use crate::screen::screen_options;

/// Arguments of `tare suite`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File of the suite.
    file: PathBuf,
    /// Use the quick form of every experiment.
    #[arg(long)]
    quick: bool,
    /// Confirm new changes for the worse: run the old and the new version of a target, interleaved.
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    runs: RunsArgs,
    /// Print the result as JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Replaces this process by `tare-history`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = SuiteOptions {
        file: args.file,
        runs: args.runs.out,
        quick: args.quick,
        confirm: args.confirm,
        json: args.json,
        tare: own_path()?,
        home: tare_lab::home::home().map_err(bad_input)?,
        screen: screen_options(),
    };
    match replace_by("history", &HistoryCommand::Suite(options))? {}
}
