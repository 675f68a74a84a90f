//! A whole experiment in pods elsewhere: the real binary, a run keeper and a keeper in each pod.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use rig::{finish, only_run, run_experiment, stderr, stdout, tare, turn};
use tare_record::record::{EnvironmentRecord, TrialRecord, TrialStatus};
use tare_stats::hlog;

const LIMIT: Duration = Duration::from_secs(240);

#[test]
fn an_experiment_elsewhere_is_measured_proved_and_recorded() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let text = "question: What do sidecars elsewhere cost?\n\
        workload: echo\n\
        arms:\n  - {name: direct}\n  - {name: both, sidecars: {on: all, proxy: envoy, security: mtls}}\n\
        load: {model: constant, rate: 300, duration: 600ms, warmup: 100ms, connections: 4, timeout: 20s}\n\
        blocks: 2\naa_check: false\nseed: 11\n";
    let more = ["--environment", "remote", "--silence", "30"];
    let records = run_experiment(folder.path(), text, &more, LIMIT);
    let run = only_run(&folder.path().join("runs")).unwrap();
    let environment: EnvironmentRecord =
        serde_json::from_slice(&fs::read(run.join("environment.json")).unwrap()).unwrap();
    assert_eq!(environment.environment, "remote");
    check_trials(&records, &["direct", "both"], 2);
    for record in &records {
        // A busy machine may make a trial unfit, but none may fail or be invalid.
        let is_measured = matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. });
        assert!(is_measured, "{}: {:?}", record.arm, record.status);
        let load = &record.load[0];
        assert_eq!((load.ok, load.errors), (load.intended, 0), "{}", record.arm);
        // All pods are on this machine: the error covers what is found.
        let clock = load.clock.unwrap();
        assert!(clock.offset_ns.unsigned_abs() <= clock.error_ns && clock.error_ns > 0);
        assert!(
            record.proofs.iter().all(|proof| proof.passed),
            "{:?}",
            record.proofs
        );
        assert!(!record.proofs.is_empty());
        let machine = record.machine.as_ref().unwrap();
        assert!(machine.window_ns > 0);
        assert!(machine.background_cpu_ns.is_some());
        let names: Vec<&str> = record.instances.iter().map(|one| &*one.instance).collect();
        let expected: &[&str] = match record.arm.as_str() {
            "direct" => &["client", "conductor", "server"],
            _ => &[
                "client",
                "client-sidecar",
                "conductor",
                "server",
                "server-sidecar",
            ],
        };
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(record.instances.iter().all(|one| one.cpu_ns.is_some()));
        assert_eq!(machine.pods.len(), 2);
    }
}

#[test]
fn what_agents_in_pods_of_their_own_count_adds_up_to_what_the_server_has_answered() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let text = "question: How long do answers take?\nworkload: echo\narms:\n  - {name: direct}\n  - {name: before, sidecars: {on: services, proxy: envoy}}\n\
        load: {model: constant, rate: 900, duration: 1s, warmup: 0s, connections: 6, timeout: 20s, agents: 3}\n\
        blocks: 1\naa_check: false\nseed: 5\n";
    let more = ["--environment", "remote", "--silence", "30"];
    let records = run_experiment(folder.path(), text, &more, LIMIT);
    let run = only_run(&folder.path().join("runs")).unwrap();
    check_trials(&records, &["direct", "before"], 1);
    for record in &records {
        check_agents(&run, record);
    }
}

#[test]
fn pods_of_two_sites_have_run_keepers_of_their_own() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let text = "question: How long do answers from another site take?\nworkload: echo\nsites:\n  pods: {home: [client, server], far: [], moon: []}\n  \
        links: [{between: [home, far], round_trip: 4ms}, {between: [home, moon], round_trip: 3s}]\n\
        arms:\n  - {name: near}\n  - {name: far, sites: {far: [server]}, sidecars: {on: all, proxy: envoy, security: mtls}}\n  - {name: moon, sites: {moon: [server]}}\n\
        load: {model: constant, rate: 300, duration: 600ms, warmup: 100ms, connections: 4, timeout: 20s}\n\
        blocks: 1\naa_check: false\nseed: 3\n";
    let more = [
        "--environment",
        "remote",
        "--site",
        "home=here",
        "--site",
        "far=there",
    ];
    let records = run_experiment(folder.path(), text, &more, LIMIT);
    check_trials(&records, &["near", "far"], 1);
    for record in &records {
        let load = &record.load[0];
        assert_eq!((load.ok, load.errors), (load.intended, 0), "{}", record.arm);
        assert!(record.proofs.iter().all(|proof| proof.passed));
        let of_parts = record.instances.iter().filter(|one| one.cpu_ns.is_some());
        let expected = if record.arm == "far" { 5 } else { 3 };
        assert_eq!(of_parts.count(), expected, "{:?}", record.instances);
    }
    let run = only_run(&folder.path().join("runs")).unwrap();
    let environment: EnvironmentRecord =
        serde_json::from_slice(&fs::read(run.join("environment.json")).unwrap()).unwrap();
    let [trips] = environment.link_rtts.as_slice() else {
        panic!("{:?}", environment.link_rtts);
    };
    assert_eq!((&*trips.link, trips.sent), ("far-home", trips.answered));
    // What the experiment writes is not made.
    assert!(trips.min_ns.unwrap() < 4_000_000, "{trips:?}");
}

