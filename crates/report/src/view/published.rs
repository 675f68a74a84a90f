//! Published figures, each with the measured one.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{Compare, Need, Plan, Published, PublishedFigure};
use tare_record::view::{Overhead, PublishedView, View};

use crate::failures::cell_is_unjudged;
use crate::latency::MaybeLowerBound;
use crate::quantity::{self, Sign};
use crate::saturation;
use crate::tables::{cell_at, figure_of};

/// Every published figure at every level that it applies to.
pub fn published(plan: &Plan, view: &View) -> Vec<PublishedView> {
    let mut rows = Vec::new();
    if plan.compare == Compare::Levels {
        let figures = plan.published.iter();
        return figures
            .map(|figure| of_levels(plan, figure, view))
            .collect();
    }
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
                published: published_text(figure)
                    + &against_suffix(figure, plan.arms.first().map(|arm| &arm.name)),
                measured: measured_text(figure, &level.name, view),
                source: figure.source.clone(),
                caveat: figure.caveat.clone(),
            });
        }
    }
    rows
}

/// Where levels are compared: the published figure with that of the same two levels, in the first arm.
fn of_levels(plan: &Plan, figure: &Published, view: &View) -> PublishedView {
    let compared = view.overheads.iter().find(|o| {
        (o.level.as_str(), o.against_level.as_str(), o.metric)
            == (figure.arm.as_str(), figure.against.as_str(), figure.metric)
    });
    let first_cell = |name: &str| {
        let level = view.levels.iter().find(|level| level.name == name)?;
        level.cells.first()
    };
    let value = |name: &str| figure_of(first_cell(name)?, figure.metric);
    // Two levels that are not compared, because neither is the first: a ratio without an interval.
    let plain = || {
        let mut cells = [&figure.arm, &figure.against].into_iter();
        let is_unjudged = |level: &String| {
            let arm = &first_cell(level)?.arm;
            Some(cell_is_unjudged(view, arm, level, figure.metric))
        };
        if cells.any(|level| is_unjudged(level) == Some(true)) {
            return None;
        }
        let (measured, against) = (value(&figure.arm)?.value?, value(&figure.against)?.value?);
        let ratio = quantity::interval(measured / against, None);
        (against > 0.0).then(|| format!("{} (no interval)", quantity::times(&ratio)))
    };
    let measured = match (&figure.figure, compared.and_then(|found| found.ratio)) {
        (PublishedFigure::Value(_), _) => {
            value(&figure.arm).map_or_else(missing, |figure| figure.text.clone())
        }
        (PublishedFigure::AddedNs(_), _) => {
            compared.map_or_else(missing, |found| found.added_text.clone())
        }
        (_, Some(ratio)) => quantity::times(&ratio),
        (_, None) => plain().unwrap_or_else(missing),
    };
    let base = view
        .levels
        .iter()
        .find(|level| level.name == figure.against);
    let full = base.and_then(|level| saturation::saturated_cores(plan, level));
    let measured = match (figure.requires, full) {
        (Some(Need::Headroom), Some(reason)) => format!(
            "not testable here: at {} {reason} were saturated already; {measured}",
            figure.against
        ),
        _ => measured,
    };
    PublishedView {
        arm: figure.arm.clone(),
        against: match figure.figure {
            // An absolute value is compared with nothing.
            PublishedFigure::Value(_) => figure.arm.clone(),
            _ => figure.against.clone(),
        },
        level: None,
        metric: figure.metric,
        published: match figure.figure {
            PublishedFigure::Ratio(ratio) => quantity::times(&quantity::interval(ratio, None)),
            _ => published_text(figure),
        } + &against_suffix(figure, plan.levels.first().map(|level| &level.name)),
        measured,
        source: figure.source.clone(),
        caveat: figure.caveat.clone(),
    }
}

/// " against X", if the figure is not relative to the baseline or the first level.
fn against_suffix(figure: &Published, first: Option<&impl AsRef<str>>) -> String {
    let is_first = first.is_some_and(|first| first.as_ref() == figure.against);
    match figure.figure {
        PublishedFigure::Value(_) => String::new(),
        _ if is_first => String::new(),
        _ => format!(" against {}", figure.against),
    }
}

fn published_text(published: &Published) -> String {
    match &published.figure {
        PublishedFigure::Ratio(ratio) => {
            quantity::change(&quantity::interval(*ratio, None), Sign::Shown)
        }
        PublishedFigure::AddedNs(ns) => quantity::difference(
            Unit::Nanoseconds,
            &quantity::interval(*ns as f64, None),
            Sign::Shown,
        ),
        PublishedFigure::Value(value) => quantity::value(published.metric.unit(), *value),
        PublishedFigure::Words(words) => words.clone(),
    }
}

fn measured_text(published: &Published, level: &str, view: &View) -> String {
    let figure = |arm: &str, metric: Metric| figure_of(cell_at(view, level, arm)?, metric);
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
    match (&published.figure, found) {
        (PublishedFigure::Value(_), _) => {
            figure(&published.arm, published.metric).map_or_else(missing, |f| f.text.clone())
        }
        (PublishedFigure::Ratio(_) | PublishedFigure::Words(_), Some(found)) => {
            found.ratio_text.clone()
        }
        (PublishedFigure::AddedNs(_), Some(found)) => found.added_text.clone(),
        (wanted, None) => {
            // Two arms that the plan does not compare: a ratio or difference without an interval.
            let value = |arm: &str| {
                figure(arm, published.metric)?
                    .value
                    .filter(|value| *value > 0.0)
            };
            let is_told = |arm: &&String| !cell_is_unjudged(view, arm, level, published.metric);
            let both = Some(&published.arm)
                .filter(is_told)
                .zip(Some(&published.against).filter(is_told));
            let figures = both.and_then(|(arm, against)| value(arm).zip(value(against)));
            let Some((arm, against)) = figures else {
                return missing();
            };
            let text = match wanted {
                PublishedFigure::Ratio(_) | PublishedFigure::Words(_) => {
                    let ratio = quantity::interval(arm / against, None);
                    quantity::change(&ratio, Sign::Shown)
                }
                _ => quantity::figure(
                    published.metric.unit(),
                    Some(MaybeLowerBound::exact(arm - against)),
                ),
            };
            format!("{text} (no interval)")
        }
    }
}

fn missing() -> String {
    quantity::MISSING.into()
}
