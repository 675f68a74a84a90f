//! Parses assertions, `ARM: METRIC adds < LIMIT at LEVEL`, and checks their arms, metrics and levels.

use serde_json::Value;

use super::published::number;
use super::{Input, Scope};
use crate::def::ValueDef;
use crate::metric::{Metric, Unit};
use crate::plan::{Arm, Asserted, Assertion, Compare, Comparison, Form, Level};
use crate::problem::hint;
use crate::units::Share;

/// Quantity of assertions that is not a metric.
const ERRORS: &str = "errors";

/// Names that assertions may refer to.
struct Names<'a> {
    arms: Vec<&'a str>,
    levels: Vec<&'a str>,
    compare: Compare,
}

/// Why an assertion is refused.
enum Wrong {
    /// It names an unknown arm or level; the quick form may have removed it.
    Unknown(String),
    /// It is invalid.
    Invalid(String),
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Invalid(message)
    }
}

/// Assertions about the arms and levels of this form.
pub(super) fn assertions(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    arms: &[Arm],
    levels: &[Level],
    compare: Compare,
) -> Vec<Assertion> {
    let names = Names {
        arms: arms.iter().map(|arm| arm.name.as_str()).collect(),
        levels: levels.iter().map(|level| level.name.as_str()).collect(),
        compare,
    };
    let mut all = Vec::new();
    for (index, text) in def.assert.iter().enumerate() {
        let at = root.place(&["assert", &index.to_string()]);
        match names.read(text) {
            Ok(assertion) => all.push(assertion),
            // Whether it exists in the full form is checked when that form is resolved, which always happens.
            Err(Wrong::Unknown(_)) if scope.form == Form::Quick => {}
            Err(Wrong::Unknown(message) | Wrong::Invalid(message)) => scope.problem(at, message),
        }
    }
    all
}

impl Names<'_> {
    fn read(&self, text: &str) -> Result<Assertion, Wrong> {
        let (claim, comparison, rest) = Comparison::split(text).ok_or_else(|| {
                format!(
                    "\"{text}\" compares nothing: write `METRIC < LIMIT`, as in `p99 < 5ms` or `server-sidecar: median adds < 1ms at 2000/s`"
                )
            })?;
        let (arm, what) = match claim.split_once(':') {
            Some((arm, what)) => (Some(arm.trim()), what.trim()),
            None => (None, claim.trim()),
        };
        let (limit, level) = match rest.split_once(" at ") {
            Some((limit, level)) => (limit.trim(), Some(level.trim())),
            None => (rest.trim(), None),
        };
        let known = |word: &str, name: Option<&str>, known: &[&str]| match name {
            Some(name) if !known.contains(&name) => {
                let hint = hint(name, known.iter().copied());
                Err(Wrong::Unknown(format!("unknown {word} \"{name}\"{hint}")))
            }
            _ => Ok(name.map(str::to_owned)),
        };
        let (of, limit) = asserted(what, limit)?;
        let arm = known("arm", arm, &self.arms)?;
        let level = known("level", level, &self.levels)?;
        if matches!(of, Asserted::Added(_) | Asserted::AddedShare(_)) {
            self.is_compared(arm.as_deref(), level.as_deref())?;
        }
        Ok(Assertion {
            text: text.to_owned(),
            arm,
            level,
            of,
            comparison,
            limit,
        })
    }

    /// Refuses an overhead of the baseline itself.
    fn is_compared(&self, arm: Option<&str>, level: Option<&str>) -> Result<(), String> {
        let (name, first) = match self.compare {
            Compare::Arms => (arm, self.arms.first()),
            Compare::Levels => (level, self.levels.first()),
        };
        match (name, first) {
            (Some(name), Some(first)) if name == *first => Err(format!(
                "{name} is what the others are compared with, so it adds nothing: leave `adds` out, or name another"
            )),
            _ => Ok(()),
        }
    }
}

fn asserted(what: &str, limit: &str) -> Result<(Asserted, f64), String> {
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
            false => Ok((Asserted::Errors, share(limit)?)),
            true => Err("errors are a share of all exchanges: write `errors < 0.1%`".into()),
        };
    }
    let metric = metric(name)?;
    if !adds {
        return Ok((Asserted::Value(metric), value(metric, limit)?));
    }
    // An overhead may be negative.
    let (sign, amount) = match limit.strip_prefix('-') {
        Some(amount) => (-1.0, amount),
        None => (1.0, limit),
    };
    Ok(match amount.ends_with('%') {
        true => (Asserted::AddedShare(metric), sign * share(amount)?),
        false => (Asserted::Added(metric), sign * value(metric, amount)?),
    })
}

fn metric(name: &str) -> Result<Metric, String> {
    serde_json::from_value(Value::String(name.to_owned())).map_err(|_| {
        let names: Vec<String> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        let known = names.iter().map(String::as_str).chain([ERRORS]);
        format!("unknown metric \"{name}\"{}", hint(name, known))
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
