//! What a trial must not exceed to count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes a trial unfit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fitness {
    /// Lateness p99 above this …
    pub lateness_p99_ns: u64,
    /// … and above this share of the median service time.
    pub lateness_share: f64,
    /// Agent core busier than this share.
    pub agent_busy: f64,
    /// Less than this share of intended arrivals released.
    pub released_share: f64,
    /// Parts' cores busier than this share: saturated (a flag, not unfit).
    pub saturated_busy: f64,
}

impl Default for Fitness {
    /// The limits of the method (docs/METHODOLOGY.md).
    fn default() -> Self {
        Self {
            lateness_p99_ns: 100_000,
            lateness_share: 0.10,
            agent_busy: 0.85,
            released_share: 0.99,
            saturated_busy: 0.80,
        }
    }
}

impl Fitness {
    /// Lateness allowed at the 99th percentile, for a median service time; `None`: nothing was answered.
    #[must_use]
    pub fn lateness_limit_ns(&self, service_p50_ns: Option<u64>) -> u64 {
        let share = service_p50_ns.unwrap_or(0) as f64 * self.lateness_share;
        self.lateness_p99_ns.max(share as u64)
    }
}
