//! Tests of the proof by connections and bytes: a bypassed proxy is found.

use std::collections::BTreeMap;

use tare_lab::environment::InstanceCounters;
use tare_record::counter::{CounterKind, CounterReading};
use tare_record::topology::{Instance, Interception, RouteSegment, Settings};

use super::*;

const EDGE: &str = "flight->database";

fn instance(name: &str, pod: &str, role: InstanceRole) -> Instance {
    Instance {
        name: name.to_owned(),
        pod: pod.to_owned(),
        target: name.to_owned(),
        role,
        settings: Settings::new(),
        host: None,
    }
}

fn arm(proxies: &[&str], mutual: Option<usize>) -> Arm {
    let segment = |position: usize| RouteSegment {
        security: match mutual == Some(position) {
            true => Security::Mtls,
            false => Security::Plaintext,
        },
        interception: Interception::Explicit,
    };
    crate::proof::tests::arm(
        vec![
            instance("database", "database", InstanceRole::App),
            instance("sni", "gateway", InstanceRole::Sni),
            instance("gateway", "gateway", InstanceRole::Gateway),
            instance("flight-sidecar", "flight", InstanceRole::Sidecar),
            instance("flight", "flight", InstanceRole::App),
        ],
        vec![Route {
            edge: EDGE.into(),
            from: "flight".into(),
            to: "database".into(),
            protocol: "tcp".into(),
            edge_security: Security::Tls,
            proxies: proxies.iter().map(|name| (*name).to_owned()).collect(),
            segments: (0..=proxies.len()).map(segment).collect(),
        }],
    )
}

fn cell() -> Cell {
    Cell {
        arm: "a".into(),
        level: "l".into(),
        workload: BTreeMap::new(),
        targets: BTreeMap::new(),
        load: Vec::new(),
        audit: Vec::new(),
        faults: Vec::new(),
        read_back: None,
        prepare: Vec::new(),
    }
}

/// Counters of an instance, each of the edge: name and value.
fn counted_by(instance: &str, all: &[(&str, f64)]) -> InstanceCounters {
    let reading = |(name, value): &(&str, f64)| CounterReading {
        name: (*name).to_owned(),
        edge: Some(EDGE.to_owned()),
        label: None,
        value: *value,
        kind: CounterKind::Counter,
    };
    InstanceCounters {
        instance: instance.to_owned(),
        readings: all.iter().map(reading).collect(),
    }
}

fn broken(arm: &Arm, before: &[InstanceCounters], after: &[InstanceCounters]) -> Vec<String> {
    let traffic = ExpectedTraffic {
        requests_min: 100,
        requests_max: 100,
        connections: None,
        bytes: None,
    };
    let routes: Vec<&Route> = arm.topology.routes.iter().collect();
    assert!(applies_to(&routes, Some(&traffic)));
    let deltas = Deltas { before, after };
    let proofs = prove(arm, &cell(), &routes, Some(&traffic), &deltas);
    assert!(!proofs.is_empty());
    let failed = proofs.iter().filter(|proof| !proof.passed);
    failed
        .map(|proof| {
            format!(
                "{} {}: {} for {}",
                proof.instance, proof.check, proof.actual, proof.expected
            )
        })
        .collect()
}

#[test]
fn proxies_that_carried_the_same_since_their_start_prove_the_route() {
    let arm = arm(&["flight-sidecar", "gateway", "sni"], None);
    let before = |name| counted_by(name, &[("connections", 9.0), ("bytes-received", 50_000.0)]);
    let after = |name, more: f64| {
        counted_by(
            name,
            &[("connections", 9.0), ("bytes-received", 50_000.0 + more)],
        )
    };
    let names = ["flight-sidecar", "gateway", "sni"];
    // A heartbeat of the driver arrived while the proxies were read one after the other.
    let all = [
        after(names[0], 30_400.0),
        after(names[1], 30_000.0),
        after(names[2], 30_000.0),
    ];
    assert_eq!(broken(&arm, &names.map(before), &all), Vec::<String>::new());
}

