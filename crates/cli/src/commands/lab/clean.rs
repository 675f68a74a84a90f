//! `tare lab clean`: removes leftovers of crashed runs, after a question.

use std::process::ExitCode;

use tare_kubernetes::Leftovers;
use tare_lab::lab_state;
use tare_record::text::list;

use crate::confirm::confirm;
use crate::exit::Exit;
use crate::screen::say;
use crate::values::counted;

/// Arguments of `tare lab clean`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Clean a Kubernetes cluster instead of this machine: that of this context of kubectl's configuration, or of the current one.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    context: Option<String>,
    /// Skip the confirmation.
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Lists them, and removes them after a question.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.context {
        Some(context) => clean_cluster(args, Some(context.clone()).filter(|name| !name.is_empty())),
        None => clean_machine(args),
    }?;
    Ok(Exit::Done.into())
}

impl Args {
    fn confirm(&self, what: &str) -> anyhow::Result<()> {
        match self.yes {
            true => Ok(()),
            false => confirm(what),
        }
    }
}

/// Processes and folders of this machine.
fn clean_machine(args: &Args) -> anyhow::Result<()> {
    let found = lab_state::leftovers(None);
    if found.is_empty() {
        say("nothing was left behind");
        return Ok(());
    }
    let folders = counted(found.len(), "folder");
    for folder in &found {
        say(format_args!("{} is of a dead run", folder.display()));
    }
    args.confirm(&format!(
        "remove {folders}, and what was left running of them"
    ))?;
    for folder in lab_state::remove_leftovers(found) {
        say(format_args!(
            "removed {}, and what was left running of it",
            folder.display()
        ));
    }
    Ok(())
}

/// Namespaces of a cluster.
fn clean_cluster(args: &Args, context: Option<String>) -> anyhow::Result<()> {
    let found = Leftovers::find(context)?;
    for namespace in &found.in_use {
        say(format_args!(
            "{namespace} stays: it is of a run that goes on, or its run keeper deletes it two minutes after the run's end"
        ));
    }
    for namespace in &found.of_others {
        say(format_args!(
            "{namespace} stays: it has the label of a run, but no run has made it"
        ));
    }
    let names: Vec<&str> = found.names().collect();
    if names.is_empty() {
        if found.in_use.is_empty() {
            say("nothing was left behind");
        }
        return Ok(());
    }
    let namespaces = match names.len() {
        1 => "the namespace",
        _ => "the namespaces",
    };
    let all = list(&names);
    args.confirm(&format!("delete {namespaces} {all}, with everything in it"))?;
    found.delete()?;
    say(format_args!("removed {namespaces} {all}"));
    Ok(())
}
