//! Commands whose values are known: golden files, outcomes, exit codes, outputs, interruptions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tare_record::api::{BenchmarkOutcome, GOLDEN_FILE, GoldenFile, GoldenUpdate, PerfReference};

use crate::rig::{Place, outcome};

/// Longest wait for what a test waits for.
const WAIT: Duration = Duration::from_secs(60);
const ENCODE: &str = "command: encode";

/// Values that a session gets, five for each benchmark; by chance they differ a little.
fn values(place: &Place, encode: f64, throughput: f64) {
    let line = |name: &str, value: f64| {
        let values =
            [0.0, 0.002, 0.001, 0.003, 0.0015].map(|by| format!("{:.5}", value * (1.0 + by)));
        format!("{name} {}\n", values.join(" "))
    };
    let text = line("encode", encode) + &line("throughput", throughput);
    fs::write(place.at("values"), text).unwrap();
    fs::write(place.at("calls"), "").unwrap();
}

fn golden(place: &Place) -> GoldenFile {
    serde_json::from_slice(&fs::read(place.at(GOLDEN_FILE)).unwrap()).unwrap()
}

/// Three sessions that deviate by half a percent.
fn with_sessions() -> Place {
    let mut place = Place::of("command");
    for by in [1.0, 1.005, 0.997] {
        values(&place, 10.0 * by, 200.0 * by);
        place.add_sessions(1);
    }
    place
}

#[test]
fn ten_percent_is_found_in_both_directions_and_a_session_like_the_others_is_the_same() {
    let place = with_sessions();
    values(&place, 10.02, 200.2);
    let report = place.report(0);
    assert!(
        report
            .benchmarks
            .iter()
            .all(|one| one.outcome == BenchmarkOutcome::Same),
        "{report:#?}"
    );
    values(&place, 11.0, 220.0);
    let report = place.report(1);
    assert_eq!(outcome(&report, ENCODE, "ms"), BenchmarkOutcome::Worse);
    assert_eq!(
        outcome(&report, "command: throughput", "MB/s"),
        BenchmarkOutcome::Better
    );
    assert_eq!(report.versions["command"], "stand-in 1");
    assert_eq!(
        golden(&place)
            .machines
            .values()
            .next()
            .unwrap()
            .sessions
            .len(),
        3
    );
}

#[test]
fn a_golden_file_keeps_ten_sessions_and_is_begun_anew_on_request() {
    let mut place = Place::of("command");
    for _ in 0..11 {
        values(&place, 10.0, 200.0);
        place.add_sessions(1);
    }
    let file = golden(&place);
    let sessions = &file.machines.values().next().unwrap().sessions;
    assert_eq!(sessions.len(), 10);
    assert_eq!(sessions[9].values[ENCODE]["ms"].len(), 5);
    assert!(sessions[9].revision.as_ref().unwrap().len() >= 12);
    // A slowdown that is meant.
    values(&place, 20.0, 100.0);
    place.options.update = GoldenUpdate::Reset;
    place.report(0);
    assert_eq!(
        golden(&place)
            .machines
            .values()
            .next()
            .unwrap()
            .sessions
            .len(),
        1
    );
    values(&place, 20.0, 100.0);
    place.options.update = GoldenUpdate::Keep;
    let report = place.report(0);
    assert_eq!(outcome(&report, ENCODE, "ms"), BenchmarkOutcome::Same);
    assert!(
        report.notes[0].contains("has 1 session"),
        "{:?}",
        report.notes
    );
}

#[test]
fn values_of_another_machine_are_not_compared() {
    let mut place = with_sessions();
    place.options.machine.cores = 64;
    values(&place, 20.0, 100.0);
    let report = place.report(0);
    assert!(
        report
            .benchmarks
            .iter()
            .all(|one| one.outcome == BenchmarkOutcome::New)
    );
    assert!(
        report.notes[0].contains("has no values of this machine"),
        "{:?}",
        report.notes
    );
    place.options.reference = PerfReference::RequiredGolden;
    place.report(1);
}

#[test]
fn a_session_is_written_only_after_a_question() {
    let mut place = Place::of("command");
    values(&place, 10.0, 200.0);
    place.options.update = GoldenUpdate::Add;
    place.options.yes = false;
    let output = place.run();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("give --yes"),
        "{output:?}"
    );
    assert!(!place.at(GOLDEN_FILE).exists());
}

