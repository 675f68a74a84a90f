//! Objects of a run, as they are sent to the API server.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tare_lab::remote::{PodInMesh, PodPurpose};
use tare_record::external::EXTERNAL;
use tare_record::plan::Limits;

use crate::nodes::NodeSet;
use crate::opt_out::Marks;

/// Label of everything that a run makes, with the run's name.
pub(crate) const RUN: &str = "tare.dev/run";
/// Label that says what has made it.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label of a run keeper, with this value.
pub(crate) const ROLE: &str = "tare.dev/role";
/// Label of a pod that calls what is external, with the value `external`.
pub(crate) const CALLS: &str = "tare.dev/calls";
/// Label of a pod in the mesh of the cluster, with the name of its Service.
pub(crate) const POD: &str = "tare.dev/pod";
/// Annotation of a run's namespace: when it may be removed by others, seconds since the epoch.
pub(crate) const EXPIRES: &str = "tare.dev/expires";
/// Folder of a pod's configuration.
pub(crate) const CONFIG_FOLDER: &str = "/etc/tare-keeper";
/// File of a pod's configuration.
pub(crate) const CONFIG_FILE: &str = "/etc/tare-keeper/config.json";
/// Service account of the run keeper.
pub(crate) const ACCOUNT: &str = "run-keeper";
/// Container of the image.
pub(crate) const CONTAINER: &str = "tare";
/// Memory of a pod with exclusive cores.
const LOAD_MEMORY: &str = "2Gi";
/// Most memory of any other pod without a limit of its arm: a leak in what is measured must not take the node.
const MEMORY_MAX: &str = "4Gi";
/// Memory and CPU that any other pod requests.
const REQUESTED_BYTES: u64 = 128 << 20;
const REQUESTED_MILLICORES: u64 = 100;
/// User of pods in which nothing but Tare runs: that of the image.
const USER: u32 = 1000;
/// Capabilities of a keeper for the users of what is measured: to start, signal and read it, and to take all of these from it. The Pod
/// Security Standard `baseline` allows them.
const OF_USERS: [&str; 6] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "KILL",
    "SETGID",
    "SETPCAP",
    "SETUID",
];
/// Longest name of a label's value, and of a pod.
const NAME_MAX: usize = 63;

/// Longest name of a pod without what makes it unique.
const STEM_MAX: usize = 50;

/// The namespace of a run, with what keeps meshes away.
pub(crate) fn namespace(run: &str, expires_unix_s: u64, redirects: bool, marks: &Marks) -> Value {
    let mut labels = json!(marks.labels);
    labels[RUN] = json!(run);
    labels[MANAGED_BY] = json!("tare");
    if redirects {
        // The capability NET_ADMIN is refused by the other Pod Security Standards.
        labels["pod-security.kubernetes.io/enforce"] = json!("privileged");
    }
    let mut annotations = json!(marks.annotations);
    annotations[EXPIRES] = json!(expires_unix_s.to_string());
    let metadata = json!({"name": run, "labels": labels, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

/// What the run keeper may do: delete its own namespace, when nobody else does.
pub(crate) fn account(run: &str) -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    let metadata = json!({"name": ACCOUNT, "namespace": run, "labels": {RUN: run}});
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [run], "verbs": ["delete"]}],
        }),
        json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": run}],
        }),
    ]
}

/// Configurations of pods: a key for each.
pub(crate) fn secret(run: &str, name: &str, data: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {RUN: run}},
        "stringData": data,
    })
}

/// Makes an object go with the run keeper's pod.
pub(crate) fn own(object: &mut Value, (name, uid): (&str, &str)) {
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}]);
}

/// What a pod is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodKind {
    /// With an account that may delete the run's namespace, or none.
    RunKeeper { has_account: bool },
    /// It describes its node and the image.
    Probe,
    /// Of the topology.
    Keeper(PodPurpose),
}

