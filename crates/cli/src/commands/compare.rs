//! `tare compare`: what changed between two runs of one experiment.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_report::compare::{Unlike, compare, markdown, terminal};

use crate::exit::{Exit, bad_input};
use crate::runs::open;
use crate::screen::{print_json, print_raw, screen};

/// Arguments of `tare compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run that is the reference: its folder, its folder's name, or `latest`.
    before: String,
    /// Run that is compared with it.
    #[arg(default_value = "latest")]
    after: String,
    /// Folder that holds the runs.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Compare runs of different machines or experiment files all the same.
    #[arg(long)]
    force: bool,
    /// Print the comparison as JSON.
    #[arg(long, conflicts_with = "md")]
    json: bool,
    /// Print Markdown for a pull request.
    #[arg(long)]
    md: bool,
}

/// Compares two runs.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let before = open(&args.before, &args.out)?;
    let after = open(&args.after, &args.out)?;
    let unlike = if args.force {
        Unlike::Compare
    } else {
        Unlike::Refuse
    };
    let found = compare(&before, &after, unlike).map_err(bad_input)?;
    if args.json {
        print_json(&found)?;
        return Ok(Exit::Done.into());
    }
    let text = if args.md {
        markdown(&found)
    } else {
        terminal(&found, screen(&console::Term::stdout()))
    };
    print_raw(&text)?;
    Ok(Exit::Done.into())
}
