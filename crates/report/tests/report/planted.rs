//! Text of a received folder is shown and never obeyed: planted in every string that a run's files may have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tare_record::escape::is_terminal_control;
use tare_record::plan::Plan;
use tare_record::record::{EnvironmentRecord, RunState, TrialRecord, TrialStatus};
use tare_report::compare::{self, OnMismatch, compare};
use tare_report::terminal::{Colour, Screen, terminal};

use crate::fixture::SampleRun;
use crate::in_memory;

/// A formula for spreadsheets; a title, a cleared screen and a turned direction for terminals; a line of its own.
fn nasty(text: &str) -> String {
    format!("={text}\u{1b}]0;owned\u{7}\u{9b}2J\u{7f}\u{202e}\r\nverdict")
}

/// The JSON files of a run.
fn files(run: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(run.join("trials"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("record.json"))
        .collect();
    files.extend(["plan.json", "environment.json", "run.json"].map(|name| run.join(name)));
    files
}

fn strings(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            all.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, all)),
        _ => {}
    }
}

fn planted(value: &Value, text: &str) -> Value {
    match value {
        Value::String(old) if old == text => Value::String(nasty(text)),
        Value::Array(items) => items.iter().map(|item| planted(item, text)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(key, field)| (key.clone(), planted(field, text)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

/// Whether it still is what a file of this name holds.
fn has_shape(file: &Path, value: &Value) -> bool {
    let value = value.clone();
    match file.file_name().and_then(|name| name.to_str()).unwrap() {
        "plan.json" => serde_json::from_value::<Plan>(value).is_ok(),
        "environment.json" => serde_json::from_value::<EnvironmentRecord>(value).is_ok(),
        "run.json" => serde_json::from_value::<RunState>(value).is_ok(),
        _ => serde_json::from_value::<TrialRecord>(value).is_ok(),
    }
}

/// Plants in every string that leaves all files in their shapes, the same everywhere, so that names still refer to each other.
fn plant(run: &Path) -> usize {
    let files = files(run);
    let mut values: Vec<Value> = files
        .iter()
        .map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
        .collect();
    let mut all = BTreeSet::new();
    values.iter().for_each(|value| strings(value, &mut all));
    let mut count = 0;
    for text in all {
        let changed: Vec<Value> = values.iter().map(|value| planted(value, &text)).collect();
        if files
            .iter()
            .zip(&changed)
            .all(|(file, value)| has_shape(file, value))
        {
            values = changed;
            count += 1;
        }
    }
    for (file, value) in files.iter().zip(&values) {
        fs::write(file, serde_json::to_vec(value).unwrap()).unwrap();
    }
    count
}

fn small() -> SampleRun {
    SampleRun {
        blocks: 3,
        blocks_planned: 3,
        window_s: 2,
        rates_per_s: vec![400],
        ..SampleRun::sidecar()
    }
    .edit(|record, _| {
        if record.trial == 2 {
            record.status = TrialStatus::Unfit {
                reasons: vec!["late".into()],
            };
        }
        if record.trial == 3 {
            record.status = TrialStatus::Failed {
                reason: "it ended".into(),
                log_tail: vec!["the last words".into()],
            };
        }
    })
}

/// Without the colours that are ours: what is planted begins none.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap();
        assert!(
            code.chars().all(|c| c.is_ascii_digit() || c == ';'),
            "{code:?}"
        );
        plain.push_str(rest);
    }
    plain
}

#[test]
fn nothing_in_a_received_folder_steers_the_terminal_or_is_a_formula() {
    let place = in_memory();
    let folder = small().write(place.path()).unwrap();
    let count = plant(&folder);
    assert!(count > 40, "only {count} strings could be planted in");
    let run = tare_report::read(&folder).unwrap();
    let view = tare_report::view(&run);
    let other = in_memory();
    let other = tare_report::read(&small().write(other.path()).unwrap()).unwrap();
    let compared = compare(&run, &other, OnMismatch::Compare);
    let itself = compare(&run, &run, OnMismatch::Compare).unwrap();
    let screen = |colour| Screen { width: 120, colour };
    let csv = tare_report::csv::csv(&view);
    let outputs = [
        ("terminal", terminal(&view, screen(Colour::Off))),
        (
            "colours",
            without_colours(&terminal(&view, screen(Colour::On))),
        ),
        ("markdown", tare_report::markdown::markdown(&view)),
        ("csv", csv.clone()),
        ("json", tare_report::json(&view).unwrap()),
        ("compared", compare::terminal(&itself, screen(Colour::Off))),
        ("compared, markdown", compare::markdown(&itself)),
    ];
    for (name, text) in &outputs {
        let obeyed = text.chars().find(|&c| is_terminal_control(c) && c != '\n');
        assert_eq!(obeyed, None, "{name}:\n{text}");
        assert!(
            text.contains("]0;owned"),
            "{name} shows nothing planted:\n{text}"
        );
    }
    for (name, text) in &outputs[..3] {
        assert!(
            text.contains(r"{1b}") && text.contains(r"{9b}2J"),
            "{name}:\n{text}"
        );
    }
    for line in csv.lines() {
        assert!(
            !line.starts_with(['=', '+', '@']) && !line.contains(",="),
            "{line}"
        );
    }
    assert!(csv.contains("'=direct"), "{csv}");
    if let Ok(found) = compared {
        let text = compare::terminal(&found, screen(Colour::Off));
        assert!(
            !text.contains(|c| is_terminal_control(c) && c != '\n'),
            "{text}"
        );
    }
}
