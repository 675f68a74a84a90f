//! `tare lab exec`: runs a command in a pod.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use super::{LabSelector, processes_in_pod};
use crate::exit::bad_input;
use crate::screen::say;

/// Arguments of `tare lab exec`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: LabSelector,
    /// Name of a pod, or of an instance in it.
    pod: String,
    /// Command with its arguments [default: a shell].
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Replaces this process by the command; returns only when that fails.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let standing = args.which.one()?;
    let processes = processes_in_pod(&standing, &args.pod)?;
    if let Some(enter) = processes.iter().find_map(|one| one.enter.as_ref()) {
        return enter_elsewhere(enter, args);
    }
    // The PID of a process that has exited may have been reused by a foreign one.
    let pids = processes.iter().filter_map(|one| one.pid);
    let pid = pids.into_iter().find(|pid| standing.holds(*pid));
    match pid {
        _ if standing.addressing == "loopback" => {
            let address = processes.first().map(|one| one.address.as_str());
            say(format_args!(
                "with addressing loopback a pod has no network of its own: it is {} here",
                address.unwrap_or("an address")
            ));
        }
        // setns(2) applies to the calling thread, and there is no other yet.
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
    let error = anyhow::Error::new(error).context(format!("cannot run {program}"));
    Err(bad_input(error))
}

/// Replaces this process by the command in a pod of a cluster; returns only when that fails.
fn enter_elsewhere(enter: &[String], args: &Args) -> anyhow::Result<ExitCode> {
    let Some((program, words)) = enter.split_first() else {
        return Err(bad_input(format!(
            "{} is not on this machine, and nothing enters it from here",
            args.pod
        )));
    };
    if args.command.is_empty() {
        return Err(bad_input(
            "the image of the pods has no shell: give a command of the image, such as `tare --version`; for a shell, see `kubectl debug`",
        ));
    }
    let error = tare_record::locate::command(program)
        .args(words)
        .args(&args.command)
        .exec();
    let error = anyhow::Error::new(error).context(format!("cannot run {program}"));
    Err(bad_input(error))
}