/// A pod of the run.
pub(crate) struct Pod<'a> {
    pub run: &'a str,
    pub name: &'a str,
    pub image: &'a str,
    pub arguments: &'a [&'a str],
    /// Secret and key of its configuration.
    pub config: Option<(&'a str, &'a str)>,
    pub kind: PodKind,
    /// Node; `None`: wherever there is room, spread over the nodes.
    pub node: Option<&'a str>,
    /// Nodes that are for it.
    pub nodes: &'a NodeSet,
    /// Exclusive cores.
    pub cores: Option<u32>,
    /// Limits that its arm declares.
    pub limits: Limits,
    /// What keeps meshes away.
    pub marks: &'a Marks,
    /// Its part in the mesh of the cluster.
    pub in_mesh: Option<&'a PodInMesh>,
}

/// The service account of a pod in a mesh, for its identity: no rights, no token for the API server.
pub(crate) fn identity(run: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": run, "labels": {RUN: run}},
        "automountServiceAccountToken": false,
    })
}

/// The Service of a pod in a mesh; none: nobody calls it.
pub(crate) fn service(run: &str, pod: &PodInMesh) -> Option<Value> {
    // Meshes tell protocols by the names of ports.
    let ports: Vec<Value> = pod
        .ports
        .iter()
        .map(|(port, protocol)| json!({"name": format!("{protocol}-{port}"), "port": port}))
        .collect();
    (!ports.is_empty()).then(|| {
        let annotations = pod.proxy.as_ref().map(|proxy| &proxy.service_annotations);
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": pod.name, "namespace": run, "labels": {RUN: run}, "annotations": annotations},
            "spec": {"selector": {RUN: run, POD: pod.name}, "ports": ports},
        })
    })
}

