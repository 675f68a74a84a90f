//! Whole runs against a cluster that runs already: over its TLS, with a login, and through a proxy; topics made, read back and deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use tare_record::record::{TrialRecord, TrialStatus};

use crate::bed::{Bed, bed};
use crate::rig::{finish, only_run, records, stderr, tare, wait_for};

/// A run measures for some seconds, and brokers take their time.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(300);

/// An experiment in a folder with what the brokers want to be shown.
fn experiment(bed: &Bed, folder: &Path, arms: &str, broker: &str) -> PathBuf {
    let client = bed.cluster.client();
    fs::copy(&client.ca, folder.join("ca.pem")).unwrap();
    fs::write(folder.join("password"), "tare-secret\n").unwrap();
    let path = folder.join("mine.yaml");
    let text = format!(
        "question: What does a proxy cost my cluster?\n\
         workload: {{use: kafka, partitions: 3, replicas: 3, payload: 100B, batch: 1KiB, acks: all, idempotence: true}}\n\
         arms: [{arms}]\n\
         load: {{use: produce, model: constant, rate: 300, duration: 1s, warmup: 200ms, connections: 1, timeout: 30s}}\n\
         prepare: [topic]\n\
         read_back: topic\n\
         blocks: 1\n\
         external: {{broker: {broker}}}\n"
    );
    fs::write(&path, text).unwrap();
    path
}

fn run(file: &Path, out: &Path) -> Output {
    let words = [
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--no-aa",
    ];
    finish(&mut tare(&words), LIMIT)
}

fn topics(bed: &Bed) -> Vec<String> {
    let listed = bed.json(&["topics", "list"]);
    let all = listed.as_array().unwrap().iter();
    all.filter_map(|topic| topic["name"].as_str())
        .filter(|name| name.starts_with("tare-"))
        .map(str::to_owned)
        .collect()
}

/// Waits until these are left: the broker that is asked hears of a deletion a little after whoever ordered it.
fn wait_for_topics(bed: &Bed, left: &[&str]) {
    wait_for(LIMIT, "end of the other topics", || {
        (topics(bed) == left).then_some(())
    });
}

fn held(record: &TrialRecord, what: &str) -> bool {
    let mut proofs = record.proofs.iter();
    proofs.any(|proof| proof.check == what && proof.passed)
}

#[test]
fn a_cluster_that_runs_already_is_written_to_over_its_tls_with_and_without_a_proxy() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    let arms = "{name: direct}, {name: near, sidecars: {on: [producer], proxy: haproxy, as: tcp}}";
    let login = "sasl: {mechanism: scram-sha-256, user: tare, password_file: password}";
    for (port, more) in [("tls", ""), ("sasl-tls", login)] {
        let broker = format!(
            "{{bootstrap: [{}], tls: {{ca: ca.pem}}, {more}}}",
            bed.at(port)
        );
        let broker = broker.replace(", }", "}");
        let file = experiment(&bed, folder.path(), arms, &broker);
        let out = folder.path().join(port);
        let output = run(&file, &out);
        let said = stderr(&output);
        assert!(
            said.contains("not proved, producer->broker at broker: external:"),
            "{said}"
        );
        let found = records(&only_run(&out).unwrap_or_else(|| panic!("{said}")));
        for arm in ["direct", "near"] {
            let record = found.iter().rev().find(|record| record.arm == arm).unwrap();
            assert!(
                matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
                "{port} {arm}: {:?}",
                record.status
            );
            assert!(
                record.proofs.iter().all(|proof| proof.passed),
                "{:?}",
                record.proofs
            );
            assert!(held(record, "tls-handshakes") && held(record, "tls-version"));
            // Every connection passed the proxy: none went to a broker that another one named.
            assert_eq!(held(record, "connections"), arm == "near");
            let read_back = record.read_back.as_ref().unwrap();
            assert!(
                read_back.acknowledged > 0 && read_back.violations.is_empty(),
                "{read_back:?}"
            );
            assert_eq!((read_back.lost, read_back.duplicated), (0, 0));
            assert_eq!(record.not_proved[0].part, "broker");
        }
        // What was made is deleted.
        wait_for_topics(&bed, &[]);
    }
    // Nothing of it was stopped.
    for member in bed.cluster.members() {
        assert!(bed.cluster.wait_ready(member.number).is_ok());
    }
}

