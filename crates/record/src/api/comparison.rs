//! Runs and loads side by side.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::metric::Unit;
use crate::view::CurvePoint;

/// Figures of one load, of Tare or of Fortio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigures {
    /// Program that measured: `tare 0.1.0`, `fortio 1.68.0`.
    pub tool: String,
    /// URL or description.
    pub target: String,
    /// Labels, as text.
    pub labels: String,
    /// Start, µs since the epoch; `None`: unknown.
    pub started_unix_us: Option<u64>,
    /// Length of the window.
    pub window_ns: u64,
    /// Offered rate; `None`: as fast as possible, or closed loop.
    pub offered_per_s: Option<f64>,
    /// Rate of responses.
    pub achieved_per_s: Option<f64>,
    /// Connections.
    pub connections: Option<u32>,
    /// What the latencies are: `latency` of Tare (arrival − release), `service time` of Fortio (arrival − send).
    pub quantity: String,
    /// Successful exchanges.
    pub ok: u64,
    /// Failed and unfinished exchanges.
    pub errors: u64,
    /// Minimum.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Percentiles, in order.
    pub percentiles: Vec<LoadPercentile>,
    /// Maximum.
    pub max_ns: Option<u64>,
    /// Latency by percentile.
    pub curve: Vec<CurvePoint>,
    /// Latencies by bucket, in order; empty where only percentiles are known, and in a list of loads. Unfinished exchanges count
    /// at their age.
    pub histogram: Vec<LatencyBucket>,
    /// Responses by status.
    pub statuses: Vec<StatusCodeCount>,
}

/// Latencies within two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBucket {
    /// Lower bound.
    pub start_ns: u64,
    /// Upper bound.
    pub end_ns: u64,
    /// Number of latencies.
    pub count: u64,
    /// Percentage of all latencies that are in this bucket or before it.
    pub cumulative_percent: f64,
}

/// A percentile of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPercentile {
    /// Percentile, 0 to 100.
    pub percentile: f64,
    /// Value; `None`: too few observations.
    pub value_ns: Option<u64>,
    /// Whether the value is a lower bound, because unfinished exchanges enter into it.
    pub is_lower_bound: bool,
}

/// Responses with one status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCodeCount {
    /// Status, or the class of the error.
    pub status: String,
    /// Number of responses.
    pub count: u64,
}

/// `GET /api/v1/compare?run=A&run=B`: runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOverlay {
    /// The runs, as asked for.
    pub runs: Vec<RunFigures>,
    /// What differs in plan, versions and machine from the first run, one list per further run.
    pub changed: Vec<Vec<String>>,
    /// With two runs: what `tare compare --json` prints; `None` where they are not comparable.
    pub comparison: Option<Value>,
    /// Why they are not comparable.
    pub refused: Option<String>,
}

/// Figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFigures {
    /// Name of the run folder.
    pub id: String,
    /// Experiment.
    pub experiment: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Cells in the order of levels and arms.
    pub cells: Vec<RunCell>,
}

/// One arm at one level of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCell {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Latency by percentile, 0 (minimum) to 100 (maximum), trials merged.
    pub curve: Vec<CurvePoint>,
    /// Minimum, trials merged.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Percentiles 50, 75, 90, 99 and 99.9: medians over blocks; of 75, trials merged.
    pub percentiles: Vec<LoadPercentile>,
    /// Maximum.
    pub max_ns: Option<u64>,
    /// Throughput.
    pub throughput: Option<f64>,
    /// Unit of the throughput.
    pub throughput_unit: Unit,
}
