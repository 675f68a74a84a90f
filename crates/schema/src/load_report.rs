//! What `tare load --json` prints: the plan as it was run, the result, and what may be said of both.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{Calibration, LoadResult, Sample};
use crate::load::LoadPlan;

/// One load, from order to judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of tare.
    pub tare: String,
    /// The load in words.
    pub load: String,
    /// The load as it was run: nothing in it means "default".
    pub plan: LoadPlan,
    /// The rate as asked and as it was.
    pub rate: RateReport,
    /// Latencies by histogram tag, `<role>.<request>.<quantity>[.<error class or status class>]`; `all.latency`, `all.response`
    /// and `all.service` over the right answers to every request, and `all.latency.2xx`, `all.service.3xx` … by the class of their status.
    pub latency_ns: BTreeMap<String, LatencyReport>,
    /// What of this was the generator.
    pub ours: OursReport,
    /// What a reader must know before believing the figures, in sentences.
    pub warnings: Vec<String>,
    /// What was asserted, in the order of the command.
    pub assertions: Vec<AssertionReport>,
    /// The result; its histogram logs are left out, `--hlog` writes them.
    pub result: LoadResult,
    /// What happened in each second.
    pub samples: Vec<Sample>,
}

/// The rate of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateReport {
    /// As asked; null: the load had no rate of its own.
    pub asked_per_s: Option<f64>,
    /// Exchanges that ended within the window, per second; null for a window without length.
    pub completed_per_s: Option<f64>,
    /// Whether 99 % of it was reached; null when none was asked.
    pub reached: Option<bool>,
}

/// A histogram in figures, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReport {
    /// Observations.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Smallest.
    pub min: Option<u64>,
    /// Median. This and the others are null when fewer than ten observations lie beyond.
    pub p50: Option<Figure>,
    /// 75th percentile.
    pub p75: Option<Figure>,
    /// 90th percentile.
    pub p90: Option<Figure>,
    /// 95th percentile.
    pub p95: Option<Figure>,
    /// 99th percentile.
    pub p99: Option<Figure>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<Figure>,
    /// 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<Figure>,
    /// Largest.
    pub max: Option<Figure>,
}

/// A value, or a bound when it reaches into exchanges whose end was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// The value.
    Exact(u64),
    /// It is larger than this.
    Bound {
        /// The bound.
        more_than: u64,
    },
}

/// What of a result was the generator, and whether that was little enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OursReport {
    /// Whether every limit of ours was kept: bunched arrivals, arrivals released, CPU of the workers, stamps.
    pub fit: bool,
    /// Share of the arrivals that left in a burst behind a late wake-up; null where no schedule says when to start.
    pub bunched_share: Option<f64>,
    /// CPU of each worker thread without its spinning, as a share of the window; empty for a window without length.
    pub worker_busy: Vec<f64>,
    /// CPU of the generator for an exchange.
    pub cpu_per_exchange_ns: Option<f64>,
    /// Share of the answers that the kernel stamped.
    pub stamped_by_kernel: Option<f64>,
    /// What the generator finds against a server that does nothing.
    pub calibration: Option<Calibration>,
    /// Median of `latency` in the calibration as a share of this load's: what is not the target's, at most.
    pub calibrated_share: Option<f64>,
}

/// An assertion and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionReport {
    /// As written.
    pub assertion: String,
    /// How it went.
    pub verdict: AssertionVerdict,
    /// Why, in words.
    pub because: String,
}

/// How an assertion went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionVerdict {
    /// It held.
    Held,
    /// It did not.
    Failed,
    /// The observations do not carry an answer; counts as failed.
    CannotBeTold,
}
