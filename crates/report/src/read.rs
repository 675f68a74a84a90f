//! Reads a run's folder as it is: complete, killed, resumed or damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tare_schema::FORMAT_VERSION;
use tare_schema::plan::Plan;
use tare_schema::record::{EnvironmentRecord, RunState, TrialRecord};
use tare_schema::regular::{JSON_BYTES_MAX, RECORDS_BYTES_MAX, read_regular};

/// Most arms or levels that are judged: the time that takes grows with their third power.
const SIDE_MAX: usize = 1000;

/// Most cells of a plan, as many as an experiment may have.
const CELLS_MAX: usize = 10_000;

/// Most trials that are read.
const TRIALS_MAX: usize = 1 << 16;

/// Why a folder is no run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such folder.
    #[error("{0} is not a folder: name a run's folder, or `latest`")]
    NoFolder(PathBuf),
    /// Its plan is missing or broken, and nothing makes sense without it.
    #[error("{path} cannot be used: {why}; a run's folder has the plan it was made from")]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Two records that count are of one slot, and only one of them can be this run's.
    #[error(
        "{first} and {second} are both fit trials of {slot}, and a run has one: move the folder of the one that is not this run's out of it"
    )]
    Twice {
        /// The record with the lower number.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Arm, level, block and copy, in words.
        slot: String,
    },
    /// It was written by a Tare of another format.
    #[error(
        "{path} has format version {found}, this tare reads version {FORMAT_VERSION}: use the tare that wrote it, or measure again"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

/// What was found in a run's folder.
#[derive(Debug)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// Its plan.
    pub plan: Plan,
    /// The machine, unless its file is missing or broken.
    pub environment: Option<EnvironmentRecord>,
    /// How far the run came, unless its file is missing or broken.
    pub state: Option<RunState>,
    /// Trials in order of their numbers, superseded ones too.
    pub trials: Vec<Trial>,
    /// Files that could not be read, each with the reason.
    pub skipped: Vec<String>,
}

/// A trial's record and where its histograms lie.
#[derive(Debug)]
pub struct Trial {
    /// Its folder.
    pub folder: PathBuf,
    /// Its record.
    pub record: TrialRecord,
}

