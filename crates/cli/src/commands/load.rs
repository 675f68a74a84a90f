//! `tare load`.

use std::process::ExitCode;

/// Arguments of `tare load`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare load`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare load` is not there yet")
}
