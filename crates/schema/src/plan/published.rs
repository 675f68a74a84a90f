//! Figures that others published, as they stand beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A figure that somebody published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Arm of ours that it stands beside.
    pub arm: String,
    /// Arm it was compared with.
    pub against: String,
    /// Metric.
    pub metric: Metric,
    /// Level it belongs to; `None`: every level.
    pub level: Option<String>,
    /// Its value.
    pub figure: PublishedFigure,
    /// What must be so for ours to be comparable; `None`: nothing but what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Need>,
    /// Where it was published, with product and version.
    pub source: String,
    /// What is not alike between theirs and ours.
    pub caveat: Option<String>,
}

/// What a published figure presumes of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Room for more: what is compared with must not have filled the machine. Where it has, growth cannot be tested.
    Room,
}

/// Form of a published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedFigure {
    /// Arm divided by the other.
    Ratio(f64),
    /// Added latency.
    AddedNs(u64),
    /// Absolute value in the metric's unit.
    Value(f64),
    /// What was found, where no figure is given.
    Words(String),
}
