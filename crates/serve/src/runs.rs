//! The runs of the folder: what a list says of them, from small files, and the rest when it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tare_export::lock;
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    FileEntry, LOAD_REPORT, RunDetail, RunEntry, RunEntryState, RunSummary, SUMMARY, TrialDetail,
};
use tare_record::checksums::{Checksums, RECORD};
use tare_record::record::{RunProgress, RunState, TrialRecord};
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_record::seal::RunOrigin;
use tare_record::view::View;
use tare_report::{Run, routes, summary};

use crate::error::{Refusal, Reply};
use crate::places;

/// Age up to which it is believed whether something is measured.
const MEASURING_AGE: Duration = Duration::from_secs(1);
/// Largest `run.json` and `summary.json`.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// Views that are kept.
const VIEWS_MAX: usize = 4;
/// Most files of a trial that are listed.
const FILES_MAX: usize = 2000;

/// The runs of a folder, with what was read of them.
pub struct Runs {
    folder: PathBuf,
    known: Mutex<BTreeMap<String, Known>>,
    views: Mutex<Vec<(String, Stamp, Arc<View>)>>,
    /// Runs without a summary, which is being made.
    summarising: Mutex<BTreeSet<String>>,
    /// Whether something was measured, and when that was looked up.
    measuring: Mutex<Option<(Instant, bool)>>,
}

/// When the files that a run is known by were changed: their sizes and times.
type Stamp = Vec<(u64, i64, i64)>;

/// A view that is made or remembered, with what it was made of.
pub struct StampedView {
    stamp: Stamp,
    pub view: Arc<View>,
}

/// What was made of a run without a summary.
pub struct MadeSummary {
    stamp: Stamp,
    made: Result<RunSummary, String>,
}

#[derive(Clone)]
struct Known {
    stamp: Stamp,
    state: Result<RunState, String>,
    summary: Option<RunSummary>,
    origin: Option<RunOrigin>,
}

impl Runs {
    pub fn new(folder: PathBuf) -> Runs {
        Runs {
            folder,
            known: Mutex::default(),
            views: Mutex::default(),
            summarising: Mutex::default(),
            measuring: Mutex::default(),
        }
    }

