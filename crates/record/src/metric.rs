//! The metrics by which arms are compared.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::word_of;

/// The metrics with their labels and units, in the order of tables.
macro_rules! metrics {
    (
        of_benchmarks { $($(#[$meta_of_benchmarks:meta])* $benchmark:ident: $label_of_benchmarks:literal;)* }
        $($(#[$meta:meta])* $name:ident: $label:literal, $unit:ident;)*
    ) => {
        /// A metric of a trial. Latencies are over successful exchanges and over unfinished ones at their age, unless stated otherwise.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Metric {
            $($(#[$meta])* $name,)*
            $($(#[$meta_of_benchmarks])* $benchmark,)*
        }

        impl Metric {
            /// Every metric of a trial, in the order of tables.
            pub const ALL: [Metric; [$($label),*].len()] = [$(Metric::$name),*];

            /// Those of micro-benchmarks, which no trial has.
            pub const OF_BENCHMARKS: [Metric; [$($label_of_benchmarks),*].len()] = [$(Metric::$benchmark),*];

            /// Unit of its values.
            #[must_use]
            pub fn unit(self) -> Unit {
                match self {
                    $(Metric::$name => Unit::$unit,)*
                    $(Metric::$benchmark => Unit::Own,)*
                }
            }

            /// Short name for people.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self {
                    $(Metric::$name => $label,)*
                    $(Metric::$benchmark => $label_of_benchmarks,)*
                }
            }
        }
    };
}

metrics! {
    of_benchmarks {
        /// Value of a micro-benchmark, of which less is better. Its level is the unit, its arm the benchmark.
        Benchmark: "benchmark";
        /// The same where more is better.
        BenchmarkRate: "benchmark (more is better)";
    }
    /// Arithmetic mean of `latency`.
    Mean: "mean", Nanoseconds;
    /// 50th percentile of `latency`.
    Median: "median", Nanoseconds;
    /// 90th percentile of `latency`.
    P90: "p90", Nanoseconds;
    /// 99th percentile of `latency`.
    P99: "p99", Nanoseconds;
    /// 99.9th percentile of `latency`.
    P999: "p99.9", Nanoseconds;
    /// Maximum of `latency`.
    Max: "max", Nanoseconds;
    /// 50th percentile of `response`, the response time from the intended start.
    ResponseMedian: "response median", Nanoseconds;
    /// 99th percentile of `response`, the response time from the intended start.
    ResponseP99: "response p99", Nanoseconds;
    /// 50th percentile of `service`, the service time from sending.
    ServiceMedian: "service median", Nanoseconds;
    /// 99th percentile of `service`, the service time from sending.
    ServiceP99: "service p99", Nanoseconds;
    /// Successful exchanges per second; for consumers whose fetches carry many records, records per second.
    Throughput: "throughput", PerSecond;
    /// Acknowledged records per second.
    RecordsProduced: "records produced", PerSecond;
    /// Bytes of keys and values written per second.
    BytesProduced: "bytes produced", BytesPerSecond;
    /// Records read per second.
    RecordsConsumed: "records consumed", PerSecond;
    /// Bytes of keys and values read per second, or of whole batches where records are not decoded.
    BytesConsumed: "bytes consumed", BytesPerSecond;
    /// CPU-seconds per 1000 completed exchanges, of all parts without agents and conductor.
    Cpu: "CPU per 1000", CpuSecondsPer1000;
    /// CPU-seconds per 1000 completed exchanges, of everything that belongs to the trial.
    CpuTotal: "CPU per 1000, all parts", CpuSecondsPer1000;
    /// Sum of the peak resident memory of all parts without agents and conductor.
    Memory: "peak memory", Bytes;
    /// CPU-seconds per 1000 completed exchanges, of all proxies together: the cost of the mesh.
    MeshCpu: "CPU per 1000, all proxies", CpuSecondsPer1000;
    /// CPU-seconds per 1000 completed exchanges, of the proxy that uses most.
    ProxyCpu: "CPU per 1000, busiest proxy", CpuSecondsPer1000;
    /// Peak resident memory of the largest proxy.
    ProxyMemory: "peak memory, largest proxy", Bytes;
    /// Cores that the control plane of the mesh uses, on average over the window.
    ControlPlaneCpu: "CPU, control plane", Cores;
    /// Sum of the peak resident memory of the control plane's instances.
    ControlPlaneMemory: "peak memory, control plane", Bytes;
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
    /// CPU-seconds per second.
    Cores,
    /// A unit of its own, which the level names: values of micro-benchmarks.
    Own,
}

impl Metric {
    /// Whether higher values are better.
    #[must_use]
    pub fn is_rate(self) -> bool {
        matches!(self.unit(), Unit::PerSecond | Unit::BytesPerSecond)
            || self == Metric::BenchmarkRate
    }

    /// Whether the metric has no value in experiments without proxies, or without records.
    #[must_use]
    pub fn may_be_absent(self) -> bool {
        matches!(
            self,
            Metric::MeshCpu
                | Metric::ProxyCpu
                | Metric::ProxyMemory
                | Metric::ControlPlaneCpu
                | Metric::ControlPlaneMemory
                | Metric::RecordsProduced
                | Metric::BytesProduced
                | Metric::RecordsConsumed
                | Metric::BytesConsumed
        )
    }

    /// Name in files: `p99`, `service-median`.
    #[must_use]
    pub fn name(self) -> String {
        word_of(&self)
    }
}
