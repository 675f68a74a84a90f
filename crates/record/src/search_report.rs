//! Output of `tare load --search --json` and `--curve --json`.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Search for the highest rate that satisfies an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// Description of the load, without its rate.
    pub load: String,
    /// Objective, `p99 < 5 ms, errors < 0.1 %`.
    pub objective: String,
    /// Highest rate that satisfied the objective; null: none did.
    pub passed_max_per_s: Option<f64>,
    /// Lowest higher rate that failed the objective; null: none did, or the generator was the limit.
    pub failed_min_per_s: Option<f64>,
    /// Whether both rates were repeated, and are as close to each other, as required.
    pub confirmed: bool,
    /// Result as a sentence.
    pub sentence: String,
    /// All probes, in order.
    pub probes: Vec<ProbeReport>,
}

/// A probe: one load at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// Offered rate.
    pub rate_per_s: f64,
    /// Length of the window.
    pub length_ns: u64,
    /// Result of the probe.
    pub verdict: ProbeVerdict,
    /// Measured values, as text.
    pub figures: String,
    /// Why it failed, as text; null: it passed.
    pub reason: Option<String>,
}

/// Result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeVerdict {
    /// Passed: the objective was satisfied.
    Passed,
    /// Failed.
    Failed,
    /// Failed, but the generator was the limit: nothing is known about the target.
    GeneratorLimited,
}

/// Curve of latency over rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// Description of the load, without its rate.
    pub load: String,
    /// Measured rates, in ascending order.
    pub points: Vec<PointReport>,
    /// Knee: the highest rate that the server sustained, below the first that it did not; null: not observed.
    pub knee_per_s: Option<f64>,
}

/// Results at one rate of a curve, all windows together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointReport {
    /// Offered rate.
    pub rate_per_s: f64,
    /// Achieved rate: responses within the windows.
    pub achieved_per_s: f64,
    /// Latency, all outcomes.
    pub latency_ns: QuantilesReport,
    /// Response time (from the intended start), all outcomes.
    pub response_ns: QuantilesReport,
    /// Share of exchanges without a successful response.
    pub errors: f64,
    /// Busy share of the generator's busiest worker, spinning excluded.
    pub generator_busy: f64,
    /// Whether the generator was the limit in any window.
    pub generator_limited: bool,
}

/// Quantiles in ns; null with fewer than ten observations beyond, or where unfinished exchanges enter into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuantilesReport {
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
}
