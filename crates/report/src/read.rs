//! Reads the folder of a run, also if it was killed, resumed or damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tare_record::FORMAT_VERSION;
use tare_record::checksums::{CHECKSUMS, ChecksumError, Checksums, ENVIRONMENT, PLAN, RECORD};
use tare_record::plan::Plan;
use tare_record::profile::Profile;
use tare_record::record::{EnvironmentRecord, RunProgress, RunState, TrialRecord};
use tare_record::regular::{JSON_BYTES_MAX, RECORDS_BYTES_MAX, read_regular};

use crate::profiles;

/// Upper limit of arms and of levels: the time to compare them grows with their third power.
const SIDE_MAX: usize = 1000;

/// Upper limit of cells of a plan, as for experiments.
const CELLS_MAX: usize = 10_000;

/// Upper limit of whole numbers in a file, seeds aside: those below are exact in every JSON reader, and sums of them do not overflow.
const NUMBER_MAX: u64 = 1 << 53;

/// Upper limit of trials that are read.
const TRIALS_MAX: usize = 1 << 16;

/// Why a folder cannot be read as a run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such folder.
    #[error("{0} is not a folder: name a run's folder, or `latest`")]
    NoFolder(PathBuf),
    /// Its plan is missing or invalid.
    #[error("{path} cannot be used: {reason}; a run's folder has the plan it was made from")]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Two fit trials of one slot.
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
    /// It has another format version.
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

/// The contents of a run's folder.
#[derive(Debug)]
pub struct Run {
    pub folder: PathBuf,
    pub plan: Plan,
    /// The machine, unless its file is missing or invalid.
    pub environment: Option<EnvironmentRecord>,
    /// The state of the run, unless its file is missing or invalid.
    pub state: Option<RunState>,
    /// Trials in order of their numbers, superseded ones included.
    pub trials: Vec<Trial>,
    /// Profiles of its instances.
    pub profiles: Vec<Profile>,
    /// Files that could not be read, each with the reason.
    pub skipped: Vec<String>,
}

/// A trial: its record, and the folder with its histograms.
#[derive(Debug)]
pub struct Trial {
    pub folder: PathBuf,
    pub record: TrialRecord,
}

