//! The folder of a run: written append-only, each record synced before the next trial begins.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_schema::plan::Plan;
use tare_schema::record::{EnvironmentRecord, RunState, TrialRecord};

use crate::ConductError;

/// An open run folder; holds its lock.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

/// How often a name that is taken is tried with a number behind it.
const NAME_TRIES: u32 = 1000;

impl RunFolder {
    /// Makes `<out>/<name>`, or `<out>/<name>-2` and so on when that is taken.
    ///
    /// # Errors
    /// When the folder cannot be made or locked.
    pub fn create(out: &Path, name: &str) -> Result<Self, ConductError> {
        fs::create_dir_all(out).map_err(ConductError::file("create", out))?;
        let mut tries = 1;
        let path = loop {
            let path = match tries {
                1 => out.join(name),
                n => out.join(format!("{name}-{n}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error)
                    if error.kind() == std::io::ErrorKind::AlreadyExists && tries < NAME_TRIES =>
                {
                    tries += 1;
                }
                Err(error) => return Err(ConductError::file("create", &path)(error)),
            }
        };
        Self::lock(path)
    }

    /// Opens the folder of an earlier run to go on with it.
    ///
    /// # Errors
    /// When it is not there, not a run, or in use.
    pub fn open(path: &Path) -> Result<Self, ConductError> {
        if !path.join("plan.json").is_file() {
            return Err(ConductError::Plan(format!(
                "{} is not the folder of a run (it has no plan.json): name one from the runs folder",
                path.display()
            )));
        }
        Self::lock(path.to_owned())
    }

    fn lock(path: PathBuf) -> Result<Self, ConductError> {
        let file = path.join("lock");
        let lock = File::create(&file).map_err(ConductError::file("create", &file))?;
        // The kernel frees the lock with the process, however it ends.
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(ConductError::Busy { path }),
            Err(fs::TryLockError::Error(error)) => Err(ConductError::file("lock", &file)(error)),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan of the run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn plan(&self) -> Result<Plan, ConductError> {
        read_json(&self.path.join("plan.json"), "a plan")
    }

    /// The state of the run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn state(&self) -> Result<RunState, ConductError> {
        read_json(&self.path.join("run.json"), "the state of a run")
    }

    /// The environment that the run began in.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn environment(&self) -> Result<EnvironmentRecord, ConductError> {
        read_json(
            &self.path.join("environment.json"),
            "the record of an environment",
        )
    }

    /// Writes the plan.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write_plan(&self, plan: &Plan) -> Result<(), ConductError> {
        write_json(&self.path.join("plan.json"), plan)
    }

    /// Writes the environment.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write_environment(&self, environment: &EnvironmentRecord) -> Result<(), ConductError> {
        write_json(&self.path.join("environment.json"), environment)
    }

    /// Writes the state.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write_state(&self, state: &RunState) -> Result<(), ConductError> {
        write_json(&self.path.join("run.json"), state)
    }

    /// Folder of a trial, made when it is not there; what a trial that was cut off left in it is removed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fresh_trial(&self, trial: u32) -> Result<PathBuf, ConductError> {
        let path = self.trial_path(trial);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(ConductError::file("remove", &path))?;
        }
        make_folder(&path)?;
        Ok(path)
    }

    fn trial_path(&self, trial: u32) -> PathBuf {
        self.path.join("trials").join(format!("{trial:04}"))
    }

    /// Writes and syncs a record: after this the trial survives a power cut.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write_record(&self, record: &TrialRecord) -> Result<(), ConductError> {
        write_json(&self.trial_path(record.trial).join("record.json"), record)
    }

    /// All records in order of trials; a folder without a record is a trial that was cut off.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn records(&self) -> Result<Vec<TrialRecord>, ConductError> {
        let trials = self.path.join("trials");
        if !trials.exists() {
            return Ok(Vec::new());
        }
        let mut records: Vec<TrialRecord> = Vec::new();
        for entry in fs::read_dir(&trials).map_err(ConductError::file("read", &trials))? {
            let entry = entry.map_err(ConductError::file("read", &trials))?;
            let file = entry.path().join("record.json");
            if file.is_file() {
                records.push(read_json(&file, "the record of a trial")?);
            }
        }
        records.sort_by_key(|record| record.trial);
        Ok(records)
    }
}

/// Writes a text beside its final name, syncs it, and renames: a reader sees the old or the new one whole.
///
/// # Errors
/// When the disk does not take it.
pub fn write_synced(path: &Path, text: &[u8]) -> Result<(), ConductError> {
    let beside = path.with_extension("partial");
    let mut file = File::create(&beside).map_err(ConductError::file("write", &beside))?;
    file.write_all(text)
        .and_then(|()| file.sync_all())
        .map_err(ConductError::file("write", &beside))?;
    fs::rename(&beside, path).map_err(ConductError::file("write", path))?;
    // The name itself is on disk only when its folder is.
    match path.parent() {
        Some(folder) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(ConductError::file("sync", folder)),
        None => Ok(()),
    }
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ConductError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| ConductError::Content {
        path: path.to_owned(),
        kind: "JSON",
        source,
    })?;
    text.push(b'\n');
    write_synced(path, &text)
}

fn read_json<T: DeserializeOwned>(path: &Path, kind: &'static str) -> Result<T, ConductError> {
    let text = fs::read(path).map_err(ConductError::file("read", path))?;
    serde_json::from_slice(&text).map_err(|source| ConductError::Content {
        path: path.to_owned(),
        kind,
        source,
    })
}
/// Makes a folder and what it lies in.
pub(crate) fn make_folder(path: &Path) -> Result<(), ConductError> {
    fs::create_dir_all(path).map_err(ConductError::file("create", path))
}
