//! The program of `tare history`, `tare suite` and `tare size`: what they need beside `tare` stays out of its process and of the first build.

mod output;
mod show;
mod size;

use std::process::ExitCode;

use anyhow::Context;
use tare_history::suite;
use tare_record::api::{HistoryCommand, HistoryOutput, SuiteOptions};

use output::Failed;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = match command(&words) {
        Ok(command) => command,
        Err(error) => return Failed::bad_input(error).report(false),
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
    let report = suite::run(options, &|text| output::say(text)).map_err(|error| {
        if error.is_input() {
            Failed::bad_input(error)
        } else {
            Failed::environment(error)
        }
    })?;
    match options.json {
        true => output::print_json(&report)?,
        false => output::print(&suite::text(&report))?,
    }
    Ok(ExitCode::from(report.exit_code))
}

fn command(words: &[String]) -> anyhow::Result<HistoryCommand> {
    let [options] = words else {
        anyhow::bail!("start this program with `tare history`");
    };
    serde_json::from_str(options)
        .context("the options are those of another version: start this program with `tare history`")
}