#[test]
fn copies_that_did_not_come_through_the_sidecar_are_found() {
    let arm = arm(&["flight-sidecar"], None);
    let sidecar = |received, sent| {
        let all = [
            ("connections", 9.0),
            ("bytes-received", received),
            ("bytes-sent", sent),
        ];
        counted_by("flight-sidecar", &all)
    };
    let copied = |bytes| counted_by("flight", &[("replication-bytes-in", bytes)]);
    let broken = |sent| {
        let before = [sidecar(0.0, 1_000.0), copied(500_000.0)];
        broken(&arm, &before, &[sidecar(9_000.0, sent), copied(600_000.0)])
    };
    assert_eq!(broken(101_000.0), Vec::<String>::new());
    assert_eq!(
        broken(51_000.0),
        ["flight-sidecar bytes-sent: 50000 for at least 95904"]
    );
}

#[test]
fn a_gateway_that_is_not_on_the_way_is_found() {
    let arm = arm(&["flight-sidecar", "gateway"], None);
    let sidecar = || {
        counted_by(
            "flight-sidecar",
            &[("connections", 9.0), ("bytes-received", 30_000.0)],
        )
    };
    let gateway = |connections, bytes| {
        counted_by(
            "gateway",
            &[("connections", connections), ("bytes-received", bytes)],
        )
    };
    assert_eq!(
        broken(&arm, &[], &[sidecar(), gateway(9.0, 30_000.0)]),
        Vec::<String>::new()
    );
    let bypassed = broken(&arm, &[], &[sidecar(), gateway(0.0, 0.0)]);
    assert_eq!(
        bypassed,
        [
            "gateway connections: 0 for 9 ± 1",
            "gateway bytes-received: 0 for 30000 ± 4096"
        ]
    );
    // Connections without traffic.
    assert_eq!(
        broken(&arm, &[], &[sidecar(), gateway(9.0, 100.0)]).len(),
        1
    );
    // Nothing passed the sidecar either: the kernel did not redirect it.
    let none = counted_by(
        "flight-sidecar",
        &[("connections", 0.0), ("bytes-received", 0.0)],
    );
    let broken = broken(&arm, &[], &[none, gateway(0.0, 0.0)]);
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(
        broken
            .iter()
            .all(|said| said.starts_with("flight-sidecar "))
    );
}

#[test]
fn a_sidecar_that_is_to_be_passed_by_must_have_passed_nothing_on() {
    let arm = arm(&[], None);
    let database = || {
        counted_by(
            "database",
            &[("connections", 9.0), ("bytes-received", 30_000.0)],
        )
    };
    let sidecar =
        |connections| counted_by("flight-sidecar", &[("unmatched-connections", connections)]);
    assert_eq!(
        broken(&arm, &[], &[database(), sidecar(0.0)]),
        Vec::<String>::new()
    );
    assert_eq!(
        broken(&arm, &[], &[database(), sidecar(9.0)]),
        ["flight-sidecar unmatched-connections: 9 for 0"]
    );
}

#[test]
fn names_that_were_refused_and_segments_without_the_tls_they_should_have_are_found() {
    let arm = arm(&["flight-sidecar", "gateway"], Some(1));
    let carried = [("connections", 9.0), ("bytes-received", 30_000.0)];
    let sidecar = |refused| {
        let mut all = carried.to_vec();
        all.push(("unmatched-sni", refused));
        counted_by("flight-sidecar", &all)
    };
    let gateway = |shown| {
        let mut all = carried.to_vec();
        all.extend([("tls-handshakes", 9.0), ("tls-client-certificates", shown)]);
        let mut counters = counted_by("gateway", &all);
        counters.readings.push(CounterReading {
            name: "tls-version".to_owned(),
            edge: Some(EDGE.to_owned()),
            label: Some("TLSv1.3".to_owned()),
            value: 9.0,
            kind: CounterKind::Counter,
        });
        counters
    };
    assert_eq!(
        broken(&arm, &[], &[sidecar(0.0), gateway(9.0)]),
        Vec::<String>::new()
    );
    assert_eq!(
        broken(&arm, &[], &[sidecar(2.0), gateway(8.0)]),
        [
            "flight-sidecar unmatched-sni: 2 for 0",
            "gateway tls-client-certificates: 8 for 9"
        ]
    );
}

