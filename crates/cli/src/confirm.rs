//! Questions before something is changed that cannot be undone.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

use tare_record::escape::escape_line;

use crate::exit::bad_input;

/// Asks on a terminal; elsewhere nothing is done, and the error says that `--yes` does it.
pub fn confirm(what: &str) -> anyhow::Result<()> {
    if !stdin().is_terminal() {
        return Err(bad_input(format!(
            "would {what}: add --yes to do it without being asked"
        )));
    }
    // An error means that standard error is closed; the answer counts all the same.
    let _ = write!(stderr(), "{}? [y/N] ", escape_line(what));
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(bad_input("nothing was done")),
    }
}
