//! What an experiment claims of its own result, `client-sidecar: p99 adds < 2ms at 2000/s`, after validation.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A claim that a run keeps, breaks or leaves open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// As it was written.
    pub text: String,
    /// The arm it is about; `None`: every one, each by itself.
    pub arm: Option<String>,
    /// The level it is about; `None`: every one, each by itself.
    pub level: Option<String>,
    /// What is looked at.
    pub of: Asserted,
    /// How it is held against the limit.
    pub comparison: Comparison,
    /// The limit: in the metric's unit, or a share (0.1 is 10 %).
    pub limit: f64,
}

/// What an assertion looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Asserted {
    /// The value of a metric.
    Value(Metric),
    /// What is added to the baseline, in the metric's unit.
    Added(Metric),
    /// What is added to the baseline, as a share of it.
    AddedShare(Metric),
    /// The share of exchanges that failed.
    Errors,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
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

impl Comparison {
    /// Takes `p99 <= 5ms` apart at its sign; `None`: it has none.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, Comparison, &str)> {
        let signs = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("≤", Comparison::AtMost),
            ("≥", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        let (left, rest) = text.split_at(text.find(['<', '>', '≤', '≥'])?);
        signs.into_iter().find_map(|(sign, comparison)| {
            Some((left.trim(), comparison, rest.strip_prefix(sign)?.trim()))
        })
    }

    /// Whether a value fulfils it.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparison::Below => value < limit,
            Comparison::AtMost => value <= limit,
            Comparison::Above => value > limit,
            Comparison::AtLeast => value >= limit,
        }
    }

    /// Whether a larger value can only help.
    #[must_use]
    pub fn wants_more(self) -> bool {
        matches!(self, Comparison::Above | Comparison::AtLeast)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
        })
    }
}
