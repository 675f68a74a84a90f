//! Entries: which are run, in which order, how they end, and what is left to the next call.

use std::fs;

use serde_json::{Value, json};
use tare_record::api::EntryOutcome;

use crate::maker::{DAY, measure};
use crate::rig::{NEXT_RUN, Place, START, UNTIL_INTERRUPTED, interrupt, nights, outcomes, report};

#[test]
fn a_failed_entry_stops_no_other_one_and_an_assertion_stands_before_it() {
    let place = Place::new(
        "entries:\n- experiment: bad\n- experiment: mesh/good\n  blocks: 9\n- experiment: good\n  quick: true\n\
         - load: {url: \"http://127.0.0.1:1/\", labels: echo, options: {rate: 5}}\n",
        &[
            (
                "bad",
                "printf '%s' '{\"error\":{\"message\":\"no such target\\n\\nUsage: x\",\"exit_code\":3,\"causes\":[\"it is gone\"]}}'; exit 3",
            ),
            ("good", ""),
        ],
    );
    place.write("do/load", "echo said >&2; exit 4");
    let night = place.run();
    assert_eq!(
        outcomes(&night),
        [
            ("mesh/bad", EntryOutcome::Failed),
            ("mesh/good (9 blocks)", EntryOutcome::Done),
            ("mesh/good (quick)", EntryOutcome::Done),
            ("load echo", EntryOutcome::Failed),
        ]
    );
    assert_eq!(
        night.entries[0].reason.as_deref(),
        Some("no such target: it is gone")
    );
    assert_eq!(night.entries[3].reason.as_deref(), Some("said"));
    assert_eq!(night.exit_code, 3);
    assert_eq!(
        place.calls(),
        [
            "run experiments/mesh/bad.yaml --json-lines --out runs",
            "run experiments/mesh/good.yaml --blocks=9 --json-lines --out runs",
            "run experiments/mesh/good.yaml --quick --json-lines --out runs",
            "load --json-lines --out runs --rate=5 --labels=echo -- http://127.0.0.1:1/",
        ]
    );
    place.write("do/good", "exit 1");
    assert_eq!(place.run().exit_code, 1);
    let quick = place
        .command(|options| options.quick = true)
        .output()
        .unwrap();
    assert_eq!(report(&quick).entries.len(), 4);
    let calls = place.calls();
    assert_eq!(
        calls.iter().filter(|call| call.contains("--quick")).count(),
        1 + 3
    );
}

#[test]
fn a_golden_check_says_what_is_worse() {
    let place = Place::new(
        "entries:\n- perfcheck: {folder: do, options: {margin: 3%}}\n",
        &[],
    );
    let of = |benchmark: &str, outcome: &str| {
        json!({"project": "", "benchmark": benchmark, "unit": "ns/op", "better": "lower", "now": 1321.0,
            "reference": 1200.0, "ratio": {"estimate": 1.1, "low": 1.08, "high": 1.12, "level": 0.95},
            "sessions": 3, "outcome": outcome})
    };
    let report = json!({"version": 1, "folder": "/x", "started_unix_us": 1, "took_ns": 1, "tare": "0.1.0",
        "machine": "m", "machine_about": "a", "revision": null, "against": null, "repeats": 5, "seed": 1,
        "margin": 0.03, "versions": {}, "benchmarks": [of("go: Encode", "worse"), of("go: Decode", "same")],
        "failed": [], "notes": [], "answer": "2 values, margin 3 %: 1 worse, 1 the same within the margin",
        "exit_code": 1});
    let text = serde_json::to_string_pretty(&report).unwrap();
    place.write("report", &text);
    place.write("do/perfcheck", "cat \"$here/report\"; exit 1");
    let night = place.run();
    let entry = &night.entries[0];
    assert_eq!(entry.name, "perfcheck do");
    assert_eq!(entry.outcome, EntryOutcome::AssertionFailed);
    let worse = "go: Encode is worse: +10 % (8–12), 1321 ns/op now";
    assert_eq!(entry.reason.as_deref(), Some(worse));
    assert_eq!(
        night.reason.as_deref(),
        Some(format!("perfcheck do: {worse}").as_str())
    );
    assert_eq!(
        entry.findings,
        [
            "2 values, margin 3 %: 1 worse, 1 the same within the margin",
            "go: Encode is worse: +10 % (8–12), 1321 ns/op now"
        ]
    );
    assert_eq!(night.exit_code, 1);
    let folder = nights(&place)[0].file_name().unwrap().to_owned();
    let at = format!("runs/nights/{}", folder.display());
    assert_eq!(
        place.calls(),
        [format!(
            "perfcheck do --margin=3% --json --markdown {at}/01.perfcheck.md"
        )]
    );
}

