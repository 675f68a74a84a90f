//! `tare schema`: JSON Schemas of files, of messages between processes, and of `--json` output.

use std::process::ExitCode;

use tare_experiment::formats::formats;
use tare_experiment::problem::hint;
use tare_load::protocols::OPTIONS;
use tare_record::schemas::Shape;
use tare_record::shape;

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
    print(shape.text)?;
    Ok(Exit::Done.into())
}

/// Figures of a run.
const FIGURES: Shape = shape!("figures", "figures of all cells, figures.json of a run");

/// The output of `tare kafka`.
const KAFKA: Shape = shape!(
    "kafka",
    "what `tare kafka … --json` prints: one property for each command",
);

/// The server's API for Kafka.
const KAFKA_API: Shape = shape!(
    "kafka-api",
    "what `/api/v1/kafka` of `tare serve` takes and returns",
);

/// Schemas of files and messages, and of what commands print.
pub fn all() -> impl Iterator<Item = &'static Shape> {
    formats().chain([&OPTIONS, &FIGURES, &KAFKA, &KAFKA_API, &MERGED])
}
