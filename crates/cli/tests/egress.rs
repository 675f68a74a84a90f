//! The five ways out of the mesh with the real application, Envoy and nginx: each proves its own way, and no other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::path::Path;
use std::time::Duration;

use rig::{of_arm, run_experiment, turn};
use tare_record::record::{Proof, TrialRecord, TrialStatus};

/// Longest that a small run may take here before the test gives up; a first build of the application is in it.
const LIMIT: Duration = Duration::from_secs(600);
const SIDECARS: &str = "sidecars: {on: services, proxy: envoy, interception: redirect}";

/// A small run of these arms, each a name and what follows it.
fn run(folder: &Path, arms: &[(&str, String)]) -> Vec<TrialRecord> {
    let arms: Vec<String> = arms
        .iter()
        .map(|(name, more)| format!("  - {{name: {name}, {more}}}\n"))
        .collect();
    let text = format!(
        "question: Which way does it take?\n\
         workload: {{use: acmeair, database: origin}}\n\
         addressing: namespaces\n\
         arms:\n{}\
         targets: {{acmeair: {{customers: 200}}}}\n\
         load: {{use: query, model: constant, rate: 40, duration: 500ms, warmup: 100ms, connections: 4, timeout: 20s}}\n\
         aa_check: false\n\
         blocks: 1\n\
         seed: 11\n",
        arms.concat()
    );
    run_experiment(folder, &text, &[], LIMIT)
}

/// Evidence of the edge that every query takes.
fn of_database<'a>(record: &'a TrialRecord, instance: &str) -> Vec<&'a Proof> {
    let proofs = record.proofs.iter();
    let of_edge = proofs.filter(|proof| proof.edge.as_deref() == Some("flight->database"));
    of_edge.filter(|proof| proof.instance == instance).collect()
}

fn has(proofs: &[&Proof], what: &str) -> bool {
    proofs
        .iter()
        .any(|proof| proof.check == what && proof.passed)
}

#[test]
fn five_ways_to_a_database_outside_of_the_mesh_are_taken_and_proven() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let gateway = |hops: &str| format!("{SIDECARS}, via: {{\"*->database\": [{hops}]}}");
    let mtls = "{hop: gateway, proxy: envoy, security: mtls}";
    let bypass = SIDECARS.replace("redirect}", "redirect, exclude: [\"*->database\"]}");
    let arms = [
        ("bypass", bypass),
        ("sidecar", SIDECARS.to_owned()),
        ("gateway", gateway("{hop: gateway, proxy: envoy}")),
        ("gateway-mtls", gateway(mtls)),
        (
            "gateway-sni",
            gateway(&format!("{mtls}, {{hop: sni, proxy: nginx, pod: gateway}}")),
        ),
    ];
    let records = run(folder.path(), &arms);
    for (arm, _) in &arms {
        let record = of_arm(&records, arm);
        let broken: Vec<&Proof> = record.proofs.iter().filter(|proof| !proof.passed).collect();
        assert!(
            matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
            "{arm}: {:?} {broken:?}",
            record.status
        );
        assert!(broken.is_empty(), "{arm}: {broken:?}");
        assert!(record.load[0].ok > 0 && record.load[0].errors == 0, "{arm}");
        let sidecar = of_database(record, "flight-sidecar");
        assert_eq!(
            has(&sidecar, "unmatched-connections"),
            *arm == "bypass",
            "{arm}: {sidecar:?}"
        );
        assert_eq!(
            has(&sidecar, "bytes-received"),
            *arm != "bypass",
            "{arm}: {sidecar:?}"
        );
        let gateway = of_database(record, "gateway");
        let through = arm.starts_with("gateway");
        assert_eq!(has(&gateway, "connections"), through, "{arm}: {gateway:?}");
        assert_eq!(
            has(&gateway, "bytes-received"),
            through,
            "{arm}: {gateway:?}"
        );
        let wrapped = ["gateway-mtls", "gateway-sni"].contains(arm);
        assert_eq!(
            has(&gateway, "tls-client-certificates"),
            wrapped,
            "{arm}: {gateway:?}"
        );
        let sni = of_database(record, "sni");
        for what in ["connections", "bytes-received"] {
            assert_eq!(has(&sni, what), *arm == "gateway-sni", "{arm}: {sni:?}");
        }
        let database = of_database(record, "database");
        assert!(has(&database, "connections"), "{arm}: {database:?}");
    }
}

#[test]
fn a_gateway_that_traffic_does_not_pass_makes_the_trial_invalid() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // The arm says that there is a gateway on the way, but the kernel lets everything pass by the sidecars.
    let passed_by = SIDECARS.replace("redirect}", "redirect, exclude: [\"10.0.0.0/8\"]}");
    let via = "via: {\"*->database\": [{hop: gateway, proxy: envoy}]}";
    let arms = [
        ("gateway", format!("{SIDECARS}, {via}")),
        ("passed-by", format!("{passed_by}, {via}")),
    ];
    let records = run(folder.path(), &arms);
    assert!(!matches!(
        of_arm(&records, "gateway").status,
        TrialStatus::Invalid { .. }
    ));
    let TrialStatus::Invalid { reasons } = &of_arm(&records, "passed-by").status else {
        panic!("{:?}", of_arm(&records, "passed-by").status);
    };
    let found = "flight-sidecar connections over flight->database: 0 instead of at least 1";
    assert!(reasons.iter().any(|reason| reason == found), "{reasons:?}");
}
