//! Metrics with labels: what OpenMetrics and OTLP have in common, and the list of all that Tare exports.

use std::collections::BTreeMap;

/// A metric.
#[derive(Debug)]
pub struct MetricDef {
    /// Name in OpenMetrics, with its unit at the end and without the `_total` of a counter.
    pub name: &'static str,
    pub kind: MetricKind,
    pub unit: MetricUnit,
    /// Meaning.
    pub about: &'static str,
}

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that can rise and fall.
    Gauge,
    /// A sum since the start of the run.
    Counter,
    /// Quantiles of what was observed, by the label `quantile`.
    Summary,
}

/// Unit of a metric: base units, as OpenMetrics and OpenTelemetry have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// A count, a share or a state.
    Number,
    Seconds,
    Bytes,
    PerSecond,
    BytesPerSecond,
    Cores,
    Ratio,
}

impl MetricUnit {
    /// As at the end of a name in OpenMetrics; empty: none.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            MetricUnit::Number => "",
            MetricUnit::Seconds => "seconds",
            MetricUnit::Bytes => "bytes",
            MetricUnit::PerSecond => "per_second",
            MetricUnit::BytesPerSecond => "bytes_per_second",
            MetricUnit::Cores => "cores",
            MetricUnit::Ratio => "ratio",
        }
    }

    /// As in OpenTelemetry (UCUM).
    #[must_use]
    pub fn ucum(self) -> &'static str {
        match self {
            MetricUnit::Number | MetricUnit::Ratio => "1",
            MetricUnit::Seconds => "s",
            MetricUnit::Bytes => "By",
            MetricUnit::PerSecond => "1/s",
            MetricUnit::BytesPerSecond => "By/s",
            MetricUnit::Cores => "{cpu}",
        }
    }
}

