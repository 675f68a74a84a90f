//! What charts draw: waterfalls, metrics by factor, and faults over time.

use crate::schemas::JsonSchema;
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

/// A metric by value of the only factor with several values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorView {
    /// Key of the factor: `load.rate`, `workload.replicas`.
    pub factor: String,
    /// Metric.
    pub metric: Metric,
    /// Short name of the metric.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// A line per measured arm.
    pub lines: Vec<FactorLine>,
}

/// An arm over the values of the factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorLine {
    /// Arm.
    pub arm: String,
    /// Points, in the order of levels.
    pub points: Vec<FactorPoint>,
}

/// An arm at one value of the factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorPoint {
    /// Level.
    pub level: String,
    /// Value of the factor, if it is a number.
    pub at: Option<f64>,
    /// Mean over blocks with its unadjusted 95 % interval; `None`: not measured, or only a lower bound is known.
    pub value: Option<Interval>,
    /// The mean and interval as text.
    pub text: String,
    /// Whether the cores of the parts or of the agents were saturated in most trials: effects cannot show there.
    #[serde(default)]
    pub saturated: bool,
    /// A published ratio to the first level, applied to the measured first level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// A cell with faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Faults and their effects, as sentences.
    pub sentences: Vec<String>,
    /// Faults, with median times.
    pub faults: Vec<FaultMark>,
    /// Throughput and latency over time, since the start of the window.
    pub series: Vec<FaultSample>,
    /// Every trial, in order.
    pub trials: Vec<FaultTrial>,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultMark {
    /// Label: `kill broker`.
    pub label: String,
    /// Start of the action since the start of the window, median over trials.
    pub began_ns: u64,
    /// End of the action since the start of the window, median over the trials in which it ended.
    pub done_ns: Option<u64>,
}

/// A sample, medians over trials unless a field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSample {
    /// End of the sample, since the start of the window.
    pub offset_ns: u64,
    /// Length of the sample.
    pub length_ns: u64,
    /// Successful responses per second that arrived in it.
    pub ok_per_s: f64,
    /// Errors that arrived in it, all trials.
    pub errors: u64,
    /// Highest latency of a response that arrived in it.
    pub slowest_ns: Option<u64>,
}

/// A trial with faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultTrial {
    /// Number.
    pub trial: u32,
    /// Faults with subject and time: `kill broker-2 at 5.00 s`.
    pub done: String,
    /// Longest outage: time without a successful response, from the first fault on, at the resolution of samples.
    pub outage_ns: Option<u64>,
    /// Highest latency of the window.
    pub slowest_ns: Option<u64>,
    /// Requests retried.
    pub retried: Option<u64>,
    /// Failed and unfinished exchanges of the window.
    pub errors: u64,
    /// Result of reading records back, if that was done.
    pub read_back: Option<ReadBackView>,
}

/// Result of reading records back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackView {
    /// Records acknowledged.
    pub acknowledged: u64,
    /// Records read back.
    pub read: u64,
    /// Records acknowledged, but not stored.
    pub lost: u64,
    /// Copies of a record beyond the first.
    pub duplicated: u64,
}
