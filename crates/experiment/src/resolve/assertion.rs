//! Parses assertions, `ARM: METRIC adds < LIMIT at LEVEL`, and checks their arms, metrics and levels.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{Arm, Assertion, AssertionSubject, Comparator, Compare, Level};
use tare_record::text::value_of;
use tare_record::units::Share;

use super::published_figures::number;
use super::{Input, Scope};
use crate::def::ValueDef;
use crate::problem::unknown;

/// Quantity of assertions that is not a metric.
const ERRORS: &str = "errors";

/// Assertions about the arms and levels of this form.
pub(super) fn assertions(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    arms: &[Arm],
    levels: &[Level],
    compare: Compare,
) -> Vec<Assertion> {
    let arms: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let levels: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let mut all = Vec::new();
    for (index, text) in def.assert.iter().enumerate() {
        let at = root.mark_at(&["assert", &index.to_string()]);
        let assertion = match read(text) {
            Ok(assertion) => assertion,
            Err(message) => {
                scope.problem(at, message);
                continue;
            }
        };
        let named = [
            ("arm", &assertion.arm, &arms),
            ("level", &assertion.level, &levels),
        ];
        let unknown = named.into_iter().find_map(|(what, name, known)| {
            let name = name.as_deref().filter(|name| !known.contains(name))?;
            Some((what, name, known))
        });
        if let Some((what, name, known)) = unknown {
            scope.unknown(at, (what, name), known);
            continue;
        }
        let (name, first) = match compare {
            Compare::Arms => (&assertion.arm, arms.first()),
            Compare::Levels => (&assertion.level, levels.first()),
        };
        let adds = matches!(
            assertion.of,
            AssertionSubject::Added(_) | AssertionSubject::AddedShare(_)
        );
        match name {
            Some(name) if adds && Some(&name.as_str()) == first => {
                let message = format!(
                    "{name} is what the others are compared with, so it adds nothing: leave `adds` out, or name another"
                );
                scope.problem(at, message);
            }
            _ => all.push(assertion),
        }
    }
    all
}

/// Parses an assertion.
fn read(text: &str) -> Result<Assertion, String> {
    let (claim, comparison, rest) = Comparator::split(text).ok_or_else(|| {
        format!(
            "\"{text}\" compares nothing: write `METRIC < LIMIT`, as in `p99 < 5ms` or `server-sidecar: median adds < 1ms at 2000/s`"
        )
    })?;
    let (arm, what) = match claim.split_once(':') {
        Some((arm, what)) => (Some(arm.trim().to_owned()), what.trim()),
        None => (None, claim.trim()),
    };
    let (limit, level) = match rest.split_once(" at ") {
        Some((limit, level)) => (limit.trim(), Some(level.trim().to_owned())),
        None => (rest.trim(), None),
    };
    let (of, limit) = asserted(what, limit)?;
    Ok(Assertion {
        text: text.to_owned(),
        arm,
        level,
        of,
        comparison,
        limit,
    })
}

fn asserted(what: &str, limit: &str) -> Result<(AssertionSubject, f64), String> {
    let (name, adds) = match what.strip_suffix(" adds") {
        Some(name) => (name.trim(), true),
        None => (what, false),
    };
    let share = |text: &str| {
        let parsed = text.parse::<Share>();
        parsed
            .map(|share| share.0)
            .map_err(|error| error.to_string())
    };
    if name == ERRORS {
        return match adds {
            false => Ok((AssertionSubject::Errors, share(limit)?)),
            true => Err("errors are a share of all exchanges: write `errors < 0.1%`".into()),
        };
    }
    let metric = metric(name)?;
    if !adds {
        return Ok((AssertionSubject::Value(metric), value(metric, limit)?));
    }
    // An overhead may be negative.
    let (sign, amount) = match limit.strip_prefix('-') {
        Some(amount) => (-1.0, amount),
        None => (1.0, limit),
    };
    Ok(match amount.ends_with('%') {
        true => (AssertionSubject::AddedShare(metric), sign * share(amount)?),
        false => (
            AssertionSubject::Added(metric),
            sign * value(metric, amount)?,
        ),
    })
}

fn metric(name: &str) -> Result<Metric, String> {
    value_of(name).ok_or_else(|| {
        let known = Metric::ALL.iter().map(|metric| metric.name());
        unknown("metric", name, known.chain([ERRORS.to_owned()]))
    })
}

/// Parses a value in the metric's unit.
fn value(metric: Metric, text: &str) -> Result<f64, String> {
    let bare = match metric.unit() {
        Unit::PerSecond => text.strip_suffix("/s").unwrap_or(text),
        _ => text,
    };
    let plain = bare
        .parse::<f64>()
        .ok()
        .filter(|_| metric.unit() != Unit::Nanoseconds);
    match plain {
        Some(value) if value.is_finite() => Ok(value),
        _ => number(metric, &ValueDef::WithUnit(text.to_owned())),
    }
}