#[test]
fn a_golden_check_is_a_run_of_a_history_and_a_step_of_it_is_a_change_with_its_revision() {
    let place = Place::new("entries:\n- perfcheck: {folder: do}\n", &[]);
    place.write("do/perfcheck", "cat \"$here/report\"");
    let night = |number: u64, now: f64| {
        let of = |benchmark: &str, unit: &str, better: &str, now: f64| {
            json!({"project": "sub", "benchmark": benchmark, "unit": unit, "better": better, "now": now,
                "reference": null, "ratio": null, "sessions": 0, "outcome": "new"})
        };
        let benchmarks = [
            of("go: Encode", "ns/op", "lower", now),
            of("go: Encode", "MB/s", "higher", 1e5 / now),
        ];
        let report = json!({"version": 1, "folder": "/x", "started_unix_us": START + number * DAY, "took_ns": 1,
            "tare": "0.1.0", "machine": "m", "machine_about": "a machine", "revision": format!("r{}", number / 5),
            "against": null, "repeats": 5, "seed": 1, "margin": 0.03, "versions": {"go": "1.26"}, "kernel": "6.18",
            "benchmarks": benchmarks, "failed": [], "notes": [], "answer": "2 values", "exit_code": 0});
        place.write("report", &serde_json::to_string_pretty(&report).unwrap());
        place.run()
    };
    for number in 0..5 {
        let quiet = night(number, 100.0 + number as f64 / 10.0);
        let run = quiet.entries[0].run.as_deref().unwrap();
        assert!(run.ends_with("-perfcheck"), "{run}");
        assert_eq!((quiet.changes.len(), quiet.exit_code), (0, 0));
    }
    let mut last = night(5, 130.0);
    for number in 6..10 {
        last = night(number, 130.0 + number as f64 / 10.0);
    }
    let changes: Vec<(&str, &str, bool)> = last
        .changes
        .iter()
        .map(|one| {
            (
                one.key.arm.as_str(),
                one.key.level.as_str(),
                one.change.is_worse,
            )
        })
        .collect();
    assert_eq!(
        changes,
        [
            ("sub: go: Encode", "MB/s", true),
            ("sub: go: Encode", "ns/op", true)
        ]
    );
    let change = &last.changes[0].change;
    assert_eq!(change.index, 5);
    let axes: Vec<&str> = change.changed.iter().map(|one| one.axis.as_str()).collect();
    assert_eq!(axes, ["revision"]);
    assert_eq!(last.exit_code, 1);
    let reason = last.reason.unwrap();
    assert!(
        reason.starts_with("perfcheck do, sub: go: Encode in MB/s:"),
        "{reason}"
    );
    let history = place.history("perfcheck do");
    assert!(
        history.contains("ns/op") && history.contains("sub: go: Encode"),
        "{history}"
    );
}

