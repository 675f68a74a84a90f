//! Metrics of brokers from two readings: rates between them, totals and gauges at the second.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_record::counter::{CounterKind, CounterReading};
use tare_record::schemas::JsonSchema;

/// Metrics of brokers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricsView {
    /// Brokers, in the order in which they were named.
    pub brokers: Vec<BrokerMetrics>,
    /// Topics, added up over the brokers that could be read.
    pub topics: BTreeMap<String, Traffic>,
}

/// Metrics of one broker.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BrokerMetrics {
    /// Where they were read.
    pub at: String,
    /// Why they could not be read, with the next step.
    pub error: Option<String>,
    /// What it told; none when it could not be read.
    pub metrics: Option<Figures>,
}

/// What one broker told. What it does not tell is null, and its name is in `missing`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Seconds between the two readings.
    pub seconds: f64,
    /// It was started again between them: there are no rates.
    pub restarted: bool,
    /// Records from producers.
    pub messages_in: Option<Rate>,
    /// Bytes from producers.
    pub bytes_in: Option<Rate>,
    /// Bytes to consumers.
    pub bytes_out: Option<Rate>,
    /// Bytes of batches that were refused.
    pub bytes_rejected: Option<Rate>,
    /// Bytes copied from other brokers.
    pub replication_bytes_in: Option<Rate>,
    /// Bytes that other brokers copied.
    pub replication_bytes_out: Option<Rate>,
    /// Writes that failed.
    pub failed_produce_requests: Option<Rate>,
    /// Requests by kind: `produce`, `fetch-consumer`, `fetch-follower`.
    pub requests: BTreeMap<String, Requests>,
    /// Partitions it leads that are short of copies, at the second reading.
    pub under_replicated_partitions: Option<f64>,
    /// Copies that fell out of sync.
    pub isr_shrinks: Option<Rate>,
    /// Copies that came back.
    pub isr_expands: Option<Rate>,
    /// Flushes of the log.
    pub log_flushes: Option<Rate>,
    /// Mean time of those between the readings, in milliseconds.
    pub log_flush_mean_ms: Option<f64>,
    /// Heap in use at the second reading, in bytes.
    pub heap_bytes: Option<f64>,
    /// Garbage collections, of all collectors.
    pub gc_pauses: Option<Rate>,
    /// Milliseconds they took.
    pub gc_ms: Option<Rate>,
    /// Topics it has to do with.
    pub topics: BTreeMap<String, Traffic>,
    /// What it does not tell, by the names that reports of runs have.
    pub missing: Vec<String>,
}

/// A counter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// Per second between the readings; null when that cannot be known.
    pub per_s: Option<f64>,
    /// Since the start of the broker, at the second reading.
    pub total: f64,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Requests {
    /// How many.
    pub rate: Option<Rate>,
    /// Mean milliseconds of those between the readings, by phase as Kafka calls it: `Total`, `RequestQueue`, `Local`, `Remote`,
    /// `ResponseQueue`, `ResponseSend`, `Throttle`. Empty when there were none.
    pub mean_ms: BTreeMap<String, f64>,
}

/// What passed through a topic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Records from producers.
    pub messages_in: Option<Rate>,
    /// Bytes from producers.
    pub bytes_in: Option<Rate>,
    /// Bytes to consumers.
    pub bytes_out: Option<Rate>,
}

/// Broker-wide counters that are expected, without the `x-` of their names.
const OF_BROKER: [&str; 20] = [
    "messages-in",
    "bytes-in",
    "bytes-out",
    "bytes-rejected",
    "replication-bytes-in",
    "replication-bytes-out",
    "failed-produce-requests",
    "produce-requests",
    "produce-ms",
    "fetch-consumer-requests",
    "fetch-consumer-ms",
    "fetch-follower-requests",
    "fetch-follower-ms",
    "under-replicated-partitions",
    "isr-shrinks",
    "isr-expands",
    "log-flushes",
    "log-flush-ms",
    "heap-bytes",
    "gc-ms",
];

impl MetricsView {
    /// The brokers, with their topics added up.
    pub fn of(brokers: impl Iterator<Item = BrokerMetrics>) -> MetricsView {
        let brokers: Vec<BrokerMetrics> = brokers.collect();
        let mut topics: BTreeMap<String, Traffic> = BTreeMap::new();
        for metrics in brokers.iter().filter_map(|broker| broker.metrics.as_ref()) {
            for (name, traffic) in &metrics.topics {
                topics.entry(name.clone()).or_default().add(traffic);
            }
        }
        MetricsView { brokers, topics }
    }
}

impl Rate {
    fn plus(self, other: Rate) -> Rate {
        let both = self.per_s.zip(other.per_s);
        Rate {
            per_s: both.map(|(one, two)| one + two),
            total: self.total + other.total,
        }
    }
}

