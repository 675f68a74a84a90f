//! `tare completions`: shell completion from the same declaration as the help.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::exit::Exit;

/// Arguments of `tare completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to complete in.
    shell: clap_complete::Shell,
}

/// Prints the script to standard output.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    clap_complete::generate(
        args.shell,
        &mut crate::Cli::command(),
        "tare",
        &mut std::io::stdout(),
    );
    Ok(Exit::Done.into())
}
