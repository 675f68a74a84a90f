//! Figures by the outlier rule of a published study, beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

/// Figures as a published study prints them, beside ours of the same blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsPublished {
    /// The rule, in words.
    pub rule: String,
    /// Blocks left out, by level.
    pub dropped: Vec<(String, String)>,
    /// The same in words: `Left out: blocks 3 and 5 at 200/s.`
    #[serde(default)]
    pub dropped_text: String,
    /// Figures, by level, arm and metric.
    pub rows: Vec<AsPublishedRow>,
}

/// One such figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsPublishedRow {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Metric.
    pub metric: Metric,
    /// Blocks kept.
    pub blocks: u32,
    /// Mean over them.
    pub mean: Option<f64>,
    /// Standard deviation (n − 1).
    pub deviation: Option<f64>,
    /// The two as people read them: `0.312 ± 0.004 ms`, `–`.
    pub text: String,
    /// All blocks.
    pub blocks_all: u32,
    /// Mean over all blocks with its 95 % interval.
    pub ours: Option<Interval>,
    /// The same as people read it: `0.314 ms (0.310–0.318)`, `–`.
    pub ours_text: String,
}
