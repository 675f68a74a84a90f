//! What dead runs have left in a cluster.

use jiff::Timestamp;
use serde_json::Value;
use tare_lab::LabError;

use crate::cluster::{KEEP, RUN_KEEPER};
use crate::kubectl::Kubectl;
use crate::manifests::{self, ACCOUNT, ROLE, RUN};
use crate::opt_out::Marks;
use crate::run_namespace::{self, GONE_LIMIT, IGNORE_ABSENT, RunNamespace};

/// Age below which a namespace may still get its run keeper.
const YOUNG_S: i64 = 300;

/// Namespaces with the label of runs.
#[derive(Debug)]
pub struct Leftovers {
    kubectl: Kubectl,
    /// Those of dead runs: nobody else deletes them.
    dead: Vec<RunNamespace>,
    /// Those of runs that begin, and those whose run keeper runs: it deletes them when their run is over.
    pub in_use: Vec<String>,
    /// Those that no run has made.
    pub of_others: Vec<String>,
}

impl Leftovers {
    /// Finds them.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub fn find(context: Option<String>) -> Result<Leftovers, LabError> {
        Leftovers::find_with(Kubectl::new(context))
    }

    fn find_with(kubectl: Kubectl) -> Result<Leftovers, LabError> {
        let mut found = Leftovers {
            dead: Vec::new(),
            in_use: Vec::new(),
            of_others: Vec::new(),
            kubectl,
        };
        let all = namespaces(&found.kubectl)?;
        let items = all["items"].as_array().map_or(&[][..], Vec::as_slice);
        if items.is_empty() {
            return Ok(found);
        }
        let now_s = server_time_s(&found.kubectl)?;
        for namespace in items {
            let Some(made) = RunNamespace::of(namespace) else {
                let name = namespace["metadata"]["name"].as_str();
                found.of_others.push(name.unwrap_or_default().to_owned());
                continue;
            };
            // Its run may not have made its run keeper yet.
            let is_young = now_s - made.created_s < YOUNG_S;
            match is_young || has_run_keeper(&found.kubectl, &made.name)? {
                true => found.in_use.push(made.name),
                false => found.dead.push(made),
            }
        }
        Ok(found)
    }

    /// Names of those that nobody else deletes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.dead.iter().map(|one| one.name.as_str())
    }

    /// Deletes these.
    ///
    /// # Errors
    /// Why one cannot be deleted.
    pub fn delete(&self) -> Result<(), LabError> {
        self.dead
            .iter()
            .try_for_each(|one| one.delete(&self.kubectl))
    }
}

/// Deletes namespaces of runs whose time is over and whose run keeper does not run any more. `now_s`: by the API server's clock.
pub(crate) fn sweep(kubectl: &Kubectl, now_s: i64) -> Result<(), LabError> {
    let all = namespaces(kubectl)?;
    let made = all["items"].as_array().into_iter().flatten();
    for one in made.filter_map(RunNamespace::of) {
        // Both clocks agree, that of the API server and that of who made it.
        let is_over = one.created_s + KEEP.as_secs().cast_signed() < now_s && one.expires_s < now_s;
        if is_over && !has_run_keeper(kubectl, &one.name)? {
            one.delete(kubectl)?;
        }
    }
    Ok(())
}

/// Deletes run keepers of a namespace that have ended, and so what their runs have left there.
pub(crate) fn sweep_within(kubectl: &Kubectl, namespace: &str) -> Result<(), LabError> {
    let of_it = format!("--namespace={namespace}");
    let selector = format!("--selector={ROLE}={ACCOUNT}");
    let found = kubectl.json(&["get", "pods", &of_it, &selector, "--output=json"], None)?;
    for pod in found["items"].as_array().into_iter().flatten() {
        let metadata = &pod["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let run = metadata["labels"][RUN].as_str().unwrap_or_default();
        let is_of_run = !run.is_empty() && name == format!("{run}-{RUN_KEEPER}");
        let has_ended = ["Succeeded", "Failed"]
            .iter()
            .any(|one| pod["status"]["phase"] == *one);
        if is_of_run && has_ended {
            delete_run_keeper(kubectl, namespace, name);
        }
    }
    Ok(())
}

/// Deletes a run keeper with all that it owns. What cannot be deleted is left to the next run.
pub(crate) fn delete_run_keeper(kubectl: &Kubectl, namespace: &str, name: &str) {
    let of_it = format!("--namespace={namespace}");
    let words = ["delete", "pod", name, &of_it, IGNORE_ABSENT, GONE_LIMIT];
    let _ = kubectl.ask(&words, None);
}

fn namespaces(kubectl: &Kubectl) -> Result<Value, LabError> {
    let selector = format!("--selector={RUN}");
    kubectl.json(&["get", "namespaces", &selector, "--output=json"], None)
}

/// The API server's clock: the time at which it would make a namespace. It makes none.
fn server_time_s(kubectl: &Kubectl) -> Result<i64, LabError> {
    let manifest = manifests::namespace(&run_namespace::new_name(), 0, false, &Marks::default());
    let words = [
        "create",
        "--filename=-",
        "--dry-run=server",
        "--output=json",
    ];
    let made = kubectl.json(&words, Some(&manifest))?;
    let time = made["metadata"]["creationTimestamp"].as_str();
    let time = time.and_then(|text| text.parse::<Timestamp>().ok());
    time.map(Timestamp::as_second).ok_or_else(|| {
        let text = "the API server did not tell its time: it is older than Kubernetes 1.18";
        LabError::Cluster(format!("{}: {text}", kubectl.name()))
    })
}

/// Whether the run keeper of a namespace is there to delete it.
fn has_run_keeper(kubectl: &Kubectl, namespace: &str) -> Result<bool, LabError> {
    let of_it = format!("--namespace={namespace}");
    let words = [
        "get",
        "pod",
        RUN_KEEPER,
        &of_it,
        IGNORE_ABSENT,
        "--output=json",
    ];
    let said = kubectl.run(&words, None)?;
    if said.trim().is_empty() {
        return Ok(false);
    }
    let pod: Value = serde_json::from_str(&said)
        .map_err(|error| LabError::Cluster(format!("kubectl {}: {error}", words.join(" "))))?;
    Ok(pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running")
}

#[cfg(test)]
mod tests;
