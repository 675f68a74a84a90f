//! `tare schema`: JSON Schemas of files, of messages between processes, and of `--json` output.

use std::process::ExitCode;

use serde_json::Value;
use tare_experiment::formats::formats;
use tare_experiment::problem::hint;
use tare_record::schemas::Shape;
use tare_report::figures::StoredFigures;

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

/// The schema of the output of `tare kafka`, which is made by the program that has it.
const KAFKA: Shape = Shape::new(
    "kafka",
    "what `tare kafka … --json` prints: one property for each command",
    || made(include_str!("../../../../docs/schema/kafka.json")),
);

/// The schema of the server's API for Kafka.
const KAFKA_API: Shape = Shape::new(
    "kafka-api",
    "what `/api/v1/kafka` of `tare serve` takes and returns",
    || made(include_str!("../../../../docs/schema/kafka-api.json")),
);

/// A schema from its file; a test compares it with the types.
fn made(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Schemas of files and messages, and of what commands print.
fn all() -> impl Iterator<Item = &'static Shape> {
    formats().chain([&CLIENT, &FIGURES, &KAFKA, &KAFKA_API, &MERGED])
}
