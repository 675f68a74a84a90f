//! Programs of their own beside this one: what they need stays out of the generator's process and of the first build.

use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::commands::plan::own_path;

/// Replaces this process by the program of this name beside it; it gets its options as JSON.
pub fn replace_by(name: &str, options: &impl Serialize) -> anyhow::Result<Infallible> {
    let program = own_path()?.with_file_name(name);
    let options = serde_json::to_string(options).context("a path is not UTF-8")?;
    let error = Command::new(&program).arg(options).exec();
    Err(anyhow::Error::new(error).context(format!(
        "cannot start {}: start Tare with ./tare of its checkout, which builds it",
        program.display()
    )))
}
