//! Waterfalls: what each arm of a sequence adds, in one or more sequences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::{Metric, Unit};
use crate::plan::GrammaticalNumber;

/// Waterfall of one metric at one level. Only metrics that add up: means and amounts, not quantiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallView {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Short name of the metric.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Sequences; the first is the main one, the others check it.
    pub sequences: Vec<WaterfallSequence>,
    /// Components that more than one sequence adds as a single step.
    pub parts: Vec<WaterfallPart>,
    /// Comparison of the other sequences with the first, as sentences.
    pub checks: Vec<String>,
}

/// A sequence of arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallSequence {
    /// Name of the sequence.
    pub name: String,
    /// The arms as text: `direct → client-sidecar → both-sidecars`.
    pub order: String,
    /// Number of blocks in which every arm of the sequence was measured; all figures are of these.
    pub blocks: u32,
    /// Why nothing can be shown, if so.
    pub missing: Option<String>,
    /// First arm.
    pub first: String,
    /// Mean of the first arm.
    pub start: Option<f64>,
    /// That mean as text.
    pub start_text: String,
    /// Mean of the last arm.
    pub end: Option<f64>,
    /// That mean as text.
    pub end_text: String,
    /// Steps; their differences add up to `total`.
    pub steps: Vec<WaterfallStep>,
    /// Last arm minus first, with its unadjusted 95 % interval.
    pub total: Option<Interval>,
    /// The total as text.
    pub total_text: String,
}

/// A step from one arm to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallStep {
    /// Arm of the step.
    pub arm: String,
    /// Arm before it.
    pub against: String,
    /// What the arm adds, as text.
    pub what: String,
    /// Grammatical number of that text.
    pub number: GrammaticalNumber,
    /// Mean of the arm before: start of the bar.
    pub from: Option<f64>,
    /// Mean of the arm: end of the bar.
    pub to: Option<f64>,
    /// Difference with its unadjusted 95 % interval.
    pub added: Option<Interval>,
    /// The difference as text.
    pub added_text: String,
    /// Share of the total, as text.
    pub share_text: String,
}

/// A component that several sequences add as a single step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallPart {
    /// Name of the component.
    pub what: String,
    /// What it adds in each sequence, in their order; `–` where it is not a step.
    pub added_texts: Vec<String>,
}
