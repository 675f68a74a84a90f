//! Tests of the proofs of the agents' own TLS, and of listeners.

use std::collections::BTreeMap;

use tare_lab::environment::InstanceCounters;
use tare_record::agent::{NegotiatedTls, TlsCount};
use tare_record::counter::{CounterKind, CounterReading};
use tare_record::topology::{Interception, RouteSegment};

use super::*;
use crate::proof::tests::{self, cell};

fn arm() -> Arm {
    tests::arm(Vec::new(), Vec::new())
}

/// The routes from a producer to two brokers that terminate TLS themselves.
fn routes(own: Security) -> Vec<Route> {
    let segment = RouteSegment {
        security: Security::Plaintext,
        interception: Interception::Explicit,
    };
    let to = |broker: &str| Route {
        edge: "producer->broker".to_owned(),
        from: "producer".to_owned(),
        to: broker.to_owned(),
        protocol: "kafka".to_owned(),
        edge_security: own,
        proxies: Vec::new(),
        segments: vec![segment],
    };
    vec![to("broker-1"), to("broker-2")]
}

/// Handshakes with one broker.
fn count(version: &str, certificate: &str, full: u64) -> TlsCount {
    TlsCount {
        seen: NegotiatedTls {
            unusual: None,
            version: version.to_owned(),
            suite: "TLS_AES_128_GCM_SHA256".to_owned(),
            group: Some("X25519".to_owned()),
            alpn: None,
            certificate: Some(certificate.to_owned()),
        },
        full,
        resumed: 0,
    }
}

fn sent(tls: Vec<TlsCount>, client_certificates: u64) -> Vec<SentTraffic> {
    vec![SentTraffic {
        edge: "producer->broker".to_owned(),
        role: "producers".to_owned(),
        requests: 100,
        lost: 0,
        by_request: BTreeMap::new(),
        connections: 4,
        bytes: 1000,
        tls,
        client_certificates,
    }]
}

/// Names of the proofs that fail.
fn broken(own: Security, sent: &[SentTraffic]) -> Vec<String> {
    let routes = routes(own);
    let routes: Vec<&Route> = routes.iter().collect();
    let proofs = of_agents(&arm(), &cell(), &routes, sent);
    let broken = proofs.into_iter().filter(|proof| !proof.passed);
    broken.map(|proof| proof.check).collect()
}

#[test]
fn every_connection_of_an_agent_is_a_handshake_as_the_arm_says() {
    let two = || vec![count("1.3", "aa", 2), count("1.3", "bb", 2)];
    assert!(broken(Security::Tls, &sent(two(), 0)).is_empty());
    assert!(broken(Security::Mtls, &sent(two(), 4)).is_empty());
    assert!(broken(Security::Plaintext, &sent(Vec::new(), 0)).is_empty());

    assert_eq!(
        broken(Security::Mtls, &sent(two(), 3)),
        ["tls-client-certificates"],
        "one did not ask for a certificate"
    );
    assert_eq!(
        broken(Security::Plaintext, &sent(two(), 0)),
        ["tls-handshakes"]
    );
    assert_eq!(
        broken(Security::Tls, &sent(vec![count("1.3", "aa", 3)], 0)),
        ["tls-handshakes"],
        "one connection shook no hands"
    );
    let older = vec![count("1.3", "aa", 2), count("1.2", "bb", 2)];
    assert_eq!(broken(Security::Tls, &sent(older, 0)), ["tls-version"]);
    let stranger = [two(), vec![count("1.3", "cc", 0)]].concat();
    assert_eq!(
        broken(Security::Tls, &sent(stranger, 0)),
        ["tls-server-certificates"]
    );
    let mut resumed = two();
    (resumed[0].full, resumed[0].resumed) = (1, 1);
    assert_eq!(broken(Security::Tls, &sent(resumed, 0)), ["tls-resumed"]);
    let nothing = broken(Security::Tls, &sent(Vec::new(), 0));
    assert!(
        nothing.contains(&"tls-handshakes".to_owned())
            && nothing.contains(&"tls-version".to_owned())
    );
}

