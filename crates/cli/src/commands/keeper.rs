//! `tare keeper`: holds the processes of a run; started by `tare run`, never by hand.

use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `tare keeper`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder in which its private folder is made; else `$XDG_RUNTIME_DIR` or `/tmp`.
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
}

/// Keeps until its socket, standard input, ends.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    tare_lab::keeper::keeper_main(args.base)?;
    Ok(ExitCode::SUCCESS)
}
