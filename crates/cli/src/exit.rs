//! Exit codes, and their choice for an error.

use std::fmt;
use std::process::ExitCode;

use crate::screen::say;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// The load failed, or an assertion, a required rate or a required verdict did.
    Failed = 1,
    /// The input is invalid; nothing was started.
    BadInput = 2,
    /// The machine, its packages or its permissions do not allow it.
    Environment = 3,
    /// Interrupted by the user; the measurements so far are kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Marks an error as one of the input.
#[derive(Debug)]
struct BadInput;

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad input")
    }
}

impl std::error::Error for BadInput {}

/// An error of the input; exit code 2.
pub fn bad_input(error: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(BadInput).context(error.to_string())
}

/// Prints an error with its causes and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<BadInput>().is_some() {
        // The marker is the innermost cause and is not printed.
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
