//! `tare agent`.

use std::process::ExitCode;

/// Arguments of `tare agent`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare agent`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare agent` is not there yet")
}
