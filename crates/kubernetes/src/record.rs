//! The cluster in a record: its version, and its nodes without their names.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_lab::LabError;
use tare_lab::remote::PodNode;
use tare_record::record::{ClusterRecord, NodeRecord};

use crate::cluster_options::ClusterOptions;
use crate::kubectl::Kubectl;

/// Digits of a UID that are recorded.
const ID_DIGITS: usize = 16;

/// Digits of a node's UID that make its recorded name.
const NODE_DIGITS: usize = 6;

/// Describes the cluster with these nodes.
pub(crate) fn cluster(
    kubectl: &Kubectl,
    options: &ClusterOptions,
    nodes: Vec<NodeRecord>,
) -> Result<ClusterRecord, LabError> {
    let version = kubectl.json(&["get", "--raw", "/version"], None)?;
    let system = kubectl.json(&["get", "namespace", "kube-system", "--output=json"], None)?;
    let id = text(&system["metadata"]["uid"]).replace('-', "");
    Ok(ClusterRecord {
        sites: Vec::new(),
        id: id.chars().take(ID_DIGITS).collect(),
        kubernetes: text(&version["gitVersion"]),
        image: options.image.clone(),
        tare_sha256: None,
        nodes,
        load_cores: options.load_cores,
        mesh: BTreeMap::new(),
    })
}

/// All nodes, as the API server describes them.
pub(crate) fn list_nodes(kubectl: &Kubectl) -> Result<Value, LabError> {
    kubectl.json(&["get", "nodes", "--output=json"], None)
}

/// The nodes of a list: how each is recorded, by its name, and the records.
pub(crate) fn nodes(list: &Value) -> (BTreeMap<String, PodNode>, Vec<NodeRecord>) {
    let mut known = BTreeMap::new();
    let mut records = Vec::new();
    for node in list["items"].as_array().into_iter().flatten() {
        let uid = text(&node["metadata"]["uid"]);
        let recorded: String = uid.chars().take(NODE_DIGITS).collect();
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
            cores: text(&capacity["cpu"]).parse().unwrap_or_default(),
            memory_bytes: bytes(&text(&capacity["memory"])),
            instance_type: label("node.kubernetes.io/instance-type"),
            zone: label("topology.kubernetes.io/zone"),
            boot_id: text(&info["bootID"]),
        });
        let node_of_pods = PodNode {
            name: recorded,
            boot_id: text(&info["bootID"]),
        };
        known.insert(text(&node["metadata"]["name"]), node_of_pods);
    }
    (known, records)
}

/// Bytes of a quantity as nodes announce memory: `16Gi`, `24683656Ki`; 0 of what is none.
fn bytes(quantity: &str) -> u64 {
    let (number, unit) = match quantity.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => quantity.split_at(end),
        None => (quantity, ""),
    };
    let unit_bytes = match unit {
        "" => 1,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => 0,
    };
    number
        .parse::<u64>()
        .map_or(0, |number| number.saturating_mul(unit_bytes))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_recorded_by_their_uid() {
        let node = |name: &str, uid: &str, zone: Option<&str>| {
            json!({"metadata": {"name": name, "uid": uid, "labels": {"topology.kubernetes.io/zone": zone}},
                "status": {"capacity": {"cpu": "4", "memory": "16Gi"}, "nodeInfo": {"kernelVersion": "6.1", "bootID": name}}})
        };
        let list = json!({"items": [node("worker-b", "3f2a1c00-1", Some("eu-1")), node("worker-a", "90ab12cd-2", None)]});
        let (known, records) = nodes(&list);
        assert_eq!(known["worker-a"].name, "90ab12");
        assert_eq!(known["worker-b"].boot_id, "worker-b");
        assert_eq!((&*records[0].node, records[0].cores), ("3f2a1c", 4));
        assert_eq!(records[0].memory_bytes, 16 << 30);
        assert_eq!(
            (bytes("24683656Ki"), bytes("12"), bytes("x")),
            (24_683_656 << 10, 12, 0)
        );
        assert_eq!(records[0].zone.as_deref(), Some("eu-1"));
        assert_eq!(records[1].zone, None);
    }
}
