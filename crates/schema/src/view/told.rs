//! What parts say of themselves, medians over the trials of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures that parts of one kind give of themselves, from before the first request to after the last answer: warm-up and drain are
/// in them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToldView {
    /// The parts.
    pub instances: Vec<String>,
    /// Their figures, in the order in which the target's folder lists them.
    pub rows: Vec<ToldRow>,
}

/// One figure of each part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToldRow {
    /// Its name, with what it is of.
    pub name: String,
    /// Value of each part, in their order.
    pub values: Vec<Option<f64>>,
    /// The same as people read them; `–` where a part says nothing.
    pub texts: Vec<String>,
}
