//! Selects one of the running test beds, and a pod in it.

use tare_lab::environment::PodProcess;
use tare_lab::lab_state::{self, LabState};

use crate::exit::bad_input;

/// Which bed.
#[derive(Debug, Clone, clap::Args)]
pub struct LabSelector {
    /// Process ID of the test bed's owner; required with several test beds.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

impl LabSelector {
    /// The selected test bed; the only one when none is named.
    pub fn one(&self) -> anyhow::Result<LabState> {
        let mut all = lab_state::all(None);
        if let Some(pid) = self.pid {
            all.retain(|one| one.holder_pid == pid);
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
pub fn processes_in_pod<'a>(
    standing: &'a LabState,
    name: &str,
) -> anyhow::Result<Vec<&'a PodProcess>> {
    let all = &standing.inhabitants;
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
