//! One entry of a suite: the command, and what its result says.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tare_experiment::suite::{SuiteEntry, SuiteExportDef, Work};
use tare_record::api::{
    EntryOutcome, KEPT_CHECK, KeptCheck, LOAD_REPORT, NightEntry, PerfcheckReport,
};
use tare_record::durable;
use tare_record::regular::read_regular_text;
use tare_record::text::word_of;
use tare_record::view::SentenceKind;
use tare_report::loads;

use super::Place;
use super::process::{self, Ended, StopReason};
use super::reasons;
use crate::text;

/// Sentences of a verdict that the result of a night has.
const FINDINGS_MAX: usize = 3;
/// Golden checks that begin within one second.
const CHECKS_OF_A_SECOND_MAX: u32 = 100;
/// Time for an export: a collector may be far away.
const EXPORT_LIMIT: Duration = Duration::from_secs(300);

/// Runs an entry. Says also why the suite ends with it, if it does.
pub fn run(
    place: &Place<'_>,
    number: usize,
    entry: &SuiteEntry,
) -> (NightEntry, Option<StopReason>) {
    let began = Instant::now();
    let mut command = command(place, number, entry);
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
    let (outcome, reason) = outcome(entry, &ended, &messages);
    let said = ended.map(|ended| ended.said).unwrap_or_default();
    let folder = match &entry.work {
        Work::Perfcheck { .. } => keep(place, entry, &said.document),
        _ => said.folder,
    };
    let findings = match (&entry.work, &folder) {
        (Work::Perfcheck { .. }, _) => benchmarks(&said.document),
        (_, Some(folder)) => findings(folder),
        (_, None) => Vec::new(),
    };
    let export_problems = match (&folder, outcome) {
        (Some(folder), EntryOutcome::Done | EntryOutcome::AssertionFailed) => {
            export(place, number, entry, folder)
        }
        _ => Vec::new(),
    };
    let run = folder.as_deref().and_then(Path::file_name);
    let entry = NightEntry {
        name: entry.name.clone(),
        outcome,
        reason,
        run: run.map(|name| name.to_string_lossy().into_owned()),
        took_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        findings,
        export_problems,
        command: words.join(" "),
    };
    let is_of_all = |stop: &StopReason| !matches!(stop, StopReason::Limit(_));
    (entry, stop.filter(is_of_all))
}

fn command(place: &Place<'_>, number: usize, entry: &SuiteEntry) -> Command {
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
        Work::Perfcheck {
            folder, arguments, ..
        } => {
            let markdown = place.night.join(format!("{number:02}.perfcheck.md"));
            command.arg("perfcheck").arg(folder).args(arguments);
            command.arg("--json").arg("--markdown").arg(markdown);
        }
    }
    command
}

/// Exports a result in each format that the entry names; returns what failed. The result stays as it is.
fn export(place: &Place<'_>, number: usize, entry: &SuiteEntry, folder: &Path) -> Vec<String> {
    let export = |def: &SuiteExportDef| {
        let name = word_of(&def.format);
        let mut command = Command::new(&place.options.tare);
        command.arg("export").arg(folder).arg("--as").arg(&name);
        match (&def.endpoint, &def.file) {
            (Some(endpoint), _) => command.arg(format!("--endpoint={endpoint}")),
            (None, Some(file)) => command.arg("--out").arg(file),
            (None, None) => {
                let file = format!("{number:02}.{name}.{}", def.format.extension());
                command.arg("--out").arg(place.night.join(file))
            }
        };
        if let Some(better) = &def.better {
            command.arg(format!("--better={}", word_of(better)));
        }
        if let Some(parent) = def.file.as_deref().map(Path::new).and_then(Path::parent) {
            fs::create_dir_all(parent)
                .map_err(|error| format!("{name}: cannot create {}: {error}", parent.display()))?;
        }
        let messages = place.night.join(format!("{number:02}.{name}.messages"));
        let ended = File::create(&messages).and_then(|file| {
            command.stderr(file);
            process::run(&mut command, Some(EXPORT_LIMIT), &place.until)
        });
        match ended {
            Ok(ended) if ended.status.success() => {
                // Nothing was said, or a note that the result has anyway.
                let _ = fs::remove_file(&messages);
                Ok(())
            }
            Ok(ended) => {
                let said = last_line(&messages).unwrap_or_else(|| ended.status.to_string());
                Err(format!("{name}: {said}"))
            }
            Err(error) => Err(format!("{name}: it did not start: {error}")),
        }
    };
    let exports = entry.export.iter().map(export);
    exports.filter_map(Result::err).collect()
}

fn outcome(
    entry: &SuiteEntry,
    ended: &io::Result<Ended>,
    messages: &Path,
) -> (EntryOutcome, Option<String>) {
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
    let outcome = match ended.status.code() {
        Some(0) => return (EntryOutcome::Done, None),
        Some(1) => EntryOutcome::AssertionFailed,
        _ => EntryOutcome::Failed,
    };
    let reason = reasons::of_entry(&entry.work, ended, messages);
    (outcome, Some(reason))
}

fn last_line(messages: &Path) -> Option<String> {
    let text = read_regular_text(messages, reasons::MESSAGES_BYTES_MAX).ok()?;
    reasons::last_line(&text)
}

/// Keeps a golden check in a folder of its own, for the history of its benchmarks; `None`: it has no result, or cannot be kept, which
/// is said.
fn keep(place: &Place<'_>, entry: &SuiteEntry, document: &str) -> Option<PathBuf> {
    let report: PerfcheckReport = serde_json::from_str(document).ok()?;
    if report.benchmarks.is_empty() {
        return None;
    }
    let second = text::second(report.started_unix_us);
    let kept = KeptCheck {
        name: entry.name.clone(),
        report,
    };
    let write = || -> io::Result<PathBuf> {
        for number in 1..CHECKS_OF_A_SECOND_MAX {
            let end = if number == 1 {
                String::new()
            } else {
                format!("-{number}")
            };
            let folder = place.runs.join(format!("{second}-perfcheck{end}"));
            match durable::make(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    durable::write(&folder.join(KEPT_CHECK), &serde_json::to_vec(&kept)?)?;
                    return Ok(folder);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    };
    let written = write();
    if let Err(error) = &written {
        let name = &entry.name;
        (place.say)(&format!(
            "{name} is in no history, it cannot be kept: {error}"
        ));
    }
    written.ok()
}

/// The result of a golden check, and the benchmarks that are worse.
fn benchmarks(document: &str) -> Vec<String> {
    let Ok(report) = serde_json::from_str::<PerfcheckReport>(document) else {
        return Vec::new();
    };
    std::iter::once(report.answer.clone())
        .chain(reasons::worse(&report))
        .take(FINDINGS_MAX)
        .collect()
}

/// The first sentences of what was found.
fn findings(folder: &Path) -> Vec<String> {
    if folder.join(LOAD_REPORT).is_file() {
        let report = loads::report(folder).ok();
        return report
            .as_ref()
            .and_then(loads::finding)
            .into_iter()
            .collect();
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
