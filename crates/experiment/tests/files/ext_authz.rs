//! Instances that others ask: placed, found on a way of their own, and refused where they could not be asked.

use tare_record::plan::Form;
use tare_record::topology::Interception;

use crate::bench::{plan, resolved};

fn experiment(sidecars: &str, rest: &str) -> String {
    format!(
        "question: What does asking cost?\nworkload: echo\narms:\n  - name: direct\n  - name: asking\n    sidecars: {{on: all, proxy: envoy{sidecars}}}\n    settings: {{server-sidecar: {{ext_authz: true, ext_authz_share: 0.25}}}}\nload: {{rate: 400, duration: 3s}}\n{rest}"
    )
}

fn problems(text: &str) -> String {
    plan(text, Form::Full).unwrap_err().to_string()
}

#[test]
fn who_is_asked_stands_in_the_same_pod_and_starts_before_who_asks() {
    let plan = resolved(&experiment("", ""), Form::Full);
    let topology = &plan.arms[1].topology;
    let at = |name: &str| {
        let mut all = topology.instances.iter();
        all.position(|instance| instance.name == name).unwrap()
    };
    let (ext_authz, proxy) = (at("server-sidecar-authorizer"), at("server-sidecar"));
    assert!(ext_authz < proxy);
    assert_eq!(
        topology.instances[ext_authz].pod,
        topology.instances[proxy].pod
    );
    assert_eq!(topology.instances[ext_authz].target, "origin");
    let route = topology.routes.last().unwrap();
    assert_eq!(
        (route.from.as_str(), route.proxies.len()),
        ("server-sidecar", 0)
    );
    assert_eq!(route.segments[0].interception, Interception::Explicit);
    let [ext_authz] = topology.ext_authz.as_slice() else {
        panic!("{:?}", topology.ext_authz);
    };
    assert_eq!(ext_authz.edge, route.edge);
    assert_eq!(ext_authz.edges, ["client->server"]);
    assert_eq!(ext_authz.share, 0.25);
    assert_eq!(ext_authz.share_setting.as_deref(), Some("ext_authz_share"));
    assert!(plan.arms[0].topology.ext_authz.is_empty());
}

#[test]
fn settings_of_the_target_put_one_beside_every_proxy() {
    let text = experiment("", "targets: {envoy: {ext_authz: true}}\n");
    let ext_authz = &resolved(&text, Form::Full).arms[1].topology.ext_authz;
    assert_eq!(ext_authz.len(), 2);
    assert_eq!((ext_authz[0].share, ext_authz[1].share), (1.0, 0.25));
}

#[test]
fn asking_about_what_a_proxy_does_not_look_into_is_refused() {
    let said = problems(&experiment(", as: tcp", ""));
    assert!(
        said.contains("no edge there has a protocol it applies to: http1, http2 and grpc"),
        "{said}"
    );
}

#[test]
fn a_share_is_from_0_to_1() {
    let text = experiment("", "").replace("0.25", "1.25");
    let said = problems(&text);
    assert!(said.contains("is a share from 0 to 1, not 1.25"), "{said}");
}

#[test]
fn what_decides_about_instances_is_no_factor_but_the_share_is() {
    let said = problems(&experiment(
        "",
        "factors: {targets.envoy.ext_authz: [true, false]}\n",
    ));
    assert!(said.contains("decides which instances there are"), "{said}");
    let text = experiment("", "factors: {targets.envoy.ext_authz_share: [0.0, 1.0]}\n");
    resolved(&text, Form::Full);
}
