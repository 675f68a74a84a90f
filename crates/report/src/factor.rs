//! A metric by the factor that is varied: one line per arm with an interval at every point.

use tare_record::metric::Metric;
use tare_record::plan::{Compare, Plan, PublishedFigure};
use tare_record::view::{
    FactorLine, FactorPoint, FactorView, LevelView, Output, Table, TableCell, TableColumn,
};

use crate::latency::MaybeLowerBound;
use crate::quantity::{self, MISSING, Sign};
use crate::saturation;
use crate::study_summary::interval;
use crate::tables::{TableInputs, cell_of, figure_of};

/// A line per arm and metric if exactly one factor has several values; else empty.
pub fn factors(plan: &Plan, levels: &[LevelView]) -> Vec<FactorView> {
    let Some(factor) = varied(plan) else {
        return Vec::new();
    };
    let mut metrics = plan.primary.clone();
    // A comparison of levels always shows a rate: throughput if none is primary.
    if plan.compare == Compare::Levels && !metrics.iter().any(|metric| metric.is_rate()) {
        metrics.push(Metric::Throughput);
    }
    metrics
        .into_iter()
        .map(|metric| FactorView {
            factor: factor.to_owned(),
            metric,
            label: metric.label().into(),
            unit: metric.unit(),
            lines: lines(plan, levels, factor, metric),
        })
        .filter(|view| !view.lines.is_empty())
        .collect()
}

/// The one factor with several values.
fn varied(plan: &Plan) -> Option<&str> {
    let first = plan.levels.first()?;
    let mut several = first.values.keys().filter(|key| {
        let value = &first.values[*key];
        plan.levels
            .iter()
            .any(|level| level.values.get(*key) != Some(value))
    });
    let one = several.next()?;
    several.next().is_none().then_some(one.as_str())
}

fn lines(plan: &Plan, levels: &[LevelView], factor: &str, metric: Metric) -> Vec<FactorLine> {
    let line = |arm: &str| FactorLine {
        arm: arm.to_owned(),
        points: plan
            .levels
            .iter()
            .map(|level| {
                let at = level.values.get(factor).and_then(serde_json::Value::as_f64);
                let view = levels.iter().find(|view| view.name == level.name);
                FactorPoint {
                    saturated: view
                        .is_some_and(|view| saturation::saturated_cores(plan, view).is_some()),
                    ..point(&level.name, at, view, arm, metric)
                }
            })
            .collect(),
    };
    let with_published = |mut line: FactorLine| {
        set_published_points(plan, metric, &mut line);
        line
    };
    plan.arms
        .iter()
        .map(|arm| with_published(line(&arm.name)))
        .filter(|line| {
            line.points
                .iter()
                .filter(|point| point.value.is_some())
                .count()
                > 1
        })
        .collect()
}

fn point(
    level: &str,
    at: Option<f64>,
    view: Option<&LevelView>,
    arm: &str,
    metric: Metric,
) -> FactorPoint {
    let cell = view.and_then(|view| cell_of(view, arm));
    let figure = cell.and_then(|cell| figure_of(cell, metric));
    // Lower bounds are not points of a line.
    let values: Vec<f64> = figure
        .filter(|figure| !figure.is_lower_bound)
        .map(|figure| figure.by_block.iter().flatten().copied().collect())
        .unwrap_or_default();
    let value = match values.as_slice() {
        // One block has a value, but no interval.
        [only] => Some(quantity::interval(*only, None)),
        several => interval(several),
    };
    FactorPoint {
        level: level.to_owned(),
        at,
        text: value.map_or_else(
            || MISSING.into(),
            |value| quantity::difference(metric.unit(), &value, Sign::Spoken),
        ),
        value,
        saturated: false,
        published: None,
    }
}

/// Sets the published points: published ratios to the first level, times the measured value there.
fn set_published_points(plan: &Plan, metric: Metric, line: &mut FactorLine) {
    let Some(first) = plan
        .levels
        .first()
        .filter(|_| plan.compare == Compare::Levels)
    else {
        return;
    };
    let base = line
        .points
        .first()
        .and_then(|point| Some(point.value?.estimate));
    for figure in &plan.published {
        let PublishedFigure::Ratio(ratio) = figure.figure else {
            continue;
        };
        if figure.metric != metric || figure.against != first.name {
            continue;
        }
        let mut points = line.points.iter_mut();
        if let Some(point) = points.find(|point| point.level == figure.arm) {
            point.published = base.map(|base| base * ratio);
        }
    }
}

/// Each metric against the factor, where levels are compared, for Markdown; the page draws it.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let factors = source.view.factors.iter();
    let compared = factors.filter(|_| !source.compares_arms());
    compared.map(table).collect()
}

/// The mean over blocks with its unadjusted 95 % interval, and the value by the published ratio.
fn table(view: &FactorView) -> Table {
    let title = format!("{} against {}", view.label, view.factor);
    let published = |line: &FactorLine| line.points.iter().any(|point| point.published.is_some());
    let shows_published = view.lines.iter().any(published);
    let by_ratio = shows_published.then(|| TableColumn::figure("by the published ratio"));
    let lines = view.lines.iter();
    let mut table = Table::new("by-factor", "By factor", title)
        .only(&[Output::Markdown])
        .columns([TableColumn::name("level")])
        .columns(lines.map(|line| TableColumn::figure(&line.arm)))
        .columns(by_ratio);
    let points = view.lines.first().map_or(&[][..], |line| &line.points);
    for (place, first) in points.iter().enumerate() {
        let mut cells = vec![TableCell::from(first.level.as_str())];
        let of_line = view.lines.iter().filter_map(|line| line.points.get(place));
        cells.extend(of_line.map(|point| match point.saturated {
            true => TableCell::from(point.text.as_str()).detail("saturated"),
            false => point.text.as_str().into(),
        }));
        if shows_published {
            let published = first.published.map(MaybeLowerBound::exact);
            cells.push(quantity::figure(view.unit, published).into());
        }
        table.rows.push(cells.into());
    }
    table
}
