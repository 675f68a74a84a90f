//! The terminal: how wide it is, whether it has colours, and printing to it.

use std::io::{self, Write};

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

/// Prints text; a reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
