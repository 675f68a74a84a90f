//! Makes directories of runs whose truth is known: one synthetic run measured anew, or copied under another name and start.

#[path = "../../../report/tests/fixture/mod.rs"]
#[allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]
mod fixture;

use std::fs;
use std::path::Path;

use fixture::{SampleRun, write_json};
use serde_json::{Value, json};
use tare_report::figures::{FIGURES, StoredFigures};

/// A day, µs.
pub const DAY: u64 = 86_400_000_000;

/// Writes a run of two arms at 400/s: start, what the proxy of the second arm adds to a latency, changed fields of its environment.
pub fn measure(runs: &Path, name: &str, at: (u64, f64), environment: &Value) {
    let mut run = SampleRun {
        rates_per_s: vec![400],
        blocks: 3,
        blocks_planned: 3,
        window_s: 2,
        aa_check: false,
        ..SampleRun::sidecar()
    };
    run.arms.truncate(2);
    write(run, (runs, name), at, environment);
}

/// The same with four arms, two rates, and five blocks with an A/A check.
pub fn measure_whole(runs: &Path, name: &str, at: (u64, f64), environment: &Value) {
    write(SampleRun::sidecar(), (runs, name), at, environment);
}

fn write(
    mut run: SampleRun,
    (runs, name): (&Path, &str),
    (started_unix_us, added_us): (u64, f64),
    environment: &Value,
) {
    run.seed = started_unix_us / 1000 + added_us as u64;
    run.arms[1].added_us = added_us;
    let place = tempfile::tempdir_in(runs.parent().unwrap()).unwrap();
    let folder = run.write(place.path()).unwrap();
    edit(
        &folder.join("run.json"),
        &json!({ "started_unix_us": started_unix_us }),
    );
    edit(&folder.join("environment.json"), environment);
    let run = tare_report::read(&folder).unwrap();
    let figures = StoredFigures::of(&tare_report::view::levels(&run), run.state.as_ref());
    write_json(&folder.join(FIGURES), &figures).unwrap();
    fs::create_dir_all(runs).unwrap();
    fs::rename(folder, runs.join(name)).unwrap();
}

/// Copies a run under another name and start; its other files are the same ones.
pub fn copy(runs: &Path, from: &str, name: &str, started_unix_us: u64) {
    let (from, to) = (runs.join(from), runs.join(name));
    fs::create_dir_all(to.join("trials")).unwrap();
    for file in ["plan.json", "environment.json", FIGURES] {
        fs::hard_link(from.join(file), to.join(file)).unwrap();
    }
    for trial in fs::read_dir(from.join("trials")).unwrap() {
        let trial = trial.unwrap();
        let place = to.join("trials").join(trial.file_name());
        fs::create_dir(&place).unwrap();
        for file in fs::read_dir(trial.path()).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                fs::hard_link(file.path(), place.join(file.file_name())).unwrap();
            }
        }
    }
    fs::copy(from.join("run.json"), to.join("run.json")).unwrap();
    edit(
        &to.join("run.json"),
        &json!({ "started_unix_us": started_unix_us }),
    );
}

/// Changes fields of a JSON file; `null` removes one.
pub fn edit(file: &Path, fields: &Value) {
    let mut value: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for (name, field) in fields.as_object().unwrap() {
        match field {
            Value::Null => value.as_object_mut().unwrap().shift_remove(name),
            field => value
                .as_object_mut()
                .unwrap()
                .insert(name.clone(), field.clone()),
        };
    }
    write_json(file, &value).unwrap();
}
