//! A metric by value of the factor, one line per arm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::{Metric, Unit};

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
