//! What was done to a cell's test bed during its trials, and what was seen of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One cell that was disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbanceView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// What happened and what came of it, in sentences.
    pub sentences: Vec<String>,
    /// What was done, with median times.
    pub events: Vec<EventMark>,
    /// Answers and their latency around it, from the start of the window.
    pub series: Vec<MomentPoint>,
    /// Every trial, in order.
    pub trials: Vec<DisturbedTrial>,
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventMark {
    /// `kill broker`.
    pub label: String,
    /// From the start of the window to its beginning, median over trials.
    pub began_ns: u64,
    /// Until it was done, median over the trials in which it was.
    pub done_ns: Option<u64>,
}

/// A moment of the trials, medians over them unless a field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MomentPoint {
    /// Its end, from the start of the window.
    pub offset_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Right answers per second that came in it.
    pub right_per_s: f64,
    /// Errors that came in it, all trials.
    pub errors: u64,
    /// Slowest answer that came in it.
    pub slowest_ns: Option<u64>,
}

/// One trial that was disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedTrial {
    /// Number.
    pub trial: u32,
    /// What was done to whom, and when: `kill broker-2 at 5.00 s`.
    pub done: String,
    /// Longest time without a right answer, from the first event on; as fine as the samples.
    pub silent_ns: Option<u64>,
    /// Slowest answer of the window.
    pub slowest_ns: Option<u64>,
    /// Requests sent again.
    pub sent_again: Option<u64>,
    /// Errors and unfinished exchanges of the window.
    pub errors: u64,
    /// What was read back, if anything was.
    pub read_back: Option<ReadBackView>,
    /// The same as people read it, in the order of the table's heads.
    pub texts: Vec<String>,
}

/// What was read back after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackView {
    /// Records that were acknowledged.
    pub acknowledged: u64,
    /// Records that were read back.
    pub read: u64,
    /// Acknowledged, and not there.
    pub lost: u64,
    /// Copies beyond the first.
    pub duplicated: u64,
}
