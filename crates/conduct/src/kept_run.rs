//! An interrupted run, opened to be resumed: only if this user's Tare began it, with the machine and software that began it.

use std::path::Path;

use tare_experiment::estimate::StartupTimes;
use tare_lab::environment::Environment;
use tare_lab::seal::RunKey;
use tare_record::checksums::{ENVIRONMENT, PLAN};
use tare_record::plan::Plan;
use tare_record::record::{EnvironmentRecord, RunProgress, RunState};
use tare_record::secrets::redacted;

use crate::conductor::{Conductor, RunOutcome, fetch, resolve_external};
use crate::folder::{RunFolder, content};
use crate::progress_log::ProgressLog;
use crate::test_beds::TestBeds;
use crate::{ConductError, Watcher};

/// A run that may be resumed. There is no other way to resume one: its plan names files, addresses and programs, and whoever
/// sent a folder must not choose them.
#[derive(Debug)]
pub struct KeptRun {
    folder: RunFolder,
    state: RunState,
    plan: Plan,
    environment: EnvironmentRecord,
}

impl KeptRun {
    /// Opens the folder of a run that this user's Tare began, and locks it.
    ///
    /// # Errors
    /// When it is no run, is in use, contains a link, or was not begun by this user here; when there is no key to tell by.
    pub fn open(path: &Path, key: &Result<RunKey, String>) -> Result<KeptRun, ConductError> {
        let folder = RunFolder::open(path)?;
        let refused = |why: &str| {
            ConductError::Plan(format!(
                "{} cannot be resumed: {why}; start a new run with `tare run EXPERIMENT`, and compare the two with `tare compare`",
                path.display()
            ))
        };
        let key = key.as_ref().map_err(|why| refused(why))?;
        let files = key.open(path).map_err(|why| refused(&why))?;
        let at = |name: &str| path.join(name);
        Ok(KeptRun {
            state: folder.state()?,
            plan: serde_json::from_slice(&files.plan).map_err(content(&at(PLAN), "a plan"))?,
            environment: serde_json::from_slice(&files.environment)
                .map_err(content(&at(ENVIRONMENT), "the record of an environment"))?,
            folder,
        })
    }

    /// Its plan, without the credentials that are not written there.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The environment that it began in.
    #[must_use]
    pub fn environment(&self) -> &EnvironmentRecord {
        &self.environment
    }
}

/// Resumes an interrupted run: complete blocks are kept, the interrupted one is measured again. `plan` is that of the run with the
/// credentials that are not written there.
///
/// # Errors
/// As [`crate::run`], and when the machine, the software or Tare is not what began the run.
pub fn resume(
    kept: KeptRun,
    plan: Plan,
    times: StartupTimes,
    environment: &mut dyn Environment,
    watcher: &mut dyn Watcher,
) -> Result<RunOutcome, ConductError> {
    let KeptRun {
        folder,
        mut state,
        plan: kept,
        environment: then,
    } = kept;
    let without = redacted(&plan).map_err(|error| ConductError::Plan(error.to_string()))?;
    if without != kept {
        return Err(ConductError::Plan(format!(
            "the plan of {} is not that of its experiment any more: start a new run",
            folder.path().display()
        )));
    }
    let watcher = &mut ProgressLog::open(folder.path(), watcher);
    // Nothing that the plan names is fetched, read or called before it is known that this is where and with what it began.
    if let Some(now) = environment.machine()? {
        check_same(&now, &then)?;
    }
    fetch(&plan, environment, watcher)?;
    check_same(&environment.describe()?, &then)?;
    resolve_external(&plan, environment)?;
    state.resumed += 1;
    state.state = RunProgress::Running;
    state.ended_unix_us = None;
    Conductor::new(plan, folder, TestBeds::new(times), (environment, watcher)).conduct(state)
}

/// Checks that machine, software and Tare are those that began the run.
fn check_same(now: &EnvironmentRecord, then: &EnvironmentRecord) -> Result<(), ConductError> {
    if now.fingerprint != then.fingerprint {
        return Err(ConductError::Plan(format!(
            "this machine ({}, kernel {}, {} cores) is not the one that began the run ({}, kernel {}, {} cores): \
             start a new run here, and compare the two with `tare compare`",
            now.cpu_model, now.kernel, now.cores, then.cpu_model, then.kernel, then.cores
        )));
    }
    let unlike: Vec<String> = other_tare(now, then)
        .into_iter()
        .chain(other_targets(now, then))
        .collect();
    if unlike.is_empty() {
        return Ok(());
    }
    Err(ConductError::Plan(format!(
        "the run was begun with other software ({}): start a new run, and compare the two with `tare compare`",
        unlike.join(", ")
    )))
}

/// What is another Tare: that of this machine, or that of the pods.
fn other_tare(now: &EnvironmentRecord, then: &EnvironmentRecord) -> Vec<String> {
    let mut unlike = Vec::new();
    let build = |of: &EnvironmentRecord| of.tare_build.clone().unwrap_or_else(|| of.tare.clone());
    if now.tare_sha256 != then.tare_sha256 || build(now) != build(then) {
        unlike.push(match build(now) == build(then) {
            true => String::from("tare was built anew"),
            false => format!("tare is now {}", build(now)),
        });
    }
    let of_pods = |of: &EnvironmentRecord| -> Vec<_> {
        of.clusters()
            .map(|cluster| cluster.tare_sha256.clone())
            .collect()
    };
    // Unknown until the pods are described.
    if now.clusters().next().is_some() && of_pods(now) != of_pods(then) {
        unlike.push(String::from("tare in the image of the pods"));
    }
    unlike
}

/// The targets that are not as they were.
fn other_targets(now: &EnvironmentRecord, then: &EnvironmentRecord) -> Vec<String> {
    let both = now.targets.iter();
    let both = both.filter_map(|(name, now)| Some((name, now, then.targets.get(name)?)));
    let unlike = both.filter(|(_, now, was)| now != was);
    let in_words = unlike.map(|(name, now, was)| {
        let is_same_program =
            (&now.version, &now.source, &now.sha256) == (&was.version, &was.source, &was.sha256);
        match is_same_program && now.folder_sha256 != was.folder_sha256 {
            true => format!("the target folder of {name} was changed"),
            false => format!("{name} is now {} ({})", now.version, now.source),
        }
    });
    in_words.collect()
}
