//! One trial's record and histograms → the value of each metric. Nothing is compared here.

use std::collections::BTreeMap;

use tare_schema::agent::{LoadResult, RecordFlow, RecordWay};
use tare_schema::metric::Metric;
use tare_schema::record::{PartUsage, TrialRecord};
use tare_schema::view::TimePoint;
use tare_stats::Latencies;

use crate::latency::{self, Figured, TrialLatency};
use crate::read::Trial;
use crate::requests::{self, RequestFigures};

/// Observations beyond a quantile that is printed: fewer tell of single exchanges.
const BEYOND: f64 = 10.0;

/// A trial with its figures.
#[derive(Debug)]
pub struct Measured<'a> {
    /// Its record.
    pub record: &'a TrialRecord,
    /// Its values; a metric that is missing could not be measured.
    pub values: BTreeMap<Metric, Figured>,
    /// `latency` second by second.
    pub seconds: Vec<TimePoint>,
    /// `latency` of each request.
    pub requests: BTreeMap<String, RequestFigures>,
}

/// What the trials of one cell observed, merged.
#[derive(Debug, Default)]
pub struct Merged {
    /// `latency`: right answers, and those that never came at their age.
    pub latency: Option<Latencies>,
    /// `response`: the same exchanges from their intended starts.
    pub response: Option<Latencies>,
    /// `service`: the same of what was sent.
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
        latency::pour(&mut self.latency, trial.latency.window.as_ref())?;
        latency::pour(&mut self.response, trial.response.window.as_ref())?;
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
        .map(|latency| latency.latency.seconds.clone())
        .unwrap_or_default();
    let requests = latency.map(|latency| requests::figures(&latency.by_request));
    Measured {
        record,
        values,
        seconds,
        requests: requests.unwrap_or_default(),
    }
}

fn of_latency(trial: &TrialLatency, metric: Metric) -> Option<Figured> {
    let latency = trial.latency.window.as_ref();
    let response = trial.response.window.as_ref();
    let service = trial.service.window.as_ref();
    let quantile = |of: Option<&Latencies>, q: f64| Figured::quantile(of?.quantile(q));
    match metric {
        Metric::Mean => latency::mean(latency?),
        Metric::Median => quantile(latency, 0.5),
        Metric::P90 => quantile(latency, 0.9),
        Metric::P99 => quantile(latency, 0.99),
        Metric::P999 => quantile(latency, 0.999),
        Metric::Max => Figured::quantile(latency?.max()?),
        Metric::ResponseMedian => quantile(response, 0.5),
        Metric::ResponseP99 => quantile(response, 0.99),
        Metric::ServiceMedian => quantile(service, 0.5),
        Metric::ServiceP99 => quantile(service, 0.99),
        Metric::Throughput
        | Metric::RecordsWritten
        | Metric::BytesWritten
        | Metric::RecordsRead
        | Metric::BytesRead
        | Metric::Cpu
        | Metric::CpuTotal
        | Metric::Memory
        | Metric::MeshCpu
        | Metric::ProxyCpu
        | Metric::ProxyMemory => None,
    }
}

