//! What the index keeps of one run or one kept load, read from its folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::agent::LoadEnd;
use tare_record::api::{KEPT_CHECK, KeptCheck, LOAD_REPORT};
use tare_record::load::Stop;
use tare_record::metric::Metric;
use tare_record::plan::Form;
use tare_record::record::{EnvironmentRecord, MachineRecord, RunProgress, RunState};
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_record::view::Better;
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
    let has = |file| folder.join(file).exists();
    let found = match (has(LOAD_REPORT), has(KEPT_CHECK)) {
        (true, _) => load(folder),
        (false, true) => check(folder).map(Some),
        (false, false) => run(folder),
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

/// Axis that is Tare itself.
pub const TARE: &str = "tare";
/// End of the name of an axis that is the binary of a target, or of Tare.
pub const BINARY: &str = " binary";
/// End of the name of an axis that is the folder of a target: its configuration and how it is started.
pub const FOLDER: &str = " folder";

/// The digits of a digest that are shown.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn versions(environment: &EnvironmentRecord, file_digest: &str) -> BTreeMap<String, String> {
    let mut versions: BTreeMap<String, String> = [
        ("kernel", environment.kernel.clone()),
        (TARE, build_of(environment)),
        ("addressing", environment.addressing.clone()),
        ("experiment", short(file_digest)),
    ]
    .map(|(axis, version)| (axis.to_owned(), version))
    .into();
    let of_tare = (TARE, BINARY, &environment.tare_sha256);
    let of_targets = environment.targets.iter().flat_map(|(name, target)| {
        let name = name.as_str();
        [
            (name, BINARY, &target.sha256),
            (name, FOLDER, &target.folder_sha256),
        ]
    });
    for (name, end, digest) in std::iter::once(of_tare).chain(of_targets) {
        if let Some(digest) = digest {
            versions.insert(format!("{name}{end}"), short(digest));
        }
    }
    let targets = environment.targets.iter();
    versions.extend(targets.map(|(name, target)| (name.clone(), target.version.clone())));
    versions
}

/// The build of Tare, or its version.
fn build_of(environment: &EnvironmentRecord) -> String {
    let build = environment.tare_build.as_ref();
    build.unwrap_or(&environment.tare).clone()
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
    let tare = report.tare_build.as_ref().unwrap_or(&report.tare);
    let versions = [("kernel", &machine.kernel), (TARE, tare)];
    let versions = versions.map(|(axis, version)| (axis.to_owned(), version.clone()));
    let mut versions = BTreeMap::from(versions);
    if let Some(digest) = &report.tare_sha256 {
        versions.insert(format!("{TARE}{BINARY}"), short(digest));
    }
    Ok(Some(RunValues {
        experiment: cell.experiment,
        form: Form::Full,
        machine: summary::machine_hash(machine),
        machine_about: summary::machine(machine),
        started_unix_us: report.result.window_start_unix_us,
        setting: RunSetting {
            versions,
            primary: LOAD_PRIMARY.to_vec(),
            margin: LOAD_MARGIN.0,
            margin_absolute_ns: LOAD_MARGIN.1,
            arms: vec![cell.arm],
            levels: vec![cell.level],
        },
        values: cell.figures,
    }))
}

/// A golden check of a suite: each value of a benchmark is a series, whose arm is the benchmark, and whose level is the unit.
fn check(folder: &Path) -> Result<RunValues, String> {
    let text = read_regular(&folder.join(KEPT_CHECK), JSON_BYTES_MAX)
        .map_err(|error| format!("{KEPT_CHECK}: {error}"))?;
    let KeptCheck { name, report } = serde_json::from_slice(&text)
        .map_err(|error| format!("{KEPT_CHECK} is not that of this Tare: {error}"))?;
    let mut versions = report.versions.clone();
    versions.insert(TARE.to_owned(), report.tare.clone());
    versions.extend(report.kernel.map(|kernel| ("kernel".to_owned(), kernel)));
    versions.extend(
        report
            .revision
            .map(|revision| ("revision".to_owned(), revision)),
    );
    let values = report.benchmarks.iter().filter(|one| one.now.is_finite());
    let values: Vec<StoredFigure> = values
        .map(|one| StoredFigure {
            arm: match one.project.as_str() {
                "" => one.benchmark.clone(),
                project => format!("{project}: {}", one.benchmark),
            },
            level: one.unit.clone(),
            metric: match one.better {
                Better::Lower => Metric::Benchmark,
                Better::Higher => Metric::BenchmarkRate,
            },
            value: one.now,
            low: None,
            high: None,
            is_lower_bound: false,
        })
        .collect();
    let names = |of: fn(&StoredFigure) -> &String| {
        let mut names: Vec<String> = values.iter().map(of).cloned().collect();
        names.sort();
        names.dedup();
        names
    };
    Ok(RunValues {
        experiment: name,
        form: Form::Full,
        machine: report.machine,
        machine_about: report.machine_about,
        started_unix_us: report.started_unix_us,
        setting: RunSetting {
            versions,
            primary: Metric::OF_BENCHMARKS.to_vec(),
            margin: report.margin,
            margin_absolute_ns: 0,
            arms: names(|one| &one.arm),
            levels: names(|one| &one.level),
        },
        values,
    })
}
