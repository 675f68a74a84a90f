//! Observation of real work: what a process says it burnt is what is found, wherever it burnt it.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tare_lab::environment::Observation;
use tare_lab::keeper::{Keeper, Spawn};
use tare_lab::observe::{LocalObservation, ObservedInstance};
use tare_schema::record::PartUsage;

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");

#[test]
fn work_in_threads_that_ended_is_found_to_five_percent() {
    let (part, burnt_ns) = observed("burn", 1200);
    near(part.cpu_ns.unwrap(), burnt_ns, 0.05);
    let ticked = part.user_ns.unwrap() + part.system_ns.unwrap();
    // Two counters of whole ticks.
    assert!(ticked.abs_diff(burnt_ns) <= burnt_ns / 20 + 20_000_000);
    assert_eq!(part.processes, 1);
}

#[test]
fn work_in_a_child_that_was_reaped_is_found_to_five_percent() {
    let (part, burnt_ns) = observed("burn-in-child", 1200);
    near(part.cpu_ns.unwrap(), burnt_ns, 0.05);
}

/// Observes the rig at work; returns what was found and what the processes say of themselves.
///
/// Much work: what the rig uses to start and to look for its file is found as well, and a busy machine lets it look for long.
fn observed(work: &str, milliseconds: u32) -> (PartUsage, u64) {
    let base = tempfile::tempdir().unwrap();
    let mut keeper = Keeper::start(RIG.as_ref(), Some(base.path())).unwrap();
    let go = keeper.folder().join("go");
    let argv = [RIG, work, &milliseconds.to_string(), go.to_str().unwrap()];
    let pid = keeper
        .spawn(&Spawn {
            name: String::from("work"),
            argv: argv.map(String::from).to_vec(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            cpus: Vec::new(),
            output: keeper.folder().join("log"),
            output_bytes_max: 1000,
            nofile: None,
            pod: None,
            hosts: None,
            group: None,
            bounds: None,
        })
        .unwrap();
    let mark = "TARE_INSTANCE=work";
    let watched = ObservedInstance::tree("work", "app", "rig 1", pid, mark);
    let mut observation = Box::new(LocalObservation::start(vec![watched], Vec::new()).unwrap());
    std::fs::write(&go, "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let parents_word = if work == "burn" { 1 } else { 2 };
    let burnt = loop {
        let burnt: Vec<u64> = keeper
            .tail("work")
            .unwrap()
            .iter()
            .filter_map(|line| line.strip_prefix("burnt ")?.parse().ok())
            .collect();
        if burnt.len() == parents_word {
            break burnt.iter().sum();
        }
        assert!(Instant::now() < deadline, "it never finished");
        observation.tick();
        std::thread::sleep(Duration::from_millis(5));
    };
    let (parts, _) = observation.finish().unwrap();
    (parts[0].clone(), burnt)
}

fn near(found: u64, expected: u64, share: f64) {
    let off = found.abs_diff(expected) as f64 / expected as f64;
    assert!(off <= share, "{found} found, {expected} expected");
}
