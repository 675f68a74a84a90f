//! `tare targets`.

use std::process::ExitCode;

/// Arguments of `tare targets`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare targets`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare targets` is not there yet")
}
