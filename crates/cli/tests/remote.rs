//! A whole experiment in pods elsewhere: the real binary, a run keeper and a keeper in each pod.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::path::Path;
use std::time::Duration;

use rig::{only_run, run_experiment, turn};
use tare_record::record::{EnvironmentRecord, TrialStatus};

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
    assert_eq!(records.len(), 4);
    for record in &records {
        // A busy machine may make a trial unfit, but none may fail or be invalid.
        let is_measured = matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. });
        assert!(is_measured, "{}: {:?}", record.arm, record.status);
        let load = &record.load[0];
        assert_eq!((load.ok, load.errors), (load.intended, 0), "{}", record.arm);
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
    assert!(has_clocks(&run), "no clock was recorded");
}

/// Whether the offset of an agent's clock is among the collected files.
fn has_clocks(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let is_folder = entry.file_type().unwrap().is_dir();
        entry.file_name().to_string_lossy().ends_with(".clock.json")
            || is_folder && has_clocks(&entry.path())
    })
}
