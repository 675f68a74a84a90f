//! One trial's record and histograms → the value of each metric. Nothing is compared here.

use std::collections::BTreeMap;

use tare_schema::metric::Metric;
use tare_schema::record::{PartUsage, TrialRecord};
use tare_schema::view::TimePoint;
use tare_stats::Latencies;

use crate::latency::{self, Figured, TrialLatency};
use crate::read::Trial;

/// A trial with its figures.
#[derive(Debug)]
pub struct Measured<'a> {
    /// Its record.
    pub record: &'a TrialRecord,
    /// Its values; a metric that is missing could not be measured.
    pub values: BTreeMap<Metric, Figured>,
    /// `felt` second by second.
    pub seconds: Vec<TimePoint>,
}

/// What the trials of one cell observed, merged.
#[derive(Debug, Default)]
pub struct Merged {
    /// `felt`: right answers, and unfinished ones at their age.
    pub felt: Option<Latencies>,
    /// `service`: right answers.
    pub service: Option<Latencies>,
    /// `lateness` of the generator.
    pub lateness: Option<Latencies>,
}

impl Merged {
    /// Adds a trial.
    ///
    /// # Errors
    /// When its histograms were recorded with other settings.
    pub fn pour(&mut self, trial: &TrialLatency) -> Result<(), tare_stats::LatenciesError> {
        latency::pour(&mut self.felt, trial.felt.window.as_ref())?;
        latency::pour(&mut self.service, trial.service.window.as_ref())?;
        latency::pour(&mut self.lateness, trial.lateness.window.as_ref())
    }
}

/// Measures a trial; without its histograms only what the record says is known.
pub fn measure<'a>(trial: &'a Trial, latency: Option<&TrialLatency>) -> Measured<'a> {
    let record = &trial.record;
    let mut values = BTreeMap::new();
    for metric in Metric::ALL {
        if let Some(value) = of_record(record, metric).or_else(|| of_latency(latency?, metric)) {
            values.insert(metric, value);
        }
    }
    let seconds = latency
        .map(|latency| latency.felt.seconds.clone())
        .unwrap_or_default();
    Measured {
        record,
        values,
        seconds,
    }
}

fn of_latency(latency: &TrialLatency, metric: Metric) -> Option<Figured> {
    let felt = latency.felt.window.as_ref();
    let service = latency.service.window.as_ref();
    let quantile = |of: Option<&Latencies>, q: f64| Figured::quantile(of?.quantile(q));
    match metric {
        Metric::Mean => latency::mean(felt?),
        Metric::Median => quantile(felt, 0.5),
        Metric::P90 => quantile(felt, 0.9),
        Metric::P99 => quantile(felt, 0.99),
        Metric::P999 => quantile(felt, 0.999),
        Metric::Max => Figured::quantile(felt?.max()?),
        Metric::ServiceMedian => quantile(service, 0.5),
        Metric::ServiceP99 => quantile(service, 0.99),
        Metric::Throughput | Metric::Cpu | Metric::CpuTotal | Metric::Memory => None,
    }
}

fn of_record(record: &TrialRecord, metric: Metric) -> Option<Figured> {
    match metric {
        Metric::Throughput => throughput(record),
        Metric::Cpu => {
            let cpu_ns: Option<u64> = under_test(record).map(|part| part.cpu_ns).sum();
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::CpuTotal => {
            let cpu_ns: Option<u64> = record.parts.iter().map(|part| part.cpu_ns).sum();
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::Memory => under_test(record)
            .map(|part| part.rss_peak_bytes)
            .sum::<Option<u64>>()
            .filter(|bytes| *bytes > 0)
            .map(|bytes| bytes as f64),
        _ => None,
    }
    .map(Figured::exact)
}

/// Whether an instance belongs to what is measured, not to what measures.
pub fn is_under_test(part: &PartUsage) -> bool {
    part.role != "agent" && part.role != "conductor"
}

fn under_test(record: &TrialRecord) -> impl Iterator<Item = &PartUsage> {
    record.parts.iter().filter(|part| is_under_test(part))
}

/// Right answers of a trial, all roles.
pub fn right(record: &TrialRecord) -> u64 {
    record.load.iter().map(|role| role.right).sum()
}

/// Per 1000 right answers: an error that comes fast must not look cheap.
pub fn per_1000(record: &TrialRecord, amount: f64) -> Option<f64> {
    let right = right(record);
    (right > 0).then(|| amount * 1000.0 / right as f64)
}

/// Right answers per second, all roles.
fn throughput(record: &TrialRecord) -> Option<f64> {
    record
        .load
        .iter()
        .map(|role| (role.window_ns > 0).then(|| role.right as f64 * 1e9 / role.window_ns as f64))
        .sum::<Option<f64>>()
        .filter(|_| !record.load.is_empty())
}

/// Rate asked for, all roles; `None` if a role has none.
pub fn offered(record: &TrialRecord) -> Option<f64> {
    record
        .load
        .iter()
        .map(|role| role.offered_per_s)
        .sum::<Option<f64>>()
        .filter(|offered| *offered > 0.0)
}

/// Exchanges of the window that ended, per second: what was carried of the rate asked for. Those that found the queue full or
/// never ended were not.
pub fn carried(record: &TrialRecord) -> Option<f64> {
    record
        .load
        .iter()
        .map(|role| {
            let ended = role.right + role.errors;
            (role.window_ns > 0).then(|| ended as f64 * 1e9 / role.window_ns as f64)
        })
        .sum::<Option<f64>>()
        .filter(|_| !record.load.is_empty())
}
