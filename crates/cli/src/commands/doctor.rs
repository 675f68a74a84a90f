//! `tare doctor`.

use std::process::ExitCode;

/// Arguments of `tare doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare doctor`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare doctor` is not there yet")
}
