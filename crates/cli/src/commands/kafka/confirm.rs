//! Confirmation of destructive commands.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

use tare_schema::shown::shown;

use crate::exit::bad_input;

use super::CommonArgs;

/// Asks on a terminal; elsewhere `--yes` is required.
pub fn confirm(what: &str, common: &CommonArgs) -> anyhow::Result<()> {
    if common.yes {
        return Ok(());
    }
    if !stdin().is_terminal() {
        return Err(bad_input(format!(
            "would {what}: add --yes to do it without being asked"
        )));
    }
    // An error means that standard error is closed; the answer counts all the same.
    let _ = write!(stderr(), "{}? [y/N] ", shown(what));
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(bad_input("nothing was done")),
    }
}