    // These are locked for moments, and never by threads that run on idle cores only: such a thread can be kept from letting go for
    // as long as something is measured.

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn views(&self) -> MutexGuard<'_, Vec<(String, Stamp, Arc<View>)>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn summarising(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.summarising
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a run or a load of this folder is going on, as of this second.
    pub fn is_measuring(&self) -> bool {
        let mut known = self
            .measuring
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some((at, found)) if at.elapsed() < MEASURING_AGE => found,
            _ => {
                let found = !self.measured().is_empty();
                *known = Some((Instant::now(), found));
                found
            }
        }
    }

    /// The runs and loads of this folder that are going on.
    pub fn measured(&self) -> Vec<String> {
        let seen = lock::locked_inodes();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<String> = names
            .filter(|id| places::name(id).is_ok())
            .filter(|id| {
                let folder = self.folder.join(id);
                let Ok(lock) = folder.join(lock::LOCK).symlink_metadata() else {
                    return false;
                };
                // Asking every lock would cost more than to know which have ended.
                (seen.contains(&lock.ino()) || self.may_go_on(id, &folder))
                    && lock::is_held(&folder)
            })
            .collect();
        found.sort();
        found
    }

    /// Whether what is measured says that it has ended, and has only to let go.
    pub fn is_ending(&self, id: &str) -> bool {
        !self.may_go_on(id, &self.folder.join(id))
    }

    /// Whether what a folder says of itself is not that it has ended.
    fn may_go_on(&self, id: &str, folder: &Path) -> bool {
        // The report of a load, and the last state of a run, are written before they let go.
        if !is_run(folder) {
            return !folder.join(LOAD_REPORT).exists();
        }
        let stamp = stamp(folder, &["run.json", SUMMARY]);
        let is_open = |known: &Known| match &known.state {
            Ok(state) => state.state == RunProgress::Running,
            Err(_) => true,
        };
        let known = self.known();
        match known.get(id).filter(|known| known.stamp == stamp) {
            Some(known) => is_open(known),
            None => is_open(&read_small(folder, stamp)),
        }
    }

    /// All runs, the newest first; also those without a summary, for [`Runs::summarise`].
    pub fn list(&self) -> (Vec<RunEntry>, Vec<String>) {
        let ids = self.ids();
        let mut known = self.known();
        known.retain(|id, _| ids.contains(id));
        let mut without = Vec::new();
        let mut entries = Vec::new();
        for id in ids.iter().rev() {
            let folder = self.folder.join(id);
            let stamp = stamp(&folder, &["run.json", SUMMARY]);
            let is_fresh = known.get(id).is_some_and(|known| known.stamp == stamp);
            if !is_fresh {
                known.insert(id.clone(), read_small(&folder, stamp));
            }
            let Some(found) = known.get(id) else {
                continue;
            };
            let entry = entry(id, &folder, found);
            if entry.state != RunEntryState::Unreadable && entry.summary.is_none() {
                without.push(id.clone());
            }
            entries.push(entry);
        }
        (entries, without)
    }

    fn ids(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|id| places::name(id).is_ok())
            .filter(|id| is_run(&self.folder.join(id)))
            .collect()
    }

    /// Those of these runs of which no summary is being made yet; each is given to [`Runs::keep_summary`].
    pub fn to_summarise(&self, ids: Vec<String>) -> Vec<String> {
        let mut made = self.summarising();
        ids.into_iter()
            .filter(|id| made.insert(id.clone()))
            .collect()
    }

    /// Makes the summary of a run that has none: of a killed one, or one of another version.
    pub fn make_summary(&self, id: &str) -> MadeSummary {
        let folder = self.folder.join(id);
        let stamp = stamp(&folder, &["run.json", SUMMARY]);
        let made = tare_report::read(&folder)
            .map(|run| summary::summary(&run, &tare_report::view(&run)))
            .map_err(|error| error.to_string());
        MadeSummary { stamp, made }
    }

    /// Remembers the summary of a run; without one, another request makes it.
    pub fn keep_summary(&self, id: &str, made: Option<MadeSummary>) {
        if let Some(summary) = made {
            // A run that has only begun has no plan yet.
            let is_held = lock::is_held(&self.folder.join(id));
            let mut known = self.known();
            if let Some(known) = known
                .get_mut(id)
                .filter(|known| known.stamp == summary.stamp)
            {
                match summary.made {
                    Ok(summary) => known.summary = Some(summary),
                    Err(_) if is_held => {}
                    Err(error) => known.state = Err(error),
                }
            }
        }
        self.summarising().remove(id);
    }

    /// The entry of one run.
    pub fn entry(&self, id: &str) -> Reply<RunEntry> {
        let folder = self.run(id)?;
        let known = self.known().get(id).cloned();
        let stamp = stamp(&folder, &["run.json", SUMMARY]);
        let known = known.filter(|known| known.stamp == stamp);
        Ok(entry(
            id,
            &folder,
            &known.unwrap_or_else(|| read_small(&folder, stamp)),
        ))
    }

    /// The folder of a run.
    pub fn run(&self, id: &str) -> Reply<PathBuf> {
        let folder = places::folder(&self.folder, id)?;
        match is_run(&folder) {
            true => Ok(folder),
            false => Err(Refusal::not_found(format!("there is no run {id}"))),
        }
    }

    /// One run with the size of its folder and its arms, and without its plan.
    pub fn detail(&self, entry: RunEntry) -> Reply<RunDetail> {
        let folder = self.run(&entry.id)?;
        // A run that has only begun has no plan yet, and one of another version none that can be read.
        let read = self.read(&entry.id).ok();
        let arms = read.map(|run| run.plan.arms.iter().map(routes::arm_route).collect());
        Ok(RunDetail {
            entry,
            bytes: places::files_below(&folder, usize::MAX)
                .iter()
                .map(|(_, bytes)| bytes)
                .sum(),
            plan_text: String::new(),
            arms: arms.unwrap_or_default(),
        })
    }

    /// Reads a whole run.
    pub fn read(&self, id: &str) -> Reply<Run> {
        let folder = self.run(id)?;
        tare_report::read(&folder).map_err(|error| Refusal::invalid(error.to_string()))
    }

    /// The view of a run; that of an unchanged run is made once.
    pub fn view(&self, id: &str) -> Reply<Arc<View>> {
        if let Some(view) = self.known_view(id)? {
            return Ok(view);
        }
        let made = self.make_view(id)?;
        let view = Arc::clone(&made.view);
        self.keep_view(id, made)?;
        Ok(view)
    }

    /// The view of a run that is unchanged since its view was made.
    pub fn known_view(&self, id: &str) -> Reply<Option<Arc<View>>> {
        let stamp = view_stamp(&self.run(id)?);
        let mut views = self.views();
        let at = views
            .iter()
            .position(|(of, made, _)| of == id && *made == stamp);
        Ok(at.map(|at| {
            let found = views.remove(at);
            let view = Arc::clone(&found.2);
            views.push(found);
            view
        }))
    }

    /// Makes the view of a run.
    pub fn make_view(&self, id: &str) -> Reply<StampedView> {
        let stamp = view_stamp(&self.run(id)?);
        let view = Arc::new(tare_report::view(&self.read(id)?));
        Ok(StampedView { stamp, view })
    }

    /// Remembers the view of a run that has ended.
    pub fn keep_view(&self, id: &str, made: StampedView) -> Reply<()> {
        // A record is renamed into its folder after this folder was made: of a running run the view is made each time.
        let is_held = lock::is_held(&self.run(id)?);
        let mut views = self.views();
        views.retain(|(of, ..)| of != id);
        if views.len() >= VIEWS_MAX {
            views.remove(0);
        }
        if !is_held {
            views.push((id.to_owned(), made.stamp, made.view));
        }
        Ok(())
    }

    /// One trial, with its files and those of its test bed.
    pub fn trial(&self, id: &str, number: u32) -> Reply<TrialDetail> {
        let folder = self.run(id)?;
        let path = format!("trials/{number:04}");
        let file = places::open_below(&folder, &format!("{path}/{RECORD}"))?;
        let text = places::text(file, JSON_BYTES_MAX)?;
        let sums = Checksums::read(&folder.join(&path));
        sums.and_then(|sums| sums.map_or(Ok(()), |sums| sums.check(RECORD, text.as_bytes())))
            .map_err(|error| Refusal::invalid(format!("its record cannot be used: {error}")))?;
        let record: TrialRecord = serde_json::from_str(&text)
            .map_err(|error| Refusal::invalid(format!("its record cannot be read: {error}")))?;
        let mut files = places::files_below(&folder.join(&path), FILES_MAX);
        files
            .iter_mut()
            .for_each(|(name, _)| *name = format!("{path}/{name}"));
        // The folder of a test bed is named after its first trial.
        let beds = fs::read_dir(folder.join("testbeds"))
            .into_iter()
            .flatten()
            .flatten();
        let of_arm = format!("b{}-{}-", record.block, record.arm);
        let bed = beds
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| Some((name.strip_prefix(&of_arm)?.parse::<u32>().ok()?, name)))
            .filter(|(first, _)| *first <= number)
            .max();
        if let Some((_, bed)) = bed {
            let of_bed = places::files_below(&folder.join("testbeds").join(&bed), FILES_MAX);
            files.extend(
                of_bed
                    .into_iter()
                    .map(|(name, bytes)| (format!("testbeds/{bed}/{name}"), bytes)),
            );
        }
        Ok(TrialDetail {
            record,
            files: files
                .into_iter()
                .map(|(path, bytes)| FileEntry { path, bytes })
                .collect(),
        })
    }

    /// Removes a run that nobody measures.
    pub fn delete(&self, id: &str, own: &Path) -> Reply<()> {
        remove(&self.run(id)?, id, own)
    }
}

