//! `tare report`: shows a run as terminal text, HTML, Markdown, CSV or JSON.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::verdict::VerdictArgs;
use crate::exit::bad_input;
use crate::runs;
use crate::screen::{print, print_raw, screen};

/// Arguments of `tare report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run to show: its folder, the folder's name, or `latest`.
    #[arg(default_value = "latest")]
    run: String,
    /// Directory of runs.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// What is written; a table for the terminal when nothing is asked for.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Form {
    /// Write a self-contained HTML page to this file [default: in the run's folder].
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
    /// Print all values as CSV, one per line.
    #[arg(long)]
    csv: bool,
    /// Print the whole report as JSON.
    #[arg(long)]
    json: bool,
    /// Print Markdown for a pull request or a README.
    #[arg(long)]
    md: bool,
}

/// Shows a run.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let run = runs::open(&args.run, &args.out)?;
    let view = tare_report::view(&run);
    if let Some(file) = args.form.html {
        let file = match file {
            // Writing replaces the file: a device or folder must not be replaced.
            Some(file) if fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) => {
                return Err(bad_input(format!(
                    "{} is not a regular file: name a file for the page",
                    file.display()
                )));
            }
            Some(file) => file,
            None => run.folder.join("report.html"),
        };
        let page = tare_report::html::html(&view)?;
        tare_conduct::write_synced(&file, page.as_bytes())?;
        print(&format!("report: {}\n", file.display()))?;
        return Ok(args.verdict.exit(&view).into());
    }
    let text = if args.form.csv {
        tare_report::csv::csv(&view)
    } else if args.form.json {
        tare_report::json(&view)? + "\n"
    } else if args.form.md {
        tare_report::markdown::markdown(&view)
    } else {
        tare_report::terminal::terminal(&view, screen(&console::Term::stdout()))
    };
    // The colours are Tare's own; the renderers escape what comes from the run folder.
    print_raw(&text)?;
    Ok(args.verdict.exit(&view).into())
}
