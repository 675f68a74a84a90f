//! The terminal: how wide it is, whether it has colours, and printing to it.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use tare_schema::shown::{shown_json, shown_lines};

use tare_report::terminal::{Colour, Screen};

/// Columns of a table when nobody says how wide the terminal is.
const WIDTH_UNKNOWN: u16 = 100;

/// A stream as it is: its width, or `COLUMNS`; plain text when it is no terminal or the user wants no colour.
pub fn screen(stream: &console::Term) -> Screen {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = stream.size_checked().map(|(_, columns)| columns);
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    Screen {
        width: told.or(width).unwrap_or(WIDTH_UNKNOWN),
        colour: if stream.is_term() && !is_unwanted {
            Colour::On
        } else {
            Colour::Off
        },
    }
}

/// Prints text of which parts may come from others: nothing in it moves the cursor.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_raw(&shown_lines(text))
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_raw(&(shown_json(&text).into_owned() + "\n"))
}

/// Says something on the standard error stream, with nothing in it that moves the cursor.
pub fn say(text: impl Display) {
    eprintln!("{}", shown_lines(&text.to_string()));
}

/// Prints text as it is: with colours, in which what comes from others is made harmless already. A reader that has seen
/// enough (`| head`) is no error.
pub fn print_raw(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
