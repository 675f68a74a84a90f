//! Checks of a cluster before a run: nothing is made.

use serde_json::Value;
use tare_lab::LabError;
use tare_record::record::{Check, Grade};

use crate::installed::{InstalledMesh, pods_with, version_of_first};
use crate::kubectl::Kubectl;
use crate::manifests::RUN;
use crate::rights;

/// A mesh that a cluster may have.
#[derive(Debug, Clone)]
pub struct KnownMesh {
    /// How arms use it; `None`: they cannot.
    pub installed: Option<InstalledMesh>,
    /// Further forms, which arms cannot use: in words, and the label of their pods.
    pub others: Vec<(String, String)>,
}

/// What a cluster offers: API server, rights, nodes, pods of others, namespaces that runs have left, meshes.
#[must_use]
pub fn examine(
    context: Option<String>,
    namespace: Option<&str>,
    meshes: &[KnownMesh],
) -> Vec<Check> {
    let kubectl = Kubectl::new(context);
    let version = match kubectl.ask(&["get", "--raw", "/version"], None) {
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
    checks.push(match rights::check(&kubectl, namespace, None) {
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
    for mesh in meshes {
        checks.extend(examine_mesh(&kubectl, mesh).unwrap_or_else(|error| {
            let found = String::from("unknown");
            vec![check(
                "mesh",
                found,
                Grade::Warning,
                Some(error.to_string()),
            )]
        }));
    }
    checks
}

/// What a cluster has of a mesh: nothing, if it has none of it.
fn examine_mesh(kubectl: &Kubectl, mesh: &KnownMesh) -> Result<Vec<Check>, LabError> {
    let mut checks = Vec::new();
    if let Some(installed) = &mesh.installed
        && let Some(found) = installed.find(kubectl)?
    {
        let version = &found.software.version;
        let what = format!("{} {version}, for --mesh installed", installed.title);
        checks.push(match rights::check_of_mesh(kubectl, installed) {
            Ok(()) => check("mesh", what, Grade::Ok, None),
            Err(error) => {
                let advice = Some(format!("{error} (tare-installed-mesh)"));
                check("mesh", what, Grade::Warning, advice)
            }
        });
    }
    for (what, label) in &mesh.others {
        checks.extend(other_form(what, &pods_with(kubectl, label)?));
    }
    Ok(checks)
}

/// A form of a mesh that arms cannot use, if it has pods.
fn other_form(what: &str, pods: &Value) -> Option<Check> {
    let version = version_of_first(pods)?;
    let found = format!("{what} {version}: arms do not use it");
    Some(check("mesh", found, Grade::Ok, None))
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

/// Whether a node takes pods that tolerate its taints.
pub(crate) fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let is_ready = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
    let system = &node["status"]["nodeInfo"]["operatingSystem"];
    let is_linux = system.is_null() || system == "linux";
    is_linux && is_ready && node["spec"]["unschedulable"] != true
}

/// Whether a node takes pods that tolerate nothing.
pub(crate) fn takes_pods(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array();
    let refuses = |taint: &Value| taint["effect"] != "PreferNoSchedule";
    is_ready(node) && !taints.into_iter().flatten().any(refuses)
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
    let advice = "a run that goes on shares the nodes; of a dead one its run keeper deletes the namespace within two minutes, and \
                  `tare lab clean --context` if there is none any more";
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
    fn other_forms_of_a_mesh_are_named_with_their_version() {
        let ztunnel = json!({"spec": {"containers": [{"name": "istio-proxy", "image": "docker.io/istio/ztunnel:1.29.2-distroless"}]}});
        let found = other_form("Istio in ambient mode", &json!({"items": [ztunnel]}));
        assert_eq!(
            found.unwrap().found,
            "Istio in ambient mode 1.29.2-distroless: arms do not use it"
        );
        assert_eq!(other_form("Linkerd", &json!({"items": []})), None);
    }

    #[test]
    fn what_a_run_has_left_is_named() {
        assert_eq!(leftovers(&json!({"items": []})).grade, Grade::Ok);
        let list =
            json!({"items": [{"metadata": {"name": "tare-1"}}, {"metadata": {"name": "tare-2"}}]});
        assert_eq!(leftovers(&list).found, "tare-1, tare-2");
    }
}
