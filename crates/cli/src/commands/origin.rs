//! `tare origin`.

use std::process::ExitCode;

/// Arguments of `tare origin`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare origin`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare origin` is not there yet")
}
