//! Exchanges that were not answered rightly: how many of a cell, and what that means for two that are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::metric::Metric;

/// How many exchanges of a cell failed, over all its fit trials, a second copy of the baseline included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FailedShare {
    /// Share that ended in an error, was unanswered at the end or found the queue full; `None`: nothing was measured.
    pub share: Option<f64>,
    /// The same as people read it: `3.2 %`, `–`.
    pub text: String,
    /// Its largest classes and whose fault they were: `2.9 % status 503 by the target, 0.3 % reset by the peer`; empty where nothing failed.
    pub classes: String,
    /// What an exchange is called: `requests`, or `records` where each is one.
    pub what: String,
    /// Metrics of which the exchanges that are left tell too little for a verdict.
    pub unjudged: Vec<Metric>,
}

/// Two cells that are compared, where one failed so often that a metric has no verdict, or more often than the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureView {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Arm it is compared with.
    pub against: String,
    /// Level it is compared with; another one only when levels are compared.
    pub against_level: String,
    /// What failed of it.
    pub failed: FailedShare,
    /// What failed of what it is compared with.
    pub against_failed: FailedShare,
    /// Difference of the two shares within blocks, with its plain 95 % interval.
    pub difference: Option<Interval>,
    /// The difference as people read it, where its interval excludes 0: `3.2 percentage points (3.0–3.4) more`; else `–`.
    pub difference_text: String,
    /// Judged metrics, and those that are taken apart, without a verdict for it.
    pub no_verdict: Vec<Metric>,
}
