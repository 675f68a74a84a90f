//! Failed exchanges: their share in a cell, and the effect on comparisons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

/// Failed exchanges of a cell, over all its fit trials, the baseline's second measurement included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FailedShare {
    /// Share that failed, was unfinished, or was dropped because the queue was full; `None`: nothing was measured.
    pub share: Option<f64>,
    /// The share as text: `3.2 %`, `–`.
    pub text: String,
    /// Largest error classes and sources: `2.9 % status 503 by the target, 0.3 % reset by the peer`; empty without failures.
    pub classes: String,
    /// Word for an exchange: `requests`, or `records` where each is one.
    pub what: String,
    /// Metrics without a verdict because too many exchanges failed.
    pub no_verdict: Vec<Metric>,
}

/// A comparison in which one cell failed too often for a verdict, or more often than the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Arm that it is compared with.
    pub against: String,
    /// Level that it is compared with; differs only when levels are compared.
    pub against_level: String,
    /// Failed exchanges of the arm.
    pub failed: FailedShare,
    /// Failed exchanges of the arm that it is compared with.
    pub against_failed: FailedShare,
    /// Difference of the two shares within blocks, with its unadjusted 95 % interval.
    pub difference: Option<Interval>,
    /// The difference as text, where its interval excludes 0: `3.2 percentage points (3.0–3.4) more`; else `–`.
    pub difference_text: String,
    /// Metrics with verdicts or waterfalls that have no verdict because of failures.
    pub no_verdict: Vec<Metric>,
}
