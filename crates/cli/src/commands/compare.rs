//! `tare compare`: what changed between two runs of one experiment.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use tare_record::view::{Family, Outcome};
use tare_report::compare::{OnMismatch, RunComparison, compare, markdown, terminal};

use crate::exit::{Exit, bad_input};
use crate::runs::open;
use crate::screen::{print_json, print_raw, say, screen};

/// Arguments of `tare compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Reference run: its folder, the folder's name, or `latest`.
    before: String,
    /// Run to compare with it.
    #[arg(default_value = "latest")]
    after: String,
    /// Directory of runs.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Compare runs in spite of different machines or experiment files.
    #[arg(long)]
    force: bool,
    /// Print the comparison as JSON.
    #[arg(long, conflicts_with = "md")]
    json: bool,
    /// Print Markdown for a pull request.
    #[arg(long)]
    md: bool,
    /// Exit with code 1 when the comparison finds this.
    #[arg(long, value_name = "FINDING")]
    fail_on: Option<FailOn>,
}

/// A finding that makes the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A primary metric differs between the runs.
    Differs,
}

/// Compares two runs.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let before = open(&args.before, &args.out)?;
    let after = open(&args.after, &args.out)?;
    let unlike = if args.force {
        OnMismatch::Compare
    } else {
        OnMismatch::Refuse
    };
    let found = compare(&before, &after, unlike).map_err(bad_input)?;
    if args.json {
        print_json(&found)?;
    } else if args.md {
        print_raw(&markdown(&found))?;
    } else {
        let screen = screen(&console::Term::stdout());
        print_raw(&terminal(&found, screen))?;
    }
    let exit = match args.fail_on {
        Some(FailOn::Differs) => exit_if_different(&found),
        None => Exit::Done,
    };
    Ok(exit.into())
}

/// The exit code of `--fail-on differs`; prints the reason when it is not 0.
fn exit_if_different(found: &RunComparison) -> Exit {
    let different = found.rows.iter().find(|row| {
        row.family == Family::Primary && matches!(row.outcome, Outcome::Differs { .. })
    });
    let Some(row) = different else {
        return Exit::Done;
    };
    let (metric, arm, level) = (row.metric.label(), &row.arm, &row.level);
    say(format_args!(
        "differs: {metric} of {arm} at {level} (--fail-on differs)"
    ));
    Exit::Failed
}