impl Run {
    /// Name of the folder.
    #[must_use]
    pub fn id(&self) -> String {
        let name = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        name.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Reads a run's folder.
///
/// A file that is missing, half-written or broken is named in [`Run::skipped`] and left out; only without a plan there
/// is no run.
///
/// # Errors
/// When the folder or its plan cannot be used, or two trials that count are of one slot.
pub fn read(folder: &Path) -> Result<Run, ReadError> {
    if !folder.is_dir() {
        return Err(ReadError::NoFolder(folder.to_path_buf()));
    }
    let path = folder.join("plan.json");
    let plan = match json::<Plan>(&path) {
        Ok(plan) => plan,
        Err(Broken::Version(found)) => return Err(ReadError::Version { path, found }),
        Err(Broken::Because(why)) => return Err(ReadError::Plan { path, why }),
    };
    if let Some(why) = too_large(&plan) {
        return Err(ReadError::Plan { path, why });
    }
    let mut skipped = Vec::new();
    let environment = keep(
        &mut skipped,
        "environment.json",
        json(&folder.join("environment.json")),
    );
    let state = keep(&mut skipped, "run.json", json(&folder.join("run.json")));
    let trials = trials(folder, &plan, &mut skipped);
    once_each(&trials)?;
    Ok(Run {
        folder: folder.to_path_buf(),
        plan,
        environment,
        state,
        trials,
        skipped,
    })
}

/// What no experiment can have.
fn too_large(plan: &Plan) -> Option<String> {
    let (arms, levels, cells) = (plan.arms.len(), plan.levels.len(), plan.cells.len());
    let is_too_large =
        arms.max(levels) > SIDE_MAX || arms.saturating_mul(levels).max(cells) > CELLS_MAX;
    is_too_large
        .then(|| format!("{arms} arms, {levels} levels and {cells} cells are no plan of ours"))
}

/// The trials of the plan, in order of their numbers.
fn trials(folder: &Path, plan: &Plan, skipped: &mut Vec<String>) -> Vec<Trial> {
    let arms: BTreeSet<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    let levels: BTreeSet<&str> = plan.levels.iter().map(|one| one.name.as_str()).collect();
    let mut bytes_left = RECORDS_BYTES_MAX;
    let mut trials = Vec::new();
    for (name, place) in trial_folders(folder, skipped) {
        let named = format!("trials/{name}/record.json");
        let read = sized(&place.join("record.json"), bytes_left.min(JSON_BYTES_MAX));
        let Some((record, bytes)) = keep::<(TrialRecord, u64)>(skipped, &named, read) else {
            continue;
        };
        bytes_left = bytes_left.saturating_sub(bytes);
        if arms.contains(record.arm.as_str()) && levels.contains(record.level.as_str()) {
            trials.push(Trial {
                folder: place,
                record,
            });
        } else {
            skipped.push(format!("{named}: its arm or its level is not in the plan"));
        }
    }
    trials.sort_by_key(|trial| trial.record.trial);
    trials
}

/// A slot (block, arm, level and copy) has one trial that counts: of two, a view would show one and merge both.
fn once_each(trials: &[Trial]) -> Result<(), ReadError> {
    let mut known = BTreeMap::new();
    for trial in trials {
        let record = &trial.record;
        if record.superseded || !record.status.is_fit() {
            continue;
        }
        let slot = (record.block, &record.arm, &record.level, record.copy);
        if let Some(first) = known.insert(slot, trial) {
            let copy = match record.copy {
                0 => "",
                _ => ", second copy",
            };
            return Err(ReadError::Twice {
                first: first.folder.join("record.json"),
                second: trial.folder.join("record.json"),
                slot: format!(
                    "{} at {} in block {}{copy}",
                    record.arm, record.level, record.block
                ),
            });
        }
    }
    Ok(())
}

/// Sub-folders of `trials` by name, as many as are read; links are none.
fn trial_folders(folder: &Path, skipped: &mut Vec<String>) -> BTreeMap<String, PathBuf> {
    match fs::read_dir(folder.join("trials")) {
        Ok(entries) => entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .take(TRIALS_MAX)
            .map(|entry| {
                (
                    entry.file_name().to_string_lossy().into_owned(),
                    entry.path(),
                )
            })
            .collect(),
        Err(error) => {
            skipped.push(format!("trials: {error}"));
            BTreeMap::new()
        }
    }
}

fn keep<T>(skipped: &mut Vec<String>, name: &str, read: Result<T, Broken>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(Broken::Version(found)) => {
            skipped.push(format!(
                "{name}: written by a Tare of another format (version {found}, this one reads {FORMAT_VERSION})"
            ));
            None
        }
        Err(Broken::Because(why)) => {
            skipped.push(format!("{name}: {why}"));
            None
        }
    }
}

enum Broken {
    Version(u64),
    Because(String),
}

/// What every file says first.
#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Broken> {
    sized(path, JSON_BYTES_MAX).map(|(value, _)| value)
}

/// A file of at most so many bytes, with how many it has.
fn sized<T: DeserializeOwned>(path: &Path, bytes_max: u64) -> Result<(T, u64), Broken> {
    let because = |error: &dyn std::fmt::Display| Broken::Because(error.to_string());
    let text = read_regular(path, bytes_max).map_err(|error| because(&error))?;
    // Before the shape, so that a file of another format is called that and not broken.
    let said: Versioned = serde_json::from_slice(&text).map_err(|error| because(&error))?;
    match said.version {
        Some(found) if found != u64::from(FORMAT_VERSION) => return Err(Broken::Version(found)),
        _ => {}
    }
    let value = serde_json::from_slice(&text).map_err(|error| because(&error))?;
    Ok((value, text.len() as u64))
}
