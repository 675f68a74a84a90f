//! Points of latency curves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One point of a percentile curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Percentile, 0 to 100.
    pub percentile: f64,
    /// Value.
    pub value_ns: u64,
    /// Whether the value is a lower bound, because unfinished exchanges enter into it.
    pub is_lower_bound: bool,
}

/// One point of a latency-over-time chart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimePoint {
    /// Time since the start of the window.
    pub offset_ns: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: Option<u64>,
}
