//! Meshes: their sidecars, gateways and control planes in an arm, and what is said about one that cannot be.

use std::collections::BTreeMap;

use tare_experiment::resolve::{ControlPlane, ResolveOptions};
use tare_record::plan::Form;
use tare_record::topology::{InstanceRole, Interception, Security};

use crate::bench::{changed, plan, plan_with, resolved};

const GOOD: &str = "\
question: What does a mesh cost?
workload: echo
arms:
  - name: direct
  - name: meshed
    mesh: istio
load: {rate: 400, duration: 3s}
";

#[test]
fn a_mesh_gives_every_part_a_sidecar_with_mtls_and_redirected_traffic() {
    let topology = &resolved(GOOD, Form::Full).arms[1].topology;
    let mesh = topology.mesh.as_ref().unwrap();
    assert_eq!(mesh.name, "istio");
    assert_eq!(mesh.security, Security::Mtls);
    assert_eq!(mesh.control_plane, ["istiod"]);
    assert_eq!(mesh.support, ["kubernetes-api"]);
    assert_eq!(mesh.proxies, ["client-sidecar", "server-sidecar"]);
    let [route] = topology.routes.as_slice() else {
        panic!("{:?}", topology.routes);
    };
    let securities: Vec<Security> = route.segments.iter().map(|one| one.security).collect();
    let (plain, mtls) = (Security::Plaintext, Security::Mtls);
    assert_eq!(securities, [plain, mtls, plain]);
    assert_eq!(route.segments[0].interception, Interception::Redirect);
    assert_eq!(route.segments[1].interception, Interception::Redirect);
}

#[test]
fn the_control_plane_starts_before_its_proxies_in_pods_of_its_own() {
    let text = changed(GOOD, "mesh: istio", "mesh: {use: istio, replicas: 2}");
    let topology = &resolved(&text, Form::Full).arms[1].topology;
    let names: Vec<&str> = topology
        .instances
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let expected = ["kubernetes-api", "istiod-1", "istiod-2"];
    assert_eq!(names[..3], expected);
    for instance in &topology.instances[..3] {
        assert_eq!(instance.pod, instance.name);
        assert!(instance.role.is_mesh(), "{:?}", instance.role);
    }
    assert_eq!(topology.instances[1].role, InstanceRole::ControlPlane);
}

#[test]
fn settings_of_a_mesh_reach_the_target_that_has_them() {
    let with = "mesh: {use: istio, settings: {workers: 2, access_log: true}}";
    let text = changed(GOOD, "mesh: istio", with);
    let topology = &resolved(&text, Form::Full).arms[1].topology;
    for instance in &topology.instances {
        let has = |name: &str| instance.settings.contains_key(name);
        let is_proxy = instance.role == InstanceRole::Sidecar;
        let is_control_plane = instance.role == InstanceRole::ControlPlane;
        assert_eq!(has("workers"), is_proxy, "{}", instance.name);
        assert_eq!(has("access_log"), is_control_plane, "{}", instance.name);
    }
}

#[test]
fn a_mesh_without_security_is_plaintext_between_its_proxies() {
    let text = changed(
        GOOD,
        "mesh: istio",
        "mesh: {use: istio, security: plaintext}",
    );
    let topology = &resolved(&text, Form::Full).arms[1].topology;
    assert_eq!(
        topology.mesh.as_ref().unwrap().security,
        Security::Plaintext
    );
    let mut segments = topology.routes.iter().flat_map(|route| &route.segments);
    assert!(segments.all(|segment| segment.security == Security::Plaintext));
}

#[test]
fn a_gateway_of_a_mesh_is_one_of_its_proxies() {
    let with = "mesh: istio\n    via: {\"client->server\": [{hop: gateway, proxy: istio, security: mtls}]}";
    let topology = &resolved(&changed(GOOD, "mesh: istio", with), Form::Full).arms[1].topology;
    let proxies = &topology.mesh.as_ref().unwrap().proxies;
    assert_eq!(proxies, &["client-sidecar", "server-sidecar", "gateway"]);
    let mut instances = topology.instances.iter();
    let gateway = instances.find(|one| one.name == "gateway").unwrap();
    assert_eq!(
        (gateway.target.as_str(), gateway.role),
        ("istio-proxy", InstanceRole::Gateway)
    );
}

