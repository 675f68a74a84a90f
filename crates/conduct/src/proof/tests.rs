//! Tests of the proof on inner edges: calls are compared with what the workload declares for each request.

use std::collections::BTreeMap;
use tare_record::counter::CounterKind;

use tare_record::agent::RequestCount;
use tare_record::external::External;
use tare_record::plan::{RoleLoad, Subject};
use tare_record::topology::{Instance, Interception, Mesh, RouteSegment};

use super::*;

fn route(edge: &str, proxies: &[&str]) -> Route {
    let (from, to) = edge.split_once("->").unwrap();
    let plain = RouteSegment {
        security: Security::Plaintext,
        interception: Interception::Explicit,
    };
    Route {
        edge: edge.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        protocol: "grpc".to_owned(),
        edge_security: Security::Plaintext,
        proxies: proxies.iter().map(|name| (*name).to_owned()).collect(),
        segments: vec![plain; proxies.len() + 1],
    }
}

fn reading(name: &str, edge: Option<&str>, value: f64) -> CounterReading {
    CounterReading {
        name: name.to_owned(),
        edge: edge.map(str::to_owned),
        label: None,
        value,
        kind: CounterKind::Counter,
    }
}

fn counters(instance: &str, readings: Vec<CounterReading>) -> InstanceCounters {
    InstanceCounters {
        instance: instance.to_owned(),
        readings,
    }
}

/// A vote calls both services once, a list one of them.
pub(in crate::proof) fn arm(instances: Vec<Instance>, routes: Vec<Route>) -> Arm {
    Arm {
        name: "a".into(),
        about: String::new(),
        subject: Subject::singular("a"),
        requires: None,
        excluded: Vec::new(),
        limits: BTreeMap::new(),
        topology: Topology {
            pods: Vec::new(),
            instances,
            routes,
            ext_authz: Vec::new(),
            external: Vec::new(),
            mesh: None,
        },
    }
}

pub(in crate::proof) fn external(name: &str) -> External {
    External {
        name: name.into(),
        part: "web".into(),
        protocol: "grpc".into(),
        at: "127.0.0.1:9".into(),
        host: name.into(),
        tls: None,
        sasl: None,
        counters: Vec::new(),
        metrics: None,
    }
}

pub(in crate::proof) fn cell() -> Cell {
    let calls = |edges: &[&str]| -> BTreeMap<String, u32> {
        edges.iter().map(|edge| ((*edge).to_owned(), 1)).collect()
    };
    let load: RoleLoad = serde_json::from_value(serde_json::json!({
        "role": "client", "instance": "client", "edge": "client->web", "agents": 1,
        "load": {
            "pacing": {"model": "max"}, "stop": {"stop": "count", "exchanges": 1},
            "warmup_ns": 0, "timeout_ns": 1, "workers": 1, "spin": "off", "sample_every_ns": 1,
            "transport": {"transport": "tcp"}, "client": {"protocol": "http1", "connections": 1},
            "requests": [],
        },
        "calls": {"vote": calls(&["web->emoji", "web->voting"]), "list": calls(&["web->emoji"])},
    }))
    .unwrap();
    Cell {
        arm: "a".into(),
        level: "l".into(),
        workload: BTreeMap::new(),
        targets: BTreeMap::new(),
        load: vec![load],
        prepare: Vec::new(),
        audit: Vec::new(),
        faults: Vec::new(),
        read_back: None,
    }
}

fn sent(votes: (u64, u64), lists: (u64, u64)) -> Vec<SentTraffic> {
    let count = |(sent, ok)| RequestCount { sent, ok };
    vec![SentTraffic {
        edge: "client->web".into(),
        role: "client".into(),
        requests: votes.0 + lists.0,
        lost: 0,
        by_request: [("vote", count(votes)), ("list", count(lists))]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
        connections: 1,
        bytes: 1,
        tls: Vec::new(),
        client_certificates: 0,
    }]
}

