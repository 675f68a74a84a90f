//! `tare plan`.

use std::process::ExitCode;

/// Arguments of `tare plan`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare plan`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare plan` is not there yet")
}
