//! Published figures beside the measured ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A published figure beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedView {
    /// Arm.
    pub arm: String,
    /// Arm that it is relative to.
    pub against: String,
    /// Level.
    pub level: Option<String>,
    /// Metric.
    pub metric: Metric,
    /// Published figure as text, with unit.
    pub published: String,
    /// Measured figure as text, with unit and interval.
    pub measured: String,
    /// Source.
    pub source: String,
    /// Differences between the two setups.
    pub caveat: Option<String>,
}

/// Published and measured figures in columns: one per measured arm, one per source with its product and version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedColumns {
    /// Heads of the measured columns: the arms that were run.
    pub measured: Vec<String>,
    /// Heads of the published columns: the sources.
    pub published: Vec<String>,
    /// Rows: every level and metric with a published figure.
    pub rows: Vec<PublishedRow>,
}

/// A level and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Measured figures by arm: the value of the baseline, the overheads of the others; `–` where there is none.
    pub measured: Vec<String>,
    /// Published figures by source; `–` where there is none.
    pub published: Vec<String>,
}
