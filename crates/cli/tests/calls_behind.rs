//! A real run of the application of three services through real proxies: every call behind a request is accounted for.
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

fn run(folder: &Path, arms: &str, load: &str) -> Vec<TrialRecord> {
    let text = format!(
        "question: What do the calls behind a request cost, in short?\n\
         workload: emojivoto\n\
         arms:\n{arms}\
         load: {{model: constant, rate: 60, duration: 300ms, warmup: 100ms, connections: 4, timeout: 20s{load}}}\n\
         addressing: loopback\n\
         aa_check: false\n\
         blocks: 1\n\
         seed: 11\n"
    );
    run_experiment(folder, &text, &[], LIMIT)
}

/// Whether an instance was found to have counted exactly `calls` of `what`.
fn has(proofs: &[Proof], instance: &str, what: &str, calls: u64) -> bool {
    proofs.iter().any(|proof| {
        (proof.instance.as_str(), proof.check.as_str()) == (instance, what)
            && proof.actual == calls.to_string()
            && proof.passed
    })
}

#[test]
fn real_envoy_and_haproxy_carry_exactly_the_calls_that_follow_from_the_requests() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let arms = "  - {name: direct}\n  \
        - {name: envoy, sidecars: {on: services, proxy: envoy, security: mtls}}\n  \
        - {name: haproxy, sidecars: {on: services, proxy: haproxy, security: mtls}}\n";
    let records = run(folder.path(), arms, "");
    for arm in ["direct", "envoy", "haproxy"] {
        let record = of_arm(&records, arm);
        assert!(
            matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
            "{arm}: {:?}",
            record.status
        );
        let load = &record.load[0];
        let sent = |request: &str| load.by_request.get(request).map_or(0, |count| count.sent);
        let (lists, votes) = (sent("list"), sent("vote"));
        assert_eq!(lists + votes, load.requests_sent_total);
        assert_eq!(lists + votes, 24, "60/s for 300 ms after 100 ms");
        let proofs = &record.proofs;
        assert!(
            has(proofs, "emoji", "requests", lists + votes),
            "{arm}: {proofs:?}"
        );
        assert!(
            has(proofs, "voting", "requests", votes),
            "{arm}: {proofs:?}"
        );
        assert!(
            has(proofs, "web", "upstream-requests", votes),
            "{arm}: {proofs:?}"
        );
        if arm != "direct" {
            for (sidecar, calls) in [("emoji-sidecar", lists + votes), ("voting-sidecar", votes)] {
                assert!(has(proofs, sidecar, "requests", calls), "{arm}: {proofs:?}");
                let version = |p: &&Proof| p.instance == sidecar && p.check == "tls-version";
                let version = proofs.iter().find(version);
                assert_eq!(version.unwrap().actual, "TLSv1.3", "{arm}");
            }
        }
    }
}

#[test]
fn the_leaderboard_makes_a_hundred_and_one_calls_and_each_is_counted() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let arms = "  - {name: direct}\n  - {name: again}\n";
    let records = run(folder.path(), arms, ", use: leaderboard");
    for record in &records {
        let sent = record.load[0].requests_sent_total;
        assert!(
            has(&record.proofs, "emoji", "requests", sent * 100),
            "{:?}",
            record.proofs
        );
        assert!(
            has(&record.proofs, "voting", "requests", sent),
            "{:?}",
            record.proofs
        );
    }
}

#[test]
fn an_application_that_makes_other_calls_than_its_workload_says_makes_a_trial_invalid() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // Nobody has voted yet, so the leaderboard looks up fewer emojis than the workload says.
    let arms = "  - {name: direct}\n  - {name: bare, settings: {voting: {votes: 0}}}\n";
    let records = run(folder.path(), arms, ", use: leaderboard");
    let of = |arm: &str| of_arm(&records, arm);
    let TrialStatus::Invalid { reasons } = &of("bare").status else {
        panic!("{:?}", of("bare").status);
    };
    assert!(
        reasons.iter().any(|reason| reason.contains("emoji")),
        "{reasons:?}"
    );
    assert!(!matches!(of("direct").status, TrialStatus::Invalid { .. }));
}
