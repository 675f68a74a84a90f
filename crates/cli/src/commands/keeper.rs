//! `tare keeper`: the parent of all processes of a run; started by `tare run`, not by users.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_lab::keeper::{KeeperMode, keeper_main};

/// Arguments of `tare keeper`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Parent of the private folder [default: `$XDG_RUNTIME_DIR` or `/tmp`].
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Leave the host's namespaces first.
    #[arg(long)]
    namespaces: bool,
    /// Private folder, after leaving the host's namespaces.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["base", "namespaces"])]
    inside: Option<PathBuf>,
}

/// Runs the keeper until its socket, which is standard input, is closed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    keeper_main(match args {
        Args {
            inside: Some(folder),
            ..
        } => KeeperMode::Inside(folder),
        Args {
            namespaces: true,
            base,
            ..
        } => KeeperMode::Namespaces(base),
        Args { base, .. } => KeeperMode::Host(base),
    })?;
    Ok(ExitCode::SUCCESS)
}