/// Checks that every arm has a trial in every block, and another one only after one that a busy machine made unfit.
fn check_trials(records: &[TrialRecord], arms: &[&str], blocks: u32) {
    let mut cells: BTreeMap<(u32, &str), Vec<&TrialStatus>> = BTreeMap::new();
    for record in records {
        let cell = cells.entry((record.block, &record.arm)).or_default();
        cell.push(&record.status);
    }
    let of_block = |block| arms.iter().map(move |arm| (block, *arm));
    let expected: BTreeSet<(u32, &str)> = (1..=blocks).flat_map(of_block).collect();
    assert_eq!(cells.keys().copied().collect::<BTreeSet<_>>(), expected);
    for (cell, mut statuses) in cells {
        statuses.pop();
        let is_unfit = |status: &&TrialStatus| matches!(status, TrialStatus::Unfit { .. });
        assert!(statuses.iter().all(is_unfit), "{cell:?}: {statuses:?}");
    }
}

fn check_agents(run: &Path, record: &TrialRecord) {
    let each: Vec<u64> = record.load.iter().map(|load| load.ok).collect();
    assert_eq!(each, [300, 300, 300]);
    let pods: Vec<&str> = record
        .machine
        .iter()
        .flat_map(|one| &one.pods)
        .map(|pod| &*pod.pod)
        .collect();
    assert_eq!(pods, ["client", "client.2", "client.3", "server"]);
    let agents = record.instances.iter().filter(|one| one.role == "agent");
    assert_eq!(agents.count(), 3, "{}", record.arm);
    assert!(
        record.proofs.iter().all(|proof| proof.passed),
        "{:?}",
        record.proofs
    );
    let log = BufReader::new(
        File::open(run.join(format!("trials/{:04}/latency.hlog", record.trial))).unwrap(),
    );
    let tags = hlog::read_merged(log, Duration::ZERO..Duration::MAX).unwrap();
    let of_answers = tags.iter().find(|(tag, _)| tag.ends_with(".latency"));
    let counts = of_answers.unwrap().1.buckets().map(|(_, _, count)| count);
    assert_eq!(counts.sum::<u64>(), 900);
}

#[test]
fn a_pod_elsewhere_has_the_limit_of_its_arm_alone_and_what_that_held_back_is_said() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no control groups");
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // Clients that never pause want far more than a fiftieth of a core, however busy the machine is.
    let text = "question: What does a limit elsewhere do?\nworkload: echo\narms:\n  - {name: free}\n  - {name: held, limits: {server: {cpu: 20m, memory: 64MiB}}}\n\
        load: {model: closed, clients: 4, duration: 3s, warmup: 100ms, timeout: 20s}\n\
        blocks: 1\naa_check: false\nseed: 7\n";
    let more = ["--environment", "remote", "--silence", "30"];
    let records = run_experiment(folder.path(), text, &more, LIMIT);
    check_trials(&records, &["free", "held"], 1);
    for record in &records {
        let server = record.instances.iter().find(|one| one.instance == "server");
        let server = server.unwrap();
        match record.arm.as_str() {
            "held" => {
                let (held, all) = (
                    server.throttled_periods.unwrap(),
                    server.quota_periods.unwrap(),
                );
                assert!(held >= 10 && held <= all, "{server:?}");
            }
            _ => assert_eq!(server.quota_periods, None, "{server:?}"),
        }
        let client = record.instances.iter().find(|one| one.role == "agent");
        assert_eq!(client.unwrap().quota_periods, None);
    }
    let run = only_run(&folder.path().join("runs")).unwrap();
    for form in [&[][..], &["--json"]] {
        let words = [&["report", run.to_str().unwrap()], form].concat();
        let said = stdout(&finish(&mut tare(&words), LIMIT));
        assert!(
            said.contains("The CPU limit of server held it back in held ("),
            "{said}"
        );
    }
}

#[test]
fn what_pods_elsewhere_cannot_have_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.yaml");
    let text = "question: What does it cost?\nworkload: echo\narms:\n  - {name: direct}\n  - {name: near, sidecars: {on: [client], proxy: haproxy}, limits: {client-sidecar: {cpu: 300m}}}\n\
        load: {rate: 100, duration: 1s}\nblocks: 1\n";
    fs::write(&file, text).unwrap();
    let out = folder.path().join("runs");
    let said = |more: &[&str]| {
        let words = [
            "run",
            file.to_str().unwrap(),
            "--environment",
            "remote",
            "--out",
        ];
        let mut command = tare(&words);
        let output = finish(command.arg(&out).args(more), LIMIT);
        assert!(!output.status.success() && !out.exists());
        stderr(&output)
    };
    let limits = said(&[]);
    assert!(
        limits.contains("`limits` of client-sidecar") && limits.contains("give client,"),
        "{limits}"
    );
    let profile = said(&["--profile", "server"]);
    assert!(
        profile.contains("--profile samples stacks on this machine alone"),
        "{profile}"
    );
}
