//! The baseline measured twice (A/A): whether two things known to be identical come out different.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

/// The check of the baseline's two copies, with intervals that hold together over all its comparisons.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BaselineCheck {
    /// Comparisons that had an interval: levels × primary metrics.
    pub comparisons: u32,
    /// Those in which a difference was shown.
    pub differences: Vec<BaselineDifference>,
}

/// A difference of the baseline from itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineDifference {
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Second copy to first.
    pub ratio: Interval,
    /// The same as people read it: `+12 % (8–16)`.
    pub ratio_text: String,
    /// Whether it passes the margin, so that verdicts of that size are in doubt.
    pub passes_margin: bool,
}
