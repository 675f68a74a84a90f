//! Entries: which are run, in which order, how they end, and what is left to the next call.

use std::fs;

use serde_json::{Value, json};
use tare_record::api::EntryOutcome;

use crate::maker::measure;
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
