//! Nodes for load, and nodes for what is measured.

use serde_json::Value;

use crate::examine::takes_pods;

/// Nodes for load and for what is measured: apart, if there are enough; otherwise any.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeSets {
    pub of_agents: Vec<String>,
    pub of_parts: Vec<String>,
}

impl NodeSets {
    /// A third of the nodes that take pods is for load, at least one.
    pub(crate) fn of(list: &Value) -> NodeSets {
        let all = list["items"].as_array().into_iter().flatten();
        let usable = all.filter(|node| takes_pods(node));
        let names = usable.filter_map(|node| node["metadata"]["name"].as_str());
        let mut of_agents: Vec<String> = names.map(str::to_owned).collect();
        of_agents.sort();
        if of_agents.len() < 2 {
            return NodeSets::default();
        }
        let of_parts = of_agents.split_off((of_agents.len() / 3).max(1));
        NodeSets {
            of_agents,
            of_parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn load_comes_from_nodes_of_its_own() {
        let node = |name: &str, taints: Value| {
            json!({"metadata": {"name": name}, "spec": {"taints": taints},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        };
        let control = node("a", json!([{"effect": "NoSchedule"}]));
        let two = json!({"items": [node("c", json!([])), control, node("b", Value::Null)]});
        let sets = NodeSets::of(&two);
        assert_eq!(
            (&*sets.of_agents, &*sets.of_parts),
            (&[String::from("b")][..], &[String::from("c")][..])
        );
        let names: Vec<Value> = (0..7).map(|n| node(&n.to_string(), Value::Null)).collect();
        let sets = NodeSets::of(&json!({"items": names}));
        assert_eq!((sets.of_agents.len(), sets.of_parts.len()), (2, 5));
        let one = json!({"items": [node("b", Value::Null)]});
        assert_eq!(NodeSets::of(&one), NodeSets::default());
    }
}
