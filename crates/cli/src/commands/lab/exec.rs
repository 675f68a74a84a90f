//! `tare lab exec`: runs a command in a pod.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use super::choose::{Which, in_pod};
use crate::exit::bad_input;

/// Arguments of `tare lab exec`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Pod, or an instance in it.
    pod: String,
    /// The command; a shell when left out.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Becomes the command; comes back only when that fails.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let standing = args.which.one()?;
    let inhabitants = in_pod(&standing, &args.pod)?;
    // One that has ended may have left its number to a process of somebody else.
    let pids = inhabitants.iter().filter_map(|one| one.pid);
    let pid = pids.into_iter().find(|pid| standing.holds(*pid));
    match pid {
        _ if standing.addressing == "loopback" => {
            let address = inhabitants.first().map(|one| one.address.as_str());
            eprintln!(
                "with addressing loopback a pod has no network of its own: it is {} here",
                address.unwrap_or("an address")
            );
        }
        // Nothing runs beside this thread yet: it may enter, and the command after it.
        Some(pid) => tare_net::namespace::enter(pid)?,
        None => {
            return Err(bad_input(format!(
                "nothing runs in {} that could be entered",
                args.pod
            )));
        }
    }
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
    let (program, words) = match args.command.split_first() {
        Some((program, words)) => (program.clone(), words),
        None => (shell, &[][..]),
    };
    let error = std::process::Command::new(&program).args(words).exec();
    Err(bad_input(format!("cannot run {program}: {error}")))
}