#[test]
fn nothing_is_claimed_of_an_edge_that_need_not_have_been_called() {
    let arm = arm(&["flight-sidecar", "gateway"], None);
    let routes: Vec<&Route> = arm.topology.routes.iter().collect();
    let idle = |name| counted_by(name, &[("connections", 0.0), ("bytes-received", 0.0)]);
    let after = [idle("flight-sidecar"), idle("gateway")];
    let deltas = Deltas {
        before: &[],
        after: &after,
    };
    let proofs = prove(&arm, &cell(), &routes, None, &deltas);
    assert!(proofs.iter().all(|proof| proof.passed), "{proofs:?}");
    assert!(
        proofs.iter().all(|proof| proof.instance == "gateway"),
        "{proofs:?}"
    );
}

/// Two cluster members that call each other through their sidecars, with mTLS between those.
fn peers() -> Vec<Route> {
    let segment = |security| RouteSegment {
        security,
        interception: Interception::Redirect,
    };
    let route = |from: &str, to: &str| Route {
        edge: EDGE.into(),
        from: from.into(),
        to: to.into(),
        protocol: "kafka".into(),
        edge_security: Security::Plaintext,
        proxies: vec![format!("{from}-sidecar"), format!("{to}-sidecar")],
        segments: vec![
            segment(Security::Plaintext),
            segment(Security::Mtls),
            segment(Security::Plaintext),
        ],
    };
    vec![route("one", "two"), route("two", "one")]
}

#[test]
fn peers_have_copied_no_more_than_their_sidecars_handed_to_both_sides() {
    let routes = peers();
    let routes: Vec<&Route> = routes.iter().collect();
    let broken = |sent| {
        let copied = [
            ("replication-bytes-in", 100_000.0),
            ("replication-bytes-out", 50_000.0),
        ];
        let after = [
            counted_by("one", &copied),
            counted_by("one-sidecar", &[("bytes-sent", sent)]),
        ];
        let deltas = Deltas {
            before: &[],
            after: &after,
        };
        let edge = Edge {
            name: EDGE,
            deltas: &deltas,
            since_start: &deltas,
        };
        let proofs = copies(&routes, &edge);
        assert_eq!(proofs.len(), 1, "two has no counters");
        !proofs[0].passed
    };
    assert!(!broken(151_000.0));
    // Enough for the bytes copied, but not for those given out, too.
    assert!(broken(120_000.0));
}

#[test]
fn handshakes_between_peers_are_none_of_the_plaintext_before_their_sidecars() {
    let routes = peers();
    let routes: Vec<&Route> = routes.iter().collect();
    // Each sidecar has accepted a connection of the other in this trial, and counts it for the edge.
    let after = ["one-sidecar", "two-sidecar"].map(|name| {
        let handshakes = [("tls-handshakes", 1.0), ("upstream-tls-handshakes", 1.0)];
        counted_by(name, &handshakes)
    });
    let deltas = Deltas {
        before: &[],
        after: &after,
    };
    let arm = arm(&[], None);
    let claims_none = |proofs: Vec<Proof>| -> Vec<String> {
        let none = |proof: &Proof| proof.check.ends_with("tls-handshakes") && proof.expected == "0";
        let claims = proofs.into_iter().filter(none);
        claims
            .map(|proof| format!("{} {}", proof.instance, proof.check))
            .collect()
    };
    let both_ways = prove_segments(&arm, &cell(), &routes, &deltas);
    assert_eq!(claims_none(both_ways), Vec::<String>::new());
    // With one direction alone the counter is unambiguous.
    let one_way = prove_segments(&arm, &cell(), &routes[..1], &deltas);
    assert_eq!(
        claims_none(one_way),
        [
            "one-sidecar tls-handshakes",
            "two-sidecar upstream-tls-handshakes"
        ]
    );
}