fn of_record(record: &TrialRecord, metric: Metric) -> Option<Figured> {
    match metric {
        Metric::Throughput => throughput(record),
        Metric::RecordsWritten => flow(record, RecordWay::Written, |flow| Some(flow.count)),
        Metric::BytesWritten => flow(record, RecordWay::Written, |flow| flow.bytes),
        Metric::RecordsRead => flow(record, RecordWay::Read, |flow| Some(flow.count)),
        Metric::BytesRead => flow(record, RecordWay::Read, |flow| flow.bytes),
        Metric::Cpu => {
            let cpu_ns = observed(under_test(record).map(|part| part.cpu_ns));
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::CpuTotal => {
            let cpu_ns = observed(record.parts.iter().map(|part| part.cpu_ns));
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::Memory => observed(under_test(record).map(|part| part.rss_peak_bytes))
            .filter(|bytes| *bytes > 0)
            .map(|bytes| bytes as f64),
        Metric::MeshCpu => {
            let cpu_ns = observed(proxies(record).map(|part| part.cpu_ns));
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::ProxyCpu => {
            let cpu_ns = most(proxies(record).map(|part| part.cpu_ns));
            per_1000(record, cpu_ns? as f64 / 1e9)
        }
        Metric::ProxyMemory => {
            most(proxies(record).map(|part| part.rss_peak_bytes)).map(|bytes| bytes as f64)
        }
        _ => None,
    }
    .map(Figured::exact)
}

/// Whether an instance belongs to what is measured, not to what measures or makes the distance between sites.
pub fn is_under_test(part: &PartUsage) -> bool {
    !["agent", "link", "conductor"].contains(&part.role.as_str())
}

/// What stands between the parts: neither an app nor what measures.
fn proxies(record: &TrialRecord) -> impl Iterator<Item = &PartUsage> {
    under_test(record).filter(|part| part.role != "app")
}

/// The largest of several amounts; `None` when one of them was not observed, or there is none.
fn most(amounts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let all: Option<Vec<u64>> = amounts.collect();
    all?.into_iter().max().filter(|most| *most > 0)
}

fn under_test(record: &TrialRecord) -> impl Iterator<Item = &PartUsage> {
    record.parts.iter().filter(|part| is_under_test(part))
}

/// The sum over parts; `None` when one of them was not observed, or there is none: nothing is not 0.
fn observed(amounts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut amounts = amounts.peekable();
    amounts.peek()?;
    amounts.sum()
}

/// What a role's window achieved: records that were read, where an exchange brings many of them, else right answers.
fn done(role: &LoadResult) -> u64 {
    match &role.flow {
        Some(flow) => flow.count,
        None => role.answered_in_window.right,
    }
}

/// Per 1000 right answers (or records) that arrived in the window, all roles: the window is what the amount was observed over, and
/// an error that comes fast must not look cheap.
pub fn per_1000(record: &TrialRecord, amount: f64) -> Option<f64> {
    let done: u64 = record.load.iter().map(done).sum();
    (done > 0).then(|| amount * 1000.0 / done as f64)
}

/// Right answers (or records) that arrived in the window per second, all roles.
fn throughput(record: &TrialRecord) -> Option<f64> {
    per_second(record, done)
}

/// Records, or their bytes, that went one way per second of the window; `None` when nobody sent any that way.
fn flow(
    record: &TrialRecord,
    way: RecordWay,
    amount: fn(&RecordFlow) -> Option<u64>,
) -> Option<f64> {
    let flows = record.load.iter().filter_map(|role| {
        let flow = role.flow.as_ref().filter(|flow| flow.way == way)?;
        Some((flow, role.window_ns))
    });
    let mut flows = flows.peekable();
    flows.peek()?;
    flows
        .map(|(flow, window_ns)| {
            (window_ns > 0).then_some(amount(flow)? as f64 * 1e9 / window_ns as f64)
        })
        .sum()
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

/// Answers that arrived in the window per second: what was carried of the rate asked for. Those that found the queue full, never
/// ended or ended only in the drain were not.
pub fn carried(record: &TrialRecord) -> Option<f64> {
    per_second(record, |role| {
        let answered = role.answered_in_window;
        answered.right + answered.errors
    })
}

fn per_second(record: &TrialRecord, count: fn(&LoadResult) -> u64) -> Option<f64> {
    record
        .load
        .iter()
        .map(|role| (role.window_ns > 0).then(|| count(role) as f64 * 1e9 / role.window_ns as f64))
        .sum::<Option<f64>>()
        .filter(|_| !record.load.is_empty())
}

/// The quantile that a metric is, and the observations of a trial that it needs: ten beyond it.
pub fn quantile(metric: Metric) -> Option<(f64, u64)> {
    let q = match metric {
        Metric::Median | Metric::ResponseMedian | Metric::ServiceMedian => 0.5,
        Metric::P90 => 0.9,
        Metric::P99 | Metric::ResponseP99 | Metric::ServiceP99 => 0.99,
        Metric::P999 => 0.999,
        _ => return None,
    };
    Some((q, (BEYOND / (1.0 - q)).round() as u64))
}

/// Observations of a trial: what was answered rightly or never.
pub fn observations(record: &TrialRecord) -> u64 {
    let roles = record.load.iter();
    roles.map(|role| role.right + role.unfinished).sum()
}
