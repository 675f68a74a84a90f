//! The terminal: its width, colours, and printing to it.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use tare_schema::shown::{shown_json, shown_lines};

use tare_report::terminal::{Colour, Screen};

/// Width when that of the terminal is not known.
const WIDTH_UNKNOWN: u16 = 100;

/// Width (`COLUMNS`, else the terminal's) and colour of a stream; no colour when it is no terminal or `NO_COLOR` is set.
pub fn screen(stream: &console::Term) -> Screen {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = stream.size_checked().map(|(_, columns)| columns);
    let from_environment = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    Screen {
        width: from_environment.or(width).unwrap_or(WIDTH_UNKNOWN),
        colour: if stream.is_term() && !is_unwanted {
            Colour::On
        } else {
            Colour::Off
        },
    }
}

/// Prints text that may contain foreign strings: control characters are escaped.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_raw(&shown_lines(text))
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_raw(&(shown_json(&text).into_owned() + "\n"))
}

/// Prints a line to standard error; control characters are escaped.
pub fn say(text: impl Display) {
    eprintln!("{}", shown_lines(&text.to_string()));
}

/// Prints text unchanged, with colours: foreign strings in it must be escaped already. A closed pipe (`| head`) is no error.
pub fn print_raw(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
