//! The index over the runs of a directory: opened, brought up to date, and made again where it cannot be used.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tare_record::api::{HISTORY_INDEX, KEPT_CHECK, LOAD_REPORT};

use crate::database;
use crate::error::HistoryError;
use crate::values::{self, FolderContent};

/// Longest wait for another process that writes the index.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks whether it has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// File that the process holds locked that writes the index.
const LOCK: &str = ".history.lock";
/// Runs that are written in one transaction.
const BATCH: usize = 50;
/// From this number of runs on it is said that they are read.
const SAID_MIN: usize = 100;
/// Files by whose size and time a folder is known to be unchanged: a run has the first two, a load or a golden check one of the others.
const STAMPED: [&str; 4] = ["run.json", "plan.json", LOAD_REPORT, KEPT_CHECK];

/// Where messages go.
pub type Say<'a> = &'a dyn Fn(&str);

/// The history of a directory of runs. Each question finds its index up to date.
pub struct History {
    runs: PathBuf,
    /// The index of a directory that cannot be written.
    in_memory: Option<Index>,
}

/// An open index.
pub struct Index {
    pub(crate) connection: Connection,
    path: PathBuf,
    place: Place,
}

/// Where an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the directory of runs, where other processes find it.
    File,
    /// In memory.
    Memory,
}

/// What was brought up to date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexUpdate {
    /// Folders that were read.
    pub read: usize,
    /// Folders that are gone.
    pub removed: usize,
}

impl History {
    /// The history of this directory.
    #[must_use]
    pub fn of(runs: &Path) -> History {
        History {
            runs: runs.to_owned(),
            in_memory: None,
        }
    }

    /// The directory.
    #[must_use]
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// Answers a question.
    ///
    /// # Errors
    /// When the runs cannot be read, the index cannot be written, or the question has no answer.
    pub fn ask<T>(
        &mut self,
        say: Say<'_>,
        question: impl Fn(&Index) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        self.ask_updated(say, |index, _| question(index))
    }

    fn ask_updated<T>(
        &mut self,
        say: Say<'_>,
        question: impl Fn(&Index, IndexUpdate) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        if let Err(error) = fs::read_dir(&self.runs) {
            let path = self.runs.clone();
            return Err(HistoryError::Runs { path, error });
        }
        let path = self.runs.join(HISTORY_INDEX);
        if self.in_memory.is_none()
            && let Err(error) = lock_file(&self.runs)
        {
            if error.kind() == io::ErrorKind::StorageFull {
                return Err(HistoryError::DiskFull(path));
            }
            let runs = self.runs.display();
            say(&format!(
                "{runs} cannot be written ({error}): the index is made in memory"
            ));
            self.in_memory = Some(Index::in_memory(&path)?);
        }
        if let Some(index) = &mut self.in_memory {
            let update = index.update(&self.runs, say)?;
            return question(index, update);
        }
        let of_file = || {
            let mut index = Index::open(&path)?;
            let update = index.update(&self.runs, say)?;
            question(&index, update)
        };
        let used = inode(&path);
        match of_file() {
            Err(error) if error.is_damaged() => {
                say(&match &error {
                    HistoryError::Index { path, error } => {
                        format!("the index {} is made again: {error}", path.display())
                    }
                    error => error.to_string(),
                });
                {
                    let _lock = Lock::take(&self.runs, &path, say)?;
                    // Another process may have made it again meanwhile.
                    if inode(&path) == used {
                        remove(&path);
                    }
                }
                of_file()
            }
            answer => answer,
        }
    }

    /// Makes the index again.
    ///
    /// # Errors
    /// As [`History::ask`].
    pub fn rebuild(&mut self, say: Say<'_>) -> Result<IndexUpdate, HistoryError> {
        let path = self.runs.join(HISTORY_INDEX);
        self.in_memory = None;
        // Where it cannot be written, it is in memory.
        if lock_file(&self.runs).is_ok() {
            let _lock = Lock::take(&self.runs, &path, say)?;
            remove(&path);
        }
        self.ask_updated(say, |_, update| Ok(update))
    }
}

