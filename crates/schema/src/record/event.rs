//! What was done to the test bed during a trial, and what was read back after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was done; times are from the start of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// When it was planned.
    pub at_ns: u64,
    /// When it was begun; `None`: it was not, the load was over before.
    pub began_ns: Option<u64>,
    /// When it was done: the instance had ended, or was ready again; `None`: not before the end of the load, or never.
    pub done_ns: Option<u64>,
    /// `kill`, `stop`, `start`, `pause`, `resume`, `elect`, `reassign`.
    pub act: String,
    /// What it was done to.
    pub to: Vec<String>,
    /// What came of it, in words.
    pub told: String,
    /// Whether it could not be done.
    #[serde(default)]
    pub failed: bool,
}

/// What of the acknowledged records was there after the trial, everything read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackRecord {
    /// The topic.
    pub topic: String,
    /// Records that were acknowledged, warm-up and drain included.
    pub acknowledged: u64,
    /// Records that were read back, every copy.
    pub read: u64,
    /// Acknowledged, and not there.
    pub lost: u64,
    /// Copies beyond the first of a record.
    pub duplicated: u64,
    /// There, though their writers were not told so.
    pub unacknowledged: u64,
    /// Before one of the same writer and partition that was written earlier.
    pub disordered: u64,
    /// Records of somebody else.
    pub foreign: u64,
    /// What had to hold and does not, in words.
    pub broken: Vec<String>,
}