impl Pod<'_> {
    fn resources(&self) -> Value {
        let bytes = |limit: Option<u64>| {
            limit.map_or_else(|| json!(MEMORY_MAX), |limit| json!(limit.to_string()))
        };
        if let Some(cores) = self.cores {
            // The quality of service Guaranteed with whole cores: the CPU manager's static policy makes these exclusive.
            let all = json!({"cpu": cores.to_string(), "memory": LOAD_MEMORY});
            return json!({"requests": all, "limits": all});
        }
        let Limits { cpu, memory_bytes } = self.limits;
        // A request above its limit is refused.
        let requested = REQUESTED_BYTES.min(memory_bytes.unwrap_or(u64::MAX));
        let cpu = cpu.map(|cores| (cores * 1000.0).round().max(1.0) as u64);
        let millicores = cpu.unwrap_or(u64::MAX).min(REQUESTED_MILLICORES);
        let mut limits = json!({"memory": bytes(memory_bytes)});
        // Without one that an arm declares there is none: it throttles what is measured.
        if let Some(cpu) = cpu {
            limits["cpu"] = json!(format!("{cpu}m"));
        }
        let requests = json!({"cpu": format!("{millicores}m"), "memory": requested.to_string()});
        json!({"requests": requests, "limits": limits})
    }

    pub(crate) fn manifest(&self) -> Value {
        let mut container = json!({
            "name": CONTAINER,
            "image": self.image,
            "command": ["/usr/bin/tare"],
            "args": self.arguments,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": self.resources(),
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeMounts": [{"name": "files", "mountPath": "/tmp"}],
        });
        let context = &mut container["securityContext"];
        if let PodKind::Keeper(purpose) = self.kind {
            // It writes `/etc/hosts` and the folders of the conductor's machine, and starts what is measured as others.
            context["runAsUser"] = json!(0);
            let mut added: Vec<&str> = Vec::new();
            if purpose.has_parts {
                added.extend(OF_USERS);
            }
            if purpose.redirects {
                added.push("NET_ADMIN");
            }
            if !added.is_empty() {
                context["capabilities"]["add"] = json!(added);
            }
        } else {
            context["runAsUser"] = json!(USER);
            context["runAsNonRoot"] = json!(true);
        }
        let mut volumes = vec![json!({"name": "files", "emptyDir": {}})];
        if let Some((secret, key)) = self.config {
            // For the keeper alone.
            let items = json!([{"key": key, "path": "config.json"}]);
            let source = json!({"secretName": secret, "items": items, "defaultMode": 0o400});
            volumes.push(json!({"name": "config", "secret": source}));
            if let Some(mounts) = container["volumeMounts"].as_array_mut() {
                mounts
                    .push(json!({"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": true}));
            }
        }
        let has_account = self.kind == PodKind::RunKeeper { has_account: true };
        let mut spec = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": has_account,
            "enableServiceLinks": false,
            // Orphans of what the keeper starts are reaped by the pod's first process.
            "shareProcessNamespace": true,
            "terminationGracePeriodSeconds": 2,
            "containers": [container],
            "volumes": volumes,
        });
        let mut tolerations = self.nodes.tolerations.clone();
        if has_account {
            spec["serviceAccountName"] = json!(ACCOUNT);
        }
        let is_run_keeper = matches!(self.kind, PodKind::RunKeeper { .. });
        if !matches!(self.kind, PodKind::Keeper(_)) {
            // Files of its volumes are for its user.
            spec["securityContext"] = json!({"fsGroup": USER});
        }
        if !is_run_keeper {
            // Who measures must know at once that a node is lost. The run keeper waits: the default is five minutes.
            tolerations.extend(["unreachable", "not-ready"].map(|why| {
                json!({"key": format!("node.kubernetes.io/{why}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0})
            }));
        }
        if !tolerations.is_empty() {
            spec["tolerations"] = json!(tolerations);
        }
        if !self.nodes.labels.is_empty() {
            spec["nodeSelector"] = json!(self.nodes.labels);
        }
        // A field has one value: several requirements of a term must all hold.
        let on = |operator: &str, node: &str| json!({"key": "metadata.name", "operator": operator, "values": [node]});
        let fields: Vec<Value> = match self.node {
            Some(node) => vec![on("In", node)],
            None => self
                .nodes
                .without
                .iter()
                .map(|node| on("NotIn", node))
                .collect(),
        };
        let mut terms = Vec::new();
        if !fields.is_empty() {
            terms.push(json!({"matchFields": fields}));
        } else if self.node.is_none() {
            // One of these must hold: a node without one of the labels does not have all of them.
            let labels = self.nodes.without_labels.iter();
            terms.extend(labels.map(|(name, value)| {
                json!({"matchExpressions": [{"key": name, "operator": "NotIn", "values": [value]}]})
            }));
        }
        if !terms.is_empty() {
            let required = json!({"nodeSelectorTerms": terms});
            spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
        }
        if self.node.is_none() {
            spec["topologySpreadConstraints"] = json!([{
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {RUN: self.run}},
            }]);
        }
        let mut labels = json!(self.marks.labels);
        labels[RUN] = json!(self.run);
        labels[MANAGED_BY] = json!("tare");
        let mut annotations = json!(self.marks.annotations);
        annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = json!("false");
        if is_run_keeper {
            labels[ROLE] = json!(ACCOUNT);
        }
        if matches!(self.kind, PodKind::Keeper(purpose) if purpose.calls_external) {
            labels[CALLS] = json!(EXTERNAL);
        }
        if let Some(in_mesh) = self.in_mesh {
            labels[POD] = json!(in_mesh.name);
            if let Some(proxy) = &in_mesh.proxy {
                for (name, value) in &proxy.labels {
                    labels[name] = json!(value);
                }
                for (name, value) in &proxy.annotations {
                    annotations[name] = json!(value);
                }
            }
            if !in_mesh.account.is_empty() {
                spec["serviceAccountName"] = json!(in_mesh.account);
            }
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": labels, "annotations": annotations},
            "spec": spec,
        })
    }
}

/// Several objects as one.
pub(crate) fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// A name that the API server accepts, unique by its number.
pub(crate) fn pod_name(name: &str, number: u64) -> String {
    let allowed = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    };
    let plain: String = name.chars().map(allowed).take(STEM_MAX).collect();
    let name = format!("{}-{number}", plain.trim_matches('-'));
    debug_assert!(name.len() <= NAME_MAX);
    name.trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
