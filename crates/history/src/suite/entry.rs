//! One entry of a suite: the command, and what its result says.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tare_experiment::suite::{SuiteEntry, Work};
use tare_record::api::{EntryOutcome, LOAD_REPORT, NightEntry};
use tare_record::load_report::QuantileValue;
use tare_record::metric::Unit;
use tare_record::regular::read_regular_text;
use tare_record::view::SentenceKind;
use tare_report::{loads, quantity};

use super::Place;
use super::process::{self, Ended, StopReason};

/// Sentences of a verdict that the result of a night has.
const FINDINGS_MAX: usize = 3;
/// Bytes of messages of which the last line is shown.
const MESSAGES_BYTES_MAX: u64 = 16 << 20;

/// Runs an entry. Says also why the suite ends with it, if it does.
pub fn run(
    place: &Place<'_>,
    number: usize,
    entry: &SuiteEntry,
) -> (NightEntry, Option<StopReason>) {
    let began = Instant::now();
    let mut command = command(place, entry);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let messages = place.night.join(format!("{number:02}.messages"));
    let ended = File::create(&messages).and_then(|file| {
        command.stderr(file);
        process::run(&mut command, entry.limit, &place.until)
    });
    let stop = ended.as_ref().ok().and_then(|ended| ended.stop);
    let (outcome, reason) = outcome(&ended, &messages);
    let folder = ended.ok().and_then(|ended| ended.said.folder);
    let findings = folder.as_deref().map(findings).unwrap_or_default();
    let run = folder.as_deref().and_then(Path::file_name);
    let entry = NightEntry {
        name: entry.name.clone(),
        outcome,
        reason,
        run: run.map(|name| name.to_string_lossy().into_owned()),
        took_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        findings,
        command: words.join(" "),
    };
    let is_of_all = |stop: &StopReason| !matches!(stop, StopReason::Limit(_));
    (entry, stop.filter(is_of_all))
}

fn command(place: &Place<'_>, entry: &SuiteEntry) -> Command {
    let mut command = Command::new(&place.options.tare);
    command.env("TARE_HOME", &place.options.home);
    match &entry.work {
        Work::Experiment {
            file,
            quick,
            blocks,
            ..
        } => {
            command.arg("run").arg(file);
            if *quick || place.options.quick {
                command.arg("--quick");
            }
            if let Some(blocks) = blocks {
                command.arg(format!("--blocks={blocks}"));
            }
            command.arg("--json-lines").arg("--out").arg(&place.runs);
        }
        Work::Load { arguments, .. } => {
            command
                .arg("load")
                .arg("--json-lines")
                .arg("--out")
                .arg(&place.runs);
            command.args(arguments);
            // Files of a load are named from the folder of the suite.
            if let Some(folder) = place.suite_folder() {
                command.current_dir(folder);
            }
        }
    }
    command
}

fn outcome(ended: &io::Result<Ended>, messages: &Path) -> (EntryOutcome, Option<String>) {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            return (
                EntryOutcome::Failed,
                Some(format!("it did not start: {error}")),
            );
        }
    };
    if let Some(stop) = ended.stop {
        return (EntryOutcome::Interrupted, Some(stop.to_string()));
    }
    match ended.status.code() {
        Some(0) => (EntryOutcome::Done, None),
        Some(1) => (EntryOutcome::AssertionFailed, None),
        _ => {
            let said = ended.said.error.clone().or_else(|| last_line(messages));
            let reason = said.unwrap_or_else(|| ended.status.to_string());
            (EntryOutcome::Failed, Some(reason))
        }
    }
}

fn last_line(messages: &Path) -> Option<String> {
    let text = read_regular_text(messages, MESSAGES_BYTES_MAX).ok()?;
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.to_owned())
}

/// The first sentences of what was found.
fn findings(folder: &Path) -> Vec<String> {
    if folder.join(LOAD_REPORT).is_file() {
        return load_finding(folder).into_iter().collect();
    }
    let Ok(run) = tare_report::read(folder) else {
        return Vec::new();
    };
    let verdict = tare_report::view(&run).verdict;
    let found = verdict
        .into_iter()
        .filter(|one| one.kind != SentenceKind::Note);
    found
        .take(FINDINGS_MAX)
        .map(|sentence| sentence.text)
        .collect()
}

fn load_finding(folder: &Path) -> Option<String> {
    let report = loads::report(folder).ok()?;
    let latency = report.latency_ns.get("all.latency")?;
    let time = |value: &Option<QuantileValue>| match value {
        Some(QuantileValue::Exact(ns)) => quantity::value(Unit::Nanoseconds, *ns as f64),
        Some(QuantileValue::Bound { lower_bound }) => {
            format!(
                "> {}",
                quantity::value(Unit::Nanoseconds, *lower_bound as f64)
            )
        }
        None => "–".to_owned(),
    };
    let errors = report.result.errors + report.result.unfinished;
    Some(format!(
        "median {}, p99 {}, {}",
        time(&latency.p50),
        time(&latency.p99),
        quantity::counted(errors, "error", "errors")
    ))
}
