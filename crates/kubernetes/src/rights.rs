//! Rights on the cluster, asked for before anything is made.

use serde_json::{Deserializer, Value, json};
use tare_lab::LabError;

use crate::installed::InstalledMesh;
use crate::kubectl::Kubectl;

/// Group, resource (with its subresource), verb: what a run does in its namespace.
const IN_NAMESPACE: [(&str, &str, &str); 9] = [
    ("", "pods", "create"),
    ("", "pods", "get"),
    ("", "pods", "list"),
    ("", "pods", "watch"),
    ("", "pods", "delete"),
    ("", "pods/log", "get"),
    ("", "pods/portforward", "create"),
    ("", "secrets", "create"),
    ("networking.k8s.io", "networkpolicies", "create"),
];
/// What it does in none.
const OF_CLUSTER: [(&str, &str, &str); 1] = [("", "nodes", "list")];
/// What it does besides for a namespace of its own.
const FOR_OWN: [(&str, &str, &str); 9] = [
    ("", "namespaces", "create"),
    ("", "namespaces", "get"),
    ("", "namespaces", "list"),
    ("", "namespaces", "watch"),
    ("", "namespaces", "delete"),
    ("", "services", "get"),
    ("", "serviceaccounts", "create"),
    ("rbac.authorization.k8s.io", "roles", "create"),
    ("rbac.authorization.k8s.io", "rolebindings", "create"),
];

/// Asks the API server for each, and for those that a mesh needs; an error names those that are missing.
pub(crate) fn check(
    kubectl: &Kubectl,
    namespace: Option<&str>,
    mesh: Option<&InstalledMesh>,
) -> Result<(), LabError> {
    let further = mesh.map(InstalledMesh::rights).unwrap_or_default();
    let own = match namespace {
        Some(_) => &[][..],
        None => &FOR_OWN,
    };
    let rights = OF_CLUSTER.iter().chain(&IN_NAMESPACE).chain(own).copied();
    ask(kubectl, namespace, rights.chain(words(&further)))
}

/// The same for those that a mesh needs alone.
pub(crate) fn check_of_mesh(kubectl: &Kubectl, mesh: &InstalledMesh) -> Result<(), LabError> {
    ask(kubectl, None, words(&mesh.rights()))
}

fn words(rights: &[(String, String, String)]) -> impl Iterator<Item = (&str, &str, &str)> {
    let rights = rights.iter();
    rights.map(|(group, resource, verb)| (&**group, &**resource, &**verb))
}

fn ask<'a>(
    kubectl: &Kubectl,
    namespace: Option<&str>,
    rights: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Result<(), LabError> {
    let reviews = rights.map(|(group, resource, verb)| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
            {"group": group, "resource": resource, "subresource": subresource, "verb": verb, "namespace": namespace}}})
    });
    let reviews: Vec<Value> = reviews.collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
    let answers = kubectl.run(&["create", "--filename=-", "--output=json"], Some(&list))?;
    let missing = missing(&answers);
    if missing.is_empty() {
        return Ok(());
    }
    Err(LabError::Cluster(format!(
        "{}: you may not {}: ask for the rights in docs/kubernetes/rbac.yaml",
        kubectl.name(),
        missing.join(", ")
    )))
}

/// What is not allowed, by the answers: objects one after the other, or a list of them.
fn missing(answers: &str) -> Vec<String> {
    let documents = Deserializer::from_str(answers).into_iter::<Value>();
    let reviews = documents.map_while(Result::ok).flat_map(|document| {
        let items = document["items"].as_array().cloned();
        items.unwrap_or_else(|| vec![document])
    });
    let denied = reviews.filter(|review| review["status"]["allowed"] != true);
    let words = denied.map(|review| {
        let of = &review["spec"]["resourceAttributes"];
        let word = |key: &str| of[key].as_str().unwrap_or_default().to_owned();
        let part = word("subresource");
        let part = if part.is_empty() {
            part
        } else {
            format!("/{part}")
        };
        format!("{} {}{part}", word("verb"), word("resource"))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Rules of a role of the page, as group, resource and verb.
    fn rules(file: &str, role: &str) -> BTreeSet<(String, String, String)> {
        let within = |line: &str, key: &str| {
            let rest = line.split(&format!("{key}: [")).nth(1).unwrap_or("");
            let list = rest.split(']').next().unwrap_or("");
            let words = list
                .split(", ")
                .map(|word| word.trim_matches('"').to_owned());
            words.collect::<Vec<_>>()
        };
        let of_role = |part: &&str| part.contains(&format!("metadata: {{name: {role}"));
        let part = file.split("\n---\n").find(of_role).unwrap();
        let lines = part.lines().filter(|line| line.contains("apiGroups: ["));
        let mut all = BTreeSet::new();
        for line in lines {
            for group in within(line, "apiGroups") {
                for resource in within(line, "resources") {
                    for verb in within(line, "verbs") {
                        all.insert((group.clone(), resource.clone(), verb));
                    }
                }
            }
        }
        all
    }

    fn texts(rights: &[&[(&str, &str, &str)]]) -> BTreeSet<(String, String, String)> {
        let all = rights.iter().copied().flatten();
        all.map(|(group, resource, verb)| {
            (group.to_string(), resource.to_string(), verb.to_string())
        })
        .collect()
    }

    #[test]
    fn the_roles_in_the_documents_have_what_is_used_and_nothing_else() {
        // Read by hand, when something is wrong; asked for over WebSocket; the UID of `kube-system`.
        let beside = [
            ("", "events", "get"),
            ("", "events", "list"),
            ("", "pods/portforward", "get"),
        ];
        // What is behind an external part; without it more is admitted.
        let services = [("", "services", "get")];
        let one = include_str!("../../../docs/kubernetes/namespace.yaml");
        assert_eq!(
            rules(one, "tare"),
            texts(&[&IN_NAMESPACE, &beside, &services])
        );
        let nodes = [("", "namespaces", "get")];
        assert_eq!(rules(one, "tare-nodes"), texts(&[&OF_CLUSTER, &nodes]));
        let own = include_str!("../../../docs/kubernetes/rbac.yaml");
        assert_eq!(
            rules(own, "tare"),
            texts(&[&IN_NAMESPACE, &OF_CLUSTER, &FOR_OWN, &beside])
        );
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let review = |verb: &str, subresource: &str, allowed: bool| {
            json!({"spec": {"resourceAttributes": {"resource": "pods", "subresource": subresource, "verb": verb}},
                "status": {"allowed": allowed}})
            .to_string()
        };
        let one = review("create", "", true);
        assert_eq!(missing(&one), Vec::<String>::new());
        let all = [
            one,
            review("get", "log", false),
            review("delete", "", false),
        ]
        .join("\n");
        assert_eq!(missing(&all), ["get pods/log", "delete pods"]);
        let list = format!("{{\"items\": [{}]}}", review("get", "log", false));
        assert_eq!(missing(&list), ["get pods/log"]);
    }
}
