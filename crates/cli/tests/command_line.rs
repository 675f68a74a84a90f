//! What all commands have in common: closed pipes, colour, errors as JSON, manual pages; what makes a comparison fail; and the page
//! about nightly suites and micro-benchmarks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

#[path = "../../report/tests/fixture/mod.rs"]
#[allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]
mod fixture;
mod rig;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use fixture::SampleRun;
use rig::{finish, stderr, stdout, tare};
use tare_record::api::{GoldenUpdate, HistoryCommand, PerfReference, PerfcheckOptions};
use tare_record::event::FailureReport;
use tare_record::metric::Metric;

const LIMIT: Duration = Duration::from_secs(60);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run in this folder, whose second arm adds so much to the latency of the first.
fn run(place: &Path, added_us: f64) -> PathBuf {
    let mut run = SampleRun {
        rates_per_s: vec![400],
        window_s: 3,
        plan_edit: Some(|plan| plan.primary = vec![Metric::Median]),
        ..SampleRun::sidecar()
    };
    run.arms[1].added_us = added_us;
    fs::create_dir_all(place).unwrap();
    run.write(place).unwrap()
}

/// A stream of a command.
#[derive(Debug, Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Runs a command, one of whose streams has no reader.
fn unread(words: &[&str], closed: Stream) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = tare(words);
    match closed {
        Stream::Out => command.stdout(writer).stderr(Stdio::piped()),
        Stream::Err => command.stdout(Stdio::piped()).stderr(writer),
    };
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let place = tempfile::tempdir().unwrap();
    let folder = run(place.path(), 150.0);
    let folder = text(&folder);
    for words in [
        &["--help"][..],
        &["--version"],
        &["load", "--help"],
        &["completions", "bash"],
        &["man"],
        &["schema"],
        &["schema", "experiment"],
        &["report", folder],
        &["report", folder, "--json"],
        &["compare", folder, folder],
    ] {
        let output = unread(words, Stream::Out);
        assert_eq!(stderr(&output), "", "{words:?}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
    for (words, code) in [
        (&["report", "nonsense", "--out", "nowhere"][..], 2),
        (&["report", "--nonsense"][..], 2),
        (&["compare", folder, folder][..], 0),
    ] {
        let output = unread(words, Stream::Err);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn colour_is_as_the_flag_says_then_as_the_environment_says() {
    let place = tempfile::tempdir().unwrap();
    let folder = run(place.path(), 150.0);
    let is_coloured = |words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = tare(words);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.envs(variable);
        let output = finish(&mut command, LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).contains('\u{1b}')
    };
    let report = ["report", text(&folder)];
    let with = |flag| [&report[..], &["--color", flag]].concat();
    let force = Some(("CLICOLOR_FORCE", "1"));
    assert!(!is_coloured(&report, None), "no terminal");
    assert!(is_coloured(&report, force));
    assert!(is_coloured(&with("always"), Some(("NO_COLOR", "1"))));
    assert!(!is_coloured(&with("never"), force));
    assert!(is_coloured(&["--color=always", "--help"], None));
    assert!(!is_coloured(&["--color=never", "--help"], force));
}

#[test]
fn an_error_is_json_too_where_json_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let out = text(place.path());
    let unknown = ["report", "nonsense", "--out", out];
    for words in [
        &[&unknown[..], &["--json"]].concat()[..],
        &["plan", "nonsense", "--json"],
        &["run", "nonsense", "--json-lines"],
        &["targets", "fetch", "nonsense", "--json"],
        &["report", "--json", "--nonsense"],
    ] {
        let output = finish(&mut tare(words), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let failed: FailureReport = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(failed.error.exit_code, 2);
        assert!(failed.error.message.contains("nonsense"), "{failed:?}");
        let said = stderr(&output);
        assert!(said.starts_with("error: "), "people are told: {said}");
    }
    let output = finish(&mut tare(&unknown), LIMIT);
    assert_eq!(stdout(&output), "", "nobody wanted JSON");
}

#[test]
fn a_comparison_fails_where_a_primary_metric_differs_and_only_when_asked_to() {
    let place = tempfile::tempdir().unwrap();
    let before = run(&place.path().join("before"), 150.0);
    let slower = run(&place.path().join("slower"), 230.0);
    let compare = |after: &Path, more: &[&str]| {
        let mut command = tare(&["compare", text(&before), text(after)]);
        let output = finish(command.args(more), LIMIT);
        (output.status.code(), stderr(&output))
    };
    let fail_on = ["--fail-on", "differs"];
    assert_eq!(compare(&slower, &[]).0, Some(0));
    for form in [&[][..], &["--json"], &["--md"]] {
        let (code, said) = compare(&slower, &[&fail_on[..], form].concat());
        assert_eq!(code, Some(1), "{form:?}: {said}");
        assert!(said.contains("differs: "), "{said}");
        assert!(said.contains("client-sidecar at 400/s"), "{said}");
    }
    let (code, said) = compare(&before, &fail_on);
    assert_eq!((code, said.as_str()), (Some(0), ""), "a run and itself");
    assert_eq!(compare(&slower, &["--fail-on", "nonsense"]).0, Some(2));
}

#[test]
fn manual_pages_are_there_of_every_command_that_users_see() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("man1");
    let output = finish(&mut tare(&["man", text(&folder)]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    for name in ["tare.1", "tare-load.1", "tare-kafka-topics-create.1"] {
        assert!(page(name).contains(".TH "), "{name}");
        assert!(page(name).contains("Examples:"), "{name}");
    }
    assert!(page("tare.1").contains("Exit codes:"));
    assert!(!folder.join("tare-keeper.1").exists());
    let own = finish(&mut tare(&["man"]), LIMIT);
    assert!(stdout(&own).contains(".TH tare "), "{}", stdout(&own));
}

/// `tare` in this folder, with a stand-in for the program of a command that prints what it is started with.
fn with_stand_in(place: &Path, name: &str) -> PathBuf {
    let (program, stand_in) = (place.join("tare"), place.join(name));
    fs::copy(env!("CARGO_BIN_EXE_tare"), &program).unwrap();
    fs::write(&stand_in, "#!/bin/sh\nprintf '%s\\n' \"$1\"\n").unwrap();
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Blocks of a page in one language, without their first line, which names the file.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let begins = format!("```{language}\n# ");
    let blocks = page.split(begins.as_str()).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

#[test]
fn the_commands_of_the_page_about_nightly_suites_are_understood_and_its_files_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/NIGHTLY.md")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let program = with_stand_in(place.path(), "tare-history");

    let at = |line: &str| {
        line.find("tare suite suites/")
            .map(|at| line[at + 5..].to_owned())
    };
    let commands: Vec<String> = page.lines().filter_map(at).collect();
    assert_eq!(commands.len(), 6, "{commands:?}");
    for words in commands {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("\"$0\" {words}"), text(&program)]);
        command.current_dir(&root).env("TARE_HOME", &root);
        let output = finish(&mut command, LIMIT);
        let options = serde_json::from_slice(&output.stdout);
        let Ok(HistoryCommand::Suite(options)) = options else {
            panic!("{words}: {}", stderr(&output));
        };
        assert!(root.join(&options.file).is_file(), "{words}");
        assert_eq!(options.confirm, words.contains("--confirm"), "{words}");
    }

    let units = blocks(&page, "ini");
    assert_eq!(units.len(), 2);
    for (name, unit) in &units {
        let name = Path::new(name).file_name().unwrap();
        let unit = unit.replace("/opt/tare/tare", text(&program));
        fs::write(place.path().join(name), unit).unwrap();
    }
    let mut verify = Command::new("systemd-analyze");
    verify
        .arg("verify")
        .arg(place.path().join("tare-nightly.timer"));
    match verify.output() {
        Ok(output) => {
            let said = stderr(&output);
            // It also says what is wrong with units of the machine.
            assert!(!said.contains("tare-nightly"), "{said}");
        }
        Err(error) => println!("the units are not verified: systemd-analyze: {error}"),
    }

    let [(name, workflow)] = blocks(&page, "yaml")[..] else {
        panic!("one workflow");
    };
    let workflow = tare_experiment::yaml::parse(name, workflow).unwrap();
    let steps = workflow.descend(&["jobs", "suite", "steps"]).items();
    let night = place.path().join("tare-runs/nights/2026-11-26");
    fs::create_dir_all(&night).unwrap();
    fs::write(night.join("night.md"), "# Suite").unwrap();
    let show = steps.last().unwrap().get("run").unwrap().text().unwrap();
    let mut show_result = Command::new("sh");
    show_result.args(["-ec", show]).env("HOME", place.path());
    show_result.env("GITHUB_STEP_SUMMARY", place.path().join("summary"));
    let output = finish(&mut show_result, LIMIT);
    let summary = fs::read_to_string(place.path().join("summary"));
    assert_eq!(summary.unwrap(), "# Suite", "{}", stderr(&output));
}

#[test]
fn the_commands_of_the_page_about_micro_benchmarks_are_understood_and_its_file_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/PERFCHECK.md")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let program = with_stand_in(place.path(), "tare-perfcheck");
    let begins = |line: &str| {
        line.find("tare perfcheck")
            .filter(|_| !line.starts_with('`'))
    };
    let commands = page
        .lines()
        .filter_map(|line| begins(line).map(|at| &line[at + 5..]));
    let options: Vec<PerfcheckOptions> = commands
        .map(|words| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("\"$0\" {words}"), text(&program)]);
            command
                .env("TARE_HOME", &root)
                .env("GITHUB_BASE_REF", "main");
            let output = finish(&mut command, LIMIT);
            let options = serde_json::from_slice(&output.stdout);
            options.unwrap_or_else(|_| panic!("{words}: {}", stderr(&output)))
        })
        .collect();
    assert_eq!(options.len(), 8, "{options:#?}");
    assert_eq!(options[1].update, GoldenUpdate::Add);
    assert_eq!(options[1].folder, Path::new("services/codec"));
    assert_eq!(options[2].update, GoldenUpdate::Reset);
    assert_eq!(options[5].margin, 0.03);
    assert_eq!(options[6].reference, PerfReference::RequiredGolden);
    let of_ci = PerfReference::Revision("origin/main".into());
    assert_eq!(options[7].reference, of_ci);

    let [(_, bench), (name, workflow)] = blocks(&page, "yaml")[..] else {
        panic!("bench.yaml and a workflow");
    };
    let file = place.path().join("bench.yaml");
    fs::write(&file, bench).unwrap();
    let bench = tare_experiment::benchmarks::read_benchmarks(&file).unwrap();
    assert_eq!(bench.benchmarks.len(), 2);
    tare_experiment::yaml::parse(name, workflow).unwrap();
}
