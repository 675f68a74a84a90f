//! The runs of the folder: what a list says of them, from small files, and the rest when it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tare_export::lock;
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    FileEntry, RunDetail, RunEntry, RunEntryState, RunSummary, SUMMARY, TrialDetail,
};
use tare_record::checksums::{Checksums, RECORD};
use tare_record::record::{RunProgress, RunState, TrialRecord};
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_record::seal::RunOrigin;
use tare_record::view::View;
use tare_report::{Run, routes, summary};

use crate::error::{Refusal, Reply};
use crate::places;

/// Newest folders in which a run or load that goes on is looked for.
const MEASURING_AMONG: usize = 50;
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
}

/// When the files that a run is known by were changed: their sizes and times.
type Stamp = Vec<(u64, i64, i64)>;

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
        }
    }

    /// Whether a run or a load of this folder is going on: it is among the newest, unless it was resumed.
    pub fn is_measuring(&self) -> bool {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let mut newest: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        newest.sort();
        let mut newest = newest.iter().rev().take(MEASURING_AMONG);
        newest.any(|folder| lock::holder(folder).is_some())
    }

    /// All runs, the newest first; also those without a summary, for [`Runs::summarise`].
    pub fn list(&self) -> (Vec<RunEntry>, Vec<String>) {
        let ids = self.ids();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Makes summaries of runs that have none, one after the other: of killed runs, and of other versions.
    pub fn summarise(&self, ids: Vec<String>) {
        for id in ids {
            let is_new = self
                .summarising
                .lock()
                .is_ok_and(|mut made| made.insert(id.clone()));
            if !is_new {
                continue;
            }
            let folder = self.folder.join(&id);
            let stamp = stamp(&folder, &["run.json", SUMMARY]);
            let made = tare_report::read(&folder)
                .map(|run| summary::summary(&run, &tare_report::view(&run)));
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get_mut(&id).filter(|known| known.stamp == stamp) {
                match made {
                    Ok(summary) => known.summary = Some(summary),
                    // A run that has only begun has no plan yet.
                    Err(_) if lock::holder(&folder).is_some() => {}
                    Err(error) => known.state = Err(error.to_string()),
                }
            }
            if let Ok(mut made) = self.summarising.lock() {
                made.remove(&id);
            }
        }
    }

    /// The entry of one run.
    pub fn entry(&self, id: &str) -> Reply<RunEntry> {
        let folder = self.run(id)?;
        let known = self
            .known
            .lock()
            .ok()
            .and_then(|known| known.get(id).cloned());
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

    /// One run with its plan and the size of its folder.
    pub fn detail(&self, id: &str) -> Reply<RunDetail> {
        let folder = self.run(id)?;
        let mut detail = RunDetail {
            entry: self.entry(id)?,
            bytes: places::files_below(&folder, usize::MAX)
                .iter()
                .map(|(_, bytes)| bytes)
                .sum(),
            plan_text: String::new(),
            arms: Vec::new(),
        };
        // A run that has only begun has no plan yet, and one of another version none that can be read.
        if let Ok(run) = self.read(id) {
            detail.plan_text = self.view(id)?.plan_text.clone();
            detail.arms = run.plan.arms.iter().map(routes::arm_route).collect();
        }
        Ok(detail)
    }

    /// Reads a whole run.
    pub fn read(&self, id: &str) -> Reply<Run> {
        let folder = self.run(id)?;
        tare_report::read(&folder).map_err(|error| Refusal::invalid(error.to_string()))
    }

    /// The view of a run; that of an unchanged run is made once.
    pub fn view(&self, id: &str) -> Reply<Arc<View>> {
        let folder = self.run(id)?;
        let stamp = stamp(&folder, &["run.json", "plan.json", "trials"]);
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = views
            .iter()
            .position(|(of, made, _)| of == id && *made == stamp)
        {
            let found = views.remove(at);
            let view = Arc::clone(&found.2);
            views.push(found);
            return Ok(view);
        }
        drop(views);
        let view = Arc::new(tare_report::view(&self.read(id)?));
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.retain(|(of, ..)| of != id);
        if views.len() >= VIEWS_MAX {
            views.remove(0);
        }
        // A record is renamed into its folder after this folder was made: of a running run the view is made each time.
        if lock::holder(&folder).is_none() {
            views.push((id.to_owned(), stamp, Arc::clone(&view)));
        }
        Ok(view)
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

/// Removes a folder: out of sight at once, then its files.
pub fn remove(folder: &Path, id: &str, own: &Path) -> Reply<()> {
    if lock::holder(folder).is_some() {
        return Err(Refusal::conflict("it is going on: stop it first"));
    }
    let trash = own.join(format!("removed-{id}"));
    let _ = fs::remove_dir_all(&trash);
    fs::rename(folder, &trash)
        .map_err(|error| Refusal::failed(format!("it cannot be removed: {error}")))?;
    fs::remove_dir_all(&trash)
        .map_err(|error| Refusal::failed(format!("not all of it could be removed: {error}")))
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
                RunProgress::Running if lock::holder(folder).is_some() => RunEntryState::Running,
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
