//! What is shown of a sum that is taken apart: the steps from the least arm to the most, in one or more orders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::{Metric, Unit};
use crate::plan::GrammaticalNumber;

/// One metric at one level, taken apart. Only metrics that add up: means and amounts, no quantiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallView {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Its short name for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// The orders, the one to be read first; the others check it.
    pub sequences: Vec<WaterfallSequence>,
    /// Things that more than one order adds alone, with their part in each.
    pub parts: Vec<WaterfallPart>,
    /// What the other orders say of the first one, in sentences.
    pub checks: Vec<String>,
}

/// One order of arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallSequence {
    /// Its name.
    pub name: String,
    /// The arms in words: `direct → client-sidecar → both-sidecars`.
    pub order: String,
    /// Blocks in which every arm of it was measured; all figures are of these.
    pub blocks: u32,
    /// Why there is nothing to show, if there is nothing.
    pub missing: Option<String>,
    /// First arm.
    pub first: String,
    /// Mean of the first arm.
    pub start: Option<f64>,
    /// The same as people read it.
    pub start_text: String,
    /// Mean of the last arm.
    pub end: Option<f64>,
    /// The same as people read it.
    pub end_text: String,
    /// The steps; their differences add up to `total`.
    pub steps: Vec<WaterfallStep>,
    /// Last arm minus first, with its plain 95 % interval.
    pub total: Option<Interval>,
    /// The same as people read it.
    pub total_text: String,
}

/// From one arm to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallStep {
    /// The larger arm.
    pub arm: String,
    /// The arm before it.
    pub against: String,
    /// What it has more, in words.
    pub what: String,
    /// Whether that is one thing or several.
    pub number: GrammaticalNumber,
    /// Mean of the arm before it: where the bar begins.
    pub from: Option<f64>,
    /// Mean of the arm: where the bar ends.
    pub to: Option<f64>,
    /// Difference with its plain 95 % interval; none of it is corrected for the number of steps.
    pub added: Option<Interval>,
    /// The same as people read it.
    pub added_text: String,
    /// Its part of the total, as people read it.
    pub share_text: String,
}

/// A thing that several orders add alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallPart {
    /// What it is.
    pub what: String,
    /// What it adds, one per sequence in their order; `–` where it is not added alone.
    pub added_texts: Vec<String>,
}
