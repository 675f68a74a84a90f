//! A metric against the factor that is varied, one line per arm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::{Metric, Unit};

/// One metric against the one factor that has several values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorView {
    /// Key of the factor: `load.rate`, `workload.replicas`.
    pub factor: String,
    /// Metric.
    pub metric: Metric,
    /// Its short name for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// A line per arm that was measured.
    pub lines: Vec<FactorLine>,
}

/// An arm over all values of the factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorLine {
    /// Arm.
    pub arm: String,
    /// Its points in the order of the levels.
    pub points: Vec<FactorPoint>,
}

/// An arm at one value of the factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorPoint {
    /// Level.
    pub level: String,
    /// Value of the factor, where it is a number.
    pub at: Option<f64>,
    /// Mean over blocks with its plain 95 % interval; `None`: not measured, or only a lower bound is known.
    pub value: Option<Interval>,
    /// The same as people read it.
    pub text: String,
    /// Whether the cores of the parts, or that of the agents, were full in most trials: more of anything cannot show there.
    #[serde(default)]
    pub full: bool,
    /// What a published ratio to the first level makes of our first level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}
