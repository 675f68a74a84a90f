//! The cluster in a record: its version, and its nodes without their names.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_lab::LabError;
use tare_record::record::{ClusterRecord, NodeRecord};

use crate::kubectl::Kubectl;

/// Digits of a UID that are recorded.
const ID_DIGITS: usize = 16;

/// Describes the cluster; `names` becomes the recorded name of each node.
pub(crate) fn cluster(
    kubectl: &Kubectl,
    image: &str,
    names: &mut BTreeMap<String, String>,
) -> Result<ClusterRecord, LabError> {
    let version = kubectl.json(&["get", "--raw", "/version"], None)?;
    let system = kubectl.json(&["get", "namespace", "kube-system", "--output=json"], None)?;
    let id = text(&system["metadata"]["uid"]).replace('-', "");
    let found = kubectl.json(&["get", "nodes", "--output=json"], None)?;
    let (known, nodes) = nodes(&found);
    *names = known;
    Ok(ClusterRecord {
        id: id.chars().take(ID_DIGITS).collect(),
        kubernetes: text(&version["gitVersion"]),
        image: image.to_owned(),
        nodes,
    })
}

/// The nodes of a list, in order of their names; recorded names by names.
fn nodes(list: &Value) -> (BTreeMap<String, String>, Vec<NodeRecord>) {
    let all = list["items"].as_array().into_iter().flatten();
    let sorted: BTreeMap<String, &Value> = all
        .map(|node| (text(&node["metadata"]["name"]), node))
        .collect();
    let mut names = BTreeMap::new();
    let mut records = Vec::new();
    for ((name, node), number) in sorted.into_iter().zip(1..) {
        let recorded = format!("n{number}");
        let info = &node["status"]["nodeInfo"];
        let capacity = &node["status"]["capacity"];
        let label = |key: &str| node["metadata"]["labels"][key].as_str().map(str::to_owned);
        records.push(NodeRecord {
            node: recorded.clone(),
            kernel: text(&info["kernelVersion"]),
            os: text(&info["osImage"]),
            architecture: text(&info["architecture"]),
            kubelet: text(&info["kubeletVersion"]),
            runtime: text(&info["containerRuntimeVersion"]),
            cores: text(&capacity["cpu"]),
            memory: text(&capacity["memory"]),
            instance_type: label("node.kubernetes.io/instance-type"),
            zone: label("topology.kubernetes.io/zone"),
            boot_id: text(&info["bootID"]),
        });
        names.insert(name, recorded);
    }
    (names, records)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_numbered_in_order_of_their_names() {
        let node = |name: &str, zone: Option<&str>| {
            json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
                "status": {"capacity": {"cpu": "4", "memory": "16Gi"}, "nodeInfo": {"kernelVersion": "6.1", "bootID": name}}})
        };
        let list = json!({"items": [node("worker-b", Some("eu-1")), node("worker-a", None)]});
        let (names, records) = nodes(&list);
        assert_eq!(names["worker-a"], "n1");
        assert_eq!(names["worker-b"], "n2");
        assert_eq!(
            (records[0].boot_id.as_str(), &records[0].zone),
            ("worker-a", &None)
        );
        assert_eq!(records[1].zone.as_deref(), Some("eu-1"));
        assert_eq!((&*records[1].node, &*records[1].cores), ("n2", "4"));
    }
}
