//! `tare size`: reads runs, sizes their parts and a topology, and writes text, JSON or a page.

use std::process::ExitCode;

use tare_history::sizing;
use tare_program::{Failed, print, print_json, screen, write};
use tare_record::api::SizeOptions;
use tare_report::Run;

/// Sizes and prints.
pub fn run(options: &SizeOptions) -> Result<ExitCode, Failed> {
    let runs: Result<Vec<Run>, _> = options
        .runs
        .iter()
        .map(|run| tare_report::read(run))
        .collect();
    let runs = runs.map_err(Failed::bad_input)?;
    let report = sizing::size(&runs, &options.objective, options.topology.as_ref());
    let report = report.map_err(Failed::bad_input)?;
    if let Some(file) = &options.html {
        write(file, &sizing::html(&report))?;
    }
    match options.json {
        true => print_json(&report)?,
        false => print(&sizing::text(&report, screen(&options.screen)))?,
    }
    Ok(ExitCode::SUCCESS)
}
