//! What others published, beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A published figure beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedView {
    /// Arm.
    pub arm: String,
    /// Compared with.
    pub against: String,
    /// Level of ours it stands beside.
    pub level: Option<String>,
    /// Metric.
    pub metric: Metric,
    /// Theirs, in words with unit.
    pub theirs: String,
    /// Ours, in words with unit and interval.
    pub ours: String,
    /// Source.
    pub source: String,
    /// What is not alike.
    pub caveat: Option<String>,
}

/// Published figures in columns: ours by arm, and one for each source, headed with its product and version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedColumns {
    /// Heads of ours: the arms that were run.
    pub ours: Vec<String>,
    /// Heads of theirs: the sources.
    pub theirs: Vec<String>,
    /// Every level and metric that anything was published for.
    pub rows: Vec<PublishedRow>,
}

/// One level and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// What each arm has here: the baseline its value, the others what they add; `–` where there is none.
    pub ours: Vec<String>,
    /// What each source has; `–` where it says nothing.
    pub theirs: Vec<String>,
}
