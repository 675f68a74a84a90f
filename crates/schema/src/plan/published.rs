//! Figures from publications that are shown beside the measured ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Arm of this experiment (or level, when levels are compared) that corresponds to it.
    pub arm: String,
    /// Arm (or level) that it is relative to.
    pub against: String,
    /// Metric.
    pub metric: Metric,
    /// Level that it belongs to; `None`: every level.
    pub level: Option<String>,
    /// Value of the figure.
    pub figure: PublishedFigure,
    /// Condition for the comparison; `None`: no further condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<Need>,
    /// Publication, with product and version.
    pub source: String,
    /// Differences between the published setup and this one.
    pub caveat: Option<String>,
}

/// Condition for a comparison with a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Headroom: the arm that it is relative to must not have saturated the machine, else growth cannot be tested.
    Headroom,
}

/// Kind of a published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedFigure {
    /// The arm divided by the other.
    Ratio(f64),
    /// Added latency, ns.
    AddedNs(u64),
    /// Absolute value, in the metric's unit.
    Value(f64),
    /// A finding in words, without a figure.
    Words(String),
}
