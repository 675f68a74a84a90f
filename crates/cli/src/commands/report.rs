//! `tare report`: a run as a terminal, a page, Markdown, CSV or JSON shows it.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use tare_report::Run;
use tare_report::terminal::{Colour, Screen};

use crate::exit::{Exit, bad_input};

/// Columns of a table when nobody says how wide the terminal is.
const WIDTH_UNKNOWN: u16 = 100;

/// Arguments of `tare report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run to show: its folder, its folder's name, or `latest`.
    #[arg(default_value = "latest")]
    run: String,
    /// Folder that holds the runs.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    #[command(flatten)]
    form: Form,
}

/// What is written; a table for the terminal when nothing is asked for.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Form {
    /// Write one self-contained page into this file (without a name: into the run's folder).
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
    /// Print every value, one a line.
    #[arg(long)]
    csv: bool,
    /// Print everything the report holds as JSON.
    #[arg(long)]
    json: bool,
    /// Print Markdown for a pull request or a README.
    #[arg(long)]
    md: bool,
}

/// Shows a run.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let run = open(&args.run, &args.out)?;
    let view = tare_report::view(&run);
    if let Some(file) = args.form.html {
        let file = file.unwrap_or_else(|| run.folder.join("report.html"));
        let page = tare_report::html::html(&view)?;
        fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))?;
        return print(&format!("report: {}\n", file.display()));
    }
    let text = if args.form.csv {
        tare_report::csv::csv(&view)
    } else if args.form.json {
        tare_report::json(&view)? + "\n"
    } else if args.form.md {
        tare_report::markdown::markdown(&view)
    } else {
        tare_report::terminal::terminal(&view, screen())
    };
    print(&text)
}

/// Finds and reads a run by path, by name in the folder of runs, or the latest there.
pub fn open(name: &str, runs: &Path) -> anyhow::Result<Run> {
    let folder = if name == "latest" { latest(runs)? } else { named(name, runs) };
    tare_report::read(&folder).map_err(bad_input)
}

fn named(name: &str, runs: &Path) -> PathBuf {
    let inside = runs.join(name);
    if !Path::new(name).is_dir() && inside.is_dir() { inside } else { PathBuf::from(name) }
}

/// The last run by name: names begin with the time of the start.
fn latest(runs: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(runs).map_err(|error| {
        bad_input(format!("no runs in {}: {error}; measure one with `tare run NAME`, or say --out DIR", runs.display()))
    })?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("plan.json").is_file())
        .max()
        .ok_or_else(|| bad_input(format!("no run in {}: measure one with `tare run NAME`", runs.display())))
}

/// The terminal as it is; plain text when there is none, or when the user wants no colour.
pub fn screen() -> Screen {
    let is_terminal = io::stdout().is_terminal();
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // comfy-table asks the terminal for its width; a pipe has none.
    let width = comfy_table::Table::new().width().filter(|width| *width > 0);
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Screen {
        width: told.or(width).unwrap_or(WIDTH_UNKNOWN),
        colour: if is_terminal && !is_unwanted { Colour::On } else { Colour::Off },
    }
}

/// Prints text; a reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Done.into()),
    }
}
