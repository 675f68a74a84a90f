//! What `tare load --search --json` and `--curve --json` print.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A search for the highest rate that keeps an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// The load in words, without its rate.
    pub load: String,
    /// What a rate must keep, `p99 < 5 ms, errors < 0.1 %`.
    pub objective: String,
    /// The highest rate that kept it; null: none did.
    pub kept_per_s: Option<f64>,
    /// The lowest rate above that missed it; null: none did, or the generator was the limit.
    pub missed_per_s: Option<f64>,
    /// Whether both were repeated as often, and came as near to each other, as wanted.
    pub settled: bool,
    /// The answer for people.
    pub sentence: String,
    /// Every try, in its order.
    pub probes: Vec<TryReport>,
}

/// One try of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TryReport {
    /// The rate.
    pub rate_per_s: f64,
    /// Length of its window.
    pub length_ns: u64,
    /// What came of it.
    pub verdict: TryVerdict,
    /// What was measured, in words.
    pub figures: String,
    /// Why it was not kept, in words; null: it was.
    pub because: Option<String>,
}

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TryVerdict {
    /// The objective was kept.
    Kept,
    /// It was missed.
    Missed,
    /// It was missed, and the generator itself was the limit: nothing is known of the target.
    GeneratorLimited,
}

/// A curve of latency over load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// The load in words, without its rate.
    pub load: String,
    /// The rates measured, the lowest first.
    pub points: Vec<PointReport>,
    /// The highest rate that the server carried below the first that it did not; null: none was seen.
    pub knee_per_s: Option<f64>,
}

/// All windows of one rate of a curve, together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointReport {
    /// As asked.
    pub rate_per_s: f64,
    /// As answered within the windows.
    pub answered_per_s: f64,
    /// Latencies over all outcomes.
    pub latency_ns: LatencyReport,
    /// Response times over all outcomes, from the intended start.
    pub response_ns: LatencyReport,
    /// Share of the exchanges without a right answer.
    pub errors: f64,
    /// Share of a core that the generator's busiest worker used, spinning apart.
    pub generator_busy: f64,
    /// Whether the generator itself was the limit in any of the windows.
    pub generator_limited: bool,
}

/// Quantiles in ns; null where fewer than ten observations lie beyond, or where they reach into exchanges without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReport {
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
}
