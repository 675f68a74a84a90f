//! The command line of `tare`: arguments in, exit code out.

mod arguments;
mod colour;
pub mod commands;
pub mod confirm;
pub mod examples;
pub mod exit;
mod hints;
pub mod json_output;
mod progress;
mod runs;
pub mod screen;
pub mod signals;
pub mod values;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use commands::Command;
use json_output::JsonOutput;

/// Tare measures what the things between a client and a service cost.
#[derive(Debug, Parser)]
#[command(
    name = "tare",
    version = tare_record::version::VERSION,
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

/// A command that is declared and run by a program with more than this crate.
#[derive(Debug, Clone, Copy)]
pub struct OwnCommand {
    pub name: &'static str,
    /// Adds the arguments.
    pub declare: fn(clap::Command) -> clap::Command,
    pub run: fn(&ArgMatches) -> anyhow::Result<ExitCode>,
}

/// The command line, with examples in the help and hints for completion.
#[must_use]
pub fn command(own: &[OwnCommand]) -> clap::Command {
    let command = Cli::command().mut_subcommands(|stub| {
        let Some(own) = own.iter().find(|own| own.name == stub.get_name()) else {
            return stub;
        };
        let about = stub.get_about().cloned().unwrap_or_default();
        (own.declare)(clap::Command::new(own.name)).about(about)
    });
    // Both programs are `tare` to users.
    let command = command.bin_name("tare");
    hints::with_hints(examples::with_examples(command))
}

/// Runs the command line of this process; `own` are the commands that this program has besides.
#[must_use]
pub fn run(own: &[OwnCommand]) -> ExitCode {
    let words = || std::env::args_os().skip(1);
    let command = command(own).color(colour::of_words(words()));
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let json = JsonOutput::of_words(words());
            return match commands::help_elsewhere(words()) {
                Ok(()) => exit::report_usage(&error, json),
                Err(error) => exit::report(&error, json),
            };
        }
    };
    let json = JsonOutput::of_matches(&matches);
    if let Some((name, matches)) = matches.subcommand()
        && let Some(own) = own.iter().find(|own| own.name == name)
    {
        colour::choose(colour::of_words(words()));
        return finished((own.run)(matches), json);
    }
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return exit::report_usage(&error, json),
    };
    colour::choose(cli.color);
    finished(cli.command.run(), json)
}

fn finished(done: anyhow::Result<ExitCode>, json: JsonOutput) -> ExitCode {
    done.unwrap_or_else(|error| exit::report(&error, json))
}
