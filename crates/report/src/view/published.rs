//! Published figures beside ours.

use tare_schema::metric::{Metric, Unit};
use tare_schema::plan::{Plan, Published, PublishedFigure};
use tare_schema::view::{Interval, Overhead, PublishedView, View};

use crate::latency::Figured;
use crate::quantity::{self, Sign};

/// Every published figure at every level that it belongs to.
pub fn published(plan: &Plan, view: &View) -> Vec<PublishedView> {
    let mut rows = Vec::new();
    for figure in &plan.published {
        for level in view
            .levels
            .iter()
            .filter(|l| figure.level.as_ref().is_none_or(|f| *f == l.name))
        {
            rows.push(PublishedView {
                arm: figure.arm.clone(),
                against: figure.against.clone(),
                level: Some(level.name.clone()),
                metric: figure.metric,
                theirs: theirs(figure),
                ours: ours(figure, &level.name, view),
                source: figure.source.clone(),
                caveat: figure.caveat.clone(),
            });
        }
    }
    rows
}

fn theirs(published: &Published) -> String {
    let alone = |estimate: f64| Interval {
        estimate,
        low: None,
        high: None,
    };
    match published.figure {
        PublishedFigure::Ratio(ratio) => quantity::change(&alone(ratio), Sign::Shown),
        PublishedFigure::AddedNs(ns) => {
            quantity::difference(Unit::Nanoseconds, &alone(ns as f64), Sign::Shown)
        }
        PublishedFigure::Value(value) => quantity::value(published.metric.unit(), value),
    }
}

fn ours(published: &Published, level: &str, view: &View) -> String {
    let figure = |arm: &str, metric: Metric| {
        let cell = view
            .levels
            .iter()
            .find(|l| l.name == level)?
            .cells
            .iter()
            .find(|c| c.arm == arm)?;
        cell.figures.iter().find(|f| f.metric == metric)
    };
    let overhead = |o: &&Overhead| {
        (
            o.arm.as_str(),
            o.against.as_str(),
            o.level.as_str(),
            o.metric,
        ) == (
            published.arm.as_str(),
            published.against.as_str(),
            level,
            published.metric,
        )
    };
    let found = view.overheads.iter().find(overhead);
    match (published.figure, found) {
        (PublishedFigure::Value(_), _) => {
            figure(&published.arm, published.metric).map_or_else(missing, |f| f.text.clone())
        }
        (PublishedFigure::Ratio(_), Some(found)) => found.ratio_text.clone(),
        (PublishedFigure::AddedNs(_), Some(found)) => found.added_text.clone(),
        (wanted, None) => {
            // Two arms that the plan does not compare: the plain figures, without an interval.
            let value = |arm: &str| {
                figure(arm, published.metric)?
                    .value
                    .filter(|value| *value > 0.0)
            };
            let (Some(arm), Some(against)) = (value(&published.arm), value(&published.against))
            else {
                return missing();
            };
            let text = match wanted {
                PublishedFigure::Ratio(_) => {
                    let ratio = Interval {
                        estimate: arm / against,
                        low: None,
                        high: None,
                    };
                    quantity::change(&ratio, Sign::Shown)
                }
                _ => quantity::figure(published.metric.unit(), Some(Figured::exact(arm - against))),
            };
            format!("{text} (no interval)")
        }
    }
}

fn missing() -> String {
    quantity::MISSING.into()
}
