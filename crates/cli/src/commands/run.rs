//! `tare run`.

use std::process::ExitCode;

/// Arguments of `tare run`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare run`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare run` is not there yet")
}
