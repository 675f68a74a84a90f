//! Whether a command prints JSON: its failure is then JSON, too.

use std::ffi::OsString;

use clap::ArgMatches;
use tare_record::event::{Failure, FailureReport};

use crate::screen;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonOutput {
    /// No JSON.
    No,
    /// One document (`--json`).
    Document,
    /// One object a line (`--json-lines`).
    Lines,
}

impl JsonOutput {
    /// What the parsed arguments ask for.
    pub fn of_matches(matches: &ArgMatches) -> Self {
        let mut found = JsonOutput::No;
        let mut level = Some(matches);
        while let Some(matches) = level {
            // Not every command has these flags.
            let is_given = |flag| matches!(matches.try_get_one::<bool>(flag), Ok(Some(true)));
            if is_given("json_lines") {
                return JsonOutput::Lines;
            }
            if is_given("json") {
                found = JsonOutput::Document;
            }
            level = matches.subcommand().map(|(_, matches)| matches);
        }
        found
    }

    /// What arguments that cannot be parsed ask for.
    pub fn of_words(words: impl Iterator<Item = OsString>) -> Self {
        let mut found = JsonOutput::No;
        for word in words.take_while(|word| word != "--") {
            if word == "--json-lines" {
                return JsonOutput::Lines;
            }
            if word == "--json" {
                found = JsonOutput::Document;
            }
        }
        found
    }

    /// Prints a failure to standard output where JSON was asked for; as a document only where nothing was printed yet.
    pub fn print_failure(self, error: Failure) {
        let report = FailureReport { error };
        match self {
            JsonOutput::Document if !screen::has_printed() => {
                // The text is on standard error already.
                let _ = screen::print_json(&report);
            }
            JsonOutput::Lines => {
                let _ = screen::print_event(&report);
            }
            JsonOutput::Document | JsonOutput::No => {}
        }
    }
}
