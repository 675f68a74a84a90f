//! Flow of records of one agent within the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Records that one agent wrote or read within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordFlow {
    /// Direction of the flow.
    pub direction: RecordDirection,
    /// Number of records: acknowledged when written, arrived when read.
    pub count: u64,
    /// Bytes of keys and values, or of whole batches where a consumer does not decode them; `None`: unknown.
    pub bytes: Option<u64>,
    /// Records with a negative age among those read, see [`super::RecordCounts`]; `None` for written ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_ages: Option<u64>,
}

/// Direction of a record flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordDirection {
    /// Written by the agent.
    Written,
    /// Read by the agent.
    Read,
}
