//! The one binary `tare`: arguments in, exit code out.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks through its standard streams"
)]

mod commands;
mod exit;
mod progress;
mod runs;
mod screen;
mod signals;
mod stopping_rule;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// Tare measures what the things between a client and a service cost.
#[derive(Debug, Parser)]
#[command(
    name = "tare",
    version,
    about,
    max_term_width = 100,
    propagate_version = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}
