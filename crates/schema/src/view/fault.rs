//! Faults injected in a cell's trials, and their effects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cell with faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Faults and their effects, as sentences.
    pub sentences: Vec<String>,
    /// Faults, with median times.
    pub faults: Vec<FaultMark>,
    /// Throughput and latency over time, since the start of the window.
    pub series: Vec<FaultSample>,
    /// Every trial, in order.
    pub trials: Vec<FaultTrial>,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultMark {
    /// Label: `kill broker`.
    pub label: String,
    /// Start of the action since the start of the window, median over trials.
    pub began_ns: u64,
    /// End of the action since the start of the window, median over the trials in which it ended.
    pub done_ns: Option<u64>,
}

/// A sample, medians over trials unless a field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSample {
    /// End of the sample, since the start of the window.
    pub offset_ns: u64,
    /// Length of the sample.
    pub length_ns: u64,
    /// Successful responses per second that arrived in it.
    pub ok_per_s: f64,
    /// Errors that arrived in it, all trials.
    pub errors: u64,
    /// Highest latency of a response that arrived in it.
    pub slowest_ns: Option<u64>,
}

/// A trial with faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultTrial {
    /// Number.
    pub trial: u32,
    /// Faults with subject and time: `kill broker-2 at 5.00 s`.
    pub done: String,
    /// Longest outage: time without a successful response, from the first fault on, at the resolution of samples.
    pub outage_ns: Option<u64>,
    /// Highest latency of the window.
    pub slowest_ns: Option<u64>,
    /// Requests retried.
    pub retried: Option<u64>,
    /// Failed and unfinished exchanges of the window.
    pub errors: u64,
    /// Result of reading records back, if that was done.
    pub read_back: Option<ReadBackView>,
}

/// Result of reading records back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackView {
    /// Records acknowledged.
    pub acknowledged: u64,
    /// Records read back.
    pub read: u64,
    /// Records acknowledged, but not stored.
    pub lost: u64,
    /// Copies of a record beyond the first.
    pub duplicated: u64,
}
