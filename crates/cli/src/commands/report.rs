//! `tare report`.

use std::process::ExitCode;

/// Arguments of `tare report`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare report`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare report` is not there yet")
}
