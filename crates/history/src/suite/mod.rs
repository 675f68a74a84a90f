//! `tare suite`: runs the entries of a suite in turn, then says what they found and what changed over the nights.
//!
//! Each entry is a process of its own. What has not ended is noted before it begins, so that the next call takes it first, however
//! this one ends.

mod changes;
mod confirm;
mod entry;
pub(crate) mod page;
mod process;
mod reasons;
mod state;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tare_experiment::find::Library;
use tare_experiment::problem::Problems;
use tare_experiment::suite::{Suite, SuiteEntry};
use tare_program::EndRequest;
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    EntryOutcome, NIGHT, NIGHTS, NightChange, NightReport, SeriesDetail, SuiteOptions,
};

pub use page::text;
pub use state::{LOCK, acknowledged};

use crate::index::Say;
use crate::text;
use process::{CommonLimit, StopReason};
use state::{Lock, SuiteState};

/// The result of a night as a page.
pub const NIGHT_PAGE: &str = "night.html";
/// The result of a night as Markdown.
pub const NIGHT_MARKDOWN: &str = "night.md";
/// The result of a night as JUnit: a test case for each entry.
const NIGHT_JUNIT: &str = "night.xml";
/// Why an entry failed that had the whole budget for itself.
const OVER_BUDGET: &str = "it takes longer than the whole budget of the suite: give the suite more time, or the entry a limit";
/// Nights of one date.
const NIGHTS_OF_A_DATE_MAX: usize = 1000;

/// Why a suite did not run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Its files have problems.
    #[error(transparent)]
    Suite(#[from] Problems),
    /// Another suite runs.
    #[error(
        "another suite runs in {0}: start this one when it has ended, or give it another directory with --runs"
    )]
    Busy(PathBuf),
    /// A file cannot be written or read.
    #[error("{path}: {error}")]
    File { path: PathBuf, error: io::Error },
    /// Signals cannot be received.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
}

impl SuiteError {
    /// Whether the files of the suite are wrong, and not the machine.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self, SuiteError::Suite(_))
    }

    fn at(path: &Path) -> impl Fn(io::Error) -> SuiteError {
        let path = path.to_owned();
        move |error| SuiteError::File {
            path: path.clone(),
            error,
        }
    }
}

/// Where the entries run.
struct Place<'a> {
    options: &'a SuiteOptions,
    /// The file of the suite, absolute.
    suite: &'a Path,
    /// The directory of runs, absolute.
    runs: PathBuf,
    /// The folder of this night's results.
    night: PathBuf,
    until: CommonLimit<'a>,
    say: Say<'a>,
}

impl Place<'_> {
    fn suite_folder(&self) -> Option<&Path> {
        self.suite.parent()
    }
}

/// Runs a suite. What happens is said through `say`.
///
/// # Errors
/// When its files have problems, another suite runs, or a file cannot be written. A failed entry is no error.
pub fn run(options: &SuiteOptions, say: Say<'_>) -> Result<NightReport, SuiteError> {
    let library = Library::in_directory(&options.home, &[]);
    let suite = Suite::read(&options.file, &library)?;
    fs::create_dir_all(&options.runs).map_err(SuiteError::at(&options.runs))?;
    let runs = options.runs.canonicalize();
    let runs = runs.map_err(SuiteError::at(&options.runs))?;
    let _lock = Lock::take(&runs)?;
    let interruption = EndRequest::listen().map_err(SuiteError::Signals)?;
    let (began, started) = (Instant::now(), SystemTime::now());
    let place = Place {
        options,
        suite: &suite.file,
        night: night_folder(&runs, started)?,
        until: CommonLimit {
            deadline: suite.budget.and_then(|budget| began.checked_add(budget)),
            interruption: &interruption,
        },
        runs,
        say,
    };
    let mut state = SuiteState::read(&place.runs, &suite.file, say);
    state.set_acknowledged(&suite.acknowledged_files);
    let mut report = NightReport {
        version: FORMAT_VERSION,
        suite: suite.file.display().to_string(),
        started_unix_us: unix_us(started),
        took_ns: 0,
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        entries: Vec::new(),
        left: Vec::new(),
        left_reason: None,
        changes: Vec::new(),
        unmatched: Vec::new(),
        history_problem: None,
        exit_code: 0,
        reason: None,
    };
    run_entries(&place, &suite, &mut state, &mut report)?;
    let ran: BTreeSet<&str> = report
        .entries
        .iter()
        .filter_map(|one| one.run.as_deref())
        .collect();
    let mut charts = Vec::new();
    match changes::find(
        &place.runs,
        &ran,
        &suite.acknowledged,
        state.reported(),
        say,
    ) {
        Ok(found) => {
            (report.changes, charts) = found.changes.into_iter().unzip();
            report.unmatched = found.unmatched;
            if options.confirm {
                confirm::confirm(&place, &mut report.changes);
            }
            state.report(&report.changes);
            state.write(&place.runs)?;
        }
        Err(error) => report.history_problem = Some(error.to_string()),
    }
    report.took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    report.exit_code = exit_code(&report, interruption.signal());
    report.reason = reasons::of_night(&report);
    if let Some(reason) = &report.reason {
        say(&format!("the suite failed: {reason}"));
    }
    write(&place.night, &report, &charts)?;
    say(&format!("the result is in {}", place.night.display()));
    Ok(report)
}

