//! `tare lab clean`: removes what crashed runs have left behind.

use std::process::ExitCode;

use crate::exit::Exit;

/// Sweeps, and says what was there.
pub fn run() -> anyhow::Result<ExitCode> {
    let removed = tare_lab::standing::clean(None);
    for folder in &removed {
        eprintln!(
            "removed {}, and what was left running of it",
            folder.display()
        );
    }
    if removed.is_empty() {
        eprintln!("nothing was left behind");
    }
    Ok(Exit::Done.into())
}
