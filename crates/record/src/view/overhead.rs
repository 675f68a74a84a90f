//! Comparisons: overheads and their outcomes, failures that affect them, the A/A check, assertions, published figures.

use crate::schemas::JsonSchema;
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

/// Failed exchanges of a cell, over all its fit trials, the baseline's second measurement included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FailedShare {
    /// Share that failed, was unfinished, or was dropped because the queue was full; `None`: nothing was measured.
    pub share: Option<f64>,
    /// The share as text: `3.2 %`, `–`.
    pub text: String,
    /// Largest error classes and sources: `2.9 % status 503 by the target, 0.3 % reset by the peer`; empty without failures.
    pub classes: String,
    /// Word for an exchange: `requests`, or `records` where each is one.
    pub what: String,
    /// Metrics without a verdict because too many exchanges failed.
    pub no_verdict: Vec<Metric>,
}

/// A comparison in which one cell failed too often for a verdict, or more often than the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Arm that it is compared with.
    pub against: String,
    /// Level that it is compared with; differs only when levels are compared.
    pub against_level: String,
    /// Failed exchanges of the arm.
    pub failed: FailedShare,
    /// Failed exchanges of the arm that it is compared with.
    pub against_failed: FailedShare,
    /// Difference of the two shares within blocks, with its unadjusted 95 % interval.
    pub difference: Option<Interval>,
    /// The difference as text, where its interval excludes 0: `3.2 percentage points (3.0–3.4) more`; else `–`.
    pub difference_text: String,
    /// Metrics with verdicts or waterfalls that have no verdict because of failures.
    pub no_verdict: Vec<Metric>,
}

/// Result of the A/A check, with intervals that are simultaneous over all comparisons.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BaselineCheck {
    /// Comparisons with an interval: levels × primary metrics.
    pub comparisons: u32,
    /// Comparisons that show a difference.
    pub differences: Vec<BaselineDifference>,
}

/// A difference between the baseline's two measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineDifference {
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Ratio of the second to the first.
    pub ratio: Interval,
    /// The ratio as text: `+12 % (8–16)`.
    pub ratio_text: String,
    /// Whether it exceeds the margin, which puts verdicts of that size in doubt.
    pub passes_margin: bool,
}

/// An assertion and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionView {
    /// The assertion, as written.
    pub text: String,
    /// Outcome: the worst over all cells that it applies to.
    pub outcome: AssertionOutcome,
    /// The cell that decided, and its value with the interval.
    pub reason: String,
}

/// Outcome of an assertion.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionOutcome {
    /// Passed: the whole interval satisfies it.
    Passed,
    /// Undecided: the interval contains the limit, or there is no interval.
    Undecided,
    /// Failed: no part of the interval satisfies it.
    Failed,
}

impl AssertionOutcome {
    /// The outcome as a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            AssertionOutcome::Passed => "passed",
            AssertionOutcome::Undecided => "undecided",
            AssertionOutcome::Failed => "failed",
        }
    }
}

/// A published figure beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedView {
    /// Arm.
    pub arm: String,
    /// Arm that it is relative to.
    pub against: String,
    /// Level.
    pub level: Option<String>,
    /// Metric.
    pub metric: Metric,
    /// Published figure as text, with unit.
    pub published: String,
    /// Measured figure as text, with unit and interval.
    pub measured: String,
    /// Source.
    pub source: String,
    /// Differences between the two setups.
    pub caveat: Option<String>,
}
