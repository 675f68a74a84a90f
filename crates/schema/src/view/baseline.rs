//! A/A check: the baseline measured twice, which must not differ from itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

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
