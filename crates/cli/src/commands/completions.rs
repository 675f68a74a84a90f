//! `tare completions` and `tare man`: shell completion and manual pages from the same declaration as the help.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Arg, Command, ValueHint};

use crate::exit::{Exit, bad_input};
use crate::screen::{print, print_raw};

/// Arguments of `tare completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to complete in.
    shell: clap_complete::Shell,
}

/// Prints the script to standard output.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        .map_err(|error| bad_input(format!("cannot create {}: {error}", folder.display())))?;
    clap_mangen::generate_to(command, &folder)
        .with_context(|| format!("cannot write the pages to {}", folder.display()))?;
    print(&format!("manual pages: {}\n", folder.display()))?;
    Ok(Exit::Done.into())
}

/// Adds to every argument what its values are, for shells to complete: its value name says it.
pub fn with_hints(command: Command) -> Command {
    command
        .mut_args(|arg| match hint(&arg) {
            Some(hint) => arg.value_hint(hint),
            None => arg,
        })
        .mut_subcommands(with_hints)
}

fn hint(arg: &Arg) -> Option<ValueHint> {
    let name = arg.get_value_names()?.first()?;
    match name.as_str() {
        "FILE" => Some(ValueHint::FilePath),
        // Runs are folders.
        "DIR" | "RUN" | "BEFORE" | "AFTER" => Some(ValueHint::DirPath),
        "NAME|FILE" => Some(ValueHint::AnyPath),
        "URL" | "URL,…" => Some(ValueHint::Url),
        "HOST:PORT" | "HOST:PORT,…" => Some(ValueHint::Hostname),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every argument of a command and of those below it.
    fn arguments(command: &Command) -> Vec<&Arg> {
        let own = command.get_arguments();
        let below = command.get_subcommands().flat_map(arguments);
        own.chain(below).collect()
    }

    #[test]
    fn every_path_says_whether_it_is_a_file_or_a_folder() {
        let command = crate::command();
        let all = arguments(&command);
        let vague: Vec<_> = all
            .iter()
            .filter(|arg| arg.get_value_hint() == ValueHint::AnyPath)
            .filter(|arg| {
                let names = arg.get_value_names().unwrap_or_default();
                names.iter().all(|name| name.as_str() != "NAME|FILE")
            })
            .collect();
        assert!(vague.is_empty(), "{vague:#?}");
        for hint in [ValueHint::FilePath, ValueHint::DirPath, ValueHint::Url] {
            let number = all.iter().filter(|arg| arg.get_value_hint() == hint);
            assert!(number.count() > 0, "{hint:?}");
        }
    }

    #[test]
    fn a_shell_is_told_where_files_folders_and_urls_are_wanted() {
        let mut script = Vec::new();
        let shell = clap_complete::Shell::Zsh;
        clap_complete::generate(shell, &mut crate::command(), "tare", &mut script);
        let script = String::from_utf8(script).unwrap();
        for completed in [":DIR:_files -/", ":FILE:_files", "_urls"] {
            assert!(script.contains(completed), "{completed}");
        }
    }
}
