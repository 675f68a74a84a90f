//! Software under test that misbehaves: the test bed ends in bounded time, says what happened, and nothing stays.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;
mod beds;

use std::fs;

use base::processes;
use beds::{Rig, server, until};
use tare_lab::environment::TestBed;
use tare_lab::local::LocalTestBed;

/// A rig with a target that runs this shell script, and is ready when it says `up`.
fn rig(script: &str) -> Rig {
    let rig = Rig::new();
    let start = format!(r#"[/bin/sh, -c, "{script}"]"#);
    rig.target("unruly", "", &start, "{log: up, timeout: 60s}");
    rig
}

/// Living processes of the rig with this word of its tree, which only this test has.
fn carrying(token: &str) -> usize {
    processes(|words| words.iter().any(|word| word == token)).len()
}

fn assert_nothing_left(rig: &Rig, token: &str) {
    assert_eq!(carrying(token), 0);
    assert_eq!(fs::read_dir(rig.path("base")).unwrap().count(), 0);
}

fn log_of(bed: &mut LocalTestBed) -> std::path::PathBuf {
    bed.pod_processes().unwrap()[0].log.clone().unwrap()
}

#[test]
fn one_that_goes_into_the_background_is_told_with_the_next_step_and_does_not_stay() {
    // The parent of its server ends, and the server has left its session.
    let token = format!("background-{}", std::process::id());
    let rig = rig(&format!("{{{{ bin }}}} orphan {token} setsid; exit 0"));
    let mut local = rig.local();
    let mut bed = local.test_bed(&server("unruly")).unwrap();
    let said = bed.start(&mut |_, _| ()).unwrap_err().to_string();
    assert!(
        said.contains("server died: exit code 0") && said.contains("stays in the foreground"),
        "{said}"
    );
    drop(bed);
    drop(local);
    assert_nothing_left(&rig, &token);
}

#[test]
fn one_that_goes_into_the_background_when_it_is_ready_is_noticed() {
    let token = format!("later-{}", std::process::id());
    let script = "{{ bin }} orphan TOKEN deaf-setsid; echo up; until [ -e {{ dir }}/go ]; do sleep 0.01; done";
    let rig = rig(&script.replace("TOKEN", &token));
    let mut local = rig.local();
    let mut bed = local.test_bed(&server("unruly")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    until(|| carrying(&token) > 0);
    fs::write(log_of(&mut bed).with_file_name("go"), "").unwrap();
    let mut exits = Vec::new();
    until(|| {
        exits = bed.unexpected_exits();
        !exits.is_empty()
    });
    assert!(
        exits[0].how.contains("stays in the foreground"),
        "{exits:?}"
    );
    bed.stop().unwrap();
    drop(bed);
    drop(local);
    assert_nothing_left(&rig, &token);
}

#[test]
fn one_that_ignores_the_signal_to_stop_is_killed_with_all_that_it_started() {
    let token = format!("deaf-{}", std::process::id());
    let script = "trap '' TERM INT HUP; {{ bin }} tree TOKEN & echo up; while :; do sleep 60; done";
    let rig = rig(&script.replace("TOKEN", &token));
    let mut local = rig.local();
    let mut bed = local.test_bed(&server("unruly")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    until(|| carrying(&token) >= 7);
    bed.stop().unwrap();
    drop(bed);
    drop(local);
    assert_nothing_left(&rig, &token);
}

#[test]
fn one_that_floods_its_output_for_ever_is_cut_at_the_limit_and_stopped() {
    let token = format!("flood-{}", std::process::id());
    let rig = rig(&format!("echo up; exec yes {token}"));
    let mut local = rig.local();
    let mut bed = local.test_bed(&server("unruly")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let log = log_of(&mut bed);
    let limit: u64 = 16 << 20;
    let length = || fs::metadata(&log).unwrap().len();
    until(|| length() > limit);
    let cut = length();
    assert!(cut < limit + 100, "{cut}");
    let end = fs::read(&log).unwrap().split_off(limit as usize);
    let end = String::from_utf8_lossy(&end).into_owned();
    assert!(
        end.contains("[cut here: the limit of 16777216 bytes is reached]"),
        "{end}"
    );
    assert_eq!(carrying(&token), 1, "it goes on");
    assert!(bed.unexpected_exits().is_empty());
    bed.stop().unwrap();
    assert_eq!(length(), cut);
    drop(bed);
    drop(local);
    assert_nothing_left(&rig, &token);
}
