//! The history of the runs of a server: what it lists, and that it reads what is new without being told.

use std::path::Path;

use serde_json::{Value, json};

use crate::rig::Server;

#[path = "../../../history/tests/maker/mod.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod maker;

use maker::{DAY, copy, measure};

/// Start of the first run.
const START: u64 = 1_795_252_364_000_000;

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
