//! One check from end to end: find, build, measure, judge, and write what was asked for.

mod notes;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use regex::Regex;
use tare_program::{EndRequest, say};
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    BenchmarkFailure, BenchmarkOutcome, GOLDEN_FILE, GoldenFile, GoldenSession, GoldenUpdate,
    PerfReference, PerfcheckOptions, PerfcheckReport,
};
use tare_record::text::list;
use tare_report::quantity::counted;
use tare_report::summary;

use crate::cpu_load::CpuTicks;
use crate::discover::{Project, projects};
use crate::error::CheckError;
use crate::measure::{self, ProjectValues, Rounds, Sides};
use crate::process::{Processes, adopt_orphans};
use crate::tools::{Place, Prepared, TOOLS};
use crate::workspace::{Repository, Workspace};
use crate::{golden, judge, output};
use notes::repeats_of;

/// Repeats of a session.
const REPEATS: u32 = 5;
/// Repeats of each of two revisions.
const REPEATS_AGAINST: u32 = 10;

/// A check that has come to a result.
pub struct Checked {
    pub report: PerfcheckReport,
    /// Golden files with this session.
    golden: Vec<(PathBuf, GoldenFile)>,
}

/// What does not change during a check.
struct Setting<'a> {
    options: &'a PerfcheckOptions,
    base: PathBuf,
    processes: Processes<'a>,
    machine: String,
    pattern: Option<Regex>,
}

/// Runs the benchmarks below a folder and compares them.
pub fn run(options: &PerfcheckOptions) -> Result<Checked, CheckError> {
    let end = EndRequest::listen();
    let end = end
        .map_err(|error| CheckError::Environment(format!("cannot listen for signals: {error}")))?;
    let setting = Setting {
        options,
        base: options
            .folder
            .canonicalize()
            .map_err(|error| CheckError::Input(format!("{}: {error}", options.folder.display())))?,
        processes: Processes { end: &end },
        machine: summary::machine_hash(&options.machine),
        pattern: pattern(options.benchmarks.as_deref())?,
    };
    if options.update != GoldenUpdate::Keep && !options.yes && !io::stdin().is_terminal() {
        return Err(CheckError::Input(
            "golden files are written after a question, and there is no terminal to ask it: give --yes".into(),
        ));
    }
    adopt_orphans();
    setting.check()
}

fn pattern(pattern: Option<&str>) -> Result<Option<Regex>, CheckError> {
    let compiled = pattern.map(Regex::new).transpose();
    compiled.map_err(|error| CheckError::Input(format!("--benchmarks: {error}")))
}

