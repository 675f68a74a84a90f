//! Observation of real work: what a process says it burnt is what is found, wherever it burnt it.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tare_lab::environment::Observation;
use tare_lab::keeper::{Keeper, Spawn};
use tare_lab::observe::{LocalObservation, ObservedInstance, OtherArms};
use tare_record::record::InstanceUsage;

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

#[test]
fn work_of_other_arms_is_told_apart_from_the_trials_own() {
    let base = tempfile::tempdir().unwrap();
    let mut keeper = Keeper::start(RIG.as_ref(), Some(base.path())).unwrap();
    let own = spawn(&mut keeper, "1-own/server", "burn", 200);
    // As a fault restarts an instance: it is the trial's own, by its mark.
    spawn(&mut keeper, "1-own/again", "burn", 600);
    spawn(&mut keeper, "2-other/server", "burn", 1200);
    let mark = "TARE_INSTANCE=1-own/server";
    let watched = ObservedInstance::tree("server", "app", "rig 1", own, mark);
    let other_arms = OtherArms {
        keeper: keeper.inside_pid(),
        own_mark: String::from("TARE_INSTANCE=1-own/"),
    };
    let observation = LocalObservation::start(vec![watched], Vec::new(), Some(other_arms)).unwrap();
    std::fs::write(go(&keeper), "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    for name in ["1-own/server", "1-own/again", "2-other/server"] {
        while words(&mut keeper, name).is_empty() {
            assert!(Instant::now() < deadline, "it never finished");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let (_, machine) = Box::new(observation).finish().unwrap();
    let burnt_ns = words(&mut keeper, "2-other/server")[0];
    near(machine.other_arms_cpu_ns.unwrap(), burnt_ns, 0.05);
}

/// Observes the rig at work; returns what was found and what the processes say of themselves.
///
/// Much work: what the rig uses to start and to look for its file is found as well, and a busy machine lets it look for long.
fn observed(work: &str, milliseconds: u32) -> (InstanceUsage, u64) {
    let base = tempfile::tempdir().unwrap();
    let mut keeper = Keeper::start(RIG.as_ref(), Some(base.path())).unwrap();
    let pid = spawn(&mut keeper, "work", work, milliseconds);
    let mark = "TARE_INSTANCE=work";
    let watched = ObservedInstance::tree("work", "app", "rig 1", pid, mark);
    let observation = LocalObservation::start(vec![watched], Vec::new(), None).unwrap();
    let mut observation = Box::new(observation);
    std::fs::write(go(&keeper), "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let parents_word = if work == "burn" { 1 } else { 2 };
    let burnt = loop {
        let burnt = words(&mut keeper, "work");
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

/// Starts the rig to work as soon as the file is there.
fn spawn(keeper: &mut Keeper, name: &str, work: &str, milliseconds: u32) -> u32 {
    let file = go(keeper);
    let argv = [RIG, work, &milliseconds.to_string(), file.to_str().unwrap()];
    let spawn = Spawn {
        name: name.to_owned(),
        argv: argv.map(String::from).to_vec(),
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        cpus: Vec::new(),
        output: keeper.folder().join(name.replace('/', "-")),
        output_bytes_max: 1000,
        nofile: None,
        pod: None,
        hosts: None,
        group: None,
        bounds: None,
        confinement: None,
    };
    keeper.spawn(&spawn).unwrap()
}

/// The file at whose sight the rig works.
fn go(keeper: &Keeper) -> PathBuf {
    keeper.folder().join("go")
}

/// What a rig and its child have said they burnt.
fn words(keeper: &mut Keeper, name: &str) -> Vec<u64> {
    let tail = keeper.tail(name).unwrap();
    let burnt = tail.iter().filter_map(|line| line.strip_prefix("burnt "));
    burnt.filter_map(|amount| amount.parse().ok()).collect()
}

fn near(found: u64, expected: u64, share: f64) {
    let off = found.abs_diff(expected) as f64 / expected as f64;
    assert!(off <= share, "{found} found, {expected} expected");
}
