//! `tare keeper`.

use std::process::ExitCode;

/// Arguments of `tare keeper`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare keeper`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare keeper` is not there yet")
}
