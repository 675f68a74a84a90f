//! `tare lab`: starts one arm of an experiment and keeps it running for inspection.

mod clean;
mod down;
mod exec;
mod logs;
mod objects;
mod ps;
mod up;

use std::process::ExitCode;

use tare_lab::lab_state::{self, LabState, PodProcess};

use crate::exit::bad_input;

/// Arguments of `tare lab`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with test beds.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start the test bed of one arm and keep it running until Ctrl-C or `tare lab down`.
    Up(Box<up::Args>),
    /// List running test beds: pods, addresses, processes.
    Ps(ps::Args),
    /// Run a command in a pod, with the pod's network.
    Exec(exec::Args),
    /// Print the logs of a pod's processes.
    Logs(logs::Args),
    /// Stop a test bed.
    Down(down::Args),
    /// Remove leftovers of crashed runs of Tare.
    Clean(clean::Args),
}

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.action {
        Action::Up(args) => up::run(&args),
        Action::Ps(args) => ps::run(&args),
        Action::Exec(args) => exec::run(&args),
        Action::Logs(args) => logs::run(&args),
        Action::Down(args) => down::run(&args),
        Action::Clean(args) => clean::run(&args),
    }
}

/// Which bed.
#[derive(Debug, Clone, clap::Args)]
struct LabSelector {
    /// Process ID of the test bed's owner; required with several test beds.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

impl LabSelector {
    /// The selected test bed; the only one when none is named.
    fn one(&self) -> anyhow::Result<LabState> {
        let mut all = lab_state::all(None);
        if let Some(pid) = self.pid {
            all.retain(|one| one.owner_pid == pid);
        }
        match (all.len(), all.pop()) {
            (1, Some(one)) => Ok(one),
            (0, _) => Err(bad_input(
                "no such test bed is up: `tare lab up ARM` puts one up, `tare lab ps` shows what there is",
            )),
            (count, _) => Err(bad_input(format!(
                "{count} test beds are up: choose one with --pid PID (`tare lab ps` shows them)"
            ))),
        }
    }
}

/// The processes in a pod, or those of an instance of this name.
fn processes_in_pod<'a>(standing: &'a LabState, name: &str) -> anyhow::Result<Vec<&'a PodProcess>> {
    let all = &standing.processes;
    let named: Vec<&PodProcess> = all.iter().filter(|one| one.instance == name).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let found: Vec<&PodProcess> = all.iter().filter(|one| one.pod == name).collect();
    if found.is_empty() {
        let mut pods: Vec<&str> = all.iter().map(|one| one.pod.as_str()).collect();
        pods.dedup();
        return Err(bad_input(format!(
            "there is no pod `{name}`; there are {}",
            pods.join(", ")
        )));
    }
    Ok(found)
}