#[test]
fn an_external_server_chooses_version_and_certificates_itself_but_one_version_for_all() {
    let mut arm = arm();
    for name in ["broker-1", "broker-2"] {
        arm.topology.external.push(tests::external(name));
    }
    let broken = |own, sent: &[SentTraffic]| -> Vec<String> {
        let routes = routes(own);
        let routes: Vec<&Route> = routes.iter().collect();
        let proofs = of_agents(&arm, &cell(), &routes, sent);
        assert!(!proofs.is_empty());
        let broken = proofs.into_iter().filter(|proof| !proof.passed);
        broken.map(|proof| proof.check).collect()
    };
    let older = || {
        vec![
            count("1.2", "aa", 1),
            count("1.2", "bb", 1),
            count("1.2", "cc", 2),
        ]
    };
    assert!(broken(Security::Tls, &sent(older(), 0)).is_empty());
    let mixed = vec![count("1.2", "aa", 2), count("1.3", "aa", 2)];
    assert_eq!(broken(Security::Tls, &sent(mixed, 0)), ["tls-version"]);
    assert_eq!(
        broken(Security::Tls, &sent(vec![count("1.3", "aa", 3)], 0)),
        ["tls-handshakes"]
    );
    assert_eq!(
        broken(Security::Mtls, &sent(older(), 3)),
        ["tls-client-certificates"]
    );
}

fn reading(name: &str, label: Option<&str>, value: f64) -> CounterReading {
    CounterReading {
        name: name.to_owned(),
        edge: Some("producer->broker".to_owned()),
        label: label.map(str::to_owned),
        value,
        kind: CounterKind::Counter,
    }
}

fn of_broker(name: &str, connections: f64, version: Option<&str>) -> InstanceCounters {
    let held = version.map(|version| reading("tls-version", Some(version), 1.0));
    InstanceCounters {
        instance: name.to_owned(),
        readings: [reading("connections", None, connections)]
            .into_iter()
            .chain(held)
            .collect(),
    }
}

#[test]
fn a_listener_took_what_agents_opened_and_holds_nothing_but_the_arms_version() {
    let [routes_tls, routes_plain] = [Security::Tls, Security::Plaintext].map(routes);
    let before = [
        of_broker("broker-1", 5.0, None),
        of_broker("broker-2", 5.0, None),
    ];
    let found = |routes: &[Route], second: f64, version: Option<&str>| {
        let after = [
            of_broker("broker-1", 7.0, version),
            of_broker("broker-2", second, None),
        ];
        let deltas = Deltas {
            before: &before,
            after: &after,
        };
        let routes: Vec<&Route> = routes.iter().collect();
        let sent = sent(Vec::new(), 0);
        let accepted_connections = accepted_connections(&[], &routes, &sent, &deltas).unwrap();
        let held = of_listener(&arm(), &cell(), &routes, &deltas);
        (
            accepted_connections.passed,
            held.iter().map(|proof| proof.passed).collect::<Vec<_>>(),
        )
    };
    assert_eq!(found(&routes_tls, 7.0, Some("TLSv1.3")), (true, vec![true]));
    assert_eq!(
        found(&routes_tls, 6.0, None),
        (false, vec![]),
        "three of four"
    );
    assert_eq!(
        found(&routes_tls, 7.0, Some("TLSv1.2")),
        (true, vec![false])
    );
    assert_eq!(
        found(&routes_plain, 7.0, Some("TLSv1.3")),
        (true, vec![false])
    );
}

#[test]
fn a_broker_that_a_fault_ends_counts_from_its_restart() {
    let routes = routes(Security::Plaintext);
    let routes: Vec<&Route> = routes.iter().collect();
    let counts = |first: f64, second: f64| {
        [
            of_broker("broker-1", first, None),
            of_broker("broker-2", second, None),
        ]
    };
    let fault = |of: &str| PlannedFault {
        at_ns: 0,
        action: FaultKind::Kill {
            of: vec![of.to_owned()],
        },
    };
    let accepted = |faults: &[PlannedFault], after: (f64, f64)| {
        let (before, after) = (counts(50.0, 50.0), counts(after.0, after.1));
        let deltas = Deltas {
            before: &before,
            after: &after,
        };
        accepted_connections(faults, &routes, &sent(Vec::new(), 0), &deltas).unwrap()
    };
    // Four connections were opened: one before the kill, which the new process does not know.
    let proof = accepted(&[fault("broker-1")], (2.0, 51.0));
    assert!(proof.passed, "{proof:?}");
    assert_eq!(proof.actual, "3");
    assert!(!accepted(&[fault("producer")], (2.0, 51.0)).passed);
    assert!(!accepted(&[fault("broker-1")], (0.0, 50.0)).passed);
}
