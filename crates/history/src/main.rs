//! The program of `tare history`, `tare suite` and `tare size`: what they need beside `tare` stays out of its process and of the first build.

mod show;
mod size;

use std::process::ExitCode;

use tare_history::suite;
use tare_program::{Failed, options, print, print_json, say};
use tare_record::api::{HistoryCommand, HistoryOutput, SuiteOptions};

fn main() -> ExitCode {
    let command = match options("history") {
        Ok(command) => command,
        Err(failed) => return failed.report(false),
    };
    let (is_json, ended) = match command {
        HistoryCommand::History(options) => {
            (options.output == HistoryOutput::Json, show::run(&options))
        }
        HistoryCommand::Suite(options) => (options.json, suite(&options)),
        HistoryCommand::Size(options) => (options.json, size::run(&options)),
    };
    match ended {
        Ok(code) => code,
        Err(failed) => failed.report(is_json),
    }
}

/// Runs a suite and prints its result.
fn suite(options: &SuiteOptions) -> Result<ExitCode, Failed> {
    let report = suite::run(options, &|text| say(text)).map_err(|error| {
        if error.is_input() {
            Failed::bad_input(error)
        } else {
            Failed::environment(error)
        }
    })?;
    match options.json {
        true => print_json(&report)?,
        false => print(&suite::text(&report))?,
    }
    Ok(ExitCode::from(report.exit_code))
}
