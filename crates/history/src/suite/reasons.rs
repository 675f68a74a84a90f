//! Why an entry, or the whole suite, failed, in one line: assertions and benchmarks with their figures, else what the command said.

use std::path::Path;

use tare_experiment::suite::Work;
use tare_record::api::{
    BenchmarkOutcome, BenchmarkResult, EntryOutcome, LOAD_REPORT, NightChange, NightEntry,
    NightReport, PerfcheckReport,
};
use tare_record::regular::read_regular_text;
use tare_record::view::AssertionOutcome;
use tare_report::loads;
use tare_report::quantity::{self, Sign, counted};

use super::page;
use super::process::{Ended, StopReason};

/// Reasons of one entry that are named; the others are counted.
const REASONS_MAX: usize = 3;
/// Beginnings of lines in which a command says why it failed.
const BEGINNINGS: [&str; 3] = ["error: ", "assertion failed: ", "undecided: "];
/// Bytes of messages that are read.
pub const MESSAGES_BYTES_MAX: u64 = 16 << 20;

/// Why an entry failed that was not interrupted.
pub fn of_entry(work: &Work, ended: &Ended, messages: &Path) -> String {
    let said = &ended.said;
    if let Some(error) = &said.error {
        return error.clone();
    }
    let mut reasons = match (work, &said.folder) {
        (Work::Perfcheck { .. }, _) => benchmarks(&said.document),
        (_, Some(folder)) => assertions(folder),
        (_, None) => Vec::new(),
    };
    let messages = read_regular_text(messages, MESSAGES_BYTES_MAX).unwrap_or_default();
    if reasons.is_empty() {
        let why = messages.lines().filter_map(|line| {
            let mut beginnings = BEGINNINGS.iter();
            beginnings.find_map(|beginning| line.strip_prefix(beginning))
        });
        reasons = why.map(str::to_owned).collect();
    }
    match reasons.is_empty() {
        true => last_line(&messages).unwrap_or_else(|| ended.status.to_string()),
        false => joined(&reasons),
    }
}

/// The last line that says something.
pub fn last_line(messages: &str) -> Option<String> {
    let line = messages.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.to_owned())
}

fn joined(reasons: &[String]) -> String {
    let named = reasons.iter().take(REASONS_MAX).cloned();
    let more = reasons.len().saturating_sub(REASONS_MAX);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}

/// The assertions for which a run or a load failed. One that is undecided fails a load only.
fn assertions(folder: &Path) -> Vec<String> {
    if folder.join(LOAD_REPORT).is_file() {
        let report = loads::report(folder).ok();
        let all = report.into_iter().flat_map(|report| report.assertions);
        let open = all.filter(|one| one.verdict != AssertionOutcome::Passed);
        return open
            .map(|one| format!("{} {}: {}", one.assertion, one.verdict.word(), one.reason))
            .collect();
    }
    let run = tare_report::read(folder).ok();
    let view = run.map(|run| tare_report::view(&run));
    let all = view.into_iter().flat_map(|view| view.assertions);
    let failed = all.filter(|one| one.outcome == AssertionOutcome::Failed);
    failed
        .map(|one| format!("{} {}: {}", one.text, one.outcome.word(), one.reason))
        .collect()
}

/// The benchmarks of a golden check that are worse, that failed, or that have no reference.
fn benchmarks(document: &str) -> Vec<String> {
    let Ok(report) = serde_json::from_str::<PerfcheckReport>(document) else {
        return Vec::new();
    };
    let failed = report.failed.iter().map(|one| {
        let reason = one.reason.lines().next().unwrap_or_default();
        format!("{} failed: {reason}", one.benchmark)
    });
    let mut reasons: Vec<String> = worse(&report).chain(failed).collect();
    let new = report.benchmarks.iter();
    let new = new.filter(|one| one.outcome == BenchmarkOutcome::New);
    let new = new.count() as u64;
    if reasons.is_empty() && new > 0 {
        reasons.push(format!(
            "{} no reference: `tare perfcheck --update` writes one",
            counted(new, "value has", "values have")
        ));
    }
    reasons
}

/// The benchmarks that are worse, each in a sentence.
pub fn worse(report: &PerfcheckReport) -> impl Iterator<Item = String> {
    let is_worse = |one: &&BenchmarkResult| one.outcome == BenchmarkOutcome::Worse;
    report.benchmarks.iter().filter(is_worse).map(|one| {
        let ratio = one.ratio.as_ref();
        let change = ratio.map_or_else(String::new, |ratio| quantity::change(ratio, Sign::Shown));
        let now = quantity::plain(one.now);
        format!(
            "{} is worse: {change}, {now} {} now",
            one.benchmark, one.unit
        )
    })
}

/// Why a suite has another exit code than 0; `None`: it has not.
pub fn of_night(report: &NightReport) -> Option<String> {
    if report.exit_code == 0 {
        return None;
    }
    let signal = StopReason::Signal.to_string();
    let signal = report
        .left_reason
        .iter()
        .filter(|reason| **reason == signal);
    let worse = report.changes.iter();
    let worse = worse.filter(|one| one.change.is_worse && one.acknowledged.is_none());
    let entries = |is_meant: fn(&NightEntry) -> bool| {
        let entries = report.entries.iter().filter(move |one| is_meant(one));
        entries.map(|one| {
            let reason = one.reason.as_deref().unwrap_or("it failed");
            format!("{}: {reason}", one.name)
        })
    };
    let exports = report.entries.iter().flat_map(|one| {
        let problems = one.export_problems.iter();
        problems.map(|problem| format!("{} was not exported as {problem}", one.name))
    });
    let history = report.history_problem.iter();
    let mut reasons = signal
        .cloned()
        .chain(worse.map(change))
        .chain(entries(|one| one.outcome == EntryOutcome::AssertionFailed))
        .chain(entries(is_failed))
        .chain(exports)
        .chain(history.map(|problem| format!("no change points: {problem}")));
    let first = reasons.next()?;
    Some(match reasons.count() {
        0 => first,
        more => format!("{first} (and {more} more)"),
    })
}

/// Whether an entry was not measured, and not because the budget ended, which is no failure.
pub fn is_failed(entry: &NightEntry) -> bool {
    match entry.outcome {
        EntryOutcome::Failed => true,
        EntryOutcome::Interrupted => {
            entry.reason.as_deref() != Some(StopReason::Budget.to_string().as_str())
        }
        EntryOutcome::Done | EntryOutcome::AssertionFailed => false,
    }
}

fn change(night: &NightChange) -> String {
    format!("{} since {}", page::change_text(night), night.change.run)
}
