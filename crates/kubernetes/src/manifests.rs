//! Objects of a run, as they are sent to the API server.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tare_lab::remote::{PodInMesh, PodPurpose};
use tare_record::external::EXTERNAL;

use crate::nodes::NodeSet;

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
/// Label that keeps Istio from injecting pods of a namespace.
const INJECTION: &str = "istio-injection";
/// Label that keeps Istio from injecting a pod.
const INJECT: &str = "sidecar.istio.io/inject";
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
/// Most memory of any other pod: a leak in what is measured must not take the node.
const MEMORY_MAX: &str = "4Gi";
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

/// The namespace of a run.
pub(crate) fn namespace(
    run: &str,
    expires_unix_s: u64,
    redirects: bool,
    is_injected: bool,
) -> Value {
    let mut namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": run,
            "labels": {RUN: run, MANAGED_BY: "tare"},
            "annotations": {EXPIRES: expires_unix_s.to_string(), "linkerd.io/inject": "disabled"},
        },
    });
    if !is_injected {
        namespace["metadata"]["labels"][INJECTION] = json!("disabled");
    }
    if redirects {
        // The capability NET_ADMIN is refused by the other Pod Security Standards.
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = json!("privileged");
    }
    namespace
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
        let Some(cores) = self.cores else {
            // A limit of CPU would throttle what is measured.
            return json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": MEMORY_MAX}});
        };
        // The quality of service Guaranteed with whole cores: the CPU manager's static policy makes these exclusive.
        let all = json!({"cpu": cores.to_string(), "memory": LOAD_MEMORY});
        json!({"requests": all, "limits": all})
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
        let mut labels = json!({RUN: self.run, MANAGED_BY: "tare", INJECT: "false"});
        let mut annotations = json!({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"});
        if is_run_keeper {
            labels[ROLE] = json!(ACCOUNT);
        }
        if matches!(self.kind, PodKind::Keeper(purpose) if purpose.calls_external) {
            labels[CALLS] = json!(EXTERNAL);
        }
        if self.in_mesh.is_none_or(|pod| pod.proxy.is_none()) {
            // Older versions of Istio read the annotation alone.
            annotations[INJECT] = json!("false");
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
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_api_server_accepts() {
        assert_eq!(
            pod_name("b2-both_sidecars/Server", 7),
            "b2-both-sidecars-server-7"
        );
        assert_eq!(pod_name("--", 7), "7");
        assert!(pod_name(&"x".repeat(200), u64::MAX).len() <= 71);
        assert_eq!(pod_name(&"x".repeat(200), 12).len(), 53);
    }

    const ANY: &NodeSet = &NodeSet {
        labels: BTreeMap::new(),
        tolerations: Vec::new(),
        without: Vec::new(),
        without_labels: BTreeMap::new(),
    };

    const LOAD: PodPurpose = PodPurpose {
        redirects: false,
        is_of_agents: true,
        has_parts: false,
        calls_external: false,
    };
    const RUN_KEEPER: PodKind = PodKind::RunKeeper { has_account: true };

    fn pod<'a>() -> Pod<'a> {
        Pod {
            run: "tare-1",
            name: "server",
            image: "tare:1",
            arguments: &["keeper"],
            config: Some(("keepers", "a")),
            kind: PodKind::Keeper(LOAD),
            node: None,
            nodes: ANY,
            cores: None,
            in_mesh: None,
        }
    }

    #[test]
    fn a_pod_returns_to_its_node_and_avoids_those_of_others() {
        let fields = |pod: &Value| {
            let required = "requiredDuringSchedulingIgnoredDuringExecution";
            pod["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"][0]["matchFields"]
                .clone()
        };
        let nodes = NodeSet {
            without: vec![String::from("a"), String::from("b")],
            ..NodeSet::default()
        };
        let of = |node| {
            Pod {
                node,
                nodes: &nodes,
                ..pod()
            }
            .manifest()
        };
        let new = of(None);
        assert_eq!(
            fields(&new)[1],
            json!({"key": "metadata.name", "operator": "NotIn", "values": ["b"]})
        );
        assert!(new["spec"]["topologySpreadConstraints"].is_array());
        let known = of(Some("c"));
        assert_eq!(
            fields(&known),
            json!([{"key": "metadata.name", "operator": "In", "values": ["c"]}])
        );
        assert!(known["spec"]["topologySpreadConstraints"].is_null());
        assert!(fields(&pod().manifest()).is_null());
    }

    #[test]
    fn nodes_that_were_named_are_selected_with_their_taints() {
        let nodes = NodeSet {
            labels: BTreeMap::from([(String::from("pool"), String::from("load"))]),
            tolerations: vec![json!({"key": "dedicated", "operator": "Exists"})],
            ..NodeSet::default()
        };
        let spec = Pod {
            nodes: &nodes,
            ..pod()
        }
        .manifest()["spec"]
            .clone();
        assert_eq!(spec["nodeSelector"], json!({"pool": "load"}));
        assert_eq!(spec["tolerations"][0]["key"], "dedicated");
        assert_eq!(spec["tolerations"][1]["tolerationSeconds"], 0);
        let others = NodeSet {
            without_labels: nodes.labels.clone(),
            ..NodeSet::default()
        };
        let other = Pod {
            nodes: &others,
            ..pod()
        };
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let affinity = other.manifest()["spec"]["affinity"]["nodeAffinity"][required].clone();
        assert_eq!(
            affinity["nodeSelectorTerms"],
            json!([{"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["load"]}]}])
        );
    }

    #[test]
    fn exclusive_cores_are_requests_and_limits() {
        let resources = |cores| {
            let pod = Pod { cores, ..pod() };
            pod.manifest()["spec"]["containers"][0]["resources"].clone()
        };
        // A limit of CPU would throttle what is measured.
        assert_eq!(resources(None)["limits"], json!({"memory": "4Gi"}));
        let own = resources(Some(2));
        assert_eq!(own["requests"]["cpu"], "2");
        assert_eq!(own["requests"], own["limits"]);
    }

    #[test]
    fn only_redirected_traffic_needs_capabilities_and_the_label_of_the_namespace() {
        let capabilities = |pod: &Pod<'_>| {
            let container = &pod.manifest()["spec"]["containers"][0];
            container["securityContext"]["capabilities"].clone()
        };
        assert_eq!(capabilities(&pod()), json!({"drop": ["ALL"]}));
        let of_parts = |redirects| {
            let kind = PodKind::Keeper(PodPurpose {
                redirects,
                is_of_agents: false,
                has_parts: true,
                ..LOAD
            });
            capabilities(&Pod { kind, ..pod() })["add"].clone()
        };
        assert_eq!(of_parts(false), json!(OF_USERS));
        assert_eq!(of_parts(true)[6], "NET_ADMIN");
        let label = |redirects| {
            namespace("tare-1", 7, redirects, false)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].clone()
        };
        assert_eq!(
            (label(false), label(true)),
            (Value::Null, json!("privileged"))
        );
    }

    #[test]
    fn where_nothing_is_measured_nobody_is_root_and_no_other_user_reads_a_configuration() {
        let of = |kind| Pod { kind, ..pod() }.manifest()["spec"].clone();
        for kind in [RUN_KEEPER, PodKind::Probe] {
            let spec = of(kind);
            let context = &spec["containers"][0]["securityContext"];
            assert_eq!(
                (&context["runAsNonRoot"], &context["runAsUser"]),
                (&json!(true), &json!(1000))
            );
            assert_eq!(spec["securityContext"]["fsGroup"], 1000);
        }
        let spec = of(PodKind::Keeper(LOAD));
        assert_eq!(spec["containers"][0]["securityContext"]["runAsUser"], 0);
        assert_eq!(spec["volumes"][1]["secret"]["defaultMode"], 0o400);
    }

    #[test]
    fn who_measures_does_not_wait_for_a_lost_node_but_the_run_keeper_does() {
        let tolerations = |pod: Pod<'_>| pod.manifest()["spec"]["tolerations"].clone();
        assert_eq!(tolerations(pod())[0]["tolerationSeconds"], 0);
        assert!(
            tolerations(Pod {
                kind: RUN_KEEPER,
                ..pod()
            })
            .is_null()
        );
    }

    #[test]
    fn a_pod_has_no_right_and_no_token_but_the_run_keeper() {
        let with = |kind| Pod { kind, ..pod() }.manifest();
        let plain = with(PodKind::Keeper(LOAD));
        assert_eq!(plain["spec"]["automountServiceAccountToken"], false);
        assert_eq!(plain["spec"]["serviceAccountName"], Value::Null);
        let container = &plain["spec"]["containers"][0];
        assert_eq!(
            container["securityContext"]["capabilities"],
            json!({"drop": ["ALL"]})
        );
        assert_eq!(
            plain["spec"]["volumes"][1]["secret"]["items"][0]["key"],
            "a"
        );
        assert_eq!(with(RUN_KEEPER)["spec"]["serviceAccountName"], ACCOUNT);
        let shared = with(PodKind::RunKeeper { has_account: false });
        assert_eq!(shared["spec"]["automountServiceAccountToken"], false);
        let role = &account("tare-1")[1];
        assert_eq!(role["rules"][0]["resourceNames"], json!(["tare-1"]));
    }
}
