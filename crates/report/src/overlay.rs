//! Runs side by side: figures and curves of every cell, and what differs between the runs.

use tare_record::api::{LoadPercentile, RunCell, RunFigures, RunOverlay};
use tare_record::metric::{Metric, Unit};
use tare_record::view::{CellView, CurvePoint, View};

use crate::compare::{OnMismatch, compare, differences};
use crate::read::Run;

/// Percentiles beside the 75th, which is no metric, and their metrics.
const PERCENTILES: [(f64, Metric); 4] = [
    (50.0, Metric::Median),
    (90.0, Metric::P90),
    (99.0, Metric::P99),
    (99.9, Metric::P999),
];

/// Puts runs side by side; with two of them also the verdict of the comparison.
#[must_use]
pub fn overlay(runs: &[Run]) -> RunOverlay {
    let (comparison, refused) = match runs {
        [before, after] => match compare(before, after, OnMismatch::Refuse) {
            Ok(found) => (serde_json::to_value(found).ok(), None),
            Err(refused) => (None, Some(refused.to_string())),
        },
        _ => (None, None),
    };
    let changed = runs.iter().skip(1).map(|run| match runs.first() {
        Some(first) => differences(first, run),
        None => Vec::new(),
    });
    RunOverlay {
        changed: changed.collect(),
        runs: runs.iter().map(|run| figures(&crate::view(run))).collect(),
        comparison,
        refused,
    }
}

fn figures(view: &View) -> RunFigures {
    let cells = view.levels.iter().flat_map(|level| {
        let measured = level.cells.iter().filter(|cell| cell.trials_fit > 0);
        measured.map(|cell| run_cell(&level.name, cell))
    });
    RunFigures {
        id: view.run.id.clone(),
        experiment: view.run.experiment.clone(),
        started: view.run.started.clone(),
        cells: cells.collect(),
    }
}

fn run_cell(level: &str, cell: &CellView) -> RunCell {
    let figure = |metric| cell.figures.iter().find(|figure| figure.metric == metric);
    let value = |metric| figure(metric)?.value;
    // Of a Kafka load, bytes say more than exchanges.
    let flows = [
        Metric::BytesProduced,
        Metric::BytesConsumed,
        Metric::Throughput,
    ];
    let flow = flows.into_iter().find_map(figure);
    let mut percentiles = PERCENTILES
        .map(|(percentile, metric)| {
            let found = figure(metric);
            LoadPercentile {
                percentile,
                value_ns: found.and_then(|found| found.value).map(|ns| ns as u64),
                is_lower_bound: found.is_some_and(|found| found.is_lower_bound),
            }
        })
        .to_vec();
    percentiles.insert(1, at(&cell.latency, 75.0));
    RunCell {
        level: level.to_owned(),
        arm: cell.arm.clone(),
        curve: cell.latency.clone(),
        min_ns: at(&cell.latency, 0.0).value_ns,
        mean_ns: value(Metric::Mean),
        percentiles,
        max_ns: value(Metric::Max).map(|ns| ns as u64),
        throughput: flow.and_then(|flow| flow.value),
        throughput_unit: flow.map_or(Unit::PerSecond, |flow| flow.unit),
    }
}

/// The point of a curve at a percentile that it has.
pub(crate) fn at(curve: &[CurvePoint], percentile: f64) -> LoadPercentile {
    // Percentiles of a curve have six decimals.
    let point = curve
        .iter()
        .find(|point| (point.percentile - percentile).abs() < 1e-6);
    LoadPercentile {
        percentile,
        value_ns: point.map(|point| point.value_ns),
        is_lower_bound: point.is_some_and(|point| point.is_lower_bound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_a_curve_does_not_have_is_missing() {
        let point = |percentile, value_ns| CurvePoint {
            percentile,
            value_ns,
            is_lower_bound: percentile == 100.0,
        };
        let curve = [point(0.0, 5), point(75.0, 10), point(100.0, 90)];
        assert_eq!(at(&curve, 75.0).value_ns, Some(10));
        assert_eq!(at(&curve, 99.0).value_ns, None);
        assert!(at(&curve, 100.0).is_lower_bound);
    }
}
