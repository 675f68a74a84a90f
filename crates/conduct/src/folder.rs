//! The run folder: each record is synced before the next trial begins.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_lab::seal::RunKey;
use tare_record::checksums::{
    CHECKSUMS, ChecksumError, Checksums, ENVIRONMENT, PLAN, RECORD, TRIAL_FILES,
};
use tare_record::durable;
use tare_record::profile::PROFILES;
use tare_record::record::{RunState, TrialRecord};
use tare_record::regular::{JSON_BYTES_MAX, RECORDS_BYTES_MAX, lock_new, read_regular};
use tare_record::seal::SEAL;

use crate::ConductError;
use crate::disk::{make_folder, open_lock, write_synced};

/// An open, locked run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

/// File of the state.
pub(crate) const STATE: &str = "run.json";
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
            match durable::make(&path) {
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
        match lock_new(&lock) {
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

    /// Writes the plan of a new run, and before it what shows that it is this plan: checksums, and the seal without which the run
    /// is not resumed. The record of the environment is there already.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write_plan(
        &self,
        plan: &impl Serialize,
        environment: &[u8],
        key: Option<&RunKey>,
    ) -> Result<(), ConductError> {
        let path = self.path.join(PLAN);
        let plan = json_text(&path, plan)?;
        let mut sums = Checksums::default();
        sums.add(PLAN, &plan);
        sums.add(ENVIRONMENT, environment);
        self.write_checksums(&sums)?;
        if let Some(key) = key {
            self.write(SEAL, &key.seal(&plan, environment))?;
        }
        write_synced(&path, &plan)
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

    /// Writes and syncs a record, and before it the checksums of all that the trial is judged by: from then on the trial survives a
    /// power cut, and a change of a bit is found.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_record(&self, record: &TrialRecord) -> Result<(), ConductError> {
        let folder = self.trial_path(record.trial);
        let path = folder.join(RECORD);
        let text = json_text(&path, record)?;
        let at_sums = folder.join(CHECKSUMS);
        let known = Checksums::read(&folder).map_err(io::Error::other);
        // A record that is superseded has its files from before: what has happened to them since is not signed for.
        let known = known.and_then(|known| match known {
            Some(sums) => Ok(sums),
            None => of_trial_files(&folder),
        });
        let mut sums = known.map_err(ConductError::file("write", &at_sums))?;
        sums.add(RECORD, &text);
        sums.write(&folder)
            .map_err(ConductError::file("write", &at_sums))?;
        write_synced(&path, &text)
    }

    /// Writes the report of a kept load and its logs, and before the report their checksums.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_load(
        &self,
        (name, report): (&str, &impl Serialize),
        logs: [(&str, &str); 2],
    ) -> Result<(), ConductError> {
        let mut sums = Checksums::default();
        for (name, log) in logs {
            sums.add(name, log.as_bytes());
            write_synced(&self.path.join(name), log.as_bytes())?;
        }
        let path = self.path.join(name);
        let text = json_text(&path, report)?;
        sums.add(name, &text);
        self.write_checksums(&sums)?;
        write_synced(&path, &text)
    }

    fn write_checksums(&self, sums: &Checksums) -> Result<(), ConductError> {
        sums.write(&self.path)
            .map_err(ConductError::file("write", &self.path.join(CHECKSUMS)))
    }

    /// All records, ordered by trial, and the files of those that are cut off or changed, with the reason. A folder without a record
    /// is an interrupted trial and is skipped.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn records(&self) -> Result<(Vec<TrialRecord>, Vec<DamagedRecord>), ConductError> {
        let trials = self.path.join("trials");
        let (mut records, mut damaged) = (Vec::<TrialRecord>::new(), Vec::new());
        if !trials.exists() {
            return Ok((records, damaged));
        }
        let has_checksums = self.path.join(CHECKSUMS).exists();
        let mut bytes_left = RECORDS_BYTES_MAX;
        for entry in fs::read_dir(&trials).map_err(ConductError::file("read", &trials))? {
            let folder = entry.map_err(ConductError::file("read", &trials))?.path();
            let file = folder.join(RECORD);
            if !file.is_file() {
                continue;
            }
            let text = read_regular(&file, bytes_left.min(JSON_BYTES_MAX))
                .map_err(ConductError::file("read", &file))?;
            bytes_left -= text.len() as u64;
            match serde_json::from_slice(&text) {
                Ok(record) => match check_trial(&folder, &text, has_checksums) {
                    Ok(()) => records.push(record),
                    Err(found) => damaged.push(found),
                },
                Err(error) if error.is_eof() => damaged.push(DamagedRecord {
                    file,
                    reason: String::from("it is cut off (a full or damaged disk?)"),
                }),
                Err(error) => match check_trial(&folder, &text, has_checksums) {
                    Ok(()) => return Err(content(&file, "the record of a trial")(error)),
                    Err(found) => damaged.push(found),
                },
            }
        }
        records.sort_by_key(|record| record.trial);
        Ok((records, damaged))
    }
}

