//! Suites, acknowledged changes, the figures of runs, and the index over them: each is read, or refused with a reason.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::json;
use tare_experiment::find::Library;
use tare_experiment::suite::{self, Suite};
use tare_history::acknowledged::AcknowledgedChanges;
use tare_history::series::{self, Changes};
use tare_history::{History, HistoryError, Index, chart, text};
use tare_record::api::{HISTORY_INDEX, SeriesFilter};
use tare_report::figures::FIGURES;
use tare_report::terminal::{Colour, Screen};
use tempfile::TempDir;

use super::files::folder;
use super::run_folder;

/// Experiments that a suite may name.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Library::in_directory(&checkout, tare_load::protocols::infos())
});

/// Runs of the prepared directory, the later half of them slower.
const RUNS: u64 = 12;
/// Runs of one input.
const RUNS_MAX: usize = 8;
/// Start of the first run, and end of all.
const START: u64 = 1_795_252_364_000_000;
const END: u64 = START + 60_000_000;
/// A day, µs.
const DAY: u64 = 86_400_000_000;

/// A directory of runs with a change point, and its index.
static PREPARED: LazyLock<Option<TempDir>> = LazyLock::new(|| {
    let place = folder().ok()?;
    for number in 0..RUNS {
        let value = 1000 + number * 7 % 10 + 300 * (number * 2 / RUNS);
        let figure = |metric: &str| {
            json!({ "level": "1000/s", "arm": "direct", "metric": metric, "value": value, "low": null,
            "high": null, "is_lower_bound": false })
        };
        let figures = json!({ "version": 5, "ended_unix_us": END, "figures": [figure("median"), figure("cpu")] });
        write(place.path(), number, figures.to_string().as_bytes()).ok()?;
    }
    let points = shown(place.path(), &AcknowledgedChanges::default());
    assert_eq!(points, Some(2 * RUNS_MAX), "the runs are read");
    Some(place)
});

/// Writes a complete run with these figures, and without records.
fn write(runs: &Path, number: u64, figures: &[u8]) -> io::Result<()> {
    let run = runs.join(format!("run-{number:02}"));
    fs::create_dir_all(&run)?;
    for (name, text) in run_folder::settings() {
        fs::write(run.join(name), text)?;
    }
    let state = json!({ "version": 5, "state": "complete", "started_unix_us": START + number * DAY, "ended_unix_us": END,
        "reason": null, "command": ["tare", "run"], "resumed": 0 });
    fs::write(run.join("run.json"), state.to_string())?;
    fs::write(run.join(FIGURES), figures)
}

/// Asks all questions about a directory of runs.
fn shown(runs: &Path, acknowledged: &AcknowledgedChanges) -> Option<usize> {
    let screen = Screen {
        width: 100,
        colour: Colour::Off,
    };
    let all = |index: &Index| -> Result<usize, HistoryError> {
        let mut count = 0;
        let list = series::experiments(index)?;
        assert!(!text::experiments(&list, screen).is_empty());
        for one in list.experiments {
            let filter = SeriesFilter {
                experiment: Some(one.experiment),
                form: Some(one.form),
                ..SeriesFilter::default()
            };
            let mut found = match series::list_series(index, &filter, Changes::Find) {
                Err(HistoryError::NoSeries(reason)) => {
                    assert!(!reason.is_empty(), "a refusal has a reason");
                    continue;
                }
                found => found?,
            };
            acknowledged.mark(index, &mut found)?;
            assert!(!text::series(&found, Changes::Find, screen).is_empty());
            for one in found.series {
                let one = series::one_series(index, &series::filter_of(&one.key), RUNS_MAX)?;
                assert!(!text::detail(&one, screen).is_empty());
                assert!(chart::svg(&one).contains("</svg>"));
                count += one.points.len();
            }
        }
        Ok(count)
    };
    History::of(runs).ask(&|_| {}, all).ok()
}

/// A suite, and behind a zero byte the suite `other.yaml` and the changes `known.yaml` that it may name.
pub(super) fn suite(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let (text, other) = text.split_once('\0').unwrap_or((text, text));
    let written = || {
        let folder = folder()?;
        for (name, text) in [
            ("fuzz.yaml", text),
            ("other.yaml", other),
            ("known.yaml", other),
        ] {
            fs::write(folder.path().join(name), text)?;
        }
        io::Result::Ok(folder)
    };
    let Ok(folder) = written() else {
        return;
    };
    match Suite::read(&folder.path().join("fuzz.yaml"), &LIBRARY) {
        Ok(suite) => {
            let names: BTreeSet<&str> = suite.entries.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.len(), suite.entries.len(), "names are unique");
            assert!(names.len() <= 1000, "a suite is of a size to be run");
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal has a reason"),
    }
}

/// Acknowledged changes, and what they mean in a directory of runs with a change point.
pub(super) fn acknowledged(data: &[u8]) {
    let (Some(runs), Ok(folder)) = (PREPARED.as_ref(), folder()) else {
        return;
    };
    let file = folder.path().join("known.yaml");
    if fs::write(&file, data).is_err() {
        return;
    }
    match suite::read_acknowledged(&file) {
        Ok(read) => {
            let known = AcknowledgedChanges {
                changes: read.changes,
                problems: Vec::new(),
            };
            let points = shown(runs.path(), &known);
            assert_eq!(points, Some(2 * RUNS_MAX), "the runs are whole");
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal has a reason"),
    }
}

/// The first byte chooses: `figures.json` of some runs, separated by zero bytes; or bytes of an index at places of four bytes.
pub(super) fn index(data: &[u8]) {
    let (Some((choice, data)), Ok(place)) = (data.split_first(), folder()) else {
        return;
    };
    if choice % 2 == 0 {
        let figures = data.split(|byte| *byte == 0).take(RUNS_MAX);
        for (number, figures) in (0..).zip(figures) {
            if write(place.path(), number, figures).is_err() {
                return;
            }
        }
        shown(place.path(), &AcknowledgedChanges::default());
        return;
    }
    let Some(prepared) = PREPARED.as_ref() else {
        return;
    };
    let Ok(mut index) = fs::read(prepared.path().join(HISTORY_INDEX)) else {
        return;
    };
    for damage in data.chunks_exact(5) {
        let &[a, b, c, d, byte] = damage else {
            return;
        };
        let length = index.len().max(1);
        let at = u32::from_le_bytes([a, b, c, d]) as usize % length;
        if let Some(place) = index.get_mut(at) {
            *place = byte;
        }
    }
    // Of the same runs: hard links have the size and time of what they link.
    let linked = link_runs(prepared.path(), place.path());
    if linked.is_err() || fs::write(place.path().join(HISTORY_INDEX), index).is_err() {
        return;
    }
    shown(place.path(), &AcknowledgedChanges::default());
}

fn link_runs(from: &Path, to: &Path) -> io::Result<()> {
    for run in fs::read_dir(from)? {
        let run = run?;
        if !run.file_type()?.is_dir() {
            continue;
        }
        let place = to.join(run.file_name());
        fs::create_dir(&place)?;
        for file in fs::read_dir(run.path())? {
            let file = file?;
            fs::hard_link(file.path(), place.join(file.file_name()))?;
        }
    }
    Ok(())
}
