//! Folders of runs with damaged values: each is read and reported, or refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_record::plan::Form;
use tare_report::{csv, html, markdown};

use super::files::{CATALOG, folder};

/// The records of a trial and of a machine, and a log, as `tare run` wrote them.
const TRIAL: &str = include_str!("../../../../fuzz/seeds/records/trial");
const ENVIRONMENT: &str = include_str!("../../../../fuzz/seeds/records/environment");
const LATENCIES: &[u8] = include_bytes!("../../../../fuzz/seeds/hlog/latency");

const EXPERIMENT: &str = "question: Why?
workload: echo
arms: [{name: direct}, {name: envoy, sidecars: {on: services, proxy: envoy}}]
load: {model: constant, rate: 1000, connections: 16, duration: 3s, warmup: 700ms}
blocks: 2
primary: [median, cpu]
";

/// A file before it is damaged.
struct WholeFile {
    name: String,
    tree: Value,
    text: String,
}

/// The plan, the machine, the state, and the trials.
static FILES: LazyLock<Vec<WholeFile>> = LazyLock::new(|| {
    let source = ExperimentSource {
        experiment: String::from("fuzz/fuzz"),
        file: String::from("fuzz.yaml"),
        text: EXPERIMENT.to_owned(),
    };
    let plan = match resolve(
        &source,
        &CATALOG,
        &ResolveOptions::new(Form::Full, vec![0, 1]),
    ) {
        Ok(plan) => json!(plan),
        Err(problems) => panic!("{problems}"),
    };
    // The first byte of a stored input chooses its format.
    let read = |text: &str| serde_json::from_str::<Value>(&text[1..]).unwrap_or_default();
    let state = json!({ "version": plan["version"], "state": "complete", "started_unix_us": 1_795_636_709_000_000_u64,
        "ended_unix_us": 1_795_636_769_000_000_u64, "reason": null, "command": ["tare", "run"], "resumed": 0 });
    let level = plan["levels"][0]["name"].clone();
    let mut files = vec![
        (String::from("plan.json"), plan),
        (String::from("environment.json"), read(ENVIRONMENT)),
        (String::from("run.json"), state),
    ];
    let arms = ["direct", "envoy"];
    for (number, (block, arm)) in (1..).zip((0..2).flat_map(|block| arms.map(|arm| (block, arm)))) {
        let mut record = read(TRIAL);
        record["trial"] = json!(number);
        record["block"] = json!(block);
        record["arm"] = json!(arm);
        record["level"] = level.clone();
        files.push((format!("trials/{number}/record.json"), record));
    }
    let whole = |(name, tree): (String, Value)| WholeFile {
        text: tree.to_string(),
        name,
        tree,
    };
    files.into_iter().map(whole).collect()
});

/// Plan and machine of the run.
pub(super) fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_setting =
        |file: &&WholeFile| ["plan.json", "environment.json"].contains(&file.name.as_str());
    let settings = FILES.iter().filter(is_setting);
    settings.map(|file| (file.name.as_str(), file.text.as_str()))
}

/// The nodes of a tree, itself first.
fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The node with this number.
fn node<'a>(tree: &'a mut Value, number: &mut usize) -> Option<&'a mut Value> {
    if *number == 0 {
        return Some(tree);
    }
    *number -= 1;
    let mut inside: Box<dyn Iterator<Item = &mut Value>> = match tree {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(fields) => Box::new(fields.values_mut()),
        _ => return None,
    };
    inside.find_map(|one| node(one, number))
}

/// Another value in the place of one.
fn damaged(old: &Value, kind: u8, bytes: [u8; 8]) -> Value {
    let number = u64::from_le_bytes(bytes);
    match (kind % 10, old) {
        (0, _) => Value::Null,
        (1, _) => json!(number),
        (2, _) => json!(number.cast_signed()),
        (3, _) => json!(f64::from_bits(number)),
        (4, _) => json!(u64::MAX),
        (5, _) => json!(0),
        (6, Value::Array(items)) => {
            let twice = items.iter().chain(items);
            twice.cloned().collect()
        }
        (6, other) => json!([other]),
        (7, Value::Array(items)) => items.iter().skip(1).cloned().collect(),
        (7, Value::Object(fields)) => fields.clone().into_iter().skip(1).collect(),
        (8, Value::Bool(old)) => json!(!old),
        (8, _) => json!(String::from_utf8_lossy(&bytes)),
        _ => json!([]),
    }
}

/// Writes a run with damages, each of twelve bytes: file, node, kind and value. Then it is read and shown in the form that the first
/// byte chooses.
pub(super) fn run(data: &[u8]) {
    let Some((choice, damages)) = data.split_first() else {
        return;
    };
    let mut changed: BTreeMap<usize, Value> = BTreeMap::new();
    for damage in damages.chunks_exact(12).take(16) {
        let &[file, high, low, kind, ref value @ ..] = damage else {
            return;
        };
        let file = usize::from(file) % FILES.len();
        let tree = changed
            .entry(file)
            .or_insert_with(|| FILES[file].tree.clone());
        let mut number = usize::from(u16::from_be_bytes([high, low])) % count(tree);
        let Ok(value) = <[u8; 8]>::try_from(value) else {
            return;
        };
        if let Some(place) = node(tree, &mut number) {
            *place = damaged(place, kind, value);
        }
    }
    let Ok(folder) = folder() else {
        return;
    };
    let folder = folder.path();
    for (at, whole) in FILES.iter().enumerate() {
        let path = folder.join(&whole.name);
        match changed.get(&at) {
            Some(tree) => write(&path, tree.to_string().as_bytes()),
            None => write(&path, whole.text.as_bytes()),
        }
        if whole.name.starts_with("trials/") {
            write(&path.with_file_name("latency.hlog"), LATENCIES);
        }
    }
    let Ok(run) = tare_report::read(folder) else {
        return;
    };
    let view = tare_report::view(&run);
    match choice % 4 {
        0 => assert!(tare_report::json(&view).is_ok(), "a view can be written"),
        1 => assert!(!markdown::markdown(&view).is_empty()),
        2 => assert!(!csv::csv(&view).is_empty()),
        _ => assert!(html::html(&view).is_ok(), "a page can be written"),
    }
}

fn write(file: &Path, bytes: &[u8]) {
    let made = fs::create_dir_all(file.parent().unwrap_or(file));
    let _ = made.and_then(|()| fs::write(file, bytes));
}