#[test]
fn a_cluster_that_does_not_let_us_in_ends_the_run_before_it_begins() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    let arms = "{name: direct}, {name: near, sidecars: {on: [producer], proxy: haproxy, as: tcp}}";
    let first = bed.at("plain").split(',').next().unwrap().to_owned();
    let cases = [
        (
            format!("{{bootstrap: [{}]}}", bed.at("tls")),
            "does not speak plain Kafka",
        ),
        (
            format!("{{bootstrap: [{}], tls: {{}}}}", bed.at("tls")),
            "is not trusted",
        ),
        (
            format!(
                "{{bootstrap: [{}], tls: {{ca: ca.pem}}, sasl: {{mechanism: plain, user: ann, password_file: password}}}}",
                bed.at("sasl-tls")
            ),
            "authentication of user ann failed",
        ),
        // A proxy stands before the first one only.
        (first, "name every broker as it is advertised (bootstrap)"),
    ];
    for (broker, words) in cases {
        let file = experiment(&bed, folder.path(), arms, &broker);
        let out = folder.path().join("runs");
        let output = run(&file, &out);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{broker}: {said}");
        assert!(
            said.contains("broker") && said.contains(words),
            "{broker}: {said}"
        );
        assert!(!out.exists(), "{broker}: something was measured");
    }
    wait_for_topics(&bed, &[]);
}

#[test]
fn a_topic_that_is_there_already_is_neither_used_nor_deleted() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    bed.json(&["topics", "create", "tare-1", "-p", "1"]);
    let broker = format!("{{bootstrap: [{}]}}", bed.at("plain"));
    let arms = "{name: direct}, {name: again}";
    let file = experiment(&bed, folder.path(), arms, &broker);
    let out = folder.path().join("runs");
    let output = run(&file, &out);
    let found = records(&only_run(&out).unwrap_or_else(|| panic!("{}", stderr(&output))));
    let first = found.iter().find(|record| record.trial == 1).unwrap();
    let TrialStatus::Failed { reason, .. } = &first.status else {
        panic!("{:?}", first.status);
    };
    assert!(
        reason.contains("tare-1") && reason.contains("delete it first"),
        "{reason}"
    );
    // The others were deleted, and this one is not ours.
    wait_for_topics(&bed, &["tare-1"]);
    bed.json(&["topics", "delete", "tare-1"]);
}

#[test]
fn what_a_broker_of_an_external_cluster_counts_stands_in_the_record() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    let member = &bed.cluster.members()[0];
    let first = bed.at("plain").split(',').next().unwrap().to_owned();
    let broker = format!(
        "{{bootstrap: [{first}], metrics: {{jolokia: ['http://{}/jolokia/'], user: {}, password_file: secret}}}}",
        member.admin(),
        member.login().user
    );
    let file = experiment(
        &bed,
        folder.path(),
        "{name: direct}, {name: again}",
        &broker,
    );
    let secret = folder.path().join("secret");
    fs::write(&secret, "wrong").unwrap();
    let out = folder.path().join("runs");
    let output = run(&file, &out);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the password is not accepted"), "{said}");
    assert!(!out.exists(), "something was measured");

    fs::write(&secret, &member.login().password).unwrap();
    let output = run(&file, &out);
    let found = records(&only_run(&out).unwrap_or_else(|| panic!("{}", stderr(&output))));
    for record in &found {
        let written = record.read_back.as_ref().unwrap().acknowledged as f64;
        let topic = format!("tare-{}", record.trial);
        let mut told = record
            .target_counters
            .iter()
            .filter(|one| one.instance == "broker");
        let of_topic = told.find(|one| {
            one.name == "topic-messages-in" && one.label.as_deref() == Some(topic.as_str())
        });
        // It leads one of three partitions, and there may be warm-up in what it counts.
        let counted = of_topic.map_or(0.0, |one| one.value);
        assert!(
            counted > 0.0 && counted <= written * 1.5,
            "{counted} of {written}: {:?}",
            record.target_counters
        );
    }
}