impl Run {
    /// The id of the run: the name of its folder.
    #[must_use]
    pub fn id(&self) -> String {
        let name = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        name.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Reads a run's folder.
///
/// A file that is missing, truncated or invalid is listed in [`Run::skipped`]; only the plan is required.
///
/// # Errors
/// When the folder or its plan cannot be used, or two fit trials are of one slot.
pub fn read(folder: &Path) -> Result<Run, ReadError> {
    if !folder.is_dir() {
        return Err(ReadError::NoFolder(folder.to_path_buf()));
    }
    let plan = plan(folder)?;
    let mut skipped = Vec::new();
    let environment = environment(folder);
    let environment = environment.map_err(|reason| skipped.push(reason)).ok();
    let state = or_skip(&mut skipped, "run.json", json(&folder.join("run.json")));
    let is_running = state
        .as_ref()
        .is_some_and(|state: &RunState| state.state == RunProgress::Running);
    let trials = trials(folder, &plan, is_running, &mut skipped);
    let profiles = profiles::read(folder, &mut skipped);
    check_slots(&trials)?;
    Ok(Run {
        folder: folder.to_path_buf(),
        plan,
        environment,
        state,
        trials,
        profiles,
        skipped,
    })
}

/// The plan of a run, without its records.
///
/// # Errors
/// When it cannot be used.
pub fn plan(folder: &Path) -> Result<Plan, ReadError> {
    let path = folder.join(PLAN);
    let plan = match checked_json::<Plan>(&path) {
        Ok(plan) => plan,
        Err(FileError::Version(found)) => return Err(ReadError::Version { path, found }),
        Err(FileError::Reason(reason)) => return Err(ReadError::Plan { path, reason }),
    };
    if let Some(reason) = too_large(&plan) {
        return Err(ReadError::Plan { path, reason });
    }
    Ok(plan)
}

/// The machine of a run, without its records; `Err`: why it is not known.
///
/// # Errors
/// With the reason.
pub fn environment(folder: &Path) -> Result<EnvironmentRecord, String> {
    let mut skipped = Vec::new();
    let read = checked_json(&folder.join(ENVIRONMENT));
    or_skip(&mut skipped, ENVIRONMENT, read).ok_or_else(|| skipped.join("; "))
}

/// Reads a file of a run, and checks it by the checksums of its folder if that has some.
pub(crate) fn checked_json<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let (value, text) = read_versioned(path, JSON_BYTES_MAX)?;
    let sums = path.parent().map_or(Ok(None), Checksums::read);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    sums.and_then(|sums| sums.map_or(Ok(()), |sums| sums.check(&name, &text)))
        .map_err(|error| FileError::Reason(error.to_string()))?;
    Ok(value)
}

/// Why a plan is larger than any experiment can be; `None` if it is not.
fn too_large(plan: &Plan) -> Option<String> {
    let (arms, levels, cells) = (plan.arms.len(), plan.levels.len(), plan.cells.len());
    let is_too_large =
        arms.max(levels) > SIDE_MAX || arms.saturating_mul(levels).max(cells) > CELLS_MAX;
    is_too_large
        .then(|| format!("{arms} arms, {levels} levels and {cells} cells are no plan of ours"))
}

/// The trials of the plan, in order of their numbers. The last one of a running run has no record while it is measured.
fn trials(folder: &Path, plan: &Plan, is_running: bool, skipped: &mut Vec<String>) -> Vec<Trial> {
    let arms: BTreeSet<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    let levels: BTreeSet<&str> = plan.levels.iter().map(|one| one.name.as_str()).collect();
    let mut bytes_left = RECORDS_BYTES_MAX;
    let mut trials = Vec::new();
    let mut folders = trial_folders(folder, TRIALS_MAX, skipped);
    if is_running
        && let Some(last) = folders.last_entry()
        && !last.get().join(RECORD).exists()
    {
        last.remove();
    }
    let has_checksums = folder.join(CHECKSUMS).symlink_metadata().is_ok();
    for (name, place) in folders {
        let named = format!("trials/{name}/{RECORD}");
        let read = read_versioned(&place.join(RECORD), bytes_left.min(JSON_BYTES_MAX));
        let Some((record, text)) = or_skip::<(TrialRecord, Vec<u8>)>(skipped, &named, read) else {
            continue;
        };
        bytes_left = bytes_left.saturating_sub(text.len() as u64);
        if let Err((file, error)) = check_trial(&place, &record, &text, has_checksums) {
            skipped.push(format!("trials/{name}/{file}: {error}"));
            continue;
        }
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

/// Checks the files of a trial by its checksums, which it has if its run has some. Those of a superseded trial are not used.
fn check_trial(
    trial: &Path,
    record: &TrialRecord,
    text: &[u8],
    run_has_some: bool,
) -> Result<(), (&'static str, ChecksumError)> {
    let of_record = |error| (RECORD, error);
    let Some(sums) = Checksums::of_trial(trial, run_has_some).map_err(of_record)? else {
        return Ok(());
    };
    sums.check(RECORD, text).map_err(of_record)?;
    match record.superseded {
        true => Ok(()),
        false => sums.check_trial_files(trial),
    }
}

/// Rejects two fit trials of one slot (block, arm, level and copy): a view would show one and merge both.
fn check_slots(trials: &[Trial]) -> Result<(), ReadError> {
    let mut known = BTreeMap::new();
    for trial in trials {
        let record = &trial.record;
        if record.superseded || !record.status.is_fit() {
            continue;
        }
        let slot = (record.block, &record.arm, &record.level, record.aa_copy);
        if let Some(first) = known.insert(slot, trial) {
            let copy = match record.aa_copy {
                0 => "",
                _ => ", second copy",
            };
            return Err(ReadError::Twice {
                first: first.folder.join(RECORD),
                second: trial.folder.join(RECORD),
                slot: format!(
                    "{} at {} in block {}{copy}",
                    record.arm, record.level, record.block
                ),
            });
        }
    }
    Ok(())
}

/// Sub-folders of `trials` by name, up to a number; symbolic links are ignored.
fn trial_folders(
    folder: &Path,
    max: usize,
    skipped: &mut Vec<String>,
) -> BTreeMap<String, PathBuf> {
    match fs::read_dir(folder.join("trials")) {
        Ok(entries) => entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .take(max)
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

pub(crate) fn or_skip<T>(
    skipped: &mut Vec<String>,
    name: &str,
    read: Result<T, FileError>,
) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(FileError::Version(found)) => {
            skipped.push(format!(
                "{name}: written by a Tare of another format (version {found}, this one reads {FORMAT_VERSION})"
            ));
            None
        }
        Err(FileError::Reason(reason)) => {
            skipped.push(format!("{name}: {reason}"));
            None
        }
    }
}

pub(crate) enum FileError {
    Version(u64),
    Reason(String),
}

/// The format version of a file.
#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    read_versioned(path, JSON_BYTES_MAX).map(|(value, _)| value)
}

/// Reads a file of at most `bytes_max` bytes and checks its format version; the value, and the text of the file.
fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    bytes_max: u64,
) -> Result<(T, Vec<u8>), FileError> {
    let reason = |error: &dyn std::fmt::Display| FileError::Reason(error.to_string());
    let text = read_regular(path, bytes_max).map_err(|error| reason(&error))?;
    // The version is checked before the shape, so that a file of another version is reported as such.
    let header: Versioned = serde_json::from_slice(&text).map_err(|error| reason(&error))?;
    match header.version {
        Some(found) if found != u64::from(FORMAT_VERSION) => return Err(FileError::Version(found)),
        _ => {}
    }
    let value = serde_json::from_slice(&text).map_err(|error| reason(&error))?;
    match large_number(&text) {
        None => Ok((value, text)),
        Some(number) => Err(FileError::Reason(format!(
            "{number} is larger than any number of a run ({NUMBER_MAX}): the file is damaged"
        ))),
    }
}

/// The first whole number of valid JSON that is larger than [`NUMBER_MAX`] and no seed.
fn large_number(json: &[u8]) -> Option<&str> {
    let mut rest = json;
    let mut is_seed = false;
    while let Some((&byte, behind)) = rest.split_first() {
        let is_digit = byte.is_ascii_digit();
        let end = match byte {
            b'"' => string_end(behind)? + 1,
            _ if is_digit => {
                let is_in_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let others = behind.iter().position(|byte| !is_in_number(byte));
                others.unwrap_or(behind.len())
            }
            _ => 0,
        };
        let token = &rest[..=end];
        if is_digit && !is_seed {
            let text = str::from_utf8(token).unwrap_or_default();
            let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
            let is_small = text.parse().is_ok_and(|number: u64| number <= NUMBER_MAX);
            if is_whole && !is_small {
                return Some(text);
            }
        }
        is_seed = match byte {
            b'"' => token == b"\"seed\"",
            b':' => is_seed,
            _ if byte.is_ascii_whitespace() => is_seed,
            _ => false,
        };
        rest = &rest[end + 1..];
    }
    None
}

/// Where the rest of a string has its closing quotation mark.
fn string_end(rest: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let closes = |&byte: &u8| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    };
    rest.iter().position(closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_beyond_those_that_are_exact_in_json_are_found_seeds_aside() {
        let largest = NUMBER_MAX.to_string();
        let over = (NUMBER_MAX + 1).to_string();
        for right in [
            format!(r#"{{"a":[{largest},-5],"b":0.12345678901234567890,"c":1e300}}"#),
            format!(r#"{{"seed": {over},"a":"{over} \"{over}","b\\":{{}}}}"#),
        ] {
            assert_eq!(large_number(right.as_bytes()), None, "{right}");
        }
        for wrong in [
            format!(r#"{{"seed":1,"a":{over}}}"#),
            format!(r#"{{"a\\":[true,-{over}]}}"#),
            over.clone(),
        ] {
            assert_eq!(large_number(wrong.as_bytes()), Some(&*over), "{wrong}");
        }
    }

    #[test]
    fn trials_beyond_the_limit_are_not_read() {
        let place = tempfile::tempdir().unwrap();
        let trials = place.path().join("trials");
        fs::create_dir(&trials).unwrap();
        for number in 0..5 {
            fs::create_dir(trials.join(number.to_string())).unwrap();
        }
        let found = |max| trial_folders(place.path(), max, &mut Vec::new()).len();
        assert_eq!((found(3), found(TRIALS_MAX)), (3, 5));
    }
}
