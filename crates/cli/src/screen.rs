//! The terminal: its width, and printing to it. A stream that was closed, as by `| head`, is no error.

use std::fmt::Display;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tare_record::api::ScreenOptions;
use tare_record::escape::{escape_json, escape_lines};
use tare_report::terminal::{Colour, Screen};

use crate::colour;

/// Width when that of the terminal is not known.
const WIDTH_UNKNOWN: u16 = 100;

/// Whether anything was printed to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);
/// Whether the reader of standard output has closed it.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Width (`COLUMNS`, else the terminal's) and colour of a stream.
pub fn screen(stream: &console::Term) -> Screen {
    let width = stream.size_checked().map(|(_, columns)| columns);
    let from_environment = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    Screen {
        width: from_environment.or(width).unwrap_or(WIDTH_UNKNOWN),
        colour: colour::of_stream(stream),
    }
}

/// Standard output as the options of a program of its own.
pub fn screen_options() -> ScreenOptions {
    let screen = screen(&console::Term::stdout());
    ScreenOptions {
        width: screen.width,
        colour: screen.colour == Colour::On,
    }
}

/// Prints text that may contain foreign strings: control characters are escaped.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_raw(&escape_lines(text))
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_raw(&(escape_json(&text).into_owned() + "\n"))
}

/// Prints a value as one line of JSON; breaks when nobody reads it, or when it cannot be written.
pub fn print_event(event: &impl Serialize) -> ControlFlow<()> {
    let printed = serde_json::to_string(event)
        .map_err(anyhow::Error::from)
        .and_then(|text| print_raw(&(escape_json(&text).into_owned() + "\n")));
    match printed {
        Ok(()) if !is_closed() => ControlFlow::Continue(()),
        Ok(()) | Err(_) => ControlFlow::Break(()),
    }
}

/// Prints text unchanged, with colours: foreign strings in it must be escaped already.
pub fn print_raw(text: &str) -> anyhow::Result<()> {
    if !text.is_empty() {
        PRINTED.store(true, Ordering::Relaxed);
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        written => written.map_err(anyhow::Error::from),
    }
}

/// Whether anything was printed to standard output.
pub fn has_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Whether the reader of standard output has closed it: what goes on only to print may end.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints a line to standard error; control characters are escaped.
pub fn say(text: impl Display) {
    say_raw(&escape_lines(&text.to_string()));
}

/// Prints a line to standard error unchanged: foreign strings in it must be escaped already.
pub fn say_raw(line: &str) {
    // An error means that standard error is closed.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
