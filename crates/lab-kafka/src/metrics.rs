//! Metrics of brokers from two readings.

use tare_kafka_admin::metrics::{BrokerMetrics, Figures};
use tare_lab::metrics::MetricsReading;

/// The metrics of a broker from a reading and a later one, or why it could not be read.
#[must_use]
pub fn broker_metrics(first: &MetricsReading, second: Option<&MetricsReading>) -> BrokerMetrics {
    let error_of = |reading: &MetricsReading| match &reading.readings {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let error = error_of(first).or_else(|| second.and_then(error_of));
    let metrics = match (&first.readings, second) {
        (Ok(before), Some(second)) => second.readings.as_ref().ok().map(|after| {
            let seconds = second.when.duration_since(first.when).as_secs_f64();
            Figures::between(before, after, seconds)
        }),
        _ => None,
    };
    BrokerMetrics {
        at: first.at.clone(),
        error,
        metrics,
    }
}