#[test]
fn the_first_line_of_a_suite_says_why_it_failed() {
    let suite = "entries:\n- load: {url: \"http://127.0.0.1:1/\", labels: edge}\n- experiment: good\n- experiment: gone\n";
    let place = Place::new(suite, &[("good", ""), ("gone", "exit 4")]);
    // As `tare load` says it, whose other words come last.
    place.write(
        "do/load",
        "printf 'error: p99<10s undecided: too few\\nerror: errors<1 failed: it is 7\\nwarning: slow\\n' >&2; exit 1",
    );
    let output = place
        .command(|options| options.json = false)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = "load edge: p99<10s undecided: too few; errors<1 failed: it is 7 (and 1 more)";
    let text = String::from_utf8(output.stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(
        first.ends_with(&format!(
            " failed: {said}; 0 changes for the worse, 2 of 3 entries measured"
        )),
        "{first}"
    );
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(
        messages.contains(&format!("the suite failed: {said}\n")),
        "{messages}"
    );
    let night = &nights(&place)[0];
    let read = |name: &str| fs::read_to_string(night.join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("night.json")).unwrap();
    assert_eq!(json["reason"], said);
    let markdown = read("night.md");
    let title = markdown.lines().next().unwrap();
    assert!(title.contains("failed: load edge: p99"), "{title}");
    let junit = read("night.xml");
    for part in [
        "tests=\"3\" failures=\"1\" errors=\"1\"",
        "name=\"load edge\"",
        "<failure message=\"p99&lt;10s undecided: too few; errors&lt;1 failed: it is 7\">",
        "<error message=\"exit status: 4\">",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    // One that did not fail says nothing of it.
    place.write("do/load", "");
    place.write("do/gone", "");
    let night = place.run();
    assert_eq!((night.exit_code, night.reason), (0, None));
}

#[test]
fn a_result_is_exported_and_a_failed_export_is_said() {
    let place = Place::new(
        "entries:\n- experiment: good\n  export:\n  - as: junit\n  - {as: bmf, file: results/a.json}\n  \
         - {as: otlp, endpoint: \"http://127.0.0.1:4318\"}\n  \
         - {as: github-action-benchmark, better: higher}\n- experiment: bad\n  export: [{as: bmf}]\n",
        &[("good", NEXT_RUN), ("bad", "exit 3")],
    );
    measure(&place.at("pool"), "run-1", (START, 100.0), &json!({}));
    place.write(
        "do/export",
        "case \"$*\" in *otlp*) echo far away >&2; exit 3;; esac",
    );
    let night = place.run();
    let good = &night.entries[0];
    assert_eq!(good.outcome, EntryOutcome::Done);
    assert_eq!(good.export_problems, ["otlp: far away"]);
    assert!(!good.findings.is_empty());
    assert_eq!(night.exit_code, 3);
    let folder = nights(&place)[0].file_name().unwrap().to_owned();
    let at = format!("runs/nights/{}", folder.display());
    assert_eq!(
        place.calls()[1..],
        [
            format!("export runs/run-1 --as junit --out {at}/01.junit.xml"),
            "export runs/run-1 --as bmf --out results/a.json".to_owned(),
            "export runs/run-1 --as otlp --endpoint=http://127.0.0.1:4318".to_owned(),
            format!(
                "export runs/run-1 --as github-action-benchmark --out {at}/01.github-action-benchmark.json --better=higher"
            ),
            "run experiments/mesh/bad.yaml --json-lines --out runs".to_owned(),
        ]
    );
    assert!(place.at("results").is_dir());
    let page = fs::read_to_string(nights(&place)[0].join("night.md")).unwrap();
    assert!(page.contains("not exported as otlp: far away"), "{page}");
}

#[test]
fn what_the_budget_cuts_off_is_run_first_by_the_next_call() {
    let place = Place::new(
        "budget: 3s\nentries:\n- experiment: first\n- experiment: long\n- experiment: last\n",
        &[("first", ""), ("long", UNTIL_INTERRUPTED), ("last", "")],
    );
    let night = place.run();
    let first = ("mesh/first", EntryOutcome::Done);
    assert_eq!(
        outcomes(&night),
        [first, ("mesh/long", EntryOutcome::Interrupted)]
    );
    assert_eq!(night.left, ["mesh/long", "mesh/last"]);
    assert_eq!(night.exit_code, 0, "a budget is no failure");
    let calls = place.calls();
    assert_eq!(calls.last().unwrap(), "interrupted");
    place.write("do/long", "");
    let night = place.run();
    let names: Vec<&str> = outcomes(&night).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["mesh/long", "mesh/last", "mesh/first"]);
    assert!(night.left.is_empty());
    let names: Vec<String> = place
        .run()
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["mesh/first", "mesh/long", "mesh/last"]);
}

