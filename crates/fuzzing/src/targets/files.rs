//! Files: definitions, requests, records and logs of a run, schemas of Protocol Buffers. Reading them returns a value or an error.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::{fs, io, str};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tare_experiment::catalog::Catalog;
use tare_experiment::def::{ExperimentDef, MeshDef, WorkloadDef};
use tare_experiment::find::Library;
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_experiment::target::TargetDef;
use tare_experiment::{document, script};
use tare_load::{Load, LoadOutcome, fortio as fortio_format};
use tare_proto::ServiceDescriptors;
use tare_record::agent::{AgentMessage, LoadResult};
use tare_record::grpc_schema::MethodName;
use tare_record::load::LoadPlan;
use tare_record::plan::{Form, Plan};
use tare_record::record::{EnvironmentRecord, TrialRecord};
use tare_record::view::View;
use tare_stats::hlog::Reader;
use tare_stats::{Latencies, Range};
use tempfile::TempDir;

/// Workloads and targets of the checkout.
pub(super) static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Library::in_directory(&checkout, tare_load::protocols::infos()).catalog
});

/// A folder for one input, in memory where that can be had.
pub(super) fn folder() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    }
}

/// Intervals of a log that are read: each may take megabytes.
const INTERVALS: usize = 4;

/// The text behind the first byte, which chooses.
fn chosen(data: &[u8]) -> Option<(u8, &str)> {
    let (choice, text) = data.split_first()?;
    Some((*choice, std::str::from_utf8(text).ok()?))
}

/// Definitions of experiments, workloads, targets and meshes.
pub(super) fn definitions(data: &[u8]) {
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let _ = match choice % 4 {
        0 => document::read::<ExperimentDef>("fuzz.yaml", text).err(),
        1 => document::read::<WorkloadDef>("fuzz.yaml", text).err(),
        2 => document::read::<TargetDef>("fuzz.yaml", text).err(),
        _ => document::read::<MeshDef>("fuzz.yaml", text).err(),
    }
    .map(|problems| problems.to_string());
}

/// An experiment, resolved with the workloads and targets of the checkout.
pub(super) fn experiment(data: &[u8]) {
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let form = match choice % 2 {
        0 => Form::Quick,
        _ => Form::Full,
    };
    resolve_text(text, &CATALOG, form);
}

fn resolve_text(text: &str, catalog: &Catalog, form: Form) {
    let source = ExperimentSource {
        experiment: String::from("fuzz/fuzz"),
        file: String::from("fuzz.yaml"),
        text: text.to_owned(),
    };
    match resolve(&source, catalog, &ResolveOptions::new(form, vec![0, 1])) {
        Ok(plan) => assert!(plan.arms.len() <= 1000, "a plan is of a size to be run"),
        Err(problems) => assert!(!problems.is_empty(), "a refusal has a reason"),
    }
}

/// A workload or a target of this name, in the place of one of the checkout, in an experiment that uses both.
pub(super) fn catalog(data: &[u8]) {
    const EXPERIMENT: &str = "question: Why?
workload: echo
arms: [{name: direct}, {name: nginx, sidecars: {on: services, proxy: nginx}}]
load: {model: constant, rate: 100, connections: 2, duration: 3s, warmup: 700ms}
blocks: 2
";
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let path = match choice % 2 {
        0 => "workloads/echo/workload.yaml",
        _ => "targets/nginx/target.yaml",
    };
    let written = || {
        let folder = folder()?;
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        fs::write(&file, text)?;
        io::Result::Ok(folder)
    };
    let Ok(folder) = written() else {
        return;
    };
    let mut catalog = CATALOG.clone();
    catalog.workloads.push(folder.path().join("workloads"));
    catalog.targets.push(folder.path().join("targets"));
    resolve_text(EXPERIMENT, &catalog, Form::Quick);
}

/// Files of requests and sessions, and their data.
pub(super) fn requests(data: &[u8]) {
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let nowhere = Path::new("/proc/self/fdinfo/none");
    let _ = match choice % 4 {
        0 => script::requests_of("fuzz.yaml", nowhere, text)
            .err()
            .map(|one| one.to_string()),
        1 => script::session_of("fuzz.yaml", nowhere, text)
            .err()
            .map(|one| one.to_string()),
        2 => script::rows(text, "csv").err(),
        _ => script::rows(text, "jsonl").err(),
    };
}

fn parse<T: DeserializeOwned>(data: &[u8]) -> bool {
    serde_json::from_slice::<T>(data).is_ok()
}

/// JSON files of a run, and messages of an agent.
pub(super) fn records(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let _ = match choice % 6 {
        0 => parse::<TrialRecord>(data),
        1 => parse::<Plan>(data),
        2 => parse::<EnvironmentRecord>(data),
        3 => parse::<View>(data),
        5 => parse::<AgentMessage>(data),
        _ => parse::<LoadPlan>(data),
    };
}

