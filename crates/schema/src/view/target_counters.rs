//! Target counters, medians over the trials of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Target counters of parts of one kind, from before the first request to after the last response: warm-up and drain included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TargetCountersView {
    /// Instances, the columns.
    pub instances: Vec<String>,
    /// Counters, in the order of the target's folder.
    pub rows: Vec<TargetCounterRow>,
}

/// A counter of each instance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TargetCounterRow {
    /// Name of the counter, with its label.
    pub name: String,
    /// Values, in the order of instances.
    pub values: Vec<Option<f64>>,
    /// Values as texts; `–` where an instance has none.
    pub texts: Vec<String>,
}