#[test]
fn an_arm_is_described_by_the_name_of_its_mesh() {
    let text = changed(GOOD, "mesh: istio", "mesh: {use: istio, replicas: 2}");
    let about = &resolved(&text, Form::Full).arms[1].about;
    assert_eq!(
        about,
        "an Istio sidecar at client and server, mTLS between them, traffic redirected; 2 instances of the control plane"
    );
}

#[test]
fn a_gateway_of_a_mesh_is_described_by_the_name_of_its_mesh() {
    let gateway = "via: {\"client->server\": [{hop: gateway, proxy: istio, security: mtls}]}";
    let text = changed(GOOD, "mesh: istio", &format!("mesh: istio\n    {gateway}"));
    let about = &resolved(&text, Form::Full).arms[1].about;
    let said = "an Istio gateway on *->server, reached by mTLS";
    assert!(about.contains(said), "{about}");
}

#[test]
fn results_say_what_a_mesh_here_lacks_against_a_release() {
    let notes = resolved(GOOD, Form::Full).notes;
    assert!(
        notes.iter().any(|note| note.contains("istio.stats")),
        "{notes:?}"
    );
}

#[test]
fn what_a_mesh_cannot_be_is_refused_with_its_place() {
    for (with, said) in [
        (
            "mesh: istoi",
            "unknown mesh \"istoi\": did you mean \"istio\"?",
        ),
        (
            "mesh: istio\n    sidecars: {on: all, proxy: envoy}",
            "mesh istio has sidecars of its own: leave `sidecars` out",
        ),
        (
            "mesh: {use: istio, settings: {acces_log: true}}",
            "mesh istio has no setting \"acces_log\": did you mean \"access_log\"?",
        ),
        (
            "via: {\"client->server\": [{hop: gateway, proxy: istio}]}",
            "add `mesh: istio` to the arm",
        ),
        ("mesh: {use: istio, replicas: 0}", "0 is below 1"),
        ("mesh: {use: istio, settings: {workers: many}}", "workers"),
    ] {
        let text = changed(GOOD, "mesh: istio", with);
        let message = plan(&text, Form::Full).unwrap_err().to_string();
        assert!(message.contains(said), "{with}: {message}");
        assert!(message.contains("case.yaml:"), "{message}");
    }
}

#[test]
fn only_a_target_with_a_command_for_it_can_be_changed() {
    let with = |of: &str| format!("{GOOD}faults: [{{at: 1s, change: {of}}}]\n");
    let with_mesh = with("istiod").replace("  - name: direct\n", "");
    resolved(&with_mesh, Form::Full);
    let text = with("server").replace("  - name: direct\n", "");
    let message = plan(&text, Form::Full).unwrap_err().to_string();
    let said = "arm meshed: server cannot be changed: target origin has no command `change`";
    assert!(message.contains(said), "{message}");
}

fn with_installed(text: &str) -> tare_record::plan::Plan {
    let choices = ResolveOptions {
        control_plane: ControlPlane::Installed,
        ..ResolveOptions::new(Form::Full, vec![0, 1])
    };
    plan_with(text, &choices).unwrap()
}