/// Interval logs of histograms.
pub(super) fn hlog(data: &[u8]) {
    let Ok(mut sum) = Latencies::new(Range::default()) else {
        return;
    };
    for interval in Reader::new(data).take(INTERVALS) {
        let Ok(interval) = interval else {
            return;
        };
        if sum.merge(&interval.latencies).is_err() {
            return;
        }
        let _ = sum.quantile(0.99);
        let sparse = sum.sparse();
        assert!(sum.merge_sparse(&sparse).is_ok(), "a part of itself");
    }
}

/// Sets of file descriptors, and answers of a server to reflection.
pub(super) fn protobuf(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    if choice % 2 == 0 {
        let _ = ServiceDescriptors::from_set(data);
        return;
    }
    // Each answer has its length before it.
    let mut rest = data;
    let mut answer = |_: &[Vec<u8>]| -> Result<Vec<Vec<u8>>, String> {
        let (length, behind) = rest.split_first().ok_or("it ended")?;
        let (one, behind) = behind
            .split_at_checked(usize::from(*length))
            .ok_or("it ended")?;
        rest = behind;
        Ok(vec![one.to_vec()])
    };
    let _ = ServiceDescriptors::from_server("fuzz.Service", &mut answer);
}

/// A `.proto` file, and JSON for a message of it, separated by a zero byte.
pub(super) fn proto_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let (schema, json) = text.split_once('\0').unwrap_or((text, "{}"));
    let Ok(folder) = folder() else {
        return;
    };
    let file = folder.path().join("fuzz.proto");
    if fs::write(&file, schema).is_err() {
        return;
    }
    let Ok(services) = ServiceDescriptors::from_files(&[file], &[]) else {
        return;
    };
    let name = MethodName {
        service: "f.S".into(),
        method: "M".into(),
    };
    let Ok(method) = services.method(&name) else {
        return;
    };
    if let Ok(messages) = method.encode(json) {
        for message in messages {
            let _ = method.decode(&message);
        }
    }
    let _ = method.decode(json.as_bytes());
}

/// A result of Fortio is refused, or its figures can be written.
pub(super) fn fortio_result(data: &[u8]) {
    if let Ok(figures) = tare_report::loads::fortio(data) {
        let text = serde_json::to_string(&figures).unwrap_or_default();
        assert!(!text.is_empty(), "figures of a result have no JSON");
    }
}

/// A result in Fortio's format: that of an agent as JSON, a zero byte, and times with counts.
pub(super) fn fortio(data: &[u8]) {
    static PLAN: LazyLock<Option<Load>> = LazyLock::new(|| Load::get("http://127.0.0.1/").ok());
    const TAGS: [&str; 4] = [
        "load.get.service",
        "load.get.service.timeout",
        "load.get.connect",
        "load.get.latency",
    ];
    let end = data.iter().position(|byte| *byte == 0);
    let (json, times) = data.split_at(end.unwrap_or(data.len()));
    let (Some(plan), Ok(result)) = (&*PLAN, serde_json::from_slice::<LoadResult>(json)) else {
        return;
    };
    let mut totals = BTreeMap::new();
    for time in times.get(1..).unwrap_or_default().chunks_exact(8) {
        let number = time.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let tag = TAGS[usize::from(time[7] % 4)].to_owned();
        let Ok(empty) = Latencies::new(Range::default()) else {
            return;
        };
        let latencies = totals.entry(tag).or_insert(empty);
        match time[6] % 4 {
            0 => latencies.record_unfinished(number >> 24),
            _ => latencies.record_many(number >> 24, number & 0xff_ffff),
        }
    }
    let sparse = |(tag, latencies): (String, Latencies)| (tag, latencies.sparse());
    let outcome = LoadOutcome {
        result,
        totals: totals.into_iter().map(sparse).collect(),
    };
    let labels = String::from_utf8_lossy(times).into_owned();
    let shown = fortio_format::result(plan.plan(), "http://127.0.0.1/", labels, &outcome);
    let Ok(shown) = serde_json::to_value(&shown) else {
        panic!("it cannot be written");
    };
    for histogram in [
        "DurationHistogram",
        "ErrorsDurationHistogram",
        "ConnectionStats",
    ] {
        check_fortio_histogram(&shown[histogram]);
    }
}

fn check_fortio_histogram(histogram: &Value) {
    let numbers = ["Count", "Min", "Max", "Sum", "Avg", "StdDev"];
    assert!(numbers.iter().all(|name| histogram[name].is_number()));
    let buckets = histogram["Data"].as_array().map_or(&[][..], Vec::as_slice);
    let counts = buckets.iter().filter_map(|bucket| bucket["Count"].as_u64());
    assert_eq!(Some(counts.sum()), histogram["Count"].as_u64());
    let mut before = (0.0, 0.0);
    for bucket in buckets {
        let field = |name: &str| bucket[name].as_f64().unwrap_or(f64::NAN);
        let (start, end, percent) = (field("Start"), field("End"), field("Percent"));
        assert!(before.0 <= start && start <= end, "buckets are in order");
        assert!(before.1 <= percent && percent <= 100.000_001, "and add up");
        before = (end, percent);
    }
}
