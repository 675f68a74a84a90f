//! Which of the beds that are up is meant, and which pod in it.

use tare_lab::environment::Inhabitant;
use tare_lab::standing::{self, Standing};

use crate::exit::bad_input;

/// Which bed.
#[derive(Debug, Clone, clap::Args)]
pub struct Which {
    /// Which bed, by the process that holds it; needed where several are up.
    #[arg(long, value_name = "PID")]
    lab: Option<u32>,
}

impl Which {
    /// The bed that is meant.
    pub fn one(&self) -> anyhow::Result<Standing> {
        let mut all = standing::all(None);
        if let Some(pid) = self.lab {
            all.retain(|one| one.holder_pid == pid);
        }
        match (all.len(), all.pop()) {
            (1, Some(one)) => Ok(one),
            (0, _) => Err(bad_input(
                "no such test bed is up: `tare lab up ARM` puts one up, `tare lab ps` shows what there is",
            )),
            (count, _) => Err(bad_input(format!(
                "{count} test beds are up: choose one with --lab PID (`tare lab ps` shows them)"
            ))),
        }
    }
}

/// What is in a pod; the name of an instance stands for itself.
pub fn in_pod<'a>(standing: &'a Standing, name: &str) -> anyhow::Result<Vec<&'a Inhabitant>> {
    let all = &standing.inhabitants;
    let named: Vec<&Inhabitant> = all.iter().filter(|one| one.instance == name).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let found: Vec<&Inhabitant> = all.iter().filter(|one| one.pod == name).collect();
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
