//! Formats in which other programs read a run or a load: `tare export`, and `export` in suites.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// A format of `tare export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFormat {
    /// OpenMetrics text, as Prometheus and its exporters read it.
    Openmetrics,
    /// OpenTelemetry metrics, sent to a collector (OTLP over HTTP).
    Otlp,
    /// JUnit XML: assertions as test cases.
    Junit,
    /// Bencher Metric Format.
    Bmf,
    /// Custom results of github-action-benchmark.
    GithubActionBenchmark,
    /// CSV for Apache Otava, a row per run.
    Otava,
    /// Result of Fortio.
    Fortio,
    /// Markdown for the summary of a step of GitHub Actions.
    StepSummary,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [ExportFormat; 8] = [
        ExportFormat::Openmetrics,
        ExportFormat::Otlp,
        ExportFormat::Junit,
        ExportFormat::Bmf,
        ExportFormat::GithubActionBenchmark,
        ExportFormat::Otava,
        ExportFormat::Fortio,
        ExportFormat::StepSummary,
    ];

    /// Ending of a file of this format.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            ExportFormat::Openmetrics => "prom",
            ExportFormat::Junit => "xml",
            ExportFormat::Otava => "csv",
            ExportFormat::StepSummary => "md",
            ExportFormat::Otlp
            | ExportFormat::Bmf
            | ExportFormat::GithubActionBenchmark
            | ExportFormat::Fortio => "json",
        }
    }
}
