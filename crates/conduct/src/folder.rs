//! The run folder: each record is synced before the next trial begins.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_record::profile::PROFILES;
use tare_record::record::{EnvironmentRecord, RunState, TrialRecord};
use tare_record::regular::{JSON_BYTES_MAX, RECORDS_BYTES_MAX, read_regular};

use crate::ConductError;
use crate::disk::{make, make_folder, open_lock, write_synced};

/// An open, locked run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

/// File of the plan.
pub(crate) const PLAN: &str = "plan.json";
/// File of the state.
pub(crate) const STATE: &str = "run.json";
/// File of the environment's record.
pub(crate) const ENVIRONMENT: &str = "environment.json";
/// Highest number that is appended to a name that exists already.
const NAME_TRIES: u32 = 1000;

impl RunFolder {
    /// Creates `<out>/<name>`, or `<out>/<name>-2` and so on when that exists.
    ///
    /// # Errors
    /// When the folder cannot be created or locked.
    pub fn create(out: &Path, name: &str) -> Result<Self, ConductError> {
        if !out.is_dir() {
            make_folder(out)?;
        }
        let mut tries = 1;
        let path = loop {
            let path = match tries {
                1 => out.join(name),
                n => out.join(format!("{name}-{n}")),
            };
            match make(&path) {
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

    /// Opens the folder of an earlier run to resume it.
    ///
    /// # Errors
    /// When it does not exist, is no run folder, contains a symbolic link, or is locked.
    pub fn open(path: &Path) -> Result<Self, ConductError> {
        if !path.join(PLAN).is_file() {
            return Err(ConductError::Plan(format!(
                "{} is not the folder of a run (it has no plan.json): name one from the runs folder",
                path.display()
            )));
        }
        refuse_links(path)?;
        Self::lock(path.to_owned())
    }

    fn lock(path: PathBuf) -> Result<Self, ConductError> {
        let file = path.join("lock");
        let lock = open_lock(&file).map_err(ConductError::file("create", &file))?;
        // The kernel releases the lock when the process ends, however it ends.
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(ConductError::Busy { path }),
            Err(fs::TryLockError::Error(error)) => Err(ConductError::file("lock", &file)(error)),
        }
    }

    /// Path of the run folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the run.
    ///
    /// # Errors
    /// When the file cannot be read or parsed.
    pub fn state(&self) -> Result<RunState, ConductError> {
        read_json(&self.path.join(STATE), "the state of a run")
    }

    /// The environment that the run began in.
    ///
    /// # Errors
    /// When the file cannot be read or parsed.
    pub fn environment(&self) -> Result<EnvironmentRecord, ConductError> {
        let path = self.path.join(ENVIRONMENT);
        read_json(&path, "the record of an environment")
    }

    /// Writes and syncs one of the files of the run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, file: &str, value: &impl Serialize) -> Result<(), ConductError> {
        write_json(&self.path.join(file), value)
    }

    /// Creates the folder of a trial; one left by an interrupted trial is removed first.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn fresh_trial(&self, trial: u32) -> Result<PathBuf, ConductError> {
        let path = self.trial_path(trial);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(ConductError::file("remove", &path))?;
        }
        make_folder(&path)?;
        Ok(path)
    }

    /// Removes the profiles of an earlier pass.
    pub(crate) fn fresh_profiles(&self) -> Result<(), ConductError> {
        let path = self.path.join(PROFILES);
        match path.exists() {
            true => fs::remove_dir_all(&path).map_err(ConductError::file("remove", &path)),
            false => Ok(()),
        }
    }

    /// Creates the folder of the profiles of a cell.
    pub(crate) fn fresh_profile(&self, number: u32) -> Result<PathBuf, ConductError> {
        let path = self.path.join(PROFILES).join(format!("{number:04}"));
        make_folder(&path)?;
        Ok(path)
    }

    fn trial_path(&self, trial: u32) -> PathBuf {
        self.path.join("trials").join(format!("{trial:04}"))
    }

    /// Writes and syncs a record: from then on the trial survives a power cut.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_record(&self, record: &TrialRecord) -> Result<(), ConductError> {
        write_json(&self.trial_path(record.trial).join("record.json"), record)
    }

    /// All records, ordered by trial, and the files of those that are cut off. A folder without a record is an
    /// interrupted trial and is skipped.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn records(&self) -> Result<(Vec<TrialRecord>, Vec<PathBuf>), ConductError> {
        let trials = self.path.join("trials");
        let (mut records, mut torn) = (Vec::<TrialRecord>::new(), Vec::new());
        if !trials.exists() {
            return Ok((records, torn));
        }
        let mut bytes_left = RECORDS_BYTES_MAX;
        for entry in fs::read_dir(&trials).map_err(ConductError::file("read", &trials))? {
            let entry = entry.map_err(ConductError::file("read", &trials))?;
            let file = entry.path().join("record.json");
            if file.is_file() {
                let text = read_regular(&file, bytes_left.min(JSON_BYTES_MAX))
                    .map_err(ConductError::file("read", &file))?;
                bytes_left -= text.len() as u64;
                match serde_json::from_slice(&text) {
                    Ok(record) => records.push(record),
                    Err(error) if error.is_eof() => torn.push(file),
                    Err(error) => return Err(content(&file, "the record of a trial")(error)),
                }
            }
        }
        records.sort_by_key(|record| record.trial);
        Ok((records, torn))
    }
}

pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ConductError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(content(path, "JSON"))?;
    text.push(b'\n');
    write_synced(path, &text)
}

fn read_json<T: DeserializeOwned>(path: &Path, kind: &'static str) -> Result<T, ConductError> {
    let text = read_regular(path, JSON_BYTES_MAX).map_err(ConductError::file("read", path))?;
    serde_json::from_slice(&text).map_err(content(path, kind))
}

fn content(path: &Path, kind: &'static str) -> impl FnOnce(serde_json::Error) -> ConductError {
    let path = path.to_owned();
    move |source| ConductError::Content { path, kind, source }
}

/// Refuses a folder that contains symbolic links: a run creates none, and writes through them would end outside the folder.
fn refuse_links(folder: &Path) -> Result<(), ConductError> {
    for entry in fs::read_dir(folder).map_err(ConductError::file("read", folder))? {
        let entry = entry.map_err(ConductError::file("read", folder))?;
        let path = entry.path();
        let kind = entry
            .file_type()
            .map_err(ConductError::file("read", &path))?;
        if kind.is_symlink() {
            return Err(ConductError::Plan(format!(
                "{} is a link, and a run's folder has none: go on only with a folder that is yours, and remove the link",
                path.display()
            )));
        }
        if kind.is_dir() {
            refuse_links(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::trial::draft;

    #[test]
    fn a_folder_with_a_link_deep_in_it_is_not_gone_on_with() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        let (path, trial) = (folder.path().to_owned(), folder.fresh_trial(1).unwrap());
        drop(folder);
        fs::write(path.join("plan.json"), "{}").unwrap();
        symlink(place.path(), trial.join("logs")).unwrap();
        let said = RunFolder::open(&path).unwrap_err().to_string();
        assert!(said.contains("0001/logs is a link"), "{said}");
    }

    #[test]
    fn a_record_cut_at_any_byte_is_told_from_the_others() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        let all = [draft(1), draft(2)];
        for record in &all {
            folder.fresh_trial(record.trial).unwrap();
            folder.write_record(record).unwrap();
        }
        let file = folder.trial_path(2).join("record.json");
        let text = fs::read(&file).unwrap();
        // The last byte is the end of the line: without it the record is whole.
        let whole = text.len() - 1;
        for length in 0..whole {
            fs::write(&file, &text[..length]).unwrap();
            let (records, torn) = folder.records().unwrap();
            assert_eq!(records, all[..1], "cut at {length}");
            assert_eq!(torn, std::slice::from_ref(&file), "cut at {length}");
        }
        fs::write(&file, &text[..whole]).unwrap();
        assert_eq!(folder.records().unwrap().0, all);
    }

    #[test]
    fn a_record_that_is_a_link_is_not_read_to_go_on() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        let other = place.path().join("other.json");
        fs::write(&other, serde_json::to_vec(&draft(1)).unwrap()).unwrap();
        let trial = folder.fresh_trial(1).unwrap();
        symlink(&other, trial.join("record.json")).unwrap();
        let said = folder.records().unwrap_err().to_string();
        assert!(said.contains("record.json is a link"), "{said}");
    }

    #[test]
    fn a_file_that_is_longer_than_any_of_ours_is_not_read_to_go_on() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        let names = ["run.json", "environment.json"];
        for name in names {
            File::create(folder.path().join(name))
                .and_then(|file| file.set_len(JSON_BYTES_MAX + 1))
                .unwrap();
        }
        let errors = [folder.state().err(), folder.environment().err()];
        for (name, error) in names.into_iter().zip(errors) {
            let said = error.unwrap().to_string();
            assert!(
                said.contains(&format!("{name} has 67108865 bytes")),
                "{said}"
            );
        }
    }

    #[test]
    fn records_of_more_bytes_than_any_run_has_are_not_read_to_go_on() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        // One record with much white space behind it, under several names.
        let mut text = serde_json::to_string(&draft(1)).unwrap();
        text.push_str(&" ".repeat(52 << 20));
        let first = place.path().join("record.json");
        fs::write(&first, text).unwrap();
        let add = |number| {
            let trial = folder.fresh_trial(number).unwrap();
            fs::hard_link(&first, trial.join("record.json")).unwrap();
        };
        (1..=4).for_each(add);
        assert_eq!(folder.records().unwrap().0.len(), 4);
        add(5);
        let said = folder.records().unwrap_err().to_string();
        assert!(said.contains("record.json has 545"), "{said}");
    }
}
