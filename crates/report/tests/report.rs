//! Runs of known truth, written as a conductor would, read back, judged and shown.
//!
//! - assertions: what an experiment claims of its result
//! - truth: the sentence says what was planted
//! - damage: killed, resumed, half-written and foreign runs
//! - planted: text of others is shown and never obeyed
//! - shown: golden files of every renderer
//! - verdicts: repeats, reasons, the baseline measured twice, the margin
//! - two: two runs compared
//! - waterfalls: sums taken apart
//! - closed: clients that wait for their answers
//! - levels: levels compared with each other, records, and what parts say of themselves
//! - failures: exchanges that failed, and verdicts that are not given for it
//! - beside: packets, the machine, published figures, and why a figure is missing

#![expect(clippy::unwrap_used, reason = "a test ends where its assumption fails")]

#[path = "fixture/mod.rs"]
mod fixture;

#[path = "report/assertions.rs"]
mod assertions;
#[path = "report/beside.rs"]
mod beside;
#[path = "report/closed.rs"]
mod closed;
#[path = "report/damage.rs"]
mod damage;
#[path = "report/failures.rs"]
mod failures;
#[path = "report/levels.rs"]
mod levels;
#[path = "report/planted.rs"]
mod planted;
#[path = "report/shown.rs"]
mod shown;
#[path = "report/truth.rs"]
mod truth;
#[path = "report/two.rs"]
mod two;
#[path = "report/verdicts.rs"]
mod verdicts;
#[path = "report/waterfalls.rs"]
mod waterfalls;

use std::sync::LazyLock;

use tare_record::metric::Metric;
use tare_record::view::{CellView, Figure, Overhead, SentenceKind, Table, TableCell, View};

/// A folder in memory, where there is one: runs have hundreds of small files.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// The view of a synthetic run.
fn view_of(run: &fixture::SampleRun) -> View {
    let place = in_memory();
    let written = run.write(place.path()).unwrap();
    tare_report::view(&tare_report::read(&written).unwrap())
}

/// The view of the sidecar question as it was planted.
fn sidecar() -> View {
    static SIDECAR: LazyLock<View> = LazyLock::new(|| view_of(&fixture::SampleRun::sidecar()));
    SIDECAR.clone()
}

fn cell<'a>(view: &'a View, arm: &str, level: &str) -> &'a CellView {
    let level = view.levels.iter().find(|l| l.name == level).unwrap();
    level.cells.iter().find(|c| c.arm == arm).unwrap()
}

fn figure<'a>(view: &'a View, arm: &str, level: &str, metric: Metric) -> &'a Figure {
    cell(view, arm, level)
        .figures
        .iter()
        .find(|f| f.metric == metric)
        .unwrap()
}

fn overhead<'a>(
    view: &'a View,
    arm: &str,
    against: &str,
    level: &str,
    metric: Metric,
) -> &'a Overhead {
    view.overheads
        .iter()
        .find(|o| o.arm == arm && o.against == against && o.level == level && o.metric == metric)
        .unwrap()
}

/// The cells of a row of a table, behind the names that the row begins with. `level`: of the table, if there is one for each.
fn row<'a>(view: &'a View, id: &str, level: Option<&str>, names: &[&str]) -> &'a [TableCell] {
    let mut tables = view.tables.iter();
    let is_it = |table: &&Table| table.id == id && table.level.as_deref() == level;
    let rows = tables.find(is_it).unwrap().rows.iter();
    let mut cells = rows.map(|row| row.cells.as_slice());
    let begins = |cells: &&[TableCell]| {
        cells
            .iter()
            .zip(names)
            .all(|(cell, name)| cell.text == *name)
    };
    &cells.find(begins).unwrap()[names.len()..]
}

fn texts(cells: &[TableCell]) -> Vec<&str> {
    cells.iter().map(|cell| cell.text.as_str()).collect()
}

fn sentences(view: &View, kind: SentenceKind) -> Vec<&str> {
    view.verdict
        .iter()
        .filter(|s| s.kind == kind)
        .map(|s| s.text.as_str())
        .collect()
}