/// Removes a folder: out of sight at once, then its files. Nobody can begin to measure in it meanwhile.
pub fn remove(folder: &Path, id: &str, own: &Path) -> Reply<()> {
    let _lock = lock::take(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => Refusal::conflict("it is going on: stop it first"),
        _ => Refusal::failed(format!("its lock cannot be taken: {error}")),
    })?;
    let trash = own.join(format!("removed-{id}"));
    let _ = fs::remove_dir_all(&trash);
    fs::rename(folder, &trash)
        .map_err(|error| Refusal::failed(format!("it cannot be removed: {error}")))?;
    fs::remove_dir_all(&trash)
        .map_err(|error| Refusal::failed(format!("not all of it could be removed: {error}")))
}

fn view_stamp(folder: &Path) -> Stamp {
    stamp(folder, &["run.json", "plan.json", "trials"])
}

fn is_run(folder: &Path) -> bool {
    let is_file = |name: &str| {
        folder
            .join(name)
            .symlink_metadata()
            .is_ok_and(|found| found.is_file())
    };
    is_file("plan.json") || is_file("run.json")
}

fn stamp(folder: &Path, names: &[&str]) -> Stamp {
    let of = |name: &&str| {
        let found = folder.join(name).symlink_metadata().ok()?;
        Some((found.len(), found.mtime(), found.mtime_nsec()))
    };
    names
        .iter()
        .map(|name| of(name).unwrap_or_default())
        .collect()
}

fn read_small(folder: &Path, stamp: Stamp) -> Known {
    let state = read_regular(&folder.join("run.json"), SMALL_BYTES_MAX)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            serde_json::from_slice::<RunState>(&text).map_err(|error| format!("run.json is not that of this Tare: {error}"))
        })
        .and_then(|state| match state.version {
            FORMAT_VERSION => Ok(state),
            other => Err(format!(
                "it has format version {other}, this tare reads version {FORMAT_VERSION}: use the tare that wrote it"
            )),
        });
    let summary = read_regular(&folder.join(SUMMARY), SMALL_BYTES_MAX)
        .ok()
        .and_then(|text| serde_json::from_slice::<RunSummary>(&text).ok());
    // That of a run that was resumed since is old.
    let is_of = |summary: &RunSummary| {
        state
            .as_ref()
            .is_ok_and(|state| summary.version == FORMAT_VERSION && summary.progress == state.state)
    };
    Known {
        stamp,
        summary: summary.filter(is_of),
        state,
        origin: tare_lab::seal::origin(folder),
    }
}

fn entry(id: &str, folder: &Path, known: &Known) -> RunEntry {
    let (state, problem) = match &known.state {
        Err(problem) => (RunEntryState::Unreadable, Some(problem.clone())),
        Ok(state) => {
            let state = match state.state {
                RunProgress::Complete => RunEntryState::Complete,
                RunProgress::Interrupted => RunEntryState::Interrupted,
                RunProgress::Failed => RunEntryState::Failed,
                RunProgress::Running if lock::is_held(folder) => RunEntryState::Running,
                RunProgress::Running => RunEntryState::Killed,
            };
            (state, None)
        }
    };
    RunEntry {
        id: id.to_owned(),
        state,
        summary: known.summary.clone(),
        problem,
        origin: known.origin,
    }
}
