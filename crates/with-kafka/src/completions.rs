//! `tare completions` and `tare man`: shell completion and manual pages from the same declaration as the help.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use tare_cli::exit::{Exit, bad_input};
use tare_cli::screen::{print, print_raw};

/// Arguments of `tare completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to complete in.
    shell: clap_complete::Shell,
}

/// Prints the script to standard output.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Not straight to standard output: the generator panics where that was closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "tare", &mut script);
    print_raw(&String::from_utf8(script)?)?;
    Ok(Exit::Done.into())
}

/// Arguments of `tare man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder for the pages, one of each command; the page of `tare` itself is printed when left out.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints one page, or writes all of them.
pub fn man(args: ManArgs) -> anyhow::Result<ExitCode> {
    // A page of `tare help` would say nothing.
    let command = crate::command().disable_help_subcommand(true);
    let Some(folder) = args.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        print_raw(&String::from_utf8(page)?)?;
        return Ok(Exit::Done.into());
    };
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))
        .map_err(bad_input)?;
    clap_mangen::generate_to(command, &folder)
        .with_context(|| format!("cannot write the pages to {}", folder.display()))?;
    print(&format!("manual pages: {}\n", folder.display()))?;
    Ok(Exit::Done.into())
}
