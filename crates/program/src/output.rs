//! What the program prints: results to standard output, messages to standard error, failures with their exit code.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use tare_record::api::ScreenOptions;
use tare_record::escape::{escape_json, escape_lines};
use tare_record::event::{Failure, FailureReport};
use tare_report::terminal::{Colour, Screen};

/// An error with the exit code of its kind (docs/COMMAND-LINE.md).
#[derive(Debug)]
pub struct Failed {
    error: anyhow::Error,
    code: u8,
}

impl Failed {
    /// Arguments or files are wrong.
    pub fn bad_input(error: impl Into<anyhow::Error>) -> Failed {
        Failed {
            error: error.into(),
            code: 2,
        }
    }

    /// The machine does not allow it.
    pub fn environment(error: impl Into<anyhow::Error>) -> Failed {
        Failed {
            error: error.into(),
            code: 3,
        }
    }

    /// A signal ended it.
    pub fn interrupted(error: impl Into<anyhow::Error>, signal: i32) -> Failed {
        Failed {
            error: error.into(),
            code: u8::try_from(128 + signal).unwrap_or(3),
        }
    }

    /// Prints it, as JSON too where that was asked for.
    pub fn report(&self, is_json: bool) -> ExitCode {
        say(&format!("error: {:#}", self.error));
        if is_json {
            let mut texts = self.error.chain().map(ToString::to_string);
            let error = Failure {
                message: texts.next().unwrap_or_default(),
                exit_code: self.code,
                causes: texts.collect(),
            };
            // The text is on standard error already.
            let _ = print_json(&FailureReport { error });
        }
        ExitCode::from(self.code)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::environment(error)
    }
}

/// Prints text whose foreign strings are escaped already. A closed standard output, as by `| head`, is no error.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints a value as JSON.
///
/// # Errors
/// When it cannot be written.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print(&(escape_json(&text).into_owned() + "\n"))
}

/// Prints a line to standard error; control characters are escaped.
pub fn say(text: &str) {
    let line = escape_lines(text).into_owned();
    // An error means that standard error is closed.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes a file that is not there, or is a regular one: a device or a link must not be replaced.
pub fn write(file: &Path, content: &str) -> Result<(), Failed> {
    if fs::symlink_metadata(file).is_ok_and(|found| !found.is_file()) {
        let file = file.display();
        return Err(Failed::bad_input(anyhow::anyhow!(
            "{file} is not a regular file: name a file to write"
        )));
    }
    let written = fs::File::create(file).and_then(|mut open| open.write_all(content.as_bytes()));
    written
        .with_context(|| format!("cannot write {}", file.display()))
        .map_err(Failed::environment)
}

/// The screen that `tare` found.
pub fn screen(options: &ScreenOptions) -> Screen {
    Screen {
        width: options.width,
        colour: match options.colour {
            true => Colour::On,
            false => Colour::Off,
        },
    }
}