impl Index {
    fn open(path: &Path) -> Result<Index, HistoryError> {
        let at = |error| HistoryError::of_index(path, error);
        let foreign = |reason: String| HistoryError::Foreign {
            path: path.to_owned(),
            reason,
        };
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(foreign("it is no regular file".to_owned()));
        }
        let mut connection = database::open(Some(path)).map_err(at)?;
        match database::has_tables(&connection).map_err(at)? {
            Ok(true) => {}
            Ok(false) => database::make_tables(&mut connection).map_err(at)?,
            Err(reason) => return Err(foreign(reason)),
        }
        Ok(Index {
            connection,
            path: path.to_owned(),
            place: Place::File,
        })
    }

    /// An index in memory, with what the file has where there is one.
    fn in_memory(path: &Path) -> Result<Index, HistoryError> {
        let at = |error| HistoryError::of_index(path, error);
        let empty = || {
            let mut connection = database::open(None)?;
            database::make_tables(&mut connection)?;
            Ok(connection)
        };
        let mut connection = empty().map_err(at)?;
        if path.is_file() && database::copy(&connection, path).is_err() {
            // Half a copy is none.
            connection = empty().map_err(at)?;
        }
        Ok(Index {
            connection,
            path: path.to_owned(),
            place: Place::Memory,
        })
    }

    /// The error of a use of this index.
    pub(crate) fn failed(&self, error: rusqlite::Error) -> HistoryError {
        HistoryError::of_index(&self.path, error)
    }

    /// Reads what is new or has changed, and forgets what is gone.
    fn update(&mut self, runs: &Path, say: Say<'_>) -> Result<IndexUpdate, HistoryError> {
        if self.outdated(runs)?.is_empty() {
            return Ok(IndexUpdate::default());
        }
        let _lock = match self.place {
            Place::File => Some(Lock::take(runs, &self.path, say)?),
            Place::Memory => None,
        };
        // Another process may have read them meanwhile.
        let outdated = self.outdated(runs)?;
        let at = |error| HistoryError::of_index(&self.path, error);
        if !outdated.gone.is_empty() {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate);
            let transaction = transaction.map_err(at)?;
            database::remove(&transaction, &outdated.gone).map_err(at)?;
            transaction.commit().map_err(at)?;
        }
        if outdated.changed.len() >= SAID_MIN {
            let count = outdated.changed.len();
            say(&format!("reading {count} runs of {}, once", runs.display()));
        }
        read_all(&mut self.connection, runs, &outdated.changed).map_err(at)?;
        database::remove_empty_series(&self.connection).map_err(at)?;
        Ok(IndexUpdate {
            read: outdated.changed.len(),
            removed: outdated.gone.len(),
        })
    }

    fn outdated(&self, runs: &Path) -> Result<Outdated, HistoryError> {
        let known = database::stamps(&self.connection).map_err(|error| self.failed(error))?;
        let found = scan(runs).map_err(|error| HistoryError::Runs {
            path: runs.to_owned(),
            error,
        })?;
        let gone = known.keys().filter(|name| !found.contains_key(*name));
        Ok(Outdated {
            gone: gone.cloned().collect(),
            changed: found
                .into_iter()
                .filter(|(name, stamp)| known.get(name) != Some(stamp))
                .collect(),
        })
    }
}

/// What in an index differs from the folders.
struct Outdated {
    gone: Vec<String>,
    /// Names of folders, with their stamps.
    changed: Vec<(String, String)>,
}

impl Outdated {
    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.changed.is_empty()
    }
}

/// The folders of runs and loads, each with a stamp that changes with it: size and time of the files that decide.
fn scan(runs: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(runs)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') || !entry.file_type()?.is_dir() {
            continue;
        }
        let folder = entry.path();
        let of = |file| {
            let found = folder.join(file).symlink_metadata().ok()?;
            Some(format!(
                "{} {}.{}",
                found.len(),
                found.mtime(),
                found.mtime_nsec()
            ))
        };
        let stamps = match of(STAMPED[0]) {
            Some(run) => [run, of(STAMPED[1]).unwrap_or_default()].join("|"),
            // A load has it when it has ended.
            None => match of(STAMPED[2]).or_else(|| of(STAMPED[3])) {
                Some(load) => load,
                None => continue,
            },
        };
        found.insert(name, stamps);
    }
    Ok(found)
}

/// Reads folders on all cores, and writes what they are.
fn read_all(
    connection: &mut Connection,
    runs: &Path,
    folders: &[(String, String)],
) -> rusqlite::Result<()> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, contents) = mpsc::sync_channel(BATCH);
        for _ in 0..workers.min(folders.len()) {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some((name, stamp)) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let content = values::content(&runs.join(name));
                    // Nobody receives it when writing has failed.
                    if sender.send((name, stamp, content)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            let batch: Vec<(&String, &String, FolderContent)> =
                contents.iter().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (name, stamp, content) in &batch {
                database::insert(&transaction, (name, stamp), content)?;
            }
            transaction.commit()?;
        }
    })
}

