//! Records that one agent wrote or read within the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Records of one agent within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordFlow {
    /// Which way they went.
    pub way: RecordWay,
    /// How many: written ones that were taken, read ones that arrived.
    pub count: u64,
    /// Their bytes: of keys and values, or of whole batches where a consumer looks at nothing less; `None`: not known.
    pub bytes: Option<u64>,
    /// Ages below zero of what was read, see [`super::RecordCounts`]; `None` for what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_ages: Option<u64>,
}

/// Which way records went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordWay {
    /// From the agent.
    Written,
    /// To the agent.
    Read,
}
