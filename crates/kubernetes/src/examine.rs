//! Checks of a cluster before a run: nothing is made.

use serde_json::Value;
use tare_record::record::{Check, Grade};

use crate::kubectl::Kubectl;
use crate::manifests::RUN;
use crate::rights;

/// What a cluster offers: API server, rights, nodes, pods of others, namespaces that runs have left.
#[must_use]
pub fn examine(context: Option<String>) -> Vec<Check> {
    let kubectl = Kubectl::new(context);
    let version = match kubectl.ask(&["get", "--raw", "/version"]) {
        Ok(text) => {
            let version: Value = serde_json::from_str(&text).unwrap_or_default();
            version["gitVersion"].as_str().unwrap_or("").to_owned()
        }
        Err(said) => {
            let found = String::from("not usable");
            let advice = format!("{}: {said}", kubectl.name());
            return vec![check("cluster", found, Grade::Error, Some(advice))];
        }
    };
    let mut checks = vec![check(
        "cluster",
        format!("{}, Kubernetes {version}", kubectl.name()),
        Grade::Ok,
        None,
    )];
    checks.push(match rights::check(&kubectl, None) {
        Ok(()) => check("rights", String::from("enough"), Grade::Ok, None),
        Err(error) => {
            let advice = Some(error.to_string());
            check("rights", String::from("not enough"), Grade::Error, advice)
        }
    });
    let mut look = |what: &str, option: Option<&str>, of: fn(&Value) -> Check| {
        let words: Vec<&str> = ["get", what, "--output=json"]
            .into_iter()
            .chain(option)
            .collect();
        checks.push(match kubectl.json(&words, None) {
            Ok(list) => of(&list),
            Err(error) => {
                let found = String::from("unknown");
                check(what, found, Grade::Warning, Some(error.to_string()))
            }
        });
    };
    look("nodes", None, nodes);
    look("pods", Some("--all-namespaces"), others);
    look("namespaces", Some(&format!("--selector={RUN}")), leftovers);
    checks
}

fn check(name: &str, found: String, grade: Grade, advice: Option<String>) -> Check {
    Check {
        name: name.to_owned(),
        found,
        value: None,
        unit: None,
        grade,
        advice,
    }
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a node takes pods that tolerate nothing.
pub(crate) fn takes_pods(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let is_ready = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
    let taints = node["spec"]["taints"].as_array();
    let refuses = |taint: &Value| taint["effect"] != "PreferNoSchedule";
    let system = &node["status"]["nodeInfo"]["operatingSystem"];
    let is_linux = system.is_null() || system == "linux";
    is_linux
        && is_ready
        && node["spec"]["unschedulable"] != true
        && !taints.into_iter().flatten().any(refuses)
}

/// Nodes that take pods.
fn nodes(list: &Value) -> Check {
    let all = items(list);
    let ready = all.iter().filter(|node| takes_pods(node)).count();
    let found = format!("{ready} of {} take pods", all.len());
    let advice = match ready {
        0 => Some((
            Grade::Error,
            "no pod can be started: see `kubectl get nodes`",
        )),
        1 => Some((
            Grade::Warning,
            "load and what is measured share the cores of one node: figures are no better than those of one machine",
        )),
        _ => None,
    };
    let (grade, advice) = advice.map_or((Grade::Ok, None), |(grade, words)| (grade, Some(words)));
    check("nodes", found, grade, advice.map(str::to_owned))
}

/// Pods of other people, which use the same nodes.
fn others(list: &Value) -> Check {
    let is_other = |pod: &&Value| {
        let metadata = &pod["metadata"];
        metadata["labels"][RUN].is_null()
            && metadata["namespace"] != "kube-system"
            && pod["status"]["phase"] == "Running"
    };
    let count = items(list).iter().filter(is_other).count();
    let found = format!("{count} run outside of kube-system");
    match count {
        0 => check("pods of others", found, Grade::Ok, None),
        _ => {
            let advice = "they use the cores that are measured: use nodes that nobody else uses";
            let advice = Some(advice.to_owned());
            check("pods of others", found, Grade::Warning, advice)
        }
    }
}

/// Namespaces of runs, going on or dead.
fn leftovers(list: &Value) -> Check {
    let names = items(list).iter();
    let names: Vec<&str> = names
        .filter_map(|one| one["metadata"]["name"].as_str())
        .collect();
    if names.is_empty() {
        return check("runs", String::from("none"), Grade::Ok, None);
    }
    let advice = "a run that goes on shares the nodes; of a dead one its run keeper deletes the namespace within two minutes: otherwise \
                  `kubectl delete namespace NAME`";
    let advice = Some(advice.to_owned());
    check("runs", names.join(", "), Grade::Warning, advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(status: &str, unschedulable: bool) -> Value {
        json!({"spec": {"unschedulable": unschedulable}, "status": {"conditions": [{"type": "Ready", "status": status}]}})
    }

    #[test]
    fn nodes_that_take_no_pods_do_not_count() {
        let list =
            json!({"items": [node("True", false), node("Unknown", false), node("True", true)]});
        let found = nodes(&list);
        assert_eq!(
            (&*found.found, found.grade),
            ("1 of 3 take pods", Grade::Warning)
        );
        let list = json!({"items": [node("True", false), node("True", false)]});
        assert_eq!(nodes(&list).grade, Grade::Ok);
        assert_eq!(nodes(&json!({"items": []})).grade, Grade::Error);
    }

    #[test]
    fn pods_of_other_people_are_counted() {
        let pod = |namespace: &str, labels: Value, phase: &str| json!({"metadata": {"namespace": namespace, "labels": labels}, "status": {"phase": phase}});
        let none = json!({});
        let list = json!({"items": [
            pod("kube-system", none.clone(), "Running"),
            pod("tare-1", json!({RUN: "tare-1"}), "Running"),
            pod("shop", none.clone(), "Succeeded"),
        ]});
        assert_eq!(others(&list).grade, Grade::Ok);
        let list = json!({"items": [pod("shop", none, "Running")]});
        assert_eq!(others(&list).found, "1 run outside of kube-system");
    }

    #[test]
    fn what_a_run_has_left_is_named() {
        assert_eq!(leftovers(&json!({"items": []})).grade, Grade::Ok);
        let list =
            json!({"items": [{"metadata": {"name": "tare-1"}}, {"metadata": {"name": "tare-2"}}]});
        assert_eq!(leftovers(&list).found, "tare-1, tare-2");
    }
}
