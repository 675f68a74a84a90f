//! Mean ± standard deviation under the outlier rule of a published study, and the mean over all blocks.

use tare_record::metric::Metric;
use tare_record::plan::OutlierRuleName;
use tare_record::view::{Interval, LevelView, Table, TableCell, TableColumn, TableRow};
use tare_stats::distribution::student_quantile;
use tare_stats::outcome::BLOCKS_MIN;
use tare_stats::outliers::{mean_and_deviation, worst_by_baseline_maximum};

use crate::quantity::{self, MISSING, Sign};
use crate::tables::{TableInputs, cell_of, figure_of};
use crate::verdict::list;

/// Metrics that such studies print.
const METRICS: [Metric; 9] = [
    Metric::Median,
    Metric::P90,
    Metric::P99,
    Metric::P999,
    Metric::Max,
    Metric::Cpu,
    Metric::Memory,
    Metric::ProxyMemory,
    Metric::ProxyCpu,
];

/// The figures by the experiment's outlier rule, if it has one.
pub fn table(source: &TableInputs<'_>) -> Vec<Table> {
    let plan = &source.run.plan;
    let Some(requested) = plan.outliers else {
        return Vec::new();
    };
    let section = "Statistics of the published study";
    let mut table = Table::new("study-summary", section, "as the published study prints it")
        .columns([
            TableColumn::group("level"),
            TableColumn::group("arm"),
            TableColumn::name("metric"),
            TableColumn::figure("mean ± sd"),
            TableColumn::figure("blocks"),
            TableColumn::figure("all blocks (95 %)"),
        ]);
    let mut dropped_texts = Vec::new();
    for level in &source.view.levels {
        let maxima = by_block(
            level,
            plan.arms.first().map(|arm| arm.name.as_str()),
            Metric::Max,
        );
        let known = maxima.iter().flatten().count();
        let count = known.saturating_sub(requested.keep as usize);
        let dropped = match requested.rule {
            OutlierRuleName::DropWorstByBaselineMaximum => {
                worst_by_baseline_maximum(count, &maxima)
            }
        };
        if !dropped.is_empty() {
            let blocks: Vec<String> = dropped.iter().map(|at| (at + 1).to_string()).collect();
            let noun = if blocks.len() == 1 { "block" } else { "blocks" };
            dropped_texts.push(format!("{noun} {} at {}", list(&blocks), level.name));
        }
        for cell in &level.cells {
            for metric in METRICS {
                let all = by_block(level, Some(&cell.arm), metric);
                let row = row(level, &cell.arm, metric, &all, &dropped);
                table.rows.extend(row.map(TableRow::from));
            }
        }
    }
    let dropped = match dropped_texts.as_slice() {
        [] => format!(
            "No block was excluded: there are no more than {}.",
            requested.keep
        ),
        dropped_texts => format!("Left out: {}.", dropped_texts.join("; ")),
    };
    table.footnotes = vec![format!("{}. {dropped}", words(requested.keep))];
    vec![table]
}

fn words(keep: u32) -> String {
    format!(
        "of more than {keep} blocks those with the largest maximum of the baseline are excluded, in all arms, until {keep} remain; \
         mean ± standard deviation of the rest. A rule of the published study, shown on request: our intervals and the verdict use every block"
    )
}

fn by_block(level: &LevelView, arm: Option<&str>, metric: Metric) -> Vec<Option<f64>> {
    let cell = arm.and_then(|arm| cell_of(level, arm));
    let figure = cell.and_then(|cell| figure_of(cell, metric));
    figure.map_or_else(Vec::new, |figure| figure.by_block.clone())
}

/// One figure; `None` without measurements.
fn row(
    level: &LevelView,
    arm: &str,
    metric: Metric,
    all: &[Option<f64>],
    dropped: &[usize],
) -> Option<Vec<TableCell>> {
    let kept: Vec<f64> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| !dropped.contains(at))
        .filter_map(|(_, value)| *value)
        .collect();
    let every: Vec<f64> = all.iter().flatten().copied().collect();
    if every.is_empty() {
        return None;
    }
    let spread = mean_and_deviation(&kept);
    let measured = interval(&every);
    let deviation = spread.map_or_else(
        || MISSING.into(),
        |(mean, deviation)| quantity::mean_and_deviation(metric.unit(), mean, deviation),
    );
    let measured = measured.map_or_else(
        || MISSING.into(),
        |measured| quantity::difference(metric.unit(), &measured, Sign::Spoken),
    );
    Some(vec![
        level.name.as_str().into(),
        arm.into(),
        metric.label().into(),
        deviation.into(),
        format!("{} of {}", kept.len(), every.len()).into(),
        measured.into(),
    ])
}

/// The mean over blocks with its 95 % interval (Student's t); no interval below three blocks.
///
/// If no value is negative, the lower end is not, either.
pub fn interval(values: &[f64]) -> Option<Interval> {
    let (mean, deviation) = mean_and_deviation(values)?;
    let n = values.len() as f64;
    let least = match values.iter().all(|value| *value >= 0.0) {
        true => 0.0,
        false => f64::NEG_INFINITY,
    };
    let half = (values.len() >= BLOCKS_MIN)
        .then(|| student_quantile(0.975, n - 1.0) * deviation / n.sqrt());
    let ends = half.map(|half| ((mean - half).max(least), mean + half));
    Some(quantity::interval(mean, ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_students_and_needs_three_blocks() {
        let three = interval(&[2.0, 4.0, 6.0]).unwrap();
        // 4.303 (t, 2 degrees) × 2 / √3, from a printed table.
        assert!((three.estimate - 4.0).abs() < 1e-12);
        assert!((three.high.unwrap() - 4.0 - 4.303 * 2.0 / 3f64.sqrt()).abs() < 1e-3);
        assert_eq!(interval(&[2.0, 4.0, 12.0]).unwrap().low, Some(0.0));
        assert_eq!(interval(&[2.0, 4.0]).unwrap().low, None);
        assert_eq!(interval(&[2.0]), None);
    }
}
