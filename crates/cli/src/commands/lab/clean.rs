//! `tare lab clean`: removes processes and folders of crashed runs.

use std::process::ExitCode;

use crate::exit::Exit;
use crate::screen::say;

/// Removes them and prints what was removed.
pub fn run() -> anyhow::Result<ExitCode> {
    let removed = tare_lab::lab_state::clean(None);
    for folder in &removed {
        say(format_args!(
            "removed {}, and what was left running of it",
            folder.display()
        ));
    }
    if removed.is_empty() {
        say("nothing was left behind");
    }
    Ok(Exit::Done.into())
}