impl Traffic {
    fn add(&mut self, other: &Traffic) {
        for (sum, more) in [
            (&mut self.messages_in, other.messages_in),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_out, other.bytes_out),
        ] {
            *sum = match (*sum, more) {
                (Some(one), Some(two)) => Some(one.plus(two)),
                (one, two) => one.or(two),
            };
        }
    }
}

impl Figures {
    /// The metrics of one broker from two readings.
    pub fn between(before: &[CounterReading], after: &[CounterReading], seconds: f64) -> Figures {
        let two = TwoReadings {
            before,
            after,
            seconds,
            restarted: after.iter().any(|now| {
                // Counters of topics are left out: they come and go with the leadership.
                let counts = now.kind == CounterKind::Counter && now.label.is_none();
                let earlier = value(before, &now.name, None);
                counts && !now.name.ends_with("-ms") && earlier.is_some_and(|then| then > now.value)
            }),
        };
        let flushes = two.delta("x-log-flushes", None);
        let kinds = ["produce", "fetch-consumer", "fetch-follower"];
        let missing = OF_BROKER.iter().filter(|name| {
            let name = format!("x-{name}");
            !after.iter().any(|reading| reading.name == name)
        });
        Figures {
            seconds,
            restarted: two.restarted,
            messages_in: two.rate("x-messages-in", None),
            bytes_in: two.rate("x-bytes-in", None),
            bytes_out: two.rate("x-bytes-out", None),
            bytes_rejected: two.rate("x-bytes-rejected", None),
            replication_bytes_in: two.rate("x-replication-bytes-in", None),
            replication_bytes_out: two.rate("x-replication-bytes-out", None),
            failed_produce_requests: two.rate("x-failed-produce-requests", None),
            requests: kinds
                .map(|kind| (kind.to_owned(), two.requests(kind)))
                .into(),
            under_replicated_partitions: value(after, "x-under-replicated-partitions", None),
            isr_shrinks: two.rate("x-isr-shrinks", None),
            isr_expands: two.rate("x-isr-expands", None),
            log_flushes: two.rate("x-log-flushes", None),
            log_flush_mean_ms: two.mean("x-log-flush-ms", None, flushes),
            heap_bytes: value(after, "x-heap-bytes", None),
            gc_pauses: two.rate_over_labels("x-gc-pauses"),
            gc_ms: two.rate_over_labels("x-gc-ms"),
            topics: two.topics(),
            missing: missing.map(|&name| name.to_owned()).collect(),
        }
    }
}

/// Two readings of one broker.
struct TwoReadings<'a> {
    before: &'a [CounterReading],
    after: &'a [CounterReading],
    seconds: f64,
    restarted: bool,
}

impl TwoReadings<'_> {
    /// Growth of a counter. A labelled one that is missing in the first reading started at 0.
    fn delta(&self, name: &str, label: Option<&str>) -> Option<f64> {
        let after = value(self.after, name, label)?;
        let before = value(self.before, name, label).or(label.map(|_| 0.0))?;
        let is_sound = !self.restarted && after >= before;
        is_sound.then_some(after - before)
    }

    fn rate(&self, name: &str, label: Option<&str>) -> Option<Rate> {
        let total = value(self.after, name, label)?;
        let delta = self.delta(name, label);
        Some(Rate {
            per_s: delta
                .map(|delta| delta / self.seconds)
                .filter(|rate| rate.is_finite()),
            total,
        })
    }

    /// The rate of a counter, summed over its labels.
    fn rate_over_labels(&self, name: &str) -> Option<Rate> {
        let labels = self.labels(name);
        let rates = labels.filter_map(|label| self.rate(name, Some(label)));
        rates.reduce(Rate::plus)
    }

    /// Mean of a sum over the `count` of requests between the readings.
    fn mean(&self, sum: &str, label: Option<&str>, count: Option<f64>) -> Option<f64> {
        let count = count.filter(|count| *count > 0.0)?;
        // The sum was computed as mean × count: rounding may make the difference negative.
        let after = value(self.after, sum, label)?;
        let before = value(self.before, sum, label).or(label.map(|_| 0.0))?;
        Some(((after - before) / count).max(0.0))
    }

    fn requests(&self, kind: &str) -> Requests {
        let (count, sum) = (format!("x-{kind}-requests"), format!("x-{kind}-ms"));
        let delta = self.delta(&count, None);
        let phases = self.labels(&sum);
        Requests {
            rate: self.rate(&count, None),
            mean_ms: phases
                .filter_map(|phase| Some((phase.to_owned(), self.mean(&sum, Some(phase), delta)?)))
                .collect(),
        }
    }

    fn topics(&self) -> BTreeMap<String, Traffic> {
        let names = [
            "x-topic-messages-in",
            "x-topic-bytes-in",
            "x-topic-bytes-out",
        ];
        let topics = names.into_iter().flat_map(|name| self.labels(name));
        topics
            .map(|topic| {
                let [messages_in, bytes_in, bytes_out] =
                    names.map(|name| self.rate(name, Some(topic)));
                let traffic = Traffic {
                    messages_in,
                    bytes_in,
                    bytes_out,
                };
                (topic.to_owned(), traffic)
            })
            .collect()
    }

    fn labels(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self
            .after
            .iter()
            .filter(move |reading| reading.name == name);
        named.filter_map(|reading| reading.label.as_deref())
    }
}

