//! Each request of a load by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request, over all fit trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestView {
    /// Its name.
    pub request: String,
    /// It is a whole session, from its start to its end with all pauses.
    pub whole_session: bool,
    /// Right answers.
    pub right: u64,
    /// Wrong answers, and none.
    pub errors: u64,
    /// Unanswered when a trial ended.
    pub unfinished: u64,
    /// Latency, in the order of [`RequestColumn::ALL`].
    pub figures: Vec<RequestFigure>,
}

/// A figure of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFigure {
    /// Which.
    pub column: RequestColumn,
    /// Median over blocks; `None`: too few observations.
    pub value_ns: Option<f64>,
    /// Whether the true value lies above it.
    pub at_least: bool,
    /// As people read it.
    pub text: String,
}

/// What is said of the latency of a request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RequestColumn {
    /// Arithmetic mean.
    Mean,
    /// Median.
    Median,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
}

impl RequestColumn {
    /// All, in the order of tables.
    pub const ALL: [RequestColumn; 5] = [
        RequestColumn::Mean,
        RequestColumn::Median,
        RequestColumn::P90,
        RequestColumn::P95,
        RequestColumn::P99,
    ];

    /// Head of its column.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            RequestColumn::Mean => "mean",
            RequestColumn::Median => "median",
            RequestColumn::P90 => "p90",
            RequestColumn::P95 => "p95",
            RequestColumn::P99 => "p99",
        }
    }

    /// The share of observations below it; `None` for the mean.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            RequestColumn::Mean => None,
            RequestColumn::Median => Some(0.5),
            RequestColumn::P90 => Some(0.9),
            RequestColumn::P95 => Some(0.95),
            RequestColumn::P99 => Some(0.99),
        }
    }
}
