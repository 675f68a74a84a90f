//! Rights on the cluster, asked for before anything is made.

use serde_json::{Deserializer, Value, json};
use tare_lab::LabError;

use crate::installed::InstalledMesh;
use crate::kubectl::Kubectl;

/// Group, resource (with its subresource), verb: what a run does.
const NEEDED: [(&str, &str, &str); 18] = [
    ("", "namespaces", "create"),
    ("", "namespaces", "get"),
    ("", "namespaces", "list"),
    ("", "namespaces", "watch"),
    ("", "namespaces", "delete"),
    ("", "nodes", "list"),
    ("", "pods", "create"),
    ("", "pods", "list"),
    ("", "pods", "watch"),
    ("", "pods", "delete"),
    ("", "pods", "get"),
    ("", "pods/log", "get"),
    ("", "pods/portforward", "create"),
    ("", "services", "get"),
    ("", "secrets", "create"),
    ("", "serviceaccounts", "create"),
    ("rbac.authorization.k8s.io", "roles", "create"),
    ("rbac.authorization.k8s.io", "rolebindings", "create"),
];

/// Asks the API server for each, and for those that a mesh needs; an error names those that are missing.
pub(crate) fn check(kubectl: &Kubectl, mesh: Option<&InstalledMesh>) -> Result<(), LabError> {
    let further = mesh.map(InstalledMesh::rights).unwrap_or_default();
    ask(kubectl, NEEDED.into_iter().chain(words(&further)))
}

/// The same for those that a mesh needs alone.
pub(crate) fn check_of_mesh(kubectl: &Kubectl, mesh: &InstalledMesh) -> Result<(), LabError> {
    ask(kubectl, words(&mesh.rights()))
}

fn words(rights: &[(String, String, String)]) -> impl Iterator<Item = (&str, &str, &str)> {
    let rights = rights.iter();
    rights.map(|(group, resource, verb)| (&**group, &**resource, &**verb))
}

fn ask<'a>(
    kubectl: &Kubectl,
    rights: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Result<(), LabError> {
    let reviews = rights.map(|(group, resource, verb)| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
            {"group": group, "resource": resource, "subresource": subresource, "verb": verb}}})
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
    use super::*;

    #[test]
    fn the_role_in_the_documents_has_all_that_is_needed() {
        let role = include_str!("../../../docs/kubernetes/rbac.yaml");
        let within = |line: &str, key: &str| {
            let rest = line.split(&format!("{key}: [")).nth(1).unwrap_or("");
            let list = rest.split(']').next().unwrap_or("");
            list.split(", ")
                .map(|word| word.trim_matches('"').to_owned())
                .collect::<Vec<_>>()
        };
        for (group, resource, verb) in NEEDED {
            let has = |line: &str| {
                let pairs = [
                    ("apiGroups", group),
                    ("resources", resource),
                    ("verbs", verb),
                ];
                pairs
                    .iter()
                    .all(|(key, word)| within(line, key).iter().any(|one| one == word))
            };
            assert!(role.lines().any(has), "{verb} {resource}");
        }
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
