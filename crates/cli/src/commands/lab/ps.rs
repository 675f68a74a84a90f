//! `tare lab ps`: lists running test beds.

use std::fmt::Write;
use std::process::ExitCode;

use tare_lab::lab_state::{self, LabState};

use crate::exit::Exit;
use crate::screen::{print, print_json, say};
use crate::values::{maybe, table};

/// Arguments of `tare lab ps`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints every running test bed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let all = lab_state::all(None);
    if args.json {
        print_json(&all)?;
        return Ok(Exit::Done.into());
    }
    if all.is_empty() {
        say(
            "nothing is up; `tare lab up ARM` puts an arm of the experiment `sidecar` up, --experiment NAME one of another",
        );
    }
    let texts: Vec<String> = all.iter().map(text).collect();
    print(&texts.join("\n"))?;
    Ok(Exit::Done.into())
}

/// One test bed as text.
pub fn text(standing: &LabState) -> String {
    let mut page = format!(
        "{} · {} · {} · {} · held by process {}\n\n",
        standing.experiment, standing.arm, standing.level, standing.location, standing.owner_pid
    );
    let rows = standing.processes.iter().map(|one| {
        vec![
            one.pod.clone(),
            one.address.clone(),
            one.instance.clone(),
            one.role.clone(),
            maybe(one.software.as_ref()),
            maybe(one.pid),
        ]
    });
    let header = ["pod", "address", "instance", "role", "what", "pid"];
    let _ = writeln!(page, "{}", table(&header, rows));
    for (edge, addresses) in &standing.endpoints {
        let _ = writeln!(page, "{edge} begins at {}", addresses.join(", "));
    }
    page
}
