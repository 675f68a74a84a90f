//! Quantiles that are missing because of too few exchanges.

use tare_record::metric::Metric;

use crate::trials::{CellName, Trials};
use crate::{measure, quantity};

/// The quantiles that no trial of these cells has, with the number of exchanges they need; empty without measurements.
pub fn describe(trials: &Trials<'_>, cells: &[CellName]) -> Vec<String> {
    let measured = || cells.iter().filter_map(|name| trials.cells.get(name));
    let all = || measured().flat_map(|cell| cell.values());
    let most = all().map(|trial| measure::observations(trial.record)).max();
    let Some(most) = most else { return Vec::new() };
    let lacking: Vec<String> = [Metric::Median, Metric::P90, Metric::P99, Metric::P999]
        .into_iter()
        .filter(|metric| all().all(|trial| !trial.values.contains_key(metric)))
        .filter_map(|metric| {
            let (_, needed) = measure::quantile(metric)?;
            (most < needed).then(|| {
                format!(
                    "{} needs {}",
                    metric.label(),
                    quantity::count(needed as f64)
                )
            })
        })
        .collect();
    if lacking.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "too few exchanges in a trial, {}: {}",
        quantity::count(most as f64),
        lacking.join(", ")
    )]
}

/// Why there is no verdict on a metric of two cells.
pub fn reason(trials: &Trials<'_>, cells: [&CellName; 2], metric: Metric) -> String {
    let known = cells.into_iter().filter_map(|name| trials.cells.get(name));
    let fewest = known
        .flat_map(|cell| cell.values())
        .map(|trial| measure::observations(trial.record))
        .min();
    match (fewest, measure::quantile(metric)) {
        (Some(fewest), Some((_, needed))) if fewest < needed => format!(
            "too few exchanges in a trial: {} needs {}, one had {}",
            metric.label(),
            quantity::count(needed as f64),
            quantity::count(fewest as f64)
        ),
        _ => "too few observations, or not measured here".into(),
    }
}
