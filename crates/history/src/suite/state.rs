//! What a call of `tare suite` leaves to the next one: the entries without a result, and the changes that were reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_experiment::suite::{SuiteEntry, read_acknowledged};
use tare_record::FORMAT_VERSION;
use tare_record::api::{NightChange, SeriesKey};
use tare_record::regular::{JSON_BYTES_MAX, lock_new, read_regular};

use super::SuiteError;
use crate::acknowledged::AcknowledgedChanges;
use crate::index::Say;

/// File of the state, in the directory of runs.
const STATE: &str = ".suite.json";
/// File in a directory of runs that a suite holds locked while it runs.
pub const LOCK: &str = ".suite.lock";

/// The state of all suites of a directory of runs, and which of them this is about.
pub struct SuiteState {
    file: StateFile,
    suite: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    version: u32,
    /// By the file of the suite.
    suites: BTreeMap<String, KeptState>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct KeptState {
    /// Names of entries without a result.
    left: Vec<String>,
    /// Changes of the last call.
    reported: Vec<ReportedChange>,
    /// Files with acknowledged changes.
    #[serde(default)]
    acknowledged: Vec<PathBuf>,
}

/// A change that was reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedChange {
    pub key: SeriesKey,
    /// First run after it.
    pub run: String,
    pub is_worse: bool,
}

impl StateFile {
    /// The state of a directory of runs; `None`: there is none.
    fn read(path: &Path) -> Option<Result<StateFile, String>> {
        let read = || {
            let bytes = read_regular(path, JSON_BYTES_MAX).map_err(|error| error.to_string())?;
            let file: StateFile =
                serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
            match file.version {
                FORMAT_VERSION => Ok(file),
                other => Err(format!("it has format version {other}")),
            }
        };
        path.exists().then(read)
    }
}

/// What the suites of a directory of runs acknowledge: their files as they are now. A suite that was deleted acknowledges nothing.
#[must_use]
pub fn acknowledged(runs: &Path) -> AcknowledgedChanges {
    let mut all = AcknowledgedChanges::default();
    let Some(Ok(state)) = StateFile::read(&runs.join(STATE)) else {
        return all;
    };
    let suites = state
        .suites
        .into_iter()
        .filter(|(suite, _)| Path::new(suite).exists());
    let files: BTreeSet<PathBuf> = suites.flat_map(|(_, kept)| kept.acknowledged).collect();
    for file in files {
        match read_acknowledged(&file) {
            Ok(read) => all.changes.extend(read.changes),
            Err(problems) => all.problems.push(problems.to_string()),
        }
    }
    all
}

impl SuiteState {
    /// Reads the state. One that cannot be read is said, and is empty.
    pub fn read(runs: &Path, suite: &Path, say: Say<'_>) -> SuiteState {
        let path = runs.join(STATE);
        let file = match StateFile::read(&path) {
            Some(Ok(file)) => Some(file),
            Some(Err(reason)) => {
                let path = path.display();
                say(&format!(
                    "{path} is made again ({reason}): what the last call left is not known"
                ));
                None
            }
            None => None,
        };
        SuiteState {
            file: file.unwrap_or(StateFile {
                version: FORMAT_VERSION,
                suites: BTreeMap::new(),
            }),
            suite: suite.display().to_string(),
        }
    }

    fn own(&mut self) -> &mut KeptState {
        self.file.suites.entry(self.suite.clone()).or_default()
    }

    /// The entries in the order in which they are run: first those that the last call left.
    pub fn order<'a>(&mut self, entries: &'a [SuiteEntry]) -> Vec<&'a SuiteEntry> {
        let left = &self.own().left;
        let named = left
            .iter()
            .filter_map(|name| entries.iter().find(|entry| entry.name == *name));
        let others = entries.iter().filter(|entry| !left.contains(&entry.name));
        named.chain(others).collect()
    }

    pub fn set_left(&mut self, entries: &[&SuiteEntry]) {
        self.own().left = entries.iter().map(|entry| entry.name.clone()).collect();
    }

    pub fn set_acknowledged(&mut self, files: &[PathBuf]) {
        self.own().acknowledged = files.to_vec();
    }

    /// Changes of the last call.
    pub fn reported(&mut self) -> &[ReportedChange] {
        &self.own().reported
    }

    /// Adds changes. Those of other series stay: a series without a run tonight has not changed back.
    pub fn report(&mut self, changes: &[NightChange]) {
        let reported = &mut self.own().reported;
        reported.retain(|known| changes.iter().all(|change| change.key != known.key));
        reported.extend(changes.iter().map(|change| ReportedChange {
            key: change.key.clone(),
            run: change.change.run.clone(),
            is_worse: change.change.is_worse,
        }));
    }

    /// Writes the state: the file is the old or the new one, whenever the process ends.
    pub fn write(&self, runs: &Path) -> Result<(), SuiteError> {
        let path = runs.join(STATE);
        let new = runs.join(format!("{STATE}.new"));
        let replace = || {
            let text = serde_json::to_vec_pretty(&self.file)?;
            let mut file = File::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        replace().map_err(SuiteError::at(&path))
    }
}

/// Held by the suite that runs in a directory of runs.
pub struct Lock {
    /// Closing it releases the lock.
    _file: File,
}

impl Lock {
    pub fn take(runs: &Path) -> Result<Lock, SuiteError> {
        let path = runs.join(LOCK);
        let mut options = File::options();
        options.create(true).append(true);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(&path).map_err(SuiteError::at(&path))?;
        match lock_new(&file) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(SuiteError::Busy(runs.to_owned())),
            Err(TryLockError::Error(error)) => Err(SuiteError::at(&path)(error)),
        }
    }
}
