//! Published figures: checked against arms, levels and units.

use std::str::FromStr;

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{Arm, Compare, Level, Published, PublishedFigure};
use tare_record::units::{Period, Size};

use super::{Input, Scope};
use crate::def::{PublishedDef, ValueDef};

/// Published figures for the arms and levels of this form.
pub(super) fn published(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    arms: &[Arm],
    levels: &[Level],
    compare: Compare,
) -> Vec<Published> {
    // Figures for levels or arms that this form lacks are dropped.
    let levels: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let (what, things): (&str, Vec<&str>) = match compare {
        Compare::Arms => ("arm", arms.iter().map(|arm| arm.name.as_str()).collect()),
        Compare::Levels => ("level", levels.clone()),
    };
    let mut all = Vec::new();
    for (index, figure) in def.published.iter().enumerate() {
        let index = index.to_string();
        let at = |key: &str| root.mark_at(&["published", &index, key]);
        let against = match (&figure.against, things.first()) {
            (Some(against), _) => against.clone(),
            (None, Some(first)) => (*first).to_owned(),
            (None, None) => continue,
        };
        let mut names = vec![
            ("arm", what, &figure.arm, &things),
            ("against", what, &against, &things),
        ];
        names.extend(
            figure
                .level
                .iter()
                .map(|level| ("level", "level", level, &levels)),
        );
        names.retain(|(_, _, name, known)| !known.contains(&name.as_str()));
        for (key, what, name, known) in &names {
            scope.unknown(at(key), (*what, name.as_str()), *known);
        }
        if figure.requires.is_some() && compare == Compare::Arms {
            let message = "requires applies to levels: write `compare: levels`, or leave it out";
            scope.problem(at("requires"), message.to_owned());
        }
        match value(figure) {
            Ok(value) if names.is_empty() => all.push(Published {
                arm: figure.arm.clone(),
                against,
                metric: figure.metric,
                level: figure.level.clone(),
                figure: value,
                requires: figure.requires,
                source: figure.source.clone(),
                caveat: figure.caveat.clone(),
            }),
            Ok(_) => {}
            Err(message) => scope.problem(root.mark_at(&["published", &index]), message),
        }
    }
    all
}

fn value(figure: &PublishedDef) -> Result<PublishedFigure, String> {
    match (figure.ratio, figure.added, &figure.value, &figure.finding) {
        (Some(ratio), None, None, None) => Ok(PublishedFigure::Ratio(ratio)),
        (None, Some(added), None, None) if figure.metric.unit() == Unit::Nanoseconds => {
            Ok(PublishedFigure::AddedNs(added.as_ns()))
        }
        (None, Some(_), None, None) => Err(format!(
            "added is a time, but {} is none: write ratio or value",
            figure.metric.label()
        )),
        (None, None, Some(value), None) => {
            Ok(PublishedFigure::Value(number(figure.metric, value)?))
        }
        (None, None, None, Some(finding)) => Ok(PublishedFigure::Words(finding.clone())),
        _ => Err(String::from(
            "a published figure has exactly one of ratio, added, value and finding",
        )),
    }
}

/// Parses a value in the metric's unit.
pub(super) fn number(metric: Metric, value: &ValueDef) -> Result<f64, String> {
    let text = match value {
        ValueDef::Number(value) => return Ok(*value),
        ValueDef::WithUnit(text) => text,
    };
    match metric.unit() {
        Unit::Nanoseconds => Period::from_str(text)
            .map(|period| period.as_ns() as f64)
            .map_err(|error| error.to_string()),
        Unit::Bytes => Size::from_str(text)
            .map(|size| size.0 as f64)
            .map_err(|error| error.to_string()),
        _ => Err(format!(
            "invalid value \"{text}\" of {}: write a number",
            metric.label()
        )),
    }
}
