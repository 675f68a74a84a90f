//! The tables of faults: each trial, and each second.

use std::collections::BTreeMap;

use tare_record::view::{FaultView, Output, Table, TableCell, TableColumn};

use crate::quantity;
use crate::tables::{TableInputs, cell, figure, name, text, time, words};

/// The trials of each cell with faults.
pub fn trials(source: &TableInputs<'_>) -> Vec<Table> {
    source.view.faults.iter().map(of_trials).collect()
}

/// The seconds of each cell with faults; the page draws them.
pub fn seconds(source: &TableInputs<'_>) -> Vec<Table> {
    source.view.faults.iter().map(of_seconds).collect()
}

fn of_trials(view: &FaultView) -> Table {
    let title = format!("faults, trial by trial ({}, {})", view.arm, view.level);
    Table::new("faults-by-trial", "Faults", title).fill(
        &view.trials,
        [
            name("trial", |one| one.trial.to_string().into()),
            words("done", |one| text(&one.done)),
            figure("longest outage", |one| time(one.outage_ns)),
            figure("slowest", |one| time(one.slowest_ns)),
            figure("retried", |one| count(one.retried)),
            figure("errors", |one| count(Some(one.errors))),
            (TableColumn::figure("acknowledged").omit(1), |one| {
                count(one.read_back.map(|found| found.acknowledged))
            }),
            figure("read back", |one| {
                count(one.read_back.map(|found| found.read))
            }),
            figure("lost", |one| count(one.read_back.map(|found| found.lost))),
            figure("duplicated", |one| {
                count(one.read_back.map(|found| found.duplicated))
            }),
        ],
    )
}

fn count(count: Option<u64>) -> TableCell {
    cell(count.map(|count| count as f64), quantity::count)
}

fn of_seconds(view: &FaultView) -> Table {
    const SECOND_NS: u64 = 1_000_000_000;
    let title = format!(
        "answers by the second in which they came, medians over the trials ({}, {})",
        view.arm, view.level
    );
    let mut table = Table::new("faults-by-second", "Faults", title)
        .only(&Output::TEXT)
        .columns([TableColumn::name("second"), TableColumn::words("done")])
        .columns(["answers", "slowest", "errors"].map(TableColumn::figure));
    // Answers, errors and largest latency of each second; a sample belongs to the second in which it begins.
    let mut seconds: BTreeMap<u64, (f64, u64, Option<u64>)> = BTreeMap::new();
    for point in &view.series {
        let second = point.offset_ns.saturating_sub(point.length_ns) / SECOND_NS;
        let (answers, errors, slowest) = seconds.entry(second).or_default();
        *answers += point.ok_per_s * point.length_ns as f64 / SECOND_NS as f64;
        *errors += point.errors;
        *slowest = (*slowest).max(point.slowest_ns);
    }
    for (second, (answers, errors, slowest)) in seconds {
        let here = view.faults.iter();
        let here = here.filter(|fault| fault.began_ns / SECOND_NS == second);
        let done: Vec<&str> = here.map(|fault| fault.label.as_str()).collect();
        table.push([
            second.to_string().into(),
            done.join("; ").into(),
            quantity::count(answers.round()).into(),
            time(slowest),
            quantity::count(errors as f64).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use tare_record::view::{FaultTrial, ReadBackView};

    use super::*;

    #[test]
    fn a_trial_has_its_times_its_counts_and_what_was_read_back() {
        let view = FaultView {
            level: "400/s".into(),
            arm: "direct".into(),
            sentences: Vec::new(),
            faults: Vec::new(),
            series: Vec::new(),
            trials: vec![FaultTrial {
                trial: 1,
                done: String::new(),
                outage_ns: Some(500_000_000),
                slowest_ns: Some(3_400_000_000),
                retried: Some(6),
                errors: 0,
                read_back: Some(ReadBackView {
                    acknowledged: 8000,
                    read: 7999,
                    lost: 1,
                    duplicated: 0,
                }),
            }],
        };
        let texts = of_trials(&view).rows.remove(0).cells;
        let texts: Vec<String> = texts.into_iter().map(|cell| cell.text).collect();
        assert_eq!(
            texts,
            [
                "1", "", "500 ms", "3.40 s", "6", "0", "8000", "7999", "1", "0"
            ]
        );
    }
}
