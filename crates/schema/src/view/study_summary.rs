//! Figures by the outlier rule of a published study, beside those over all blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

/// Means and standard deviations as a published study computes them, beside those over all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudySummary {
    /// The rule, as text.
    pub rule: String,
    /// Excluded blocks, by level.
    pub dropped: Vec<(String, String)>,
    /// Excluded blocks as a sentence: `Left out: blocks 3 and 5 at 200/s.`
    #[serde(default)]
    pub dropped_text: String,
    /// Rows by level, arm and metric.
    pub rows: Vec<StudySummaryRow>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudySummaryRow {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Metric.
    pub metric: Metric,
    /// Number of blocks kept.
    pub blocks: u32,
    /// Mean over the blocks kept.
    pub mean: Option<f64>,
    /// Standard deviation over the blocks kept (n − 1).
    pub deviation: Option<f64>,
    /// Mean and deviation as text: `0.312 ± 0.004 ms`, `–`.
    pub text: String,
    /// Number of all blocks.
    pub blocks_all: u32,
    /// Mean over all blocks with its 95 % interval.
    pub measured: Option<Interval>,
    /// That mean and interval as text: `0.314 ms (0.310–0.318)`, `–`.
    pub measured_text: String,
}
