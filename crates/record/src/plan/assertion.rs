//! Assertions about the result of an experiment, validated: `client-sidecar: p99 adds < 2ms at 2000/s`.

use std::fmt;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::text::word_of;

/// An assertion, which a run passes, fails or leaves undecided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// As it was written.
    pub text: String,
    /// Arm it applies to; `None`: each arm separately.
    pub arm: Option<String>,
    /// Level it applies to; `None`: each level separately.
    pub level: Option<String>,
    /// Quantity that is compared with the limit.
    pub of: AssertionSubject,
    /// Comparison with the limit.
    pub comparison: Comparator,
    /// Limit, in the metric's unit or as a share (0.1 = 10 %).
    pub limit: f64,
}

/// Quantity of an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionSubject {
    /// The value of a metric.
    Value(Metric),
    /// Difference from the baseline, in the metric's unit.
    Added(Metric),
    /// Difference from the baseline, relative to it.
    AddedShare(Metric),
    /// Share of exchanges that failed.
    Errors,
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparator {
    /// Less than.
    #[serde(rename = "<")]
    Below,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// More than.
    #[serde(rename = ">")]
    Above,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Comparator {
    /// Splits `p99 <= 5ms` at its operator; `None` without one.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, Comparator, &str)> {
        let signs = [
            ("<=", Comparator::AtMost),
            (">=", Comparator::AtLeast),
            ("≤", Comparator::AtMost),
            ("≥", Comparator::AtLeast),
            ("<", Comparator::Below),
            (">", Comparator::Above),
        ];
        let (left, rest) = text.split_at(text.find(['<', '>', '≤', '≥'])?);
        signs.into_iter().find_map(|(sign, comparison)| {
            Some((left.trim(), comparison, rest.strip_prefix(sign)?.trim()))
        })
    }

    /// Whether a value satisfies the comparison.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparator::Below => value < limit,
            Comparator::AtMost => value <= limit,
            Comparator::Above => value > limit,
            Comparator::AtLeast => value >= limit,
        }
    }

    /// Whether larger values are better.
    #[must_use]
    pub fn wants_more(self) -> bool {
        matches!(self, Comparator::Above | Comparator::AtLeast)
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&word_of(self))
    }
}
