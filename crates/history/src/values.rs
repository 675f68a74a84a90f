//! What the index keeps of one run or one kept load, read from its folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_record::agent::LoadEnd;
use tare_record::api::LOAD_REPORT;
use tare_record::load::Stop;
use tare_record::load_report::{LatencyReport, LoadReport, QuantileValue};
use tare_record::metric::Metric;
use tare_record::plan::Form;
use tare_record::record::{EnvironmentRecord, MachineRecord, RunProgress, RunState};
use tare_record::regular::read_regular;
use tare_report::figures::{StoredFigure, StoredFigures};
use tare_report::{loads, read, summary, view};

/// Largest `run.json`.
const STATE_BYTES_MAX: u64 = 1 << 20;
/// Margin of a kept load, which declares none: that of an experiment by default.
const LOAD_MARGIN: (f64, u64) = (0.05, 20_000);
/// Arm of a kept load without labels.
const NO_LABELS: &str = "load";

/// What many runs have in common: stored once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSetting {
    /// Versions by axis: `kernel`, `tare`, `experiment`, targets.
    pub versions: BTreeMap<String, String>,
    pub primary: Vec<Metric>,
    pub margin: f64,
    pub margin_absolute_ns: u64,
    pub arms: Vec<String>,
    pub levels: Vec<String>,
}

/// A complete run, or a load.
#[derive(Debug)]
pub struct RunValues {
    pub experiment: String,
    pub form: Form,
    pub machine: String,
    /// The machine in words.
    pub machine_about: String,
    pub started_unix_us: u64,
    pub setting: RunSetting,
    pub values: Vec<StoredFigure>,
}

/// What a folder is.
#[derive(Debug)]
pub enum FolderContent {
    /// A complete run, or a load.
    Complete(Box<RunValues>),
    /// A run that goes on, was interrupted or failed, or a load that was interrupted or profiled.
    Incomplete,
    /// It cannot be read.
    Unreadable(String),
}

/// Reads the folder of a run or a load.
pub fn content(folder: &Path) -> FolderContent {
    let found = match folder.join(LOAD_REPORT).exists() {
        true => load(folder),
        false => run(folder),
    };
    match found {
        Ok(Some(values)) => FolderContent::Complete(Box::new(values)),
        Ok(None) => FolderContent::Incomplete,
        Err(reason) => FolderContent::Unreadable(reason),
    }
}

/// Short hash of what makes a machine: ID, processor, cores, and memory to the GB, which varies a little from boot to boot.
fn machine_hash(machine: &MachineRecord) -> String {
    let id = machine.machine_id.as_deref().unwrap_or_default();
    let (model, cores) = (&machine.cpu_model, machine.cores);
    let memory_gb = (machine.memory_bytes as f64 / 1e9).round();
    let digest = Sha256::digest(format!("{id}\n{model}\n{cores}\n{memory_gb}\n"));
    let first = digest.iter().take(4);
    first.map(|byte| format!("{byte:02x}")).collect()
}

fn run(folder: &Path) -> Result<Option<RunValues>, String> {
    let state = read_regular(&folder.join("run.json"), STATE_BYTES_MAX)
        .map_err(|error| format!("run.json: {error}"))?;
    let state: RunState = serde_json::from_slice(&state)
        .map_err(|error| format!("run.json is not that of this Tare: {error}"))?;
    if state.state != RunProgress::Complete {
        return Ok(None);
    }
    let plan = read::plan(folder).map_err(|error| error.to_string())?;
    let environment = read::environment(folder)?;
    let machine = MachineRecord::from(&environment);
    let figures = match StoredFigures::read(folder, &state) {
        Some(figures) => figures,
        None => {
            let run = tare_report::read(folder).map_err(|error| error.to_string())?;
            StoredFigures::of(&view::levels(&run), None)
        }
    };
    Ok(Some(RunValues {
        experiment: plan.experiment.clone(),
        form: plan.form,
        machine: machine_hash(&machine),
        machine_about: summary::machine(&machine),
        started_unix_us: state.started_unix_us,
        setting: RunSetting {
            versions: versions(&environment, &plan.file_digest),
            primary: plan.primary.clone(),
            margin: plan.margin,
            margin_absolute_ns: plan.margin_absolute_ns,
            arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
            levels: plan.levels.iter().map(|level| level.name.clone()).collect(),
        },
        values: figures.figures,
    }))
}

