//! The metrics by which arms are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A metric of a trial. Latencies are over successful exchanges and over unfinished ones at their age, unless stated otherwise.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Arithmetic mean of `latency`.
    Mean,
    /// 50th percentile of `latency`.
    Median,
    /// 90th percentile of `latency`.
    P90,
    /// 99th percentile of `latency`.
    P99,
    /// 99.9th percentile of `latency`.
    P999,
    /// Maximum of `latency`.
    Max,
    /// 50th percentile of `response`, the response time from the intended start.
    ResponseMedian,
    /// 99th percentile of `response`, the response time from the intended start.
    ResponseP99,
    /// 50th percentile of `service`, the service time from sending.
    ServiceMedian,
    /// 99th percentile of `service`, the service time from sending.
    ServiceP99,
    /// Successful exchanges per second; for consumers whose fetches carry many records, records per second.
    Throughput,
    /// Acknowledged records written per second.
    RecordsWritten,
    /// Bytes of keys and values written per second.
    BytesWritten,
    /// Records read per second.
    RecordsRead,
    /// Bytes of keys and values read per second, or of whole batches where records are not decoded.
    BytesRead,
    /// CPU-seconds per 1000 completed exchanges, of all parts without agents and conductor.
    Cpu,
    /// CPU-seconds per 1000 completed exchanges, of everything that belongs to the trial.
    CpuTotal,
    /// Sum of the peak resident memory of all parts without agents and conductor.
    Memory,
    /// CPU-seconds per 1000 completed exchanges, of all proxies together: the cost of the mesh.
    MeshCpu,
    /// CPU-seconds per 1000 completed exchanges, of the proxy that uses most.
    ProxyCpu,
    /// Peak resident memory of the largest proxy.
    ProxyMemory,
}

/// Unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Exchanges per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// CPU-seconds per 1000 exchanges.
    CpuSecondsPer1000,
    /// Bytes.
    Bytes,
}

impl Metric {
    /// Every metric, in the order of tables.
    pub const ALL: [Metric; 21] = [
        Metric::Mean,
        Metric::Median,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::Max,
        Metric::ResponseMedian,
        Metric::ResponseP99,
        Metric::ServiceMedian,
        Metric::ServiceP99,
        Metric::Throughput,
        Metric::RecordsWritten,
        Metric::BytesWritten,
        Metric::RecordsRead,
        Metric::BytesRead,
        Metric::Cpu,
        Metric::CpuTotal,
        Metric::Memory,
        Metric::MeshCpu,
        Metric::ProxyCpu,
        Metric::ProxyMemory,
    ];

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Metric::Throughput | Metric::RecordsWritten | Metric::RecordsRead => Unit::PerSecond,
            Metric::BytesWritten | Metric::BytesRead => Unit::BytesPerSecond,
            Metric::Cpu | Metric::CpuTotal | Metric::MeshCpu | Metric::ProxyCpu => {
                Unit::CpuSecondsPer1000
            }
            Metric::Memory | Metric::ProxyMemory => Unit::Bytes,
            _ => Unit::Nanoseconds,
        }
    }

    /// Whether higher values are better.
    #[must_use]
    pub fn is_rate(self) -> bool {
        matches!(self.unit(), Unit::PerSecond | Unit::BytesPerSecond)
    }

    /// Whether the metric has no value in experiments without proxies, or without records.
    #[must_use]
    pub fn may_be_absent(self) -> bool {
        matches!(
            self,
            Metric::MeshCpu
                | Metric::ProxyCpu
                | Metric::ProxyMemory
                | Metric::RecordsWritten
                | Metric::BytesWritten
                | Metric::RecordsRead
                | Metric::BytesRead
        )
    }

    /// Name in files: `p99`, `service-median`.
    #[must_use]
    pub fn name(self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written.as_str().unwrap_or_default().to_owned()
    }

    /// Short name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Metric::Mean => "mean",
            Metric::Median => "median",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Max => "max",
            Metric::ResponseMedian => "response median",
            Metric::ResponseP99 => "response p99",
            Metric::ServiceMedian => "service median",
            Metric::ServiceP99 => "service p99",
            Metric::Throughput => "throughput",
            Metric::RecordsWritten => "records written",
            Metric::BytesWritten => "bytes written",
            Metric::RecordsRead => "records read",
            Metric::BytesRead => "bytes read",
            Metric::Cpu => "CPU per 1000",
            Metric::CpuTotal => "CPU per 1000, all parts",
            Metric::Memory => "peak memory",
            Metric::MeshCpu => "CPU per 1000, all proxies",
            Metric::ProxyCpu => "CPU per 1000, busiest proxy",
            Metric::ProxyMemory => "peak memory, largest proxy",
        }
    }
}
