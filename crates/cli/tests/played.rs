//! Real runs of sessions: prepared, played through real proxies, every call accounted for, audited.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rig::{only_run, run_experiment, stdout, tare, turn};
use tare_record::record::{TrialRecord, TrialStatus};

/// Longest that a small run may take here before the test gives up; a first build of the application is in it.
const LIMIT: Duration = Duration::from_secs(600);

/// A shop of one service, whose audit is answered with this status.
fn shop(folder: &Path, audit: u16) -> PathBuf {
    let own = folder.join("workloads/shop");
    fs::create_dir_all(&own).unwrap();
    fs::write(
        own.join("workload.yaml"),
        format!(
            "workload: shop
about: people who look and buy
parts: {{client: {{kind: client}}, web: {{kind: service, target: origin}}}}
edges: [{{edge: client->web, protocol: http1}}]
prepare:
  fill: {{about: goods, request: {{name: fill, path: /?size=3, expect: {{status: 200, length: 3B}}}}}}
loads:
  default:
    edge: client->web
    session: user.yaml
    prepare: [fill]
    calls: {{look: {{}}, buy: {{}}}}
    audit: [{{about: nothing is lost, request: {{name: audit, path: /?status={audit}&size=9, expect: {{status: 200}}}}}}]
"
        ),
    )
    .unwrap();
    let user = "steps: [{name: look, path: /}, {loop: 3, steps: [{probability: 50%, name: buy, path: /?size=10}]}]\n";
    fs::write(own.join("user.yaml"), user).unwrap();
    folder.join("workloads")
}

fn run(folder: &Path, experiment: &str, more: &[&str]) -> (Vec<TrialRecord>, PathBuf) {
    let records = run_experiment(folder, experiment, more, LIMIT);
    (records, only_run(&folder.join("runs")).unwrap())
}

fn at_the_shop(audit: u16) -> (Vec<TrialRecord>, String) {
    let folder = tempfile::tempdir().unwrap();
    let workloads = shop(folder.path(), audit);
    let experiment = "question: q
workload: shop
arms: [{name: direct}, {name: sidecar, sidecars: {on: services, proxy: envoy}}]
load: {clients: 3, duration: 1s, warmup: 100ms, timeout: 20s}
aa_check: false
blocks: 1
";
    let workloads = ["--workloads", workloads.to_str().unwrap()];
    let (records, run) = run(folder.path(), experiment, &workloads);
    let report = tare(&["report", run.to_str().unwrap(), "--md"]).output();
    (records, stdout(&report.unwrap()))
}

#[test]
fn what_prepares_and_audits_a_session_is_asked_over_its_way_and_counted_by_nobody() {
    let _turn = turn();
    let (records, report) = at_the_shop(200);
    // An unfit trial is repeated.
    assert!(records.len() >= 2, "{records:?}");
    for record in &records {
        let unfit = matches!(record.status, TrialStatus::Unfit { .. });
        assert!(record.status.is_fit() || unfit, "{:?}", record.status);
        let load = &record.load[0];
        let sessions = load.sessions.unwrap();
        assert!(
            sessions.completed > 10 && sessions.failed == 0,
            "{sessions:?}"
        );
        assert_eq!(load.offered_per_s, None);
        let (look, buy) = (load.by_request["look"], load.by_request["buy"]);
        // One of each two; of three throws. Chance goes no further than six standard deviations, whose squares are three quarters of a
        // session each: a machine that has other work lets fewer people come.
        let (looks, buys) = (look.sent as f64, buy.sent as f64);
        let off = buys - 1.5 * looks;
        assert!(off * off <= 36.0 * 0.75 * looks, "{buys} of {looks}");
        assert_eq!(look.sent + buy.sent, load.requests_sent_total);
        // Neither the step nor the audit is among the requests that were proved.
        let web = record
            .proofs
            .iter()
            .find(|proof| proof.instance == "web")
            .unwrap();
        assert_eq!(web.actual, load.requests_sent_total.to_string());
        assert!(
            record.proofs.iter().all(|proof| proof.passed),
            "{:?}",
            record.proofs
        );
        let [audit] = &record.audits[..] else {
            panic!("{:?}", record.audits)
        };
        assert_eq!((audit.actual.as_str(), audit.passed), ("200", true));
    }
    if records.iter().any(|record| record.status.is_fit()) {
        assert!(report.contains("each request by itself"), "{report}");
        assert!(report.contains("session (whole)"), "{report}");
    }
}

