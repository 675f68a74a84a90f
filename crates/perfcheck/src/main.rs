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

use tare_program::{Failed, options, print, print_json};
use tare_record::api::PerfcheckOptions;
use tare_report::terminal::{Colour, Screen};

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
    let screen = Screen {
        width: options.screen.width,
        colour: match options.screen.colour {
            true => Colour::On,
            false => Colour::Off,
        },
    };
    match options.json {
        true => print_json(&checked.report)?,
        false => print(&output::text(&checked.report, screen))?,
    }
    checked.write(options)?;
    Ok(ExitCode::from(checked.report.exit_code))
}
