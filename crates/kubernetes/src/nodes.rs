//! Nodes for load, and nodes for what is measured.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cluster_options::ClusterOptions;
use crate::examine::{is_ready, takes_pods};

/// Beginning of the keys of taints by which a cluster says that a node is not well.
const OF_STATE: &str = "node.kubernetes.io/";

/// Nodes for some of the pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeSet {
    /// Labels that a node must have.
    pub labels: BTreeMap<String, String>,
    /// Tolerations of the taints of these nodes.
    pub tolerations: Vec<Value>,
    /// Nodes that are not for them.
    pub without: Vec<String>,
    /// Labels of further nodes that are not for them: those with all of these.
    pub without_labels: BTreeMap<String, String>,
}

/// Nodes for load and for what is measured: apart, if there are enough; otherwise any.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeSets {
    pub of_agents: NodeSet,
    pub of_parts: NodeSet,
}

impl NodeSets {
    /// The nodes that were named; otherwise a third of those that take pods is for load, at least one.
    ///
    /// # Errors
    /// What was named and is not there.
    pub(crate) fn of(list: &Value, options: &ClusterOptions) -> Result<NodeSets, String> {
        let named = |option: &str, labels: &Option<BTreeMap<String, String>>| {
            let found = labels.as_ref().map(|labels| NamedNodes::find(list, labels));
            match found {
                Some(found) if found.names.is_empty() => Err(format!(
                    "{option}: no node with these labels is ready: see `kubectl get nodes --show-labels`"
                )),
                found => Ok(found),
            }
        };
        let load = named("--load-nodes", &options.load_nodes)?;
        let parts = named("--part-nodes", &options.part_nodes)?;
        let usable: BTreeSet<String> = nodes(list)
            .filter(|node| takes_pods(node))
            .filter_map(|node| node["metadata"]["name"].as_str())
            .map(str::to_owned)
            .collect();
        let rest = |of: NamedNodes, option: &str| match usable.is_subset(&of.names) {
            true => Err(format!(
                "no other node takes pods: name nodes for the rest, with {option}"
            )),
            false => Ok((
                of.set(),
                NodeSet {
                    without_labels: of.labels,
                    ..NodeSet::default()
                },
            )),
        };
        let (of_agents, of_parts) = match (load, parts) {
            (Some(load), Some(parts)) => match load.names.intersection(&parts.names).next() {
                Some(both) => {
                    return Err(format!(
                        "--load-nodes and --part-nodes both name {both}: load and what is measured would share its cores"
                    ));
                }
                None => (load.set(), parts.set()),
            },
            (Some(load), None) => rest(load, "--part-nodes")?,
            (None, Some(parts)) => {
                let (of_parts, of_agents) = rest(parts, "--load-nodes")?;
                (of_agents, of_parts)
            }
            (None, None) => in_thirds(usable.into_iter().collect()),
        };
        Ok(NodeSets {
            of_agents,
            of_parts,
        })
    }
}

/// The first third for load, at least one; any for both, if there are not two.
fn in_thirds(mut for_load: Vec<String>) -> (NodeSet, NodeSet) {
    if for_load.len() < 2 {
        return <(NodeSet, NodeSet)>::default();
    }
    let for_parts = for_load.split_off((for_load.len() / 3).max(1));
    let without = |without| NodeSet {
        without,
        ..NodeSet::default()
    };
    (without(for_parts), without(for_load))
}

/// Nodes with certain labels.
struct NamedNodes {
    names: BTreeSet<String>,
    labels: BTreeMap<String, String>,
    tolerations: Vec<Value>,
}

impl NamedNodes {
    fn find(list: &Value, labels: &BTreeMap<String, String>) -> NamedNodes {
        let has_all = |node: &&Value| {
            let known = &node["metadata"]["labels"];
            labels.iter().all(|(name, value)| known[name] == **value)
        };
        let mut names = BTreeSet::new();
        let mut tolerations = Vec::new();
        for node in nodes(list).filter(has_all).filter(|node| is_ready(node)) {
            names.extend(node["metadata"]["name"].as_str().map(str::to_owned));
            for taint in node["spec"]["taints"].as_array().into_iter().flatten() {
                let toleration =
                    json!({"key": taint["key"], "operator": "Exists", "effect": taint["effect"]});
                let key = taint["key"].as_str().unwrap_or(OF_STATE);
                if !key.starts_with(OF_STATE) && !tolerations.contains(&toleration) {
                    tolerations.push(toleration);
                }
            }
        }
        NamedNodes {
            names,
            labels: labels.clone(),
            tolerations,
        }
    }

    fn set(&self) -> NodeSet {
        NodeSet {
            labels: self.labels.clone(),
            tolerations: self.tolerations.clone(),
            ..NodeSet::default()
        }
    }
}

fn nodes(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, pool: &str, taints: Value) -> Value {
        json!({"metadata": {"name": name, "labels": {"pool": pool}}, "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    fn options(load: Option<&str>, parts: Option<&str>) -> ClusterOptions {
        let labels =
            |pool: Option<&str>| pool.map(|pool| BTreeMap::from([("pool".into(), pool.into())]));
        ClusterOptions {
            context: None,
            namespace: None,
            is_one_of_several: false,
            image: String::new(),
            tare: "tare".into(),
            redirects: false,
            opt_outs: Vec::new(),
            mesh: None,
            load_cores: None,
            load_nodes: labels(load),
            part_nodes: labels(parts),
        }
    }

    #[test]
    fn load_comes_from_nodes_of_its_own() {
        let any = options(None, None);
        let control = node("a", "", json!([{"effect": "NoSchedule"}]));
        let two = json!({"items": [node("c", "", json!([])), control, node("b", "", Value::Null)]});
        let sets = NodeSets::of(&two, &any).unwrap();
        assert_eq!(
            (&*sets.of_agents.without, &*sets.of_parts.without),
            (&[String::from("c")][..], &[String::from("b")][..])
        );
        let names: Vec<Value> = (0..7)
            .map(|n| node(&n.to_string(), "", Value::Null))
            .collect();
        let sets = NodeSets::of(&json!({"items": names}), &any).unwrap();
        let counts = (sets.of_agents.without.len(), sets.of_parts.without.len());
        assert_eq!(counts, (5, 2));
        let one = json!({"items": [node("b", "", Value::Null)]});
        assert_eq!(NodeSets::of(&one, &any), Ok(NodeSets::default()));
    }

    #[test]
    fn named_nodes_are_used_whatever_their_taints() {
        let taints = json!([
            {"key": "dedicated", "value": "load", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"},
        ]);
        let list = json!({"items": [node("a", "load", taints), node("b", "bench", Value::Null)]});
        let sets = NodeSets::of(&list, &options(Some("load"), Some("bench"))).unwrap();
        assert_eq!(sets.of_agents.labels["pool"], "load");
        assert_eq!(
            sets.of_agents.tolerations,
            [json!({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"})]
        );
        assert_eq!(sets.of_parts.labels["pool"], "bench");
        // The others are for the rest.
        let sets = NodeSets::of(&list, &options(Some("load"), None)).unwrap();
        assert_eq!(sets.of_parts.without_labels["pool"], "load");
        let said = NodeSets::of(&list, &options(None, Some("bench"))).unwrap_err();
        assert!(said.contains("--load-nodes"), "{said}");
        let said = NodeSets::of(&list, &options(Some("none"), None)).unwrap_err();
        assert!(said.starts_with("--load-nodes: no node"), "{said}");
        let said = NodeSets::of(&list, &options(Some("load"), Some("load"))).unwrap_err();
        assert!(said.contains("both name a"), "{said}");
    }
}