#[test]
fn people_who_arrive_at_a_rate_are_counted_as_people_and_their_requests_as_requests() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let workloads = shop(folder.path(), 200);
    let experiment = "question: q
workload: shop
arms: [{name: direct}]
compare: levels
factors: {load.rate: [20, 40]}
load: {duration: 1s, warmup: 0s, connections: 4, timeout: 20s}
aa_check: false
blocks: 1
";
    let workloads = ["--workloads", workloads.to_str().unwrap()];
    let (records, run) = run(folder.path(), experiment, &workloads);
    for (level, people) in [("20/s", 20), ("40/s", 40)] {
        let record = records.iter().find(|record| record.level == level).unwrap();
        let load = &record.load[0];
        let sessions = load.sessions.unwrap();
        assert_eq!((sessions.intended, sessions.completed), (people, people));
        assert_eq!(load.by_request["look"].sent, people);
        assert!(load.ok > people, "{}", load.ok);
    }
    let view = tare(&["report", run.to_str().unwrap(), "--json"]).output();
    let view: serde_json::Value = serde_json::from_str(&stdout(&view.unwrap())).unwrap();
    assert!(view["levels"][0]["cells"][0]["offered_per_s"].is_null());
}

#[test]
fn a_run_whose_audit_fails_has_no_trial_that_counts() {
    let _turn = turn();
    let (records, report) = at_the_shop(409);
    // Each was tried twice, and none counts.
    assert_eq!(records.len(), 4);
    for record in &records {
        let TrialStatus::Invalid { reasons } = &record.status else {
            panic!("{:?}", record.status)
        };
        let said = reasons.join("; ");
        assert!(
            said.starts_with("audit GET /?status=409&size=9: 409 instead of 200: "),
            "{said}"
        );
    }
    assert!(report.contains("409 instead of 200"), "{report}");
}

#[test]
fn the_airline_adds_up_over_a_database_in_memory_whose_every_call_goes_over_tls() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let experiment = "question: q
workload: {use: acmeair, database: origin}
arms: [{name: direct}]
compare: levels
factors: {load.clients: [1, 12]}
load: {duration: 1s, warmup: 200ms}
aa_check: false
blocks: 1
";
    let (records, _) = run(folder.path(), experiment, &[]);
    for clients in ["1 client", "12 clients"] {
        let of_level = records.iter().filter(|record| record.level == clients);
        let record = of_level.collect::<Vec<_>>().pop().unwrap();
        let unfit = matches!(record.status, TrialStatus::Unfit { .. });
        assert!(record.status.is_fit() || unfit, "{:?}", record.status);
        assert!(record.audits[0].passed, "{:?}", record.audits);
        let load = &record.load[0];
        assert_eq!(
            (load.errors, load.unfinished),
            (0, 0),
            "{:?}",
            load.outcomes
        );
        let sent = |request: &str| load.by_request.get(request).map_or(0, |count| count.sent);
        let miles = sent("book") + sent("cancel");
        let told = |instance: &str, what: &str, label: &str| {
            let of = record
                .target_counters
                .iter()
                .filter(|told| told.instance == instance);
            let of = of.filter(|told| told.name == what);
            of.filter(|told| told.label.as_deref().is_none_or(|l| l == label))
                .map(|told| told.value as u64)
                .sum::<u64>()
        };
        assert_eq!(told("booking", "booked", ""), sent("book"));
        assert_eq!(told("booking", "breaker-openings", ""), 0);
        assert!(told("database", "operations", "find") >= sent("query"));
        let flight = record.proofs.iter().find(|proof| {
            proof.edge.as_deref() == Some("booking->flight") && proof.check == "upstream-requests"
        });
        assert_eq!(flight.unwrap().actual, miles.to_string());
    }
}
