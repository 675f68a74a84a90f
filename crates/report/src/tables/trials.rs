//! Trials: those that do not count, and on the page all of them with the checks of the machine.

use tare_record::record::Grade;
use tare_record::view::{Output, Table, TableCell, TrialRow};

use super::{TableInputs, cell, figure, name, text, time, words};
use crate::quantity::{self, MISSING};

/// Upper limit of rows of the excluded trials; the page has all.
const EXCLUDED_MAX: usize = 12;

/// The trials that do not count, all trials, and the checks of the machine.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    vec![excluded(source), every(source), checks(source)]
}

/// Trials that are not fit, with the reasons: the first ones, and the number of the others.
fn excluded(source: &TableInputs<'_>) -> Table {
    let all = source.view.trials.iter();
    let all: Vec<&TrialRow> = all.filter(|row| row.status != "fit").collect();
    let table = Table::new("excluded-trials", "Trials", "excluded trials").only(&Output::TEXT);
    let mut table = table.fill(
        &all[..all.len().min(EXCLUDED_MAX)],
        [
            name("trial", |row| row.trial.to_string().into()),
            name("block", |row| row.block.to_string().into()),
            name("arm", |row| text(&row.arm)),
            name("level", |row| text(&row.level)),
            name("status", |row| text(&row.status)),
            words("reason", |row| row.reasons.join("; ").into()),
        ],
    );
    if all.len() > EXCLUDED_MAX {
        let more = format!("{} more: see the report", all.len() - EXCLUDED_MAX);
        let none = TableCell::default;
        table.push(["…".into(), none(), none(), none(), none(), more.into()]);
    }
    table
}

fn every(source: &TableInputs<'_>) -> Table {
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
    let table = Table::new("every-trial", "Trials", title).only(&[Output::Page]);
    table.fill(
        all,
        [
            figure("trial", |row| row.trial.to_string().into()),
            figure("block", |row| row.block.to_string().into()),
            name("arm", |row| {
                let copy = (row.aa_copy > 0).then(|| format!("copy {}", row.aa_copy));
                TableCell::from(row.arm.as_str()).detail(copy.unwrap_or_default())
            }),
            name("level", |row| text(&row.level)),
            figure("attempt", |row| row.attempt.to_string().into()),
            name("status", |row| {
                TableCell::from(row.status.as_str()).marked(row.status != "fit")
            }),
            figure("began", |row| quantity::span(row.offset_ns).into()),
            figure("took", |row| quantity::span(row.took_ns).into()),
            figure("latency p50", |row| time(row.p50_ns)),
            figure("latency p99", |row| time(row.p99_ns)),
            figure("ok/s", |row| cell(row.throughput_per_s, quantity::count)),
            figure("lateness p99", |row| time(row.lateness_p99_ns)),
            figure("path checks passed", |row| match row.proofs_made {
                0 => MISSING.into(),
                made => format!("{}/{made}", row.proofs_held).into(),
            }),
            words("reason", |row| {
                let saturated = row.saturated.then(|| "saturated".to_owned());
                let all: Vec<String> = saturated.into_iter().chain(row.reasons.clone()).collect();
                all.join("; ").into()
            }),
        ],
    )
}

fn checks(source: &TableInputs<'_>) -> Table {
    let title = "checks of the machine";
    let table = Table::new("machine-checks", "Machine and versions", title).only(&[Output::Page]);
    table.fill(
        &source.view.checks,
        [
            name("check", |check| text(&check.name)),
            name("grade", |check| {
                let grade = match check.grade {
                    Grade::Ok => "ok",
                    Grade::Warning => "warning",
                    Grade::Error => "error",
                };
                TableCell::from(grade).marked(check.grade != Grade::Ok)
            }),
            words("found", |check| text(&check.found)),
            words("what to do", |check| {
                text(check.advice.as_deref().unwrap_or_default())
            }),
        ],
    )
}