#[test]
fn sidecars_of_a_clusters_mesh_are_instances_that_nothing_starts() {
    let plan = with_installed(GOOD);
    let topology = &plan.arms[1].topology;
    let mesh = topology.mesh.as_ref().unwrap();
    assert!(mesh.installed && mesh.control_plane.is_empty() && mesh.support.is_empty());
    let names = topology.instances.iter().map(|one| one.name.as_str());
    let injected: Vec<&str> = names.filter(|name| topology.is_injected(name)).collect();
    assert_eq!(injected, ["server-sidecar", "client-sidecar"]);
    assert_eq!(topology.instances.len(), 4, "{:?}", topology.instances);
    assert_eq!(mesh.identities["client-sidecar"], "/sa/tare-client");
    let own = &resolved(GOOD, Form::Full).arms[1].topology;
    assert_eq!(topology.routes, own.routes);
    assert!(!own.is_injected("client-sidecar"));
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn a_proxy_that_the_cluster_injects_need_not_be_on_this_machine() {
    let [own, injected] = [ControlPlane::Own, ControlPlane::Installed].map(|control_plane| {
        let absent = BTreeMap::from([(String::from("istio-proxy"), String::from("nowhere"))]);
        let choices = ResolveOptions {
            control_plane,
            absent,
            ..ResolveOptions::new(Form::Full, vec![0, 1])
        };
        plan_with(GOOD, &choices).unwrap().arms[1].requires.clone()
    });
    assert!(own.unwrap().contains("the software of istio-proxy"));
    assert_eq!(injected, None);
}

#[test]
fn what_a_clusters_control_plane_cannot_be_told_needs_one_of_the_run() {
    let via = |hops: &str| format!("mesh: istio\n    via: {{\"client->server\": [{hops}]}}");
    let gateway = "{hop: gateway, proxy: istio, security: mtls}";
    let one = via(gateway);
    let two = via(&format!("{gateway}, {{hop: sni, proxy: nginx}}"));
    let two = format!("{two}\n    edge_security: tls");
    for (with, needs) in [
        ("mesh: istio", None),
        (
            "mesh: {use: istio, security: plaintext, settings: {workers: 2}}",
            None,
        ),
        (
            "mesh: {use: istio, settings: {access_log: true}}",
            Some("settings: access_log"),
        ),
        ("mesh: {use: istio, replicas: 2}", Some("replicas")),
        ("mesh: linkerd", None),
        (
            "mesh: {use: linkerd, security: plaintext}",
            Some("without mTLS"),
        ),
        (
            "mesh: {use: linkerd, settings: {http2_between: false}}",
            Some("settings: http2_between"),
        ),
        (&one, None),
        (&two, Some("a hop behind a gateway")),
    ] {
        let requires = with_installed(&changed(GOOD, "mesh: istio", with)).arms[1]
            .requires
            .clone();
        match needs {
            None => assert_eq!(requires, None, "{with}"),
            Some(needs) => assert!(
                requires.clone().unwrap().contains(needs),
                "{with}: {requires:?}"
            ),
        }
    }
}

#[test]
fn results_with_a_mesh_that_no_test_has_on_a_cluster_say_so() {
    let linkerd = changed(GOOD, "mesh: istio", "mesh: linkerd");
    let notes = with_installed(&linkerd).notes;
    assert!(notes[0].contains("No test of Tare"), "{notes:?}");
    let own = resolved(&linkerd, Form::Full).notes;
    assert!(own.iter().all(|note| !notes.contains(note)), "{own:?}");
}

#[test]
fn levels_and_faults_that_a_clusters_mesh_cannot_have_are_said_beforehand() {
    for (more, needs) in [
        (
            "factors: {targets.istiod.debounce_ms: [10, 100]}\n",
            "settings of istiod",
        ),
        (
            "targets: {istio-proxy: {version: 1.40.0}}\n",
            "versions of istio-proxy",
        ),
        (
            "faults: [{at: 1s, kill: server-sidecar}]\n",
            "faults of server-sidecar",
        ),
    ] {
        let plaintext = "  - name: plaintext\n    mesh: {use: istio, security: plaintext}\n";
        let text = format!("{GOOD}{more}").replace("  - name: direct\n", plaintext);
        let requires = with_installed(&text).arms[0].requires.clone();
        assert!(
            requires.clone().unwrap_or_default().contains(needs),
            "{more}: {requires:?}"
        );
    }
}
