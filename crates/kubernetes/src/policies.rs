//! NetworkPolicies of a run: who may connect to whom.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};
use tare_record::external::{EXTERNAL, split};

use crate::kubectl::Kubectl;
use crate::manifests::{ACCOUNT, CALLS, MANAGED_BY, ROLE, RUN};

/// Label of every namespace, with its name.
const NAMESPACE: &str = "kubernetes.io/metadata.name";

/// Who may connect to whom: pods of the run to each other and, from these, with the mesh of the cluster, to its control plane. The kubelet
/// forwards ports whatever is said here. The run keeper alone may call the API server, of which every cluster has its own address.
pub(crate) fn of_run(run: &str, is_in_mesh: bool) -> Vec<Value> {
    let of_run = json!({"podSelector": {"matchLabels": {RUN: run}}});
    let mut to = vec![of_run.clone()];
    if is_in_mesh {
        to.push(json!({"namespaceSelector": {}}));
    }
    vec![
        policy(
            (run, "pods"),
            json!({
                "podSelector": {"matchLabels": {RUN: run}},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": [of_run]}],
                "egress": [{"to": to}],
            }),
        ),
        policy(
            (run, ACCOUNT),
            json!({
                "podSelector": {"matchLabels": {RUN: run, ROLE: ACCOUNT}},
                "policyTypes": ["Egress"],
                "egress": [{}],
            }),
        ),
    ]
}

/// Lets pods that call what is external connect to one address of it and, where that is one of a Service, to the pods behind it: network
/// plug-ins compare addresses after they were replaced by those of pods.
pub(crate) fn external(
    run: &str,
    number: u32,
    address: SocketAddr,
    behind: Option<&Value>,
) -> Value {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let block = json!({"ipBlock": {"cidr": format!("{}/{bits}", address.ip())}});
    let ports = json!([{"protocol": "TCP", "port": address.port()}]);
    let mut egress = vec![json!({"to": [block], "ports": ports})];
    egress.extend(behind.cloned());
    let spec = json!({
        "podSelector": {"matchLabels": {RUN: run, CALLS: EXTERNAL}},
        "policyTypes": ["Egress"],
        "egress": egress,
    });
    policy((run, &format!("{EXTERNAL}-{number}")), spec)
}

/// The rule for the pods behind an address `HOST:PORT` that pods of a namespace call; `None`: it is none of a Service.
pub(crate) fn behind_service(kubectl: &Kubectl, at: &str, own: &str) -> Option<Value> {
    let (name, namespace, port) = service_of(at, own)?;
    let of_it = format!("--namespace={namespace}");
    let said = kubectl.try_once(&["get", "service", name, &of_it, "--output=json"]);
    match said.and_then(|text| serde_json::from_str(&text).ok()) {
        Some(service) => behind(&service, port),
        // Without the right to read it.
        None => at.contains('.').then(|| all_of(namespace)),
    }
}

/// Name and namespace of the Service that an address `HOST:PORT` is of, as pods of a namespace call it; and its port.
fn service_of<'a>(at: &'a str, own: &'a str) -> Option<(&'a str, &'a str, u16)> {
    let (host, port) = split(at).filter(|(host, _)| host.parse::<IpAddr>().is_err())?;
    let labels: Vec<&str> = host.split('.').collect();
    match labels.as_slice() {
        [name] => Some((name, own, port)),
        [name, namespace, "svc", ..] => Some((name, namespace, port)),
        _ => None,
    }
}

/// The rule for the pods behind a Service; `None`: Kubernetes does not choose them.
fn behind(service: &Value, port: u16) -> Option<Value> {
    let namespace = service["metadata"]["namespace"].as_str()?;
    let selector = service["spec"]["selector"].as_object()?;
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let mut ports = ports.filter(|one| one["port"] == port);
    let there = ports.next().map_or(&Value::Null, |one| &one["targetPort"]);
    let there = if there.is_null() { &json!(port) } else { there };
    let pods = json!({"namespaceSelector": {"matchLabels": {NAMESPACE: namespace}}, "podSelector": {"matchLabels": selector}});
    Some(json!({"to": [pods], "ports": [{"protocol": "TCP", "port": there}]}))
}

/// The rule for all pods of a namespace: those behind a Service that may not be read.
fn all_of(namespace: &str) -> Value {
    json!({"to": [{"namespaceSelector": {"matchLabels": {NAMESPACE: namespace}}}]})
}

fn policy((run, name): (&str, &str), spec: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": format!("{run}-{name}"), "labels": {RUN: run, MANAGED_BY: "tare"}},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_of_the_run_may_connect_to_each_other() {
        let golden = include_str!("../tests/golden/policies.json");
        let mut all = of_run("tare-1", false);
        assert_eq!(serde_json::from_str::<Vec<Value>>(golden).unwrap(), all);
        all = of_run("tare-1", true);
        assert_eq!(
            all[0]["spec"]["egress"][0]["to"][1],
            json!({"namespaceSelector": {}})
        );
        assert!(all[0]["spec"]["ingress"][0]["from"][1].is_null());
    }

    #[test]
    fn what_is_external_is_admitted_by_address_and_port_and_the_pods_behind_it() {
        let golden = include_str!("../tests/golden/external.json");
        let service = json!({"metadata": {"namespace": "shop"}, "spec": {
            "selector": {"app": "cart"}, "ports": [{"port": 443, "targetPort": 8443}, {"port": 80, "targetPort": "http"}]}});
        let rule = behind(&service, 80);
        let address = "10.96.4.5:80".parse().unwrap();
        let made = [
            external("tare-1", 1, address, rule.as_ref()),
            external("tare-1", 2, address, Some(&all_of("shop"))),
            external("tare-1", 3, "[fd00::7]:9090".parse().unwrap(), None),
        ];
        assert_eq!(serde_json::from_str::<Vec<Value>>(golden).unwrap(), made);
    }

    #[test]
    fn a_service_is_known_by_its_name_and_one_without_selector_has_no_pods() {
        for (at, service) in [
            ("cart.shop.svc:80", Some(("cart", "shop", 80))),
            ("cart.shop.svc.cluster.local:80", Some(("cart", "shop", 80))),
            ("cart:80", Some(("cart", "bench", 80))),
            ("cart.shop:80", None),
            ("10.96.4.5:80", None),
            ("[fd00::7]:80", None),
        ] {
            assert_eq!(service_of(at, "bench"), service, "{at}");
        }
        let mut service =
            json!({"metadata": {"namespace": "shop"}, "spec": {"ports": [{"port": 80}]}});
        assert_eq!(behind(&service, 80), None);
        service["spec"]["selector"] = json!({"app": "cart"});
        assert_eq!(behind(&service, 80).unwrap()["ports"][0]["port"], 80);
    }
}
