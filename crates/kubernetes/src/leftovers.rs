//! What dead runs have left in a cluster.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tare_lab::LabError;

use crate::cluster::{KEEP, RUN_KEEPER};
use crate::installed::pods_with;
use crate::kubectl::Kubectl;
use crate::manifests::{EXPIRES, RUN};

/// What is gone already is no error.
pub(crate) const IGNORE_ABSENT: &str = "--ignore-not-found";
/// Removes pods without a word from their node.
pub(crate) const FORCE: [&str; 5] = [
    "delete",
    "pod",
    "--force",
    "--grace-period=0",
    IGNORE_ABSENT,
];

/// Age below which a namespace may still get its run keeper.
const YOUNG_S: u64 = 300;

/// Namespaces of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Those that were deleted: nobody else would have done it.
    pub removed: Vec<String>,
    /// Those of runs that begin, and those whose run keeper runs: it deletes them when their run is over.
    pub in_use: Vec<String>,
}

/// Deletes the namespaces of runs that have no run keeper any more.
///
/// # Errors
/// Why they cannot be listed or deleted.
pub fn clean(context: Option<String>) -> Result<Cleaned, LabError> {
    let kubectl = Kubectl::new(context);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    // Before the pods: of a run that begins meanwhile it knows nothing.
    let all = namespaces(&kubectl)?;
    let pods = pods_with(&kubectl, RUN)?;
    let mut cleaned = Cleaned::default();
    for namespace in all["items"].as_array().into_iter().flatten() {
        let Some(name) = namespace["metadata"]["name"].as_str() else {
            continue;
        };
        if is_young(namespace, now) || has_run_keeper(&pods, name) {
            cleaned.in_use.push(name.to_owned());
        } else {
            delete(&kubectl, name)?;
            cleaned.removed.push(name.to_owned());
        }
    }
    Ok(cleaned)
}

/// Deletes namespaces of runs whose time is over.
pub(crate) fn sweep(kubectl: &Kubectl, now: Duration) -> Result<(), LabError> {
    let all = namespaces(kubectl)?;
    let is_over = |namespace: &&Value| expires(namespace).is_some_and(|at| at < now.as_secs());
    let items = all["items"].as_array().into_iter().flatten();
    let mut over = items
        .filter(is_over)
        .filter_map(|namespace| namespace["metadata"]["name"].as_str());
    over.try_for_each(|name| delete(kubectl, name))
}

fn namespaces(kubectl: &Kubectl) -> Result<Value, LabError> {
    let selector = format!("--selector={RUN}");
    kubectl.json(&["get", "namespaces", &selector, "--output=json"], None)
}

/// When a namespace may be removed by others, in seconds since the epoch.
fn expires(namespace: &Value) -> Option<u64> {
    let expires = namespace["metadata"]["annotations"][EXPIRES].as_str();
    expires.and_then(|text| text.parse().ok())
}

/// Whether its run may not have made its run keeper yet.
fn is_young(namespace: &Value, now: Duration) -> bool {
    let made = expires(namespace).map(|at| at.saturating_sub(KEEP.as_secs()));
    made.is_some_and(|made| now.as_secs().saturating_sub(made) < YOUNG_S)
}

/// Whether the run keeper of a namespace is there to delete it.
fn has_run_keeper(pods: &Value, namespace: &str) -> bool {
    let mut pods = pods["items"].as_array().into_iter().flatten();
    pods.any(|pod| {
        let metadata = &pod["metadata"];
        metadata["namespace"] == *namespace
            && metadata["name"] == RUN_KEEPER
            && metadata["deletionTimestamp"].is_null()
            && pod["status"]["phase"] == "Running"
    })
}

fn delete(kubectl: &Kubectl, namespace: &str) -> Result<(), LabError> {
    // What holds it up is pods of a lost node.
    let _ = kubectl.try_once(&[&FORCE[..], &["--namespace", namespace, "--all"]].concat());
    let words = [
        "delete",
        "namespace",
        namespace,
        IGNORE_ABSENT,
        "--wait=false",
    ];
    kubectl.run(&words, None).map(drop)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_run_keeper_that_runs_takes_care_of_its_namespace() {
        let pod = |namespace: &str, name: &str, phase: &str, deleted: Value| {
            json!({"metadata": {"namespace": namespace, "name": name, "deletionTimestamp": deleted},
                "status": {"phase": phase}})
        };
        let pods = json!({"items": [
            pod("tare-1", "run-keeper", "Running", Value::Null),
            pod("tare-2", "run-keeper", "Failed", Value::Null),
            pod("tare-3", "run-keeper", "Running", json!("2026-01-01T00:00:00Z")),
            pod("tare-4", "server-1", "Running", Value::Null),
        ]});
        let kept = ["tare-1", "tare-2", "tare-3", "tare-4", "tare-5"]
            .map(|namespace| has_run_keeper(&pods, namespace));
        assert_eq!(kept, [true, false, false, false, false]);
        let made = |at: u64| {
            let expires = (KEEP.as_secs() + at).to_string();
            json!({"metadata": {"annotations": {EXPIRES: expires}}})
        };
        let now = Duration::from_secs(10_000);
        assert!(is_young(&made(9_900), now) && !is_young(&made(9_000), now));
    }
}
