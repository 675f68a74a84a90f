//! Faults that were injected during a trial, and what was read back after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault that was injected. Times are since the start of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// Planned time.
    pub at_ns: u64,
    /// Start of the action; `None`: not started, because the load had ended.
    pub began_ns: Option<u64>,
    /// End of the action: the instance had exited or was ready again; `None`: not before the end of the load.
    pub done_ns: Option<u64>,
    /// Action: `kill`, `stop`, `start`, `pause`, `resume`, `elect`, `reassign`.
    pub action: String,
    /// Instances or topics that it was applied to.
    pub subjects: Vec<String>,
    /// Result, as a text.
    pub result: String,
    /// Whether the action failed.
    #[serde(default)]
    pub failed: bool,
}

/// Result of reading back all records after a trial and comparing them with the acknowledged ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackRecord {
    /// Name of the topic.
    pub topic: String,
    /// Records acknowledged, warm-up and drain included.
    pub acknowledged: u64,
    /// Records read back, duplicates included.
    pub read: u64,
    /// Records acknowledged, but not stored.
    pub lost: u64,
    /// Copies of a record beyond the first.
    pub duplicated: u64,
    /// Records stored, but never acknowledged.
    pub unacknowledged: u64,
    /// Records out of order within their writer and partition.
    pub reordered: u64,
    /// Records of other runs.
    pub unexpected: u64,
    /// Violated delivery guarantees, as texts.
    pub violations: Vec<String>,
}