/// Which file this is; `None`: there is none.
fn inode(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().map(|found| found.ino())
}

/// Removes an index with its journal.
fn remove(path: &Path) {
    for end in ["", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        // What cannot be removed cannot be opened either, which is an error there.
        let _ = fs::remove_file(name);
    }
}

/// Held by the process that writes the index.
struct Lock {
    /// Closing it releases the lock.
    _file: File,
}

fn lock_file(runs: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true);
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
    );
    options.open(runs.join(LOCK))
}

impl Lock {
    /// Waits for the process that has it.
    fn take(runs: &Path, index: &Path, say: Say<'_>) -> Result<Lock, HistoryError> {
        let runs_failed = |error| HistoryError::Runs {
            path: runs.to_owned(),
            error,
        };
        let file = lock_file(runs).map_err(runs_failed)?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) if waited < BUSY_TIMEOUT => {
                    if waited.is_zero() {
                        say("another process reads these runs: waiting for it");
                    }
                    std::thread::sleep(LOCK_INTERVAL);
                    waited += LOCK_INTERVAL;
                }
                Err(TryLockError::WouldBlock) => return Err(HistoryError::Busy(index.to_owned())),
                Err(TryLockError::Error(error)) => return Err(runs_failed(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tare_record::api::SeriesFilter;
    use tare_record::metric::Metric;
    use tare_record::plan::Form;

    use super::*;
    use crate::series::one_series;
    use crate::values::{RunSetting, RunValues};
    use tare_report::figures::StoredFigure;

    fn empty() -> Index {
        Index::in_memory(Path::new("nowhere/.history.sqlite")).unwrap()
    }

    /// A run with one value.
    fn content(number: u64) -> FolderContent {
        let value = if number < 99_900 { 1000.0 } else { 1300.0 };
        FolderContent::Complete(Box::new(RunValues {
            experiment: "study/one".into(),
            form: Form::Full,
            machine: "0011".into(),
            machine_about: "a machine".into(),
            started_unix_us: number,
            setting: RunSetting {
                versions: BTreeMap::new(),
                primary: vec![Metric::Median],
                margin: 0.05,
                margin_absolute_ns: 0,
                arms: vec!["direct".into()],
                levels: vec!["400/s".into()],
            },
            values: vec![StoredFigure {
                arm: "direct".into(),
                level: "400/s".into(),
                metric: Metric::Median,
                value: value + (number * 7 % 10) as f64,
                low: None,
                high: None,
                is_lower_bound: false,
            }],
        }))
    }

    fn insert(index: &mut Index, runs: u64) -> rusqlite::Result<()> {
        let transaction = index.connection.transaction()?;
        for number in 0..runs {
            let name = format!("run-{number}");
            database::insert(&transaction, (&name, "stamp"), &content(number))?;
        }
        transaction.commit()
    }

    #[test]
    fn a_series_of_a_hundred_thousand_runs_has_its_last_runs_and_its_change_point() {
        let mut index = empty();
        insert(&mut index, 100_000).unwrap();
        let filter = SeriesFilter {
            experiment: Some("one".into()),
            ..SeriesFilter::default()
        };
        let found = one_series(&index, &filter, 50).unwrap();
        assert_eq!(
            (found.runs, found.left_out, found.points.len()),
            (100_000, 99_950, 50)
        );
        assert_eq!(found.points[49].run, "run-99999");
        let changes: Vec<u64> = found.changes.iter().map(|change| change.index).collect();
        assert_eq!(changes, [99_900]);
    }

    #[test]
    fn an_index_that_does_not_fit_on_the_disk_says_so_and_is_not_taken_for_a_damaged_one() {
        let mut index = empty();
        let pages: i64 = index
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap();
        index
            .connection
            .pragma_update(None, "max_page_count", pages + 4)
            .unwrap();
        let failed = insert(&mut index, 1000).unwrap_err();
        let error = index.failed(failed);
        assert!(matches!(error, HistoryError::DiskFull(_)) && !error.is_damaged());
        assert!(error.to_string().contains("free some"), "{error}");
    }
}