impl Setting<'_> {
    fn check(&self) -> Result<Checked, CheckError> {
        let (began, started) = (Instant::now(), SystemTime::now());
        let mut notes = Vec::new();
        let found = self.find(&mut notes)?;
        let goldens = self.read_golden(&found)?;
        let repository = Repository::of(&self.base, &self.processes)?;
        let revision = match &repository {
            Some(repository) => repository.revision(&self.processes)?,
            None => None,
        };
        let mut workspace = Workspace::make()?;
        let old = self.check_out(repository.as_ref(), &mut workspace)?;
        let root = repository.map_or_else(|| self.base.clone(), |repository| repository.root);
        let (found, sides) = self.prepare(found, &root, old.as_ref(), &workspace, &mut notes)?;
        let rounds = Rounds {
            repeats: self.repeats(&goldens),
            seed: unix_us(started),
        };
        let before = CpuTicks::read();
        let measured =
            measure::measure(&sides, self.pattern.as_ref(), rounds, &self.processes, &say)?;
        let busy = before.and_then(|before| CpuTicks::read()?.note_since(before));
        // What was built is not needed any more, and takes space.
        drop(workspace);
        let mut report = self.report(
            &found,
            &sides,
            &measured,
            rounds,
            revision,
            old.map(|old| old.commit),
        );
        let cases = found.iter().zip(&measured).flat_map(|(project, measured)| {
            let name = self.relative(&project.folder);
            match report.against {
                Some(_) => judge::with_old(&name, &measured.series),
                None => {
                    judge::with_sessions(&name, &measured.series, self.sessions(&goldens, project))
                }
            }
        });
        let cases: Vec<judge::Case> = cases.collect();
        report.benchmarks = judge::judge(&cases, self.options.margin);
        report.notes = notes;
        self.note(&found, &goldens, &measured, &mut report);
        report.notes.extend(busy);
        report.started_unix_us = unix_us(started);
        report.took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        report.exit_code = self.exit_code(&report);
        report.answer = output::answer(&report);
        let golden = match self.options.update {
            GoldenUpdate::Keep => Vec::new(),
            _ => self.updated(&found, goldens, &measured, &report),
        };
        Ok(Checked { report, golden })
    }

    fn find(&self, notes: &mut Vec<String>) -> Result<Vec<Project>, CheckError> {
        let (found, is_cut) = projects(&self.base);
        if is_cut {
            notes.push(
                "not all folders were looked at, there are too many: name a folder further below"
                    .into(),
            );
        }
        match found.is_empty() {
            true => {
                let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name()).collect();
                Err(CheckError::Input(format!(
                    "no benchmarks below {}: looked for those of {}",
                    self.base.display(),
                    list(&tools)
                )))
            }
            false => Ok(found),
        }
    }

    /// The golden files, by folder.
    fn read_golden(&self, found: &[Project]) -> Result<BTreeMap<PathBuf, GoldenFile>, CheckError> {
        let mut goldens = BTreeMap::new();
        for project in found {
            if let Some(golden) = golden::read(&project.folder.join(GOLDEN_FILE))? {
                goldens.insert(project.folder.clone(), golden);
            }
        }
        Ok(goldens)
    }

    /// The sessions of this machine in the golden file of a project.
    fn sessions<'g>(
        &self,
        goldens: &'g BTreeMap<PathBuf, GoldenFile>,
        project: &Project,
    ) -> &'g [GoldenSession] {
        let golden = goldens.get(&project.folder);
        let machine = golden.and_then(|golden| golden.machines.get(&self.machine));
        machine.map_or(&[], |machine| &machine.sessions)
    }

    fn check_out(
        &self,
        repository: Option<&Repository>,
        workspace: &mut Workspace,
    ) -> Result<Option<OldRevision>, CheckError> {
        let PerfReference::Revision(revision) = &self.options.reference else {
            return Ok(None);
        };
        let Some(repository) = repository else {
            return Err(CheckError::Input(format!(
                "{} is in no git repository, so there is no revision {revision}",
                self.base.display()
            )));
        };
        let commit = repository.resolve(revision, &self.processes)?;
        let root = workspace.check_out(repository, &commit, &self.processes)?;
        Ok(Some(OldRevision { commit, root }))
    }

    /// Builds all benchmarks. Projects without one, or that the old revision does not have, are left out.
    fn prepare(
        &self,
        found: Vec<Project>,
        root: &Path,
        old: Option<&OldRevision>,
        workspace: &Workspace,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Project>, Vec<Sides>), CheckError> {
        let (mut kept, mut sides) = (Vec::new(), Vec::new());
        for (number, project) in found.into_iter().enumerate() {
            let name = project.tool.name();
            let shown = project.folder.display().to_string();
            let place = |folder: PathBuf, kind: &str| {
                Ok::<Place, CheckError>(Place {
                    folder,
                    home: project.folder.clone(),
                    scratch: workspace.scratch(&format!("{kind}-{number}"))?,
                    is_old: kind == "old",
                })
            };
            say(&format!("building the benchmarks of {shown} ({name})"));
            let now = project
                .tool
                .prepare(&place(project.folder.clone(), "now")?, &self.processes)?;
            let chosen = |prepared: &Prepared| {
                let mut names = prepared.names.iter();
                names.any(|one| measure::is_chosen(self.pattern.as_ref(), name, one))
            };
            if !chosen(&now) {
                continue;
            }
            let old = match old {
                None => None,
                Some(old) => {
                    let folder = old
                        .root
                        .join(project.folder.strip_prefix(root).unwrap_or(Path::new("")));
                    if !folder.is_dir() {
                        notes.push(format!("{shown} is new: the old revision does not have it"));
                        continue;
                    }
                    say(&format!(
                        "building those of {} ({name})",
                        short(&old.commit)
                    ));
                    Some(
                        project
                            .tool
                            .prepare(&place(folder, "old")?, &self.processes)?,
                    )
                }
            };
            sides.push(Sides {
                tool: name,
                now,
                old,
            });
            kept.push(project);
        }
        match (sides.is_empty(), &self.options.benchmarks) {
            (true, Some(pattern)) => Err(CheckError::Input(format!(
                "no benchmark matches {pattern:?}"
            ))),
            (true, None) => Err(CheckError::Input(format!(
                "there is no benchmark below {}{}",
                self.base.display(),
                notes
                    .iter()
                    .map(|note| format!("; {note}"))
                    .collect::<String>()
            ))),
            (false, _) => Ok((kept, sides)),
        }
    }

    /// As many as asked for, else as many as in the golden files: the best of fewer repeats deviates more.
    fn repeats(&self, goldens: &BTreeMap<PathBuf, GoldenFile>) -> u32 {
        if let Some(repeats) = self.options.repeats {
            return repeats;
        }
        if let PerfReference::Revision(_) = self.options.reference {
            return REPEATS_AGAINST;
        }
        let machines = goldens
            .values()
            .filter_map(|golden| golden.machines.get(&self.machine));
        let most = machines
            .flat_map(|machine| machine.sessions.last())
            .map(repeats_of)
            .max();
        most.filter(|most| *most > 0).unwrap_or(REPEATS)
    }

    fn report(
        &self,
        found: &[Project],
        sides: &[Sides],
        measured: &[ProjectValues],
        rounds: Rounds,
        revision: Option<String>,
        against: Option<String>,
    ) -> PerfcheckReport {
        let failed = found.iter().zip(measured).flat_map(|(project, measured)| {
            let folder = self.relative(&project.folder);
            let failed = measured.failed.iter();
            failed.map(move |(benchmark, reason)| BenchmarkFailure {
                project: folder.clone(),
                benchmark: benchmark.clone(),
                reason: reason.clone(),
            })
        });
        PerfcheckReport {
            version: FORMAT_VERSION,
            folder: self.base.display().to_string(),
            started_unix_us: 0,
            took_ns: 0,
            tare: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.machine.clone(),
            machine_about: summary::machine(&self.options.machine),
            revision,
            against: against.as_deref().map(short),
            repeats: rounds.repeats,
            seed: rounds.seed,
            margin: self.options.margin,
            versions: sides
                .iter()
                .flat_map(|sides| sides.now.versions.clone())
                .collect(),
            kernel: Some(self.options.machine.kernel.clone()),
            benchmarks: Vec::new(),
            failed: failed.collect(),
            notes: Vec::new(),
            answer: String::new(),
            exit_code: 0,
        }
    }

    fn exit_code(&self, report: &PerfcheckReport) -> u8 {
        let has = |outcome| report.benchmarks.iter().any(|one| one.outcome == outcome);
        let is_missing =
            self.options.reference == PerfReference::RequiredGolden && has(BenchmarkOutcome::New);
        if (has(BenchmarkOutcome::Worse) && self.options.update != GoldenUpdate::Reset)
            || is_missing
        {
            return 1;
        }
        match report.failed.is_empty() {
            true => 0,
            false => 3,
        }
    }

    /// The golden files with this session.
    fn updated(
        &self,
        found: &[Project],
        mut goldens: BTreeMap<PathBuf, GoldenFile>,
        measured: &[ProjectValues],
        report: &PerfcheckReport,
    ) -> Vec<(PathBuf, GoldenFile)> {
        let mut sessions: BTreeMap<&Path, GoldenSession> = BTreeMap::new();
        for (project, measured) in found.iter().zip(measured) {
            let session = sessions
                .entry(&project.folder)
                .or_insert_with(|| GoldenSession {
                    started: jiff::Timestamp::from_microsecond(
                        report.started_unix_us.cast_signed(),
                    )
                    .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
                    .unwrap_or_default(),
                    revision: report.revision.clone(),
                    tare: report.tare.clone(),
                    kernel: self.options.machine.kernel.clone(),
                    versions: report.versions.clone(),
                    values: BTreeMap::new(),
                });
            for ((benchmark, unit), series) in &measured.series {
                let values = series.now.iter().copied().flatten().map(six_digits);
                let of = session.values.entry(benchmark.clone()).or_default();
                of.insert(unit.clone(), values.collect());
            }
        }
        let written = sessions.into_iter().map(|(folder, session)| {
            let old = goldens.remove(folder);
            let about = &report.machine_about;
            let golden = golden::add(old, self.options.update, &self.machine, about, session);
            (folder.join(GOLDEN_FILE), golden)
        });
        written.collect()
    }

    /// A folder as the report names it.
    fn relative(&self, folder: &Path) -> String {
        folder
            .strip_prefix(&self.base)
            .unwrap_or(folder)
            .display()
            .to_string()
    }
}