/// A trial that is measured again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its record, or the file beside it that is not what was written.
    pub file: PathBuf,
    /// Why it does not count.
    pub reason: String,
}

/// The checksums of the files beside a trial's record.
fn of_trial_files(folder: &Path) -> io::Result<Checksums> {
    let mut sums = Checksums::default();
    let mut names = TRIAL_FILES.into_iter();
    names.try_for_each(|name| match sums.add_file(folder, name) {
        // A trial that failed has not all of them.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        added => added,
    })?;
    Ok(sums)
}

/// Checks the files of a trial by its checksums.
fn check_trial(folder: &Path, record: &[u8], run_has_some: bool) -> Result<(), DamagedRecord> {
    let damaged = |(name, error): (&str, ChecksumError)| DamagedRecord {
        file: folder.join(name),
        reason: error.to_string(),
    };
    let sums = Checksums::of_trial(folder, run_has_some);
    let Some(sums) = sums.map_err(|error| damaged((RECORD, error)))? else {
        return Ok(());
    };
    let of_record = sums.check(RECORD, record).map_err(|error| (RECORD, error));
    of_record
        .and_then(|()| sums.check_trial_files(folder))
        .map_err(damaged)
}

/// A value as the text of a file.
pub(crate) fn json_text<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, ConductError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(content(path, "JSON"))?;
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ConductError> {
    write_synced(path, &json_text(path, value)?)
}

fn read_json<T: DeserializeOwned>(path: &Path, kind: &'static str) -> Result<T, ConductError> {
    let text = read_regular(path, JSON_BYTES_MAX).map_err(ConductError::file("read", path))?;
    serde_json::from_slice(&text).map_err(content(path, kind))
}

pub(crate) fn content(
    path: &Path,
    kind: &'static str,
) -> impl FnOnce(serde_json::Error) -> ConductError {
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
        // The last byte is the end of the line: without it the record is whole, but not what was written.
        let whole = text.len() - 1;
        for length in 0..whole {
            fs::write(&file, &text[..length]).unwrap();
            let (records, damaged) = folder.records().unwrap();
            assert_eq!(records, all[..1], "cut at {length}");
            assert_eq!(damaged.len(), 1, "cut at {length}");
            assert_eq!(damaged[0].file, file, "cut at {length}");
            assert!(damaged[0].reason.contains("cut off"), "{damaged:?}");
        }
        fs::write(&file, &text).unwrap();
        assert_eq!(folder.records().unwrap().0, all);
    }

    #[test]
    fn a_trial_with_a_changed_bit_in_any_of_its_files_is_measured_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), "run").unwrap();
        folder.write_plan(&"a plan", b"", None).unwrap();
        let all = [draft(1), draft(2)];
        for record in &all {
            let trial = folder.fresh_trial(record.trial).unwrap();
            for name in TRIAL_FILES {
                fs::write(trial.join(name), name).unwrap();
            }
            folder.write_record(record).unwrap();
        }
        assert_eq!(folder.records().unwrap(), (all.to_vec(), Vec::new()));
        let trial = folder.trial_path(2);
        for name in TRIAL_FILES.into_iter().chain([RECORD, CHECKSUMS]) {
            let file = trial.join(name);
            let was = fs::read(&file).unwrap();
            let mut now = was.clone();
            // A digit of the record, so that it stays valid JSON.
            let at = match name {
                RECORD => was.iter().position(|byte| *byte == b'5').unwrap(),
                _ => 0,
            };
            now[at] ^= 1;
            fs::write(&file, &now).unwrap();
            let (records, damaged) = folder.records().unwrap();
            assert_eq!(records, all[..1], "{name}");
            assert_eq!(damaged.len(), 1, "{name}");
            fs::remove_file(&file).unwrap();
            if name != RECORD {
                assert_eq!(folder.records().unwrap().1.len(), 1, "{name} is missing");
            }
            fs::write(&file, was).unwrap();
        }
        // What happened to a log before its trial was superseded is not forgotten with that.
        fs::write(trial.join("latency.hlog"), "other").unwrap();
        folder.write_record(&all[1]).unwrap();
        assert_eq!(folder.records().unwrap().1.len(), 1);
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
        File::create(folder.path().join("run.json"))
            .and_then(|file| file.set_len(JSON_BYTES_MAX + 1))
            .unwrap();
        let said = folder.state().unwrap_err().to_string();
        assert!(said.contains("run.json has 67108865 bytes"), "{said}");
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