/// End of the name of an axis that is the binary of a target.
pub const BINARY: &str = " binary";

fn versions(environment: &EnvironmentRecord, file_digest: &str) -> BTreeMap<String, String> {
    let short = |digest: &str| digest.chars().take(12).collect::<String>();
    let mut versions: BTreeMap<String, String> = [
        ("kernel", environment.kernel.clone()),
        ("tare", environment.tare.clone()),
        ("addressing", environment.addressing.clone()),
        ("experiment", short(file_digest)),
    ]
    .map(|(axis, version)| (axis.to_owned(), version))
    .into();
    for (name, target) in &environment.targets {
        versions.insert(name.clone(), target.version.clone());
        if let Some(digest) = &target.sha256 {
            versions.insert(format!("{name}{BINARY}"), short(digest));
        }
    }
    versions
}

/// A kept load; `None` for one that was profiled, which costs CPU time, or that ended before its plan.
fn load(folder: &Path) -> Result<Option<RunValues>, String> {
    let report = loads::report(folder).map_err(|error| error.to_string())?;
    let is_whole = match report.result.ended {
        LoadEnd::Completed => true,
        LoadEnd::Interrupted => report.plan.load.stop == Stop::Interrupted,
        LoadEnd::Aborted => false,
    };
    if !report.profiled.is_empty() || !is_whole {
        return Ok(None);
    }
    let machine = report.machine.as_ref().ok_or(
        "it does not name its machine: it is of a Tare before `tare history`, measure again",
    )?;
    let arm = report.labels.as_deref().unwrap_or(NO_LABELS).to_owned();
    let level = match report.rate.offered_per_s {
        Some(rate) => format!("{rate:.0}/s"),
        None => format!("{} connections", report.plan.load.client.connections),
    };
    let versions = [("kernel", &machine.kernel), ("tare", &report.tare)];
    let versions = versions.map(|(axis, version)| (axis.to_owned(), version.clone()));
    Ok(Some(RunValues {
        experiment: format!("load: {}", report.load),
        form: Form::Full,
        machine: machine_hash(machine),
        machine_about: summary::machine(machine),
        started_unix_us: report.result.window_start_unix_us,
        setting: RunSetting {
            versions: versions.into(),
            primary: vec![Metric::Median, Metric::P99, Metric::Throughput],
            margin: LOAD_MARGIN.0,
            margin_absolute_ns: LOAD_MARGIN.1,
            arms: vec![arm.clone()],
            levels: vec![level.clone()],
        },
        values: load_values(&report, &arm, &level),
    }))
}

fn load_values(report: &LoadReport, arm: &str, level: &str) -> Vec<StoredFigure> {
    let value = |metric, value, is_lower_bound| StoredFigure {
        arm: arm.to_owned(),
        level: level.to_owned(),
        metric,
        value,
        low: None,
        high: None,
        is_lower_bound,
    };
    type Pick = fn(&LatencyReport) -> Option<&QuantileValue>;
    let quantiles: [(Metric, &str, Pick); 9] = [
        (Metric::Median, "all.latency", |of| of.p50.as_ref()),
        (Metric::P90, "all.latency", |of| of.p90.as_ref()),
        (Metric::P99, "all.latency", |of| of.p99.as_ref()),
        (Metric::P999, "all.latency", |of| of.p99_9.as_ref()),
        (Metric::Max, "all.latency", |of| of.max.as_ref()),
        (Metric::ResponseMedian, "all.response", |of| of.p50.as_ref()),
        (Metric::ResponseP99, "all.response", |of| of.p99.as_ref()),
        (Metric::ServiceMedian, "all.service", |of| of.p50.as_ref()),
        (Metric::ServiceP99, "all.service", |of| of.p99.as_ref()),
    ];
    let quantiles = quantiles.into_iter().filter_map(|(metric, tag, pick)| {
        let (ns, is_lower_bound) = match pick(report.latency_ns.get(tag)?)? {
            QuantileValue::Exact(ns) => (*ns, false),
            QuantileValue::Bound { lower_bound } => (*lower_bound, true),
        };
        Some(value(metric, ns as f64, is_lower_bound))
    });
    let rate = report.rate.achieved_per_s;
    let rate = rate.map(|rate| value(Metric::Throughput, rate, false));
    quantiles.chain(rate).collect()
}
