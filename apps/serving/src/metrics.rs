//! Metrics of a service, and their page in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn count(&self) {
        self.add(1);
    }

    /// Adds a number.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Resets it to 0.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Upper bounds of the latency buckets, in microseconds.
const BUCKETS_US: [u64; 14] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000,
];

/// A latency histogram.
#[derive(Debug, Default)]
pub struct Latency {
    /// Counts by bucket; the last has no upper bound.
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
    sum_us: AtomicU64,
}

impl Latency {
    /// Records a latency.
    pub fn took(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.partition_point(|end| *end < us);
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    /// The number of recorded latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        let counts = self.buckets.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

/// The type of a metric.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Builds the page: lines of one metric are grouped, each metric with one description.
#[derive(Debug, Default)]
pub struct MetricsPage {
    metrics: BTreeMap<&'static str, (Kind, &'static str, String)>,
}

impl MetricsPage {
    /// Adds a counter.
    pub fn counter(
        &mut self,
        metric: &'static str,
        help: &'static str,
        labels: &str,
        counter: &Counter,
    ) {
        self.line(Kind::Counter, metric, help, labels, counter.get());
    }

    /// Adds a gauge.
    pub fn gauge(&mut self, metric: &'static str, help: &'static str, labels: &str, value: i64) {
        self.line(Kind::Gauge, metric, help, labels, value);
    }

    /// Adds a histogram.
    pub fn latency(
        &mut self,
        metric: &'static str,
        help: &'static str,
        labels: &str,
        of: &Latency,
    ) {
        let lines = self.of(Kind::Histogram, metric, help);
        let mut below = 0;
        let ends = BUCKETS_US.iter().map(|us| format!("{}", *us as f64 / 1e6));
        for (count, end) in of.buckets.iter().zip(ends.chain(["+Inf".to_owned()])) {
            below += count.load(Ordering::Relaxed);
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{metric}_bucket{{{labels},le=\"{end}\"}} {below}");
        }
        let sum = of.sum_us.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(lines, "{metric}_sum{{{labels}}} {sum}");
        let _ = writeln!(lines, "{metric}_count{{{labels}}} {below}");
    }

    fn of(&mut self, kind: Kind, metric: &'static str, help: &'static str) -> &mut String {
        let entry = self.metrics.entry(metric);
        &mut entry.or_insert_with(|| (kind, help, String::new())).2
    }

    fn line(
        &mut self,
        kind: Kind,
        metric: &'static str,
        help: &'static str,
        labels: &str,
        value: impl std::fmt::Display,
    ) {
        let lines = self.of(kind, metric, help);
        let _ = match labels {
            "" => writeln!(lines, "{metric} {value}"),
            labels => writeln!(lines, "{metric}{{{labels}}} {value}"),
        };
    }

    /// The page.
    #[must_use]
    pub fn text(&self) -> String {
        let mut page = String::new();
        for (metric, (kind, help, lines)) in &self.metrics {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let _ = write!(
                page,
                "# HELP {metric} {help}\n# TYPE {metric} {kind}\n{lines}"
            );
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_metric_stand_together_under_one_description() {
        let mut page = MetricsPage::default();
        let counter = Counter::default();
        counter.add(2);
        page.counter("b_total", "Bs.", "edge=\"x\"", &counter);
        page.gauge("a", "As.", "", -1);
        page.counter("b_total", "Bs.", "edge=\"y\"", &Counter::default());
        let expected = "# HELP a As.\n# TYPE a gauge\na -1\n# HELP b_total Bs.\n# TYPE b_total counter\n\
            b_total{edge=\"x\"} 2\nb_total{edge=\"y\"} 0\n";
        assert_eq!(page.text(), expected);
    }

    #[test]
    fn a_latency_counts_in_its_class_and_all_above() {
        let latency = Latency::default();
        for us in [100, 101, 3_000_000] {
            latency.took(Duration::from_micros(us));
        }
        let mut page = MetricsPage::default();
        page.latency("t", "T.", "op=\"find\"", &latency);
        let text = page.text();
        for line in [
            "t_bucket{op=\"find\",le=\"0.0001\"} 1\n",
            "t_bucket{op=\"find\",le=\"0.00025\"} 2\n",
            "t_bucket{op=\"find\",le=\"2.5\"} 2\n",
            "t_bucket{op=\"find\",le=\"+Inf\"} 3\n",
            "t_count{op=\"find\"} 3\n",
            "t_sum{op=\"find\"} 3.000201\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