fn value(readings: &[CounterReading], name: &str, label: Option<&str>) -> Option<f64> {
    let mut readings = readings.iter();
    let found = readings.find(|one| one.name == name && one.label.as_deref() == label);
    found.map(|reading| reading.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &str, label: Option<&str>, value: f64, kind: CounterKind) -> CounterReading {
        CounterReading {
            name: name.to_owned(),
            edge: None,
            label: label.map(str::to_owned),
            value,
            kind,
        }
    }

    fn readings(all: &[(&str, Option<&str>, f64)]) -> Vec<CounterReading> {
        let counter = |&(name, label, value): &(&str, Option<&str>, f64)| {
            reading(name, label, value, CounterKind::Counter)
        };
        all.iter().map(counter).collect()
    }

    fn per_s(rate: Option<Rate>) -> Option<f64> {
        rate.and_then(|rate| rate.per_s)
    }

    #[test]
    fn rates_are_of_the_time_between_and_means_of_the_requests_between() {
        let before = readings(&[
            ("x-messages-in", None, 100.0),
            ("x-produce-requests", None, 10.0),
            ("x-produce-ms", Some("Total"), 50.0),
            ("x-topic-bytes-in", Some("a"), 5.0),
            ("x-gc-ms", Some("young"), 1.0),
            ("x-gc-ms", Some("old"), 2.0),
        ]);
        let mut after = readings(&[
            ("x-messages-in", None, 300.0),
            ("x-produce-requests", None, 30.0),
            ("x-produce-ms", Some("Total"), 90.0),
            ("x-topic-bytes-in", Some("a"), 25.0),
            ("x-topic-bytes-in", Some("new"), 4.0),
            ("x-gc-ms", Some("young"), 7.0),
            ("x-gc-ms", Some("old"), 2.0),
        ]);
        after.push(reading("x-heap-bytes", None, 7.0, CounterKind::Gauge));
        let figures = Figures::between(&before, &after, 2.0);
        assert_eq!(per_s(figures.messages_in), Some(100.0));
        assert_eq!(figures.messages_in.unwrap().total, 300.0);
        assert_eq!(figures.requests["produce"].mean_ms["Total"], 2.0);
        assert_eq!(per_s(figures.requests["produce"].rate), Some(10.0));
        assert_eq!(per_s(figures.topics["a"].bytes_in), Some(10.0));
        assert_eq!(per_s(figures.topics["new"].bytes_in), Some(2.0));
        assert_eq!(figures.topics["a"].messages_in, None);
        assert_eq!(per_s(figures.gc_ms), Some(3.0));
        assert_eq!(figures.heap_bytes, Some(7.0));
        assert!(figures.requests["fetch-consumer"].mean_ms.is_empty());
        assert!(figures.missing.contains(&"isr-shrinks".to_owned()));
        assert!(!figures.missing.contains(&"gc-ms".to_owned()));
    }

    #[test]
    fn a_broker_that_was_started_again_has_no_rates_and_a_topic_that_came_back_neither() {
        let before = readings(&[
            ("x-messages-in", None, 100.0),
            ("x-bytes-in", None, 10.0),
            ("x-topic-bytes-in", Some("a"), 5.0),
        ]);
        let after = readings(&[
            ("x-messages-in", None, 3.0),
            ("x-bytes-in", None, 30.0),
            ("x-topic-bytes-in", Some("a"), 4.0),
        ]);
        let figures = Figures::between(&before, &after, 2.0);
        assert!(figures.restarted);
        assert_eq!(per_s(figures.bytes_in), None);
        assert_eq!(figures.bytes_in.unwrap().total, 30.0);
        let figures = Figures::between(&before[2..], &after[2..], 2.0);
        assert!(!figures.restarted);
        assert_eq!(per_s(figures.topics["a"].bytes_in), None);
    }

    #[test]
    fn topics_are_added_up_over_brokers() {
        let broker = |total: f64| {
            let readings = readings(&[("x-topic-messages-in", Some("a"), total)]);
            BrokerMetrics {
                at: "b:1".to_owned(),
                error: None,
                metrics: Some(Figures::between(&readings, &readings, 1.0)),
            }
        };
        let unread = BrokerMetrics {
            at: "c:1".to_owned(),
            error: Some("c:1: gone".to_owned()),
            metrics: None,
        };
        let view = MetricsView::of([broker(3.0), unread, broker(4.0)].into_iter());
        let sum = view.topics["a"].messages_in.unwrap();
        assert_eq!((sum.total, sum.per_s), (7.0, Some(0.0)));
    }
}
