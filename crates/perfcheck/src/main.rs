//! The program of `tare perfcheck`: runs a project's own micro-benchmarks and compares them with golden files or an old revision.

mod check;
mod cpu_load;
mod discover;
mod error;
mod golden;
mod judge;
mod measure;
mod output;
mod process;
mod tools;
mod workspace;

use std::process::ExitCode;

use tare_program::{Failed, options, print, print_json, screen};
use tare_record::api::PerfcheckOptions;

fn main() -> ExitCode {
    let options: PerfcheckOptions = match options("perfcheck") {
        Ok(options) => options,
        Err(failed) => return failed.report(false),
    };
    match run(&options) {
        Ok(code) => code,
        Err(failed) => failed.report(options.json),
    }
}

fn run(options: &PerfcheckOptions) -> Result<ExitCode, Failed> {
    let checked = check::run(options)?;
    let screen = screen(&options.screen);
    match options.json {
        true => print_json(&checked.report)?,
        false => print(&output::text(&checked.report, screen))?,
    }
    checked.write(options)?;
    Ok(ExitCode::from(checked.report.exit_code))
}
