//! Output of `tare load --json`: the plan as run, the result, and its evaluation.

use std::collections::BTreeMap;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{GeneratorCalibration, LoadResult, Sample};
use crate::load::LoadPlan;
use crate::record::MachineRecord;
pub use crate::view::AssertionOutcome;

/// Report of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// Version, revision and date of its build; `None`: it was not made by `scripts/release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tare_build: Option<String>,
    /// SHA-256 of the program `tare`, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tare_sha256: Option<String>,
    /// Description of the load.
    pub load: String,
    /// Labels that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Machine of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// The plan as run, fully resolved.
    pub plan: LoadPlan,
    /// Offered and achieved rate.
    pub rate: RateReport,
    /// Latencies by histogram tag, `<role>.<request>.<quantity>[.<error class or status class>]`; `all.latency`, `all.response`
    /// and `all.service` over successful exchanges of all requests, and, as lower bounds, over those without an answer (`timeout`,
    /// `unfinished`, `never-sent`); `all.latency.2xx`, `all.service.3xx` … over successful ones by status class.
    pub latency_ns: BTreeMap<String, LatencyReport>,
    /// Error and cost of the generator.
    pub generator: GeneratorReport,
    /// Warnings about the validity of the results, as sentences.
    pub warnings: Vec<String>,
    /// Processes whose stacks were sampled meanwhile, which takes CPU time: such a load is not judged, and is in no history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiled: Vec<String>,
    /// Assertions, in the order of the command line.
    pub assertions: Vec<AssertionReport>,
    /// The result without its histogram logs, which `--hlog` writes.
    pub result: LoadResult,
    /// Samples, one per second by default.
    pub samples: Vec<Sample>,
}

/// The rate of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateReport {
    /// Offered rate; null: the load had none.
    pub offered_per_s: Option<f64>,
    /// Exchanges per second that ended within the window; null for a window without length.
    pub achieved_per_s: Option<f64>,
    /// Whether at least 99 % of the offered rate was reached; null without an offered rate.
    pub reached: Option<bool>,
}

/// Statistics of a histogram, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReport {
    /// Number of observations.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Minimum.
    pub min: Option<u64>,
    /// Median. Quantiles are null with fewer than ten observations beyond them.
    pub p50: Option<QuantileValue>,
    /// 75th percentile.
    pub p75: Option<QuantileValue>,
    /// 90th percentile.
    pub p90: Option<QuantileValue>,
    /// 95th percentile.
    pub p95: Option<QuantileValue>,
    /// 99th percentile.
    pub p99: Option<QuantileValue>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<QuantileValue>,
    /// 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<QuantileValue>,
    /// Maximum.
    pub max: Option<QuantileValue>,
}

/// A value, or a lower bound if unfinished exchanges enter into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QuantileValue {
    /// The value.
    Exact(u64),
    /// Lower bound.
    Bound {
        /// The bound: the value is greater.
        lower_bound: u64,
    },
}

/// Error and cost of the generator, and whether it was fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Whether no limit of fitness was exceeded: bunched starts, released starts, CPU of the workers, kernel timestamps.
    pub fit: bool,
    /// Share of bunched starts; null without a schedule.
    pub bunched_share: Option<f64>,
    /// Busy share of each worker in the window, spinning excluded; empty for a window without length.
    pub worker_busy: Vec<f64>,
    /// CPU time of the generator per exchange.
    pub cpu_per_exchange_ns: Option<f64>,
    /// Share of responses with a kernel timestamp.
    pub kernel_timestamp_share: Option<f64>,
    /// Calibration of the generator against a null server.
    pub calibration: Option<GeneratorCalibration>,
    /// Median `latency` of the calibration as a share of this load's: an upper bound of the generator's part.
    pub calibrated_share: Option<f64>,
}

/// An assertion and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionReport {
    /// As written.
    pub assertion: String,
    /// Result of the assertion; undecided, with too few observations, counts as failed.
    pub verdict: AssertionOutcome,
    /// Reason, as text.
    pub reason: String,
}