#[test]
fn an_entry_that_takes_longer_than_the_whole_budget_fails_and_keeps_the_others_from_nothing() {
    let place = Place::new(
        "budget: 500ms\nentries:\n- experiment: long\n- experiment: last\n",
        &[("long", UNTIL_INTERRUPTED), ("last", "")],
    );
    let night = place.run();
    assert_eq!(outcomes(&night), [("mesh/long", EntryOutcome::Interrupted)]);
    let reason = night.entries[0].reason.as_deref().unwrap();
    assert!(reason.contains("longer than the whole budget"), "{reason}");
    assert_eq!(night.exit_code, 3, "no night would ever be whole");
    assert_eq!(night.left, ["mesh/last", "mesh/long"]);
    let night = place.run();
    let done = ("mesh/last", EntryOutcome::Done);
    assert_eq!(
        outcomes(&night),
        [done, ("mesh/long", EntryOutcome::Interrupted)]
    );
    assert_eq!((night.left.len(), night.exit_code), (1, 0));
}

#[test]
fn a_limit_ends_its_entry_alone() {
    let place = Place::new(
        "entries:\n- {experiment: long, limit: 300ms}\n- experiment: last\n",
        &[("long", UNTIL_INTERRUPTED), ("last", "")],
    );
    let night = place.run();
    let done = ("mesh/last", EntryOutcome::Done);
    assert_eq!(
        outcomes(&night),
        [("mesh/long", EntryOutcome::Interrupted), done]
    );
    assert!(night.left.is_empty());
    assert_eq!(night.exit_code, 3);
}

#[test]
fn an_interrupt_ends_the_entry_by_its_own_once_and_says_what_is_left() {
    let place = Place::new(
        "entries:\n- experiment: long\n- experiment: last\n",
        &[("long", UNTIL_INTERRUPTED), ("last", "")],
    );
    let suite = place.start();
    place.wait_for("started");
    let refused = place.command(|_| {}).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("another suite runs in"), "{said}");
    interrupt(&suite);
    let output = suite.wait_with_output().unwrap();
    let night = report(&output);
    assert_eq!(night.exit_code, 130);
    assert_eq!(night.left, ["mesh/long", "mesh/last"]);
    let calls = place.calls();
    assert_eq!(
        calls.iter().filter(|call| *call == "interrupted").count(),
        1
    );
    assert!(nights(&place)[0].join("night.html").exists());
}

#[test]
fn what_a_killed_suite_was_running_is_run_first() {
    let place = Place::new(
        "entries:\n- experiment: first\n- experiment: long\n",
        &[
            ("first", ""),
            (
                "long",
                &UNTIL_INTERRUPTED.replace(":; do", "[ ! -e \"$here/end\" ]; do"),
            ),
        ],
    );
    let mut suite = place.start();
    place.wait_for("started");
    suite.kill().unwrap();
    suite.wait().unwrap();
    place.write("end", "");
    place.calls();
    let night = place.run();
    let names: Vec<&str> = outcomes(&night).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["mesh/long", "mesh/first"]);
    fs::write(place.at("runs/.suite.json"), "{").unwrap();
    let output = place.command(|_| {}).output().unwrap();
    assert_eq!(report(&output).exit_code, 0);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("is made again"), "{said}");
}

#[test]
fn wrong_files_are_refused_with_their_places() {
    let place = Place::new("entries:\n- experiment: none\n", &[("some", "")]);
    let output = place.command(|_| {}).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("suite.yaml:2:15: there is no experiment \"none\""),
        "{said}"
    );
    assert_eq!(said.matches("there is no experiment").count(), 1, "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["error"]["exit_code"], 2);
}