fn run_entries(
    place: &Place<'_>,
    suite: &Suite,
    state: &mut SuiteState,
    report: &mut NightReport,
) -> Result<(), SuiteError> {
    let order: Vec<&SuiteEntry> = state.order(&suite.entries);
    for (at, entry) in order.iter().enumerate() {
        state.set_left(&order[at..]);
        state.write(&place.runs)?;
        let stop = match place.until.reached() {
            Some(stop) => Some(stop),
            None => {
                (place.say)(&format!("{} of {}: {}", at + 1, order.len(), entry.name));
                let (ended, stop) = entry::run(place, at + 1, entry);
                (place.say)(&page::entry_line(&ended));
                report.entries.push(ended);
                stop
            }
        };
        if let Some(stop) = stop {
            let mut left = order[at..].to_vec();
            if let (StopReason::Budget, 0, Some(first)) = (stop, at, report.entries.last_mut()) {
                // Run first by every call, it would keep the others from ever being run.
                first.reason = Some(OVER_BUDGET.to_owned());
                left.rotate_left(1);
                state.set_left(&left);
                state.write(&place.runs)?;
            }
            report.left = left.iter().map(|entry| entry.name.clone()).collect();
            report.left_reason = Some(stop.to_string());
            return Ok(());
        }
    }
    state.set_left(&[]);
    state.write(&place.runs)
}

/// A signal stands before what was found, as for runs; a change for the worse before an entry that failed, since a broken entry
/// must not hide it.
fn exit_code(report: &NightReport, signal: Option<i32>) -> u8 {
    let of = |outcome| report.entries.iter().any(|entry| entry.outcome == outcome);
    let is_worse = |one: &NightChange| one.change.is_worse && one.acknowledged.is_none();
    if let Some(signal) = signal {
        return u8::try_from(128 + signal).unwrap_or(3);
    }
    if report.changes.iter().any(is_worse) || of(EntryOutcome::AssertionFailed) {
        return 1;
    }
    let is_kept_back = |entry: &tare_record::api::NightEntry| !entry.export_problems.is_empty();
    let entries = &report.entries;
    let any = entries.iter().any(reasons::is_failed) || entries.iter().any(is_kept_back);
    match any || report.history_problem.is_some() {
        true => 3,
        false => 0,
    }
}

/// A new folder for the results of this night.
fn night_folder(runs: &Path, started: SystemTime) -> Result<PathBuf, SuiteError> {
    let nights = runs.join(NIGHTS);
    fs::create_dir_all(&nights).map_err(SuiteError::at(&nights))?;
    let date = text::date(unix_us(started));
    let mut folder = nights.join(&date);
    for number in 2..NIGHTS_OF_A_DATE_MAX {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder = nights.join(format!("{date}-{number}"));
            }
            made => {
                return made
                    .map(|()| folder.clone())
                    .map_err(SuiteError::at(&folder));
            }
        }
    }
    Err(SuiteError::at(&folder)(io::ErrorKind::AlreadyExists.into()))
}

fn write(night: &Path, report: &NightReport, series: &[SeriesDetail]) -> Result<(), SuiteError> {
    let json = serde_json::to_string_pretty(report).map_err(io::Error::from);
    let json = json.map_err(SuiteError::at(&night.join(NIGHT)))?;
    for (name, text) in [
        (NIGHT, json),
        (NIGHT_MARKDOWN, page::markdown(report)),
        (NIGHT_JUNIT, page::junit(report)),
        (NIGHT_PAGE, page::html(report, series)),
    ] {
        let path = night.join(name);
        fs::write(&path, text).map_err(SuiteError::at(&path))?;
    }
    Ok(())
}

fn unix_us(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