fn proofs_of(
    routes: Vec<Route>,
    cell: &Cell,
    sent: &[SentTraffic],
    after: Vec<InstanceCounters>,
) -> Vec<Proof> {
    let topology = Topology {
        pods: Vec::new(),
        instances: Vec::new(),
        routes,
        ext_authz: Vec::new(),
        external: Vec::new(),
        mesh: None,
    };
    let deltas = Deltas {
        before: &[],
        after: &after,
    };
    by_edge(&topology)
        .into_iter()
        .filter_map(|(edge, routes)| {
            let traffic = traffic::over(cell, sent, edge)?;
            Some(prove_traffic(&topology, &routes, &traffic, &deltas))
        })
        .flatten()
        .collect()
}

#[test]
fn others_may_call_what_is_external_but_what_was_sent_has_arrived() {
    let mut arm = arm(Vec::new(), vec![route("client->web", &[])]);
    arm.topology.external.push(external("web"));
    let all = sent((10, 10), (3, 3));
    let routes: Vec<&Route> = arm.topology.routes.iter().collect();
    let traffic = traffic::over(&cell(), &all, "client->web").unwrap();
    let proof = |counted: f64| {
        let after = [counters("web", vec![reading("requests", None, counted)])];
        let deltas = Deltas {
            before: &[],
            after: &after,
        };
        let mut proofs = prove_traffic(&arm.topology, &routes, &traffic, &deltas);
        assert_eq!(proofs.len(), 1);
        proofs.remove(0)
    };
    assert_eq!(proof(13.0).expected, "at least 13");
    assert!(proof(13.0).passed && proof(20.0).passed);
    assert!(!proof(12.0).passed);
}

#[test]
fn an_inner_edge_must_have_seen_exactly_the_calls_behind_the_requests() {
    let routes = || {
        vec![
            route("web->emoji", &["web-sidecar", "emoji-sidecar"]),
            route("web->voting", &["web-sidecar"]),
        ]
    };
    let after = |emoji: f64| {
        let to_emoji = || vec![reading("requests", Some("web->emoji"), 13.0)];
        let mut sidecar = to_emoji();
        sidecar.push(reading("requests", Some("web->voting"), 10.0));
        vec![
            counters("web-sidecar", sidecar),
            counters("emoji-sidecar", to_emoji()),
            counters("emoji", vec![reading("requests", None, emoji)]),
            counters(
                "web",
                vec![
                    reading("requests", None, 13.0),
                    reading("upstream-requests", Some("web->emoji"), 13.0),
                    reading("upstream-requests", Some("web->voting"), 10.0),
                ],
            ),
        ]
    };
    let all = sent((10, 10), (3, 3));
    let proofs = proofs_of(routes(), &cell(), &all, after(13.0));
    let told: Vec<String> = proofs
        .iter()
        .map(|proof| format!("{} {} {}", proof.instance, proof.check, proof.expected))
        .collect();
    let expected = [
        "web-sidecar requests 13",
        "emoji-sidecar requests 13",
        "web upstream-requests 13",
        "emoji requests 13",
        "web-sidecar requests 10",
        "web upstream-requests 10",
    ];
    assert_eq!(told, expected);
    assert!(proofs.iter().all(|proof| proof.passed), "{proofs:?}");
    // One call too many at the called part, one too few, and the trial is not valid.
    for wrong in [12.0, 14.0] {
        let proofs = proofs_of(routes(), &cell(), &all, after(wrong));
        let broken: Vec<&Proof> = proofs.iter().filter(|proof| !proof.passed).collect();
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert_eq!(broken[0].instance, "emoji");
    }
}

#[test]
fn a_datagram_that_was_lost_need_not_have_arrived() {
    let routes = vec![route("client->web", &[])];
    let holds = |found: f64, lost: u64| {
        let mut sent = sent((10, 8), (3, 3));
        sent[0].lost = lost;
        let after = vec![counters("web", vec![reading("requests", None, found)])];
        let proofs = proofs_of(routes.clone(), &cell(), &sent, after);
        proofs.iter().all(|proof| proof.passed) && !proofs.is_empty()
    };
    assert!(holds(13.0, 0) && !holds(11.0, 0));
    assert!(holds(13.0, 2) && holds(11.0, 2) && !holds(10.0, 2) && !holds(14.0, 2));
}

