//! The tables of faults: each trial, and each second.

use std::collections::BTreeMap;

use tare_schema::metric::Unit;
use tare_schema::view::FaultView;

use super::Grid;
use crate::faults::HEADS;
use crate::quantity::{self, MISSING};

/// A row per trial.
pub fn trials(view: &FaultView) -> Grid {
    let mut grid = Grid::new(&[&["trial"], &HEADS[..]].concat(), 2);
    for trial in &view.trials {
        let mut row = vec![trial.trial.to_string()];
        row.extend(trial.texts.iter().cloned());
        grid.rows.push(row);
    }
    grid
}

/// A row per second, with the faults in it.
pub fn seconds(view: &FaultView) -> Grid {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut grid = Grid::new(&["second", "done", "answers", "slowest", "errors"], 2);
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
        grid.rows.push(vec![
            second.to_string(),
            done.join("; "),
            quantity::count(answers.round()),
            slowest.map_or_else(
                || MISSING.to_owned(),
                |ns| quantity::value(Unit::Nanoseconds, ns as f64),
            ),
            quantity::count(errors as f64),
        ]);
    }
    grid
}