/// Names and values, in order.
pub type Labels = Vec<(&'static str, String)>;

/// Values by metric and labels. Each is there once, however often it is set.
#[derive(Debug, Clone, Default)]
pub struct Metrics(BTreeMap<&'static str, MetricFamily>);

/// The values of one metric.
#[derive(Debug, Clone)]
pub struct MetricFamily {
    pub def: &'static MetricDef,
    pub values: BTreeMap<Labels, f64>,
}

impl Metrics {
    /// Sets a value. What is no number is left out.
    pub fn set(&mut self, def: &'static MetricDef, labels: &[(&'static str, &str)], value: f64) {
        if !value.is_finite() {
            return;
        }
        let labels = labels.iter().map(|(name, value)| (*name, (*value).into()));
        self.family(def).values.insert(labels.collect(), value);
    }

    /// The same, if there is a value.
    pub fn maybe(
        &mut self,
        def: &'static MetricDef,
        labels: &[(&'static str, &str)],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.set(def, labels, value);
        }
    }

    /// Adds all values of others.
    pub fn extend(&mut self, others: Metrics) {
        for family in others.0.into_values() {
            self.family(family.def).values.extend(family.values);
        }
    }

    /// The families, in order of their names.
    pub fn families(&self) -> impl Iterator<Item = &MetricFamily> {
        self.0.values()
    }

    fn family(&mut self, def: &'static MetricDef) -> &mut MetricFamily {
        self.0.entry(def.name).or_insert_with(|| MetricFamily {
            def,
            values: BTreeMap::new(),
        })
    }
}

/// Declares metrics: constant, name, kind, unit, meaning.
macro_rules! metrics {
    ($($constant:ident: $name:literal, $kind:ident, $unit:ident, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub static $constant: MetricDef = MetricDef {
                name: $name,
                kind: MetricKind::$kind,
                unit: MetricUnit::$unit,
                about: $about,
            };
        )*

        /// All of them.
        pub static ALL: &[&MetricDef] = &[$(&$constant),*];
    };
}

metrics! {
    RUN_STATE: "tare_run_state", Gauge, Number,
        "Whether the run is in this state: 1.";
    RUN_LEFT: "tare_run_left_seconds", Gauge, Seconds,
        "Estimated time to the end of a run that is going on.";
    RUN_DURATION: "tare_run_duration_seconds", Gauge, Seconds,
        "Time that the run took.";
    RUN_BLOCKS: "tare_run_blocks", Gauge, Number,
        "Complete blocks of the run.";
    RUN_EXCHANGES: "tare_run_exchanges", Counter, Number,
        "Exchanges of all fit trials of a cell, by outcome.";
    FAILED: "tare_failed_ratio", Gauge, Ratio,
        "Share of exchanges that failed.";
    ASSERTION: "tare_assertion", Gauge, Number,
        "Whether the assertion has this outcome: 1.";
    RESULT_LATENCY: "tare_result_latency_seconds", Gauge, Seconds,
        "Latency of an arm: median over blocks.";
    RESULT_RATE: "tare_result_rate_per_second", Gauge, PerSecond,
        "Exchanges or records per second of an arm: median over blocks.";
    RESULT_THROUGHPUT: "tare_result_throughput_bytes_per_second", Gauge, BytesPerSecond,
        "Bytes per second of an arm: median over blocks.";
    RESULT_EXCHANGE_CPU: "tare_result_exchange_cpu_seconds", Gauge, Seconds,
        "CPU time for an exchange of an arm: median over blocks.";
    RESULT_MEMORY: "tare_result_memory_bytes", Gauge, Bytes,
        "Peak memory of an arm: median over blocks.";
    RESULT_CPU: "tare_result_cpu_cores", Gauge, Cores,
        "Cores that an arm uses: median over blocks.";
    ADDED_LATENCY: "tare_added_latency_seconds", Gauge, Seconds,
        "Latency that an arm adds: estimate and ends of its interval.";
    ADDED_RATE: "tare_added_rate_per_second", Gauge, PerSecond,
        "Exchanges or records per second that an arm adds: estimate and ends of its interval.";
    ADDED_THROUGHPUT: "tare_added_throughput_bytes_per_second", Gauge, BytesPerSecond,
        "Bytes per second that an arm adds: estimate and ends of its interval.";
    ADDED_EXCHANGE_CPU: "tare_added_exchange_cpu_seconds", Gauge, Seconds,
        "CPU time for an exchange that an arm adds: estimate and ends of its interval.";
    ADDED_MEMORY: "tare_added_memory_bytes", Gauge, Bytes,
        "Peak memory that an arm adds: estimate and ends of its interval.";
    ADDED_CPU: "tare_added_cpu_cores", Gauge, Cores,
        "Cores that an arm adds: estimate and ends of its interval.";
    OVERHEAD: "tare_overhead_ratio", Gauge, Ratio,
        "Metric of an arm divided by that of the arm it is compared with: estimate and ends of its interval.";
    VERDICT: "tare_verdict", Gauge, Number,
        "Whether the comparison has this outcome: 1.";
    PART_CPU: "tare_part_cpu_cores", Gauge, Cores,
        "Cores that an instance used: median over blocks.";
    PART_MEMORY: "tare_part_memory_bytes", Gauge, Bytes,
        "Peak resident memory of an instance: median over blocks.";
    TARGET_COUNTER: "tare_target_counter", Gauge, Number,
        "Target counter, broker metrics among them: increase, or last value of a gauge, within a trial; median over trials.";
    TARGET_COUNTER_TIME: "tare_target_counter_time_seconds", Gauge, Seconds,
        "Target counter of time: increase within a trial; median over trials.";
    LIVE_RESPONSES: "tare_live_responses_per_second", Gauge, PerSecond,
        "Responses per second of what is measured now.";
    LIVE_ERRORS: "tare_live_errors_per_second", Gauge, PerSecond,
        "Failed exchanges per second of what is measured now.";
    LIVE_LATENCY: "tare_live_latency_seconds", Summary, Seconds,
        "Latency within the last second.";
    LIVE_LATENESS: "tare_live_lateness_seconds", Gauge, Seconds,
        "99th percentile of the generator's lateness within the last second.";
    LIVE_PART_CPU: "tare_live_part_cpu_cores", Gauge, Cores,
        "Cores that a part uses.";
    LIVE_PART_MEMORY: "tare_live_part_memory_bytes", Gauge, Bytes,
        "Resident memory of a part.";
    LIVE_BACKGROUND_CPU: "tare_live_background_cpu_cores", Gauge, Cores,
        "Cores that programs outside of the run use.";
    KAFKA_UP: "tare_kafka_up", Gauge, Number,
        "Whether the brokers of the cluster answer: 1 or 0.";
    KAFKA_PROBLEMS: "tare_kafka_problems", Gauge, Number,
        "Partitions, brokers or groups with a problem of this kind.";
    KAFKA_GROUP_LAG: "tare_kafka_group_lag_records", Gauge, Number,
        "Records that a consumer group is behind.";
    KAFKA_OUTSIDE_LOG: "tare_kafka_group_commits_outside_log", Gauge, Number,
        "Partitions whose commit of a consumer group lies beyond the end, or before the first offset.";
    KAFKA_RECORDS_IN: "tare_kafka_records_in_per_second", Gauge, PerSecond,
        "Records per second into all topics of the cluster.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_metric_ends_with_its_unit_and_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ALL.iter().map(|def| def.name).collect();
        assert_eq!(names.len(), ALL.len());
        for def in ALL {
            assert!(def.name.ends_with(def.unit.suffix()), "{}", def.name);
            assert!(!def.name.ends_with("_total"), "{}", def.name);
        }
    }

    #[test]
    fn the_dashboard_asks_for_metrics_that_are_there() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/tare.json");
        let dashboard: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap());
        let queries: Vec<&str> = targets
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = queries
            .iter()
            .flat_map(|query| query.split(|c| !is_part(c)));
        let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("tare_")).collect();
        assert!(asked.len() > 8, "{asked:?}");
        for metric in asked {
            assert!(ALL.iter().any(|def| def.name == metric), "{metric}");
        }
    }
}
