//! `tare keeper`: holds the processes of a run; started by `tare run`, never by hand.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_lab::keeper::{Ground, keeper_main};

/// Arguments of `tare keeper`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder in which its private folder is made; else `$XDG_RUNTIME_DIR` or `/tmp`.
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Leave the host's namespaces first.
    #[arg(long)]
    namespaces: bool,
    /// The namespaces are left, the private folder is this one.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["base", "namespaces"])]
    inside: Option<PathBuf>,
}

/// Keeps until its socket, standard input, ends.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    keeper_main(match args {
        Args {
            inside: Some(folder),
            ..
        } => Ground::Inside(folder),
        Args {
            namespaces: true,
            base,
            ..
        } => Ground::Namespaces(base),
        Args { base, .. } => Ground::Host(base),
    })?;
    Ok(ExitCode::SUCCESS)
}
