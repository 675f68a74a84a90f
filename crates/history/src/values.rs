//! What the index keeps of one run or one kept load, read from its folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::agent::LoadEnd;
use tare_record::api::LOAD_REPORT;
use tare_record::load::Stop;
use tare_record::metric::Metric;
use tare_record::plan::Form;
use tare_record::record::{EnvironmentRecord, MachineRecord, RunProgress, RunState};
use tare_record::regular::read_regular;
use tare_report::figures::{StoredFigure, StoredFigures};
use tare_report::loads::{self, LOAD_PRIMARY};
use tare_report::{read, summary, view};

/// Largest `run.json`.
const STATE_BYTES_MAX: u64 = 1 << 20;
/// Margin of a kept load, which declares none: that of an experiment by default.
const LOAD_MARGIN: (f64, u64) = (0.05, 20_000);

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
        machine: summary::machine_hash(&machine),
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
    let cell = loads::cell(&report);
    let versions = [("kernel", &machine.kernel), ("tare", &report.tare)];
    let versions = versions.map(|(axis, version)| (axis.to_owned(), version.clone()));
    Ok(Some(RunValues {
        experiment: cell.experiment,
        form: Form::Full,
        machine: summary::machine_hash(machine),
        machine_about: summary::machine(machine),
        started_unix_us: report.result.window_start_unix_us,
        setting: RunSetting {
            versions: versions.into(),
            primary: LOAD_PRIMARY.to_vec(),
            margin: LOAD_MARGIN.0,
            margin_absolute_ns: LOAD_MARGIN.1,
            arms: vec![cell.arm],
            levels: vec![cell.level],
        },
        values: cell.figures,
    }))
}