#[test]
fn files_that_cannot_be_used_are_refused_with_their_line_before_anything_is_measured() {
    let place = with_sessions();
    values(&place, 10.0, 200.0);
    let text = fs::read_to_string(place.at(GOLDEN_FILE)).unwrap();
    let refused = |file: &str, text: &str, words: &str| {
        let before = fs::read_to_string(place.at(file)).unwrap();
        fs::write(place.at(file), text).unwrap();
        let output = place.run();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        fs::write(place.at(file), before).unwrap();
    };
    let merged = text.replace("  \"machines\"", "<<<<<<< HEAD\n  \"machines\"");
    refused(
        GOLDEN_FILE,
        &merged,
        "perf.golden.json:3:1: a merge left a conflict here",
    );
    let newer = text.replace("\"version\": 1", "\"version\": 7");
    refused(
        GOLDEN_FILE,
        &newer,
        "perf.golden.json:2:1: version 7 is of a newer Tare",
    );
    refused(GOLDEN_FILE, &text[..200], "EOF while parsing");
    let bench = "benchmarks:\n  - name: a\n    command: [x]\n    unit: ms\n    jsn: /a\n";
    refused("bench.yaml", bench, "bench.yaml:5:5");
    let bench =
        "benchmarks:\n  - name: a\n    command: [x]\n    unit: ms\n    json: /a\n    pattern: b\n";
    refused("bench.yaml", bench, "exactly one of");
    assert_eq!(fs::read_to_string(place.at("calls")).unwrap(), "");
}

#[test]
fn a_benchmark_that_fails_is_named_and_the_others_are_judged() {
    let mut place = with_sessions();
    fs::write(place.at("values"), "throughput 200 200.5 201 200 200.2\n").unwrap();
    let report = place.report(3);
    assert_eq!(report.failed.len(), 1);
    assert_eq!(report.failed[0].benchmark, ENCODE);
    assert_eq!(
        outcome(&report, "command: throughput", "MB/s"),
        BenchmarkOutcome::Same
    );
    // A session without it is no session.
    place.options.update = GoldenUpdate::Add;
    place.report(3);
    assert_eq!(
        golden(&place)
            .machines
            .values()
            .next()
            .unwrap()
            .sessions
            .len(),
        3
    );
}

#[test]
fn junit_markdown_and_text_say_what_is_worse() {
    let mut place = with_sessions();
    values(&place, 12.0, 200.0);
    let [junit, markdown] = ["junit.xml", "result.md"].map(|name| place.tmp().join(name));
    place.options.junit = Some(junit.clone());
    place.options.markdown = Some(markdown.clone());
    place.options.json = false;
    let output = place.run();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.ends_with("2 values, margin 5 %: 1 worse, 1 the same within the margin\n"),
        "{text}"
    );
    let junit = fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""),
        "{junit}"
    );
    assert!(
        junit.contains("<failure message=\"worse: +20 % ("),
        "{junit}"
    );
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(
        markdown.contains("| . | command: encode | ms | 10.0 | 12.0 | +20 % ("),
        "{markdown}"
    );
}

#[test]
fn names_that_match_no_benchmark_and_folders_without_any_are_said() {
    let mut place = with_sessions();
    place.options.benchmarks = Some("nonsense".into());
    let said = |place: &Place| {
        let output = place.run();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&place).contains("no benchmark matches \"nonsense\""));
    place.options.benchmarks = Some("(".into());
    assert!(said(&place).contains("--benchmarks: regex parse error"));
    place.options.benchmarks = None;
    place.options.folder = place.tmp();
    assert!(said(&place).contains("no benchmarks below"));
    place.options.reference = PerfReference::Revision("HEAD~9".into());
    place.options.folder = place.tmp().parent().unwrap().join("project");
    assert!(said(&place).contains("has no revision \"HEAD~9\""));
}

#[test]
fn benchmarks_that_only_one_revision_has_are_said() {
    let mut place = Place::of("command");
    values(&place, 10.0, 200.0);
    place.commit();
    place.plant("bench.yaml", "name: throughput", "name: rate");
    place.options.reference = PerfReference::Revision("HEAD".into());
    let report = place.report(0);
    assert_eq!(report.repeats, 10);
    assert_eq!(outcome(&report, ENCODE, "ms"), BenchmarkOutcome::Same);
    let expected = [
        "not in the old revision: command: rate",
        "only in the old revision: command: throughput",
    ];
    // A third one is about a busy machine.
    assert_eq!(report.notes[..2], expected);
}

/// Waits until a condition holds.
fn wait(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < WAIT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A check of two revisions whose benchmark does not end, once that has begun; its process id is in `busy`.
fn endless() -> (Place, std::process::Child, u32) {
    let mut place = with_sessions();
    let busy = place.at("busy");
    let script = format!(
        "#!/bin/sh\nsleep 1000 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait\n",
        busy.display()
    );
    fs::write(place.at("measure"), script).unwrap();
    place.commit();
    place.options.reference = PerfReference::Revision("HEAD".into());
    let child = place.start();
    wait("the benchmark begins", || busy.exists());
    let sleeping = fs::read_to_string(busy).unwrap().trim().parse().unwrap();
    (place, child, sleeping)
}

fn is_there(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie has ended.
    !stat.is_empty() && !stat.contains(") Z ")
}

fn signal(child: &std::process::Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn an_interrupted_check_ends_its_processes_and_leaves_nothing_behind() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (place, child, sleeping) = endless();
        let before = fs::read(place.at(GOLDEN_FILE)).unwrap();
        assert_eq!(place.left(), 1);
        signal(&child, sent);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        wait("the benchmark ends", || !is_there(sleeping));
        assert_eq!(place.left(), 0);
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        assert_eq!(fs::read(place.at(GOLDEN_FILE)).unwrap(), before);
    }
}

