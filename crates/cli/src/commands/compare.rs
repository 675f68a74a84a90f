//! `tare compare`.

use std::process::ExitCode;

/// Arguments of `tare compare`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare compare`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare compare` is not there yet")
}
