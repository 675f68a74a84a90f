//! Figures by request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of request, over all fit trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestView {
    /// Name of the request.
    pub request: String,
    /// Whether it is a whole session, thinking times included.
    pub whole_session: bool,
    /// Successful exchanges.
    pub ok: u64,
    /// Failed exchanges.
    pub errors: u64,
    /// Unfinished exchanges.
    pub unfinished: u64,
    /// Latency, in the order of [`RequestColumn::ALL`].
    pub figures: Vec<RequestFigure>,
}

/// A latency figure of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFigure {
    /// Column.
    pub column: RequestColumn,
    /// Median over blocks; `None`: too few observations.
    pub value_ns: Option<f64>,
    /// Whether `value_ns` is a lower bound.
    pub is_lower_bound: bool,
    /// The value as text.
    pub text: String,
}

/// Columns of the request table.
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
    /// All columns, in the order of tables.
    pub const ALL: [RequestColumn; 5] = [
        RequestColumn::Mean,
        RequestColumn::Median,
        RequestColumn::P90,
        RequestColumn::P95,
        RequestColumn::P99,
    ];

    /// Head of the column.
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

    /// Quantile of the column (0 to 1); `None` for the mean.
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
