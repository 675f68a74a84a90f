//! `tare schema`: JSON Schemas of files, of messages between processes, and of `--json` output.

use std::process::ExitCode;

use tare_experiment::formats::formats;
use tare_experiment::problem::hint;
use tare_record::schemas::Shape;
use tare_report::figures::StoredFigures;

use crate::commands::kafka::json_schema::{KAFKA, KAFKA_API};
use crate::commands::merge::MERGED;
use crate::exit::{Exit, bad_input};
use crate::screen::print;

/// Arguments of `tare schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the schema [default: list all].
    #[arg(value_name = "WHICH")]
    which: Option<String>,
}

/// Runs `tare schema`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Some(which) = args.which else {
        for shape in all() {
            print(&format!("{:<14} {}\n", shape.name, shape.about))?;
        }
        return Ok(Exit::Done.into());
    };
    let Some(shape) = all().find(|shape| shape.name == which) else {
        let known = all().map(|shape| shape.name);
        let said = format!("unknown shape \"{which}\"{}", hint(&which, known));
        return Err(bad_input(said));
    };
    print(&shape.text())?;
    Ok(Exit::Done.into())
}

/// The schema of the options of clients.
const CLIENT: Shape = Shape::new(
    "client",
    "options of a client by protocol: `client` of a workload's load",
    tare_load::protocols::options_schema,
);

/// The schema of the figures of a run.
const FIGURES: Shape =
    Shape::of::<StoredFigures>("figures", "figures of all cells, figures.json of a run");

/// Schemas of files and messages, and of what commands print.
fn all() -> impl Iterator<Item = &'static Shape> {
    formats().chain([&CLIENT, &FIGURES, &KAFKA, &KAFKA_API, &MERGED])
}
