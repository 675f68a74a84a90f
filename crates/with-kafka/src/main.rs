//! `tare` with the clients of Kafka: the program that `tare` goes on as where they are needed. What only packaging uses is here, too.

mod completions;
mod kafka;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use tare_cli::OwnCommand;
use tare_record::version::check_starter;

/// The commands that `tare` leaves to this program.
const OWN: [OwnCommand; 3] = [
    OwnCommand {
        name: "kafka",
        declare: kafka::Args::augment_args,
        run: |matches| kafka::run(kafka::Args::from_arg_matches(matches)?),
    },
    OwnCommand {
        name: "completions",
        declare: completions::Args::augment_args,
        run: |matches| completions::run(&completions::Args::from_arg_matches(matches)?),
    },
    OwnCommand {
        name: "man",
        declare: completions::ManArgs::augment_args,
        run: |matches| completions::man(completions::ManArgs::from_arg_matches(matches)?),
    },
];

/// The whole command line.
fn command() -> Command {
    tare_cli::command(&OWN)
}

fn main() -> ExitCode {
    if let Err(error) = check_starter() {
        tare_cli::screen::say(format_args!("error: {error}"));
        return tare_cli::exit::Exit::Environment.into();
    }
    tare_load_kafka::install();
    tare_lab_kafka::install();
    tare_cli::run(&OWN)
}
