//! The one binary `tare`: arguments in, exit code out.

mod arguments;
mod colour;
mod commands;
mod confirm;
mod examples;
mod exit;
mod json_output;
mod progress;
mod runs;
mod screen;
mod signals;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use commands::{Command, completions};
use json_output::JsonOutput;

/// Tare measures what the things between a client and a service cost.
#[derive(Debug, Parser)]
#[command(
    name = "tare",
    version = tare_lab::program::VERSION,
    about,
    max_term_width = 100,
    propagate_version = true
)]
pub struct Cli {
    /// When output is coloured; auto: on a terminal, unless NO_COLOR, CLICOLOR or CLICOLOR_FORCE say otherwise.
    #[arg(
        long,
        alias = "colour",
        global = true,
        value_name = "auto|always|never",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: clap::ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line, with examples in the help and hints for completion.
pub fn command() -> clap::Command {
    completions::with_hints(examples::with_examples(Cli::command()))
}

fn main() -> ExitCode {
    let words = || std::env::args_os().skip(1);
    let command = command().color(colour::of_words(words()));
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return exit::report_usage(&error, JsonOutput::of_words(words())),
    };
    let json = JsonOutput::of_matches(&matches);
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return exit::report_usage(&error, json),
    };
    colour::choose(cli.color);
    match cli.command.run() {
        Ok(code) => code,
        Err(error) => exit::report(&error, json),
    }
}
