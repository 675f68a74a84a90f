//! Comparison of two cells: estimates, intervals, outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::{Metric, Unit};

/// Overhead: the difference between a cell and the one it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Arm that it is compared with.
    pub against: String,
    /// Level that it is compared with; differs only when levels are compared.
    pub against_level: String,
    /// Metric.
    pub metric: Metric,
    /// Unit.
    pub unit: Unit,
    /// Primary, step or descriptive.
    pub family: Family,
    /// Value of the baseline.
    pub base: Option<f64>,
    /// Difference in the metric's unit.
    pub added: Option<Interval>,
    /// Ratio to the baseline.
    pub ratio: Option<Interval>,
    /// Outcome of the comparison.
    pub outcome: Outcome,
    /// Number of complete pairs (blocks).
    pub pairs: u32,
    /// Margin relative to this baseline: the larger of the relative and the absolute margin.
    pub margin: Option<f64>,
    /// The margin as it was declared: `5 %`, `20 µs`.
    pub margin_text: String,
    /// A sentence if one of the two was repeated far more often than the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// Difference with interval as text: `+0.31 ms (0.28–0.34)`, `–`.
    pub added_text: String,
    /// Relative difference with interval as text: `+48 % (43–53)`, `–`.
    pub ratio_text: String,
    /// Outcome as text: `differs`, `changes by less than 5 %`, `undecided; about 4 more blocks would tell`.
    pub outcome_text: String,
}

/// An estimate with its interval; there is no interval below three blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Family of simultaneous intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Comparisons with the baseline: simultaneous intervals, verdicts.
    Primary,
    /// Comparisons with the previous arm of a waterfall: a family of its own.
    Step,
    /// Unadjusted intervals, no verdict.
    Descriptive,
}

/// Outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// There is a difference.
    Differs {
        /// Whether it is smaller than the margin.
        within_margin: bool,
    },
    /// Equal within the margin.
    Same,
    /// Undecided.
    Undecided {
        /// Further blocks that would probably decide, if the number is reasonable.
        more_blocks: Option<u32>,
    },
    /// No verdict, because the metric is descriptive; the interval is unadjusted.
    Descriptive,
    /// No verdict.
    None {
        /// Reason.
        reason: String,
    },
}
