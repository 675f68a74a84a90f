//! `tare schema`.

use std::process::ExitCode;

/// Arguments of `tare schema`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `tare schema`.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`tare schema` is not there yet")
}
