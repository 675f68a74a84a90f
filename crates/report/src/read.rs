//! Reads a run's folder as it is: complete, killed, resumed or damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tare_schema::FORMAT_VERSION;
use tare_schema::plan::Plan;
use tare_schema::record::{EnvironmentRecord, RunState, TrialRecord};

/// Most bytes taken from one JSON file of a run; a record is some kilobytes.
const JSON_BYTES_MAX: u64 = 64 << 20;

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
    /// It was written by a newer Tare.
    #[error(
        "{path} has format version {found}, this tare reads up to {FORMAT_VERSION}: use the tare that wrote it, or a newer one"
    )]
    Newer {
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
/// When the folder or its plan cannot be used.
pub fn read(folder: &Path) -> Result<Run, ReadError> {
    if !folder.is_dir() {
        return Err(ReadError::NoFolder(folder.to_path_buf()));
    }
    let path = folder.join("plan.json");
    let plan = match json::<Plan>(&path) {
        Ok(plan) => plan,
        Err(Broken::Newer(found)) => return Err(ReadError::Newer { path, found }),
        Err(Broken::Because(why)) => return Err(ReadError::Plan { path, why }),
    };
    let mut skipped = Vec::new();
    let environment = keep(
        &mut skipped,
        "environment.json",
        json(&folder.join("environment.json")),
    );
    let state = keep(&mut skipped, "run.json", json(&folder.join("run.json")));
    let mut trials = Vec::new();
    for (name, place) in trial_folders(folder, &mut skipped) {
        let named = format!("trials/{name}/record.json");
        if let Some(record) =
            keep::<TrialRecord>(&mut skipped, &named, json(&place.join("record.json")))
        {
            trials.push(Trial {
                folder: place,
                record,
            });
        }
    }
    trials.sort_by_key(|trial| trial.record.trial);
    Ok(Run {
        folder: folder.to_path_buf(),
        plan,
        environment,
        state,
        trials,
        skipped,
    })
}

/// Sub-folders of `trials` by name.
fn trial_folders(folder: &Path, skipped: &mut Vec<String>) -> BTreeMap<String, PathBuf> {
    match fs::read_dir(folder.join("trials")) {
        Ok(entries) => entries
            .flatten()
            .filter(|entry| entry.path().is_dir())
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
        Err(Broken::Newer(found)) => {
            skipped.push(format!(
                "{name}: written by a newer Tare (format version {found})"
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
    Newer(u64),
    Because(String),
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Broken> {
    let because = |error: &dyn std::fmt::Display| Broken::Because(error.to_string());
    let length = fs::metadata(path).map_err(|error| because(&error))?.len();
    if length > JSON_BYTES_MAX {
        return Err(Broken::Because(format!(
            "{length} bytes are more than a run writes"
        )));
    }
    let text = fs::read(path).map_err(|error| because(&error))?;
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| because(&error))?;
    // Before the shape, so that a newer file is called newer and not broken.
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(found) if found > u64::from(FORMAT_VERSION) => return Err(Broken::Newer(found)),
        _ => {}
    }
    serde_json::from_value(value).map_err(|error| because(&error))
}