/// An old revision.
struct OldRevision {
    commit: String,
    root: PathBuf,
}

impl Checked {
    /// Writes the files that were asked for; golden files after a question.
    pub fn write(&self, options: &PerfcheckOptions) -> Result<(), CheckError> {
        for (file, text) in [
            (&options.junit, output::junit(&self.report)),
            (&options.markdown, output::markdown(&self.report)),
        ] {
            if let Some(file) = file {
                fs::write(file, text).map_err(CheckError::at(file))?;
            }
        }
        if self.golden.is_empty() {
            return Ok(());
        }
        if !self.report.failed.is_empty() {
            say("no golden file is written: a benchmark failed");
            return Ok(());
        }
        let changed = self.report.benchmarks.iter().any(|one| {
            matches!(
                one.outcome,
                BenchmarkOutcome::Worse | BenchmarkOutcome::Better
            )
        });
        if changed && options.update == GoldenUpdate::Add {
            say(
                "some values changed: sessions before and after a change that is meant do not belong together, --reset begins anew",
            );
        }
        let files: Vec<String> = self
            .golden
            .iter()
            .map(|(path, _)| path.display().to_string())
            .collect();
        if !options.yes && !is_agreed(&format!("write this session to {}?", list(&files))) {
            say("no golden file is written");
            return Ok(());
        }
        for (path, golden) in &self.golden {
            golden::write(path, golden)?;
            let sessions = golden
                .machines
                .get(&self.report.machine)
                .map_or(0, |one| one.sessions.len());
            say(&format!(
                "{}: {} of this machine",
                path.display(),
                counted(sessions as u64, "session", "sessions")
            ));
        }
        Ok(())
    }
}

/// Asks a question whose answer is no unless it begins with y.
fn is_agreed(question: &str) -> bool {
    say(&format!("{question} [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && answer.trim().to_lowercase().starts_with('y')
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// A value as golden files have it: with the digits that a measurement may have.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn unix_us(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
