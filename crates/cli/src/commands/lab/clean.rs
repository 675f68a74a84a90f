//! `tare lab clean`: removes leftovers of crashed runs.

use std::process::ExitCode;

use tare_kubernetes::Cleaned;
use tare_lab::lab_state;

use crate::exit::Exit;
use crate::screen::say;

/// Arguments of `tare lab clean`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Clean a Kubernetes cluster instead of this machine: that of this context of kubectl's configuration, or of the current one.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    context: Option<String>,
}

/// Removes them, and prints what was removed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let nothing = match &args.context {
        Some(context) => clean_cluster(Some(context.clone()).filter(|name| !name.is_empty()))?,
        None => clean_machine(),
    };
    if nothing {
        say("nothing was left behind");
    }
    Ok(Exit::Done.into())
}

/// Processes and folders of this machine; whether there were none.
fn clean_machine() -> bool {
    let removed = lab_state::clean(None);
    for folder in &removed {
        say(format_args!(
            "removed {}, and what was left running of it",
            folder.display()
        ));
    }
    removed.is_empty()
}

/// Namespaces of a cluster; whether there were none.
fn clean_cluster(context: Option<String>) -> anyhow::Result<bool> {
    let Cleaned { removed, in_use } = tare_kubernetes::clean(context)?;
    for namespace in &removed {
        say(format_args!("removed the namespace {namespace}"));
    }
    for namespace in &in_use {
        say(format_args!(
            "{namespace} stays: it is of a run that goes on, or its run keeper deletes it two minutes after the run's end"
        ));
    }
    Ok(removed.is_empty() && in_use.is_empty())
}
