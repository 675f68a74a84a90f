//! Exit codes and the one place where an error becomes one.

use std::fmt;
use std::process::ExitCode;

use crate::screen::say;

/// How a command ended, as scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Done, but something that was asked for does not hold: an assertion, a rate, a verdict.
    NoVerdict = 1,
    /// The input is wrong; nothing was started.
    BadInput = 2,
    /// The machine, its packages or its permissions are in the way.
    Environment = 3,
    /// Interrupted by the user; what was measured is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Marks an error as the input's fault.
#[derive(Debug)]
struct BadInput;

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad input")
    }
}

impl std::error::Error for BadInput {}

/// An error of the input: shown as it is, exit code 2.
pub fn bad_input(error: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(BadInput).context(error.to_string())
}

/// Prints an error with its causes and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<BadInput>().is_some() {
        // The marker is the innermost cause: everything above it is for people.
        let words: Vec<String> = error
            .chain()
            .filter(|cause| !cause.is::<BadInput>())
            .map(ToString::to_string)
            .collect();
        say(format_args!("error: {}", words.join(": ")));
        return Exit::BadInput.into();
    }
    say(format_args!("error: {error:#}"));
    Exit::Environment.into()
}
