//! The history of the runs of a server: what it lists, and that it reads what is new without being told.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tare_record::api::{EntryOutcome, NightEntry, NightReport};

use crate::rig::Server;

#[path = "../../../history/tests/maker/mod.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
pub mod maker;

use maker::{DAY, copy, measure};

/// Start of the first run.
const START: u64 = 1_795_252_364_000_000;

/// Writes the result of a night whose one entry made this run.
pub fn night(runs: &Path, name: &str, run: &str) -> NightReport {
    let report = NightReport {
        version: tare_record::FORMAT_VERSION,
        suite: "/suites/nightly.yaml".to_owned(),
        started_unix_us: START,
        took_ns: 1_000_000_000,
        tare: "0.1.0".to_owned(),
        entries: vec![NightEntry {
            name: "mesh/sidecar".to_owned(),
            outcome: EntryOutcome::Done,
            reason: None,
            run: Some(run.to_owned()),
            took_ns: 1_000_000_000,
            findings: vec!["mTLS adds 6 % CPU".to_owned()],
            command: "tare run mesh/sidecar".to_owned(),
            export_problems: Vec::new(),
        }],
        left: vec!["mesh/grid".to_owned()],
        left_reason: Some("a signal ended the suite".to_owned()),
        changes: Vec::new(),
        unmatched: Vec::new(),
        history_problem: None,
        exit_code: 130,
        reason: None,
    };
    let folder = runs.join("nights").join(name);
    fs::create_dir_all(&folder).unwrap();
    let page = format!(
        "<h1>Suite</h1><a href=\"../../{run}/report.html\">mesh/sidecar</a> <a href=\"../../gone/report.html\">gone</a><script>alert(1)</script>"
    );
    let json = serde_json::to_string(&report).unwrap();
    for (file, text) in [
        ("night.json", json.as_str()),
        ("night.html", &page),
        ("night.md", "# Suite\n"),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    report
}

#[test]
fn nights_are_listed_the_newest_first_and_each_has_its_result_and_its_page() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    measure(&runs, "day-00", (START, 150.0), &json!({}));
    let server = Server::start_with(&runs, &json!({ "read_only": true }));
    assert_eq!(
        server.get("/api/v1/history/nights"),
        json!({ "nights": [] })
    );
    let report = night(&runs, "2026-11-21", "day-00");
    for number in [2, 10] {
        night(&runs, &format!("2026-11-21-{number}"), "day-00");
    }
    fs::write(runs.join("nights/2026-11-21-2/night.json"), "{").unwrap();
    fs::create_dir(runs.join("nights/2026-11-22")).unwrap();
    fs::create_dir(runs.join("nights/2026-11-20")).unwrap();
    std::os::unix::fs::symlink(&runs, runs.join("nights/2026-11-30")).unwrap();
    let listed = |server: &Server| {
        let list = server.get("/api/v1/history/nights");
        let nights = list["nights"].as_array().unwrap().clone();
        let words =
            |night: &Value| format!("{} {}", night["night"], night["state"]).replace('"', "");
        (nights.iter().map(words).collect::<Vec<_>>(), nights)
    };
    let (words, nights) = listed(&server);
    assert_eq!(
        words,
        [
            "2026-11-22 killed",
            "2026-11-21-10 done",
            "2026-11-21-2 unreadable",
            "2026-11-21 done",
            "2026-11-20 killed"
        ]
    );
    let counts = json!({ "suite": report.suite, "started_unix_us": START, "took_ns": report.took_ns, "exit_code": 130, "done": 1,
        "failed": 0, "left": 1, "changes": 0, "worse": 0, "new": 0, "confirmed": 0 });
    assert_eq!(nights[3]["result"], counts);
    // While a suite runs, the night in which something was written last is its own.
    let lock = fs::File::create(runs.join(".suite.lock")).unwrap();
    lock.try_lock().unwrap();
    fs::write(runs.join("nights/2026-11-20/01.messages"), "").unwrap();
    let (words, _) = listed(&server);
    assert_eq!(
        (words[0].as_str(), words[4].as_str()),
        ("2026-11-22 killed", "2026-11-20 running")
    );
    drop(lock);
    let one = server.get("/api/v1/history/nights/2026-11-21");
    assert_eq!(one, serde_json::to_value(&report).unwrap());
    let page = server.ask("GET", "/api/v1/history/nights/2026-11-21/night.html", None);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("sandbox") && !policy.contains("script"),
        "{policy}"
    );
    assert!(
        page.text()
            .contains("<a href=\"/runs/day-00\">mesh/sidecar</a> <a>gone</a>"),
        "{}",
        page.text()
    );
    let markdown = server.ask("GET", "/api/v1/history/nights/2026-11-21/night.md", None);
    assert_eq!(markdown.text(), "# Suite\n");
    for (night, status) in [
        ("2026-11-20", 404),
        ("2026-11-21-2", 422),
        ("2026-11-30", 404),
        ("..", 404),
        ("none", 404),
    ] {
        let answer = server.ask("GET", &format!("/api/v1/history/nights/{night}"), None);
        assert_eq!(answer.status, status, "{night}: {}", answer.text());
    }
}

/// Twelve runs, then eight that are slower, with another Envoy.
fn runs_with_a_step(runs: &Path) {
    let envoy = json!({ "version": "1.41.0", "source": "pip", "path": "envoy" });
    let targets = json!({ "targets": { "envoy": envoy } });
    for day in 0..20 {
        let (added_us, environment) = match day {
            0..12 => (150.0, json!({})),
            _ => (345.0, targets.clone()),
        };
        measure(
            runs,
            &format!("day-{day:02}"),
            (START + day * DAY, added_us),
            &environment,
        );
    }
}

#[test]
fn the_history_is_listed_and_a_series_has_its_runs_and_change_points() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    runs_with_a_step(&runs);
    let server = Server::start_with(&runs, &json!({ "read_only": true }));
    let list = server.get("/api/v1/history");
    let experiment = &list["experiments"][0];
    assert_eq!(
        (&experiment["runs"], &experiment["arms"]),
        (&json!(20), &json!(["direct", "client-sidecar"]))
    );
    let query = "experiment=sidecar&metric=median";
    let series = server.get(&format!("/api/v1/history/series?{query}&changes=true"));
    let found: Vec<(&Value, &Value)> = series["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["key"]["arm"], &one["last_change"]["run"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!("direct"), &Value::Null),
            (&json!("client-sidecar"), &json!("day-12"))
        ]
    );
    let points = format!("/api/v1/history/points?{query}&arm=client-sidecar&last=5");
    let one = server.get(&points);
    assert_eq!((&one["runs"], &one["left_out"]), (&json!(20), &json!(15)));
    assert_eq!(one["points"].as_array().unwrap().len(), 5);
    let changed = &one["changes"][0]["changed"][0];
    assert_eq!(
        changed,
        &json!({ "axis": "envoy", "before": "1.40.0", "after": "1.41.0" })
    );
    copy(&runs, "day-19", "day-20", START + 20 * DAY);
    assert_eq!(server.get(&points)["runs"], 21, "a new run is found");
    for (path, status) in [
        ("/api/v1/history/series?experiment=nonsense", 404),
        ("/api/v1/history/series", 400),
        (
            "/api/v1/history/points?experiment=sidecar&metric=nonsense",
            400,
        ),
        (
            "/api/v1/history/points?experiment=sidecar&metric=median",
            404,
        ),
    ] {
        let answer = server.ask("GET", path, None);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(error["message"].as_str().unwrap().len() > 10, "{path}");
    }
}