#[test]
fn what_a_killed_check_has_left_is_removed_by_the_next_one_and_not_that_of_a_running_one() {
    let (mut place, mut killed, sleeping) = endless();
    signal(&killed, Signal::KILL);
    killed.wait().unwrap();
    kill_process(
        Pid::from_raw(i32::try_from(sleeping).unwrap()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    assert_eq!(place.left(), 1);
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 2);
    fs::remove_file(place.at("busy")).unwrap();
    let running = place.start();
    wait("the next check begins", || place.at("busy").exists());
    assert_eq!(place.left(), 1);
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 2);

    // A third one, in the same temporary folder: the second keeps its own.
    place.options.reference = PerfReference::Golden;
    place.options.folder = Path::new("/nowhere").to_owned();
    assert_eq!(place.run().status.code(), Some(2));
    let other = Place::of("command");
    values(&other, 10.0, 200.0);
    let tmp = place.tmp();
    let mut other = other;
    other.variable("TMPDIR", tmp);
    other.report(0);
    assert_eq!(place.left(), 1);
    signal(&running, Signal::INT);
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(place.left(), 0);
}

#[test]
fn only_its_own_worktrees_are_removed_and_one_of_the_user_that_is_away_keeps_its_staged_files() {
    let mut place = Place::of("command");
    values(&place, 10.0, 200.0);
    place.commit();
    let beside = |name: &str| place.tmp().parent().unwrap().join(name);
    let (there, away) = (beside("users"), beside("moved"));
    place.git(&["worktree", "add", "-q", "--detach", there.to_str().unwrap()]);
    fs::write(there.join("staged"), "a text that is nowhere else").unwrap();
    let of_user = |folder: &Path, words: &[&str]| {
        let mut git = std::process::Command::new("git");
        let output = git.arg("-C").arg(folder).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    of_user(&there, &["add", "staged"]);
    // As on a disk that is not mounted.
    fs::rename(&there, &away).unwrap();

    // What a check has left that was killed while git made the worktree, and a folder that somebody else may have written.
    let left = |name: &str, mode: u32| {
        let folder = place.tmp().join(name);
        fs::create_dir(&folder).unwrap();
        let sources = folder.join("sources");
        let sources = sources.to_str().unwrap();
        place.git(&["worktree", "add", "-q", "--detach", sources]);
        place.git(&["worktree", "lock", sources]);
        fs::write(folder.join("lock"), "").unwrap();
        fs::write(folder.join("repository"), place.at("").to_str().unwrap()).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    left("tare-perfcheck-left", 0o700);
    left("tare-perfcheck-open", 0o777);
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 4);

    place.options.reference = PerfReference::Revision("HEAD".into());
    place.report(0);

    let list = place.git(&["worktree", "list"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(
        list.contains("users") && list.contains("tare-perfcheck-open"),
        "{list}"
    );
    assert_eq!(place.left(), 1);
    fs::rename(&away, &there).unwrap();
    let status = of_user(&there, &["status", "--porcelain"]);
    assert_eq!(status, "A  staged\n");
}

#[test]
fn a_tool_that_becomes_a_daemon_ends_with_the_check() {
    let place = Place::of("command");
    values(&place, 10.0, 200.0);
    let (measure, pids) = (place.at("measure"), place.at("pids"));
    let script = fs::read_to_string(&measure).unwrap();
    let (first, rest) = script.split_once('\n').unwrap();
    // In a session of its own, and its parent ends at once.
    let daemon = format!(
        "(setsid sh -c 'echo $$ >> {0}; exec sleep 1000' > /dev/null 2>&1 &)\nuntil [ -s {0} ]; do sleep 0.01; done",
        pids.display()
    );
    fs::write(&measure, format!("{first}\n{daemon}\n{rest}")).unwrap();
    place.report(0);
    let pids = fs::read_to_string(pids).unwrap();
    assert!(!pids.is_empty());
    for pid in pids.lines() {
        assert!(!is_there(pid.parse().unwrap()), "{pid}");
    }
}

#[test]
fn a_tool_is_never_one_of_the_current_directory() {
    let mut place = Place::of("command");
    values(&place, 10.0, 200.0);
    let called = place.at("called");
    let script = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", called.display());
    let git = place.at("git");
    fs::write(&git, script).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    place.variable("PATH", format!(".::{path}").into());
    let mut command = place.command();
    let output = command.current_dir(place.at("")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:#?}");
    assert!(!called.exists());
}
