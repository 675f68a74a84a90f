//! What was found of two cells that are compared: estimate, interval, outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::{Metric, Unit};

/// The difference between a cell and the one it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Arm it is compared with.
    pub against: String,
    /// Level it is compared with; another one only when levels are compared.
    pub against_level: String,
    /// Metric.
    pub metric: Metric,
    /// Unit.
    pub unit: Unit,
    /// Primary, step or descriptive.
    pub family: Family,
    /// Baseline's value.
    pub base: Option<f64>,
    /// Difference in the metric's unit.
    pub added: Option<Interval>,
    /// Ratio to the baseline.
    pub ratio: Option<Interval>,
    /// Outcome.
    pub outcome: Outcome,
    /// Complete pairs behind it.
    pub pairs: u32,
    /// Relative difference that counts as none: the declared share, or the declared amount as a share of this baseline.
    pub margin: Option<f64>,
    /// The margin as it was declared: `5 %`, `20 µs`.
    pub margin_text: String,
    /// Where one of the two was repeated far more often than the other: that it was, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// Difference with interval as people read it: `+0.31 ms (0.28–0.34)`, `–`.
    pub added_text: String,
    /// Relative difference with interval as people read it: `+48 % (43–53)`, `–`.
    pub ratio_text: String,
    /// Outcome in words: `differs`, `changes by less than 5 %`, `undecided; about 4 more blocks would tell`.
    pub outcome_text: String,
}

/// An estimate with its interval; no interval below three blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Which family an interval belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Against the baseline: simultaneous intervals, verdicts.
    Primary,
    /// Against the arm that it extends by one thing: simultaneous intervals of a family of their own.
    Step,
    /// Plain intervals, no verdict.
    Descriptive,
}

/// Outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The difference is real.
    Differs {
        /// … but smaller than what matters.
        within_margin: bool,
    },
    /// Alike within the margin.
    Same,
    /// Not to be told yet.
    Undecided {
        /// Blocks that would tell, if a sensible number would.
        more_blocks: Option<u32>,
    },
    /// Shown with a plain interval and not judged, as a descriptive metric is.
    Described,
    /// No verdict.
    None {
        /// Why.
        why: String,
    },
}
