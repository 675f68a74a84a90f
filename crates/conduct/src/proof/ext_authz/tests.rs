//! Authorization checks: none, all, and a random share.

use super::*;

fn holds(passed: u64, share: f64, delta: f64) -> bool {
    check("authorizer", "requests", passed, share, Some(delta)).passed
}

#[test]
fn none_and_all_are_exact_and_a_share_is_within_six_deviations() {
    assert!(holds(1000, 0.0, 0.0) && !holds(1000, 0.0, 1.0));
    assert!(holds(1000, 1.0, 1000.0) && !holds(1000, 1.0, 999.0));
    // 500 ± 6 × √250 = 500 ± 94.9.
    assert!(holds(1000, 0.5, 405.0) && holds(1000, 0.5, 595.0));
    assert!(!holds(1000, 0.5, 404.0) && !holds(1000, 0.5, 596.0));
}

#[test]
fn a_server_that_counts_nothing_proves_nothing() {
    let proof = check("authorizer", "requests", 10, 0.5, None);
    assert!(!proof.passed);
    assert_eq!(proof.actual, "no such counter");
    assert_eq!(proof.expected, "0 to 10 (50 % of 10)");
}

#[test]
fn what_passed_is_known_only_when_every_edge_was_the_agents() {
    let over = |edge: &str, requests| SentTraffic {
        edge: edge.into(),
        role: "client".to_owned(),
        lost: 0,
        by_request: Default::default(),
        requests,
        connections: 1,
        bytes: 1,
        tls: Vec::new(),
        client_certificates: 0,
    };
    let ext_authz = ExtAuthz {
        edge: "sidecar->sidecar-authorizer".into(),
        edges: vec!["client->server".into(), "other->server".into()],
        share_setting: None,
        share: 1.0,
    };
    let sent = [
        over("client->server", 7),
        over("client->server", 3),
        over("other->server", 5),
    ];
    assert_eq!(passed(&ext_authz, &sent), Some(15));
    assert_eq!(passed(&ext_authz, &sent[..2]), None);
}
