//! Trials: those that do not count, and on the page all of them with the checks of the machine.

use tare_schema::metric::Unit;
use tare_schema::record::Grade;
use tare_schema::view::{Output, Table, TableCell, TableColumn, TrialRow};

use super::{Source, cell};
use crate::quantity::{self, MISSING};

/// Upper limit of rows of the excluded trials; the page has all.
const EXCLUDED_MAX: usize = 12;

/// The trials that do not count, all trials, and the checks of the machine.
pub fn tables(source: &Source<'_>) -> Vec<Table> {
    vec![excluded(source), every(source), checks(source)]
}

/// Trials that are not fit, with the reasons: the first ones, and the number of the others.
fn excluded(source: &Source<'_>) -> Table {
    let mut table = Table::new("excluded-trials", "Trials", "excluded trials")
        .only(&Output::TEXT)
        .columns(["trial", "block", "arm", "level", "status"].map(TableColumn::name))
        .columns([TableColumn::words("reason")]);
    let all = source.view.trials.iter();
    let all: Vec<&TrialRow> = all.filter(|row| row.status != "fit").collect();
    for row in all.iter().take(EXCLUDED_MAX) {
        table.push([
            row.trial.to_string().into(),
            row.block.to_string().into(),
            row.arm.as_str().into(),
            row.level.as_str().into(),
            row.status.as_str().into(),
            row.reasons.join("; ").into(),
        ]);
    }
    if all.len() > EXCLUDED_MAX {
        let more = format!("{} more: see the report", all.len() - EXCLUDED_MAX);
        let none = TableCell::default;
        table.push(["…".into(), none(), none(), none(), none(), more.into()]);
    }
    table
}

fn every(source: &Source<'_>) -> Table {
    let all = &source.view.trials;
    let mut statuses: Vec<(&str, usize)> = Vec::new();
    for row in all {
        match statuses.iter_mut().find(|(known, _)| *known == row.status) {
            Some((_, count)) => *count += 1,
            None => statuses.push((&row.status, 1)),
        }
    }
    let counts = statuses
        .iter()
        .map(|(word, count)| format!("{count} {word}"));
    let counts: Vec<String> = counts.collect();
    let title = format!("{} trials: {}", all.len(), counts.join(", "));
    let mut table = Table::new("every-trial", "Trials", title)
        .only(&[Output::Page])
        .columns(["trial", "block"].map(TableColumn::figure))
        .columns(["arm", "level"].map(TableColumn::name))
        .columns([
            TableColumn::figure("attempt"),
            TableColumn::name("status"),
            TableColumn::figure("began"),
            TableColumn::figure("took"),
            TableColumn::figure("latency p50"),
            TableColumn::figure("latency p99"),
            TableColumn::figure("ok/s"),
            TableColumn::figure("lateness p99"),
            TableColumn::figure("path checks passed"),
            TableColumn::words("reason"),
        ]);
    for row in all {
        let time = |ns: Option<u64>| {
            cell(ns.map(|ns| ns as f64), |ns| {
                quantity::value(Unit::Nanoseconds, ns)
            })
        };
        let mut reasons = row.reasons.clone();
        if row.saturated {
            reasons.insert(0, "saturated".into());
        }
        let copy = match row.copy {
            0 => String::new(),
            copy => format!("copy {copy}"),
        };
        let passed = match row.proofs_made {
            0 => MISSING.into(),
            made => format!("{}/{made}", row.proofs_held),
        };
        table.push([
            row.trial.to_string().into(),
            row.block.to_string().into(),
            TableCell::from(row.arm.as_str()).detail(copy),
            row.level.as_str().into(),
            row.attempt.to_string().into(),
            TableCell::from(row.status.as_str()).marked(row.status != "fit"),
            quantity::span(row.offset_ns).into(),
            quantity::span(row.took_ns).into(),
            time(row.p50_ns),
            time(row.p99_ns),
            cell(row.throughput_per_s, quantity::count),
            time(row.lateness_p99_ns),
            passed.into(),
            reasons.join("; ").into(),
        ]);
    }
    table
}

fn checks(source: &Source<'_>) -> Table {
    let title = "checks of the machine";
    let mut table = Table::new("machine-checks", "Machine and versions", title)
        .only(&[Output::Page])
        .columns(["check", "grade"].map(TableColumn::name))
        .columns(["found", "what to do"].map(TableColumn::words));
    for check in &source.view.checks {
        let grade = match check.grade {
            Grade::Good => "good",
            Grade::Limits => "limits",
            Grade::Prevents => "prevents",
        };
        table.push([
            check.name.as_str().into(),
            TableCell::from(grade).marked(check.grade != Grade::Good),
            check.found.as_str().into(),
            check.advice.as_deref().unwrap_or_default().into(),
        ]);
    }
    table
}
