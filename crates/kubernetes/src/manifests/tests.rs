//! Manifests: what pods may do and use, where they may be, and how meshes are kept away.

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

const NO_MARKS: &Marks = &Marks {
    labels: BTreeMap::new(),
    annotations: BTreeMap::new(),
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
        limits: Limits::default(),
        marks: NO_MARKS,
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
fn limits_are_those_that_an_arm_declares() {
    let resources = |cpu, memory_bytes| {
        let limits = Limits { cpu, memory_bytes };
        let pod = Pod { limits, ..pod() };
        pod.manifest()["spec"]["containers"][0]["resources"].clone()
    };
    let small = resources(Some(0.05), Some(64 << 20));
    assert_eq!(small["limits"], json!({"cpu": "50m", "memory": "67108864"}));
    assert_eq!(small["requests"], small["limits"]);
    let large = resources(Some(1.5), Some(8 << 30));
    assert_eq!(
        large["limits"],
        json!({"cpu": "1500m", "memory": "8589934592"})
    );
    assert_eq!(
        large["requests"],
        json!({"cpu": "100m", "memory": "134217728"})
    );
    // A limit of memory is none of CPU.
    assert!(resources(None, Some(64 << 20))["limits"]["cpu"].is_null());
}

#[test]
fn what_keeps_meshes_away_is_on_namespaces_and_pods_and_a_runs_own_words_stay() {
    let one = |name: &str| BTreeMap::from([(name.to_owned(), String::from("no"))]);
    let marks = Marks {
        labels: one(RUN).into_iter().chain(one("mesh/inject")).collect(),
        annotations: one("mesh/inject"),
    };
    let pod = Pod {
        marks: &marks,
        ..pod()
    };
    for object in [namespace("tare-1", 7, false, &marks), pod.manifest()] {
        let metadata = &object["metadata"];
        assert_eq!(metadata["labels"]["mesh/inject"], "no");
        assert_eq!(metadata["annotations"]["mesh/inject"], "no");
        assert_eq!(metadata["labels"][RUN], "tare-1");
    }
    let proxy = tare_lab::render::InjectedProxy {
        container: String::from("proxy"),
        labels: BTreeMap::from([(String::from("mesh/inject"), String::from("yes"))]),
        annotations: BTreeMap::new(),
        service_annotations: BTreeMap::new(),
    };
    let in_mesh = PodInMesh {
        proxy: Some(proxy),
        ..PodInMesh::default()
    };
    let injected = Pod {
        in_mesh: Some(&in_mesh),
        ..pod
    };
    assert_eq!(
        injected.manifest()["metadata"]["labels"]["mesh/inject"],
        "yes"
    );
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
        namespace("tare-1", 7, redirects, NO_MARKS)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].clone()
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