#[test]
fn a_request_that_failed_may_have_made_its_calls_or_not() {
    let routes = vec![route("web->voting", &["web-sidecar"])];
    let holds = |calls: f64| {
        let after = vec![counters(
            "web-sidecar",
            vec![reading("requests", Some("web->voting"), calls)],
        )];
        let proofs = proofs_of(routes.clone(), &cell(), &sent((10, 8), (3, 3)), after);
        assert_eq!(proofs[0].expected, "8 to 10");
        proofs[0].passed
    };
    assert_eq!(
        [7.0, 8.0, 10.0, 11.0].map(holds),
        [false, true, true, false]
    );
}

#[test]
fn replicas_share_the_calls_of_an_edge_between_them() {
    let mut routes = vec![
        route("web->emoji", &["web-1-sidecar"]),
        route("web->emoji", &["web-2-sidecar"]),
    ];
    routes[0].from = "web-1".into();
    routes[1].from = "web-2".into();
    let of = |instance: &str, value| {
        counters(
            instance,
            vec![reading("requests", Some("web->emoji"), value)],
        )
    };
    let after = vec![of("web-1-sidecar", 6.0), of("web-2-sidecar", 7.0)];
    let proofs = proofs_of(routes, &cell(), &sent((10, 10), (3, 3)), after);
    assert_eq!(proofs[0].instance, "web-1-sidecar + web-2-sidecar");
    assert_eq!((proofs[0].actual.as_str(), proofs[0].passed), ("13", true));
}

#[test]
fn nothing_is_claimed_of_calls_that_the_workload_does_not_know() {
    let mut cell = cell();
    cell.load[0].calls.remove("list");
    let routes = vec![route("web->emoji", &["web-sidecar"])];
    let proofs = proofs_of(routes, &cell, &sent((10, 10), (3, 3)), Vec::new());
    assert!(proofs.is_empty(), "{proofs:?}");
}

#[test]
fn a_mesh_must_have_told_the_called_part_who_called_in_every_request() {
    let mut route = route("client->web", &["client-sidecar", "web-sidecar"]);
    route.segments[1].security = Security::Mtls;
    let mut arm = arm(Vec::new(), vec![route]);
    arm.topology.mesh = Some(Mesh {
        name: "m".into(),
        security: Security::Mtls,
        host: "m".into(),
        control_plane: Vec::new(),
        support: Vec::new(),
        proxies: vec!["client-sidecar".into(), "web-sidecar".into()],
        identities: [("client-sidecar".into(), "spiffe://client".into())].into(),
        installed: false,
    });
    let prove = |arm: &Arm, identity: &str, named: f64| {
        let label = Some(identity.to_owned());
        let named = CounterReading {
            label,
            ..reading("caller-identities", None, named)
        };
        let after = [counters("web", vec![reading("requests", None, 9.0), named])];
        let deltas = Deltas {
            before: &[],
            after: &after,
        };
        let routes: Vec<&Route> = arm.topology.routes.iter().collect();
        caller_identities(&arm.topology, &routes, &deltas)
    };
    assert!(prove(&arm, "spiffe://client", 9.0)[0].passed);
    assert!(!prove(&arm, "spiffe://other", 9.0)[0].passed);
    let some = prove(&arm, "spiffe://client", 8.0);
    assert!(!some[0].passed);
    assert_eq!(some[0].actual, "spiffe://client; 1 of 9 requests without");
    assert!(!prove(&arm, "x/spiffe://client", 9.0)[0].passed);
    // Of a cluster's mesh only the end is known beforehand.
    let mesh = arm.topology.mesh.as_mut().unwrap();
    mesh.installed = true;
    mesh.identities = [("client-sidecar".into(), "/sa/client".into())].into();
    assert!(prove(&arm, "spiffe://cluster.local/ns/tare-1/sa/client", 9.0)[0].passed);
    assert!(!prove(&arm, "spiffe://cluster.local/ns/tare-1/sa/other", 9.0)[0].passed);
    arm.topology.routes[0].segments[1].security = Security::Plaintext;
    assert!(prove(&arm, "spiffe://client", 9.0).is_empty());
}
