//! One trial's record and histograms → the value of each metric.

use std::collections::BTreeMap;

use tare_record::agent::{LoadResult, RecordDirection, RecordFlow};
use tare_record::metric::Metric;
use tare_record::record::{InstanceUsage, TrialRecord};
use tare_record::topology::SHARED_CONTROL_PLANE;
use tare_record::view::TimePoint;
use tare_stats::Latencies;

use crate::latency::{self, MaybeLowerBound, TrialLatency};
use crate::read::Trial;
use crate::requests::{self, RequestFigures};

/// Fewest observations beyond a quantile: with fewer it depends on single exchanges.
const BEYOND: f64 = 10.0;

#[derive(Debug)]
pub struct TrialMetrics<'a> {
    pub record: &'a TrialRecord,
    /// Its values; metrics that could not be measured are missing.
    pub values: BTreeMap<Metric, MaybeLowerBound>,
    /// `latency` second by second.
    pub seconds: Vec<TimePoint>,
    /// `latency` of each request.
    pub requests: BTreeMap<String, RequestFigures>,
}

/// Merged histograms of the trials of one cell.
#[derive(Debug, Default)]
pub struct CellHistograms {
    /// `latency`: successful exchanges, and unfinished ones at their age.
    pub latency: Option<Latencies>,
    /// `response`: response time of the same exchanges.
    pub response: Option<Latencies>,
    /// `service`: service time of those that were sent.
    pub service: Option<Latencies>,
    /// `lateness` of the generator.
    pub lateness: Option<Latencies>,
}

impl CellHistograms {
    /// Adds a trial.
    ///
    /// # Errors
    /// When its histograms were recorded with other settings.
    pub fn add(&mut self, trial: &TrialLatency) -> Result<(), tare_stats::LatenciesError> {
        latency::merge_into(&mut self.latency, trial.latency.window.as_ref())?;
        latency::merge_into(&mut self.response, trial.response.window.as_ref())?;
        latency::merge_into(&mut self.service, trial.service.window.as_ref())?;
        latency::merge_into(&mut self.lateness, trial.lateness.window.as_ref())
    }
}

/// Computes the metrics of a trial; without its histograms only those from the record.
pub fn measure<'a>(trial: &'a Trial, latency: Option<&TrialLatency>) -> TrialMetrics<'a> {
    let record = &trial.record;
    let mut values = BTreeMap::new();
    for metric in Metric::ALL {
        if let Some(value) =
            record_metric(record, metric).or_else(|| latency_metric(latency?, metric))
        {
            values.insert(metric, value);
        }
    }
    let seconds = latency
        .map(|latency| latency.latency.seconds.clone())
        .unwrap_or_default();
    let requests = latency.map(|latency| requests::figures(&latency.by_request));
    TrialMetrics {
        record,
        values,
        seconds,
        requests: requests.unwrap_or_default(),
    }
}

fn latency_metric(trial: &TrialLatency, metric: Metric) -> Option<MaybeLowerBound> {
    let of = match metric {
        Metric::ResponseMedian | Metric::ResponseP99 => &trial.response,
        Metric::ServiceMedian | Metric::ServiceP99 => &trial.service,
        _ => &trial.latency,
    };
    let of = of.window.as_ref()?;
    match (metric, quantile(metric)) {
        (Metric::Mean, _) => latency::mean(of),
        (Metric::Max, _) => MaybeLowerBound::quantile(of.max()?),
        (_, Some((q, _))) => MaybeLowerBound::quantile(of.quantile(q)),
        _ => None,
    }
}

fn record_metric(record: &TrialRecord, metric: Metric) -> Option<MaybeLowerBound> {
    let cpu = |cpu_ns: Option<u64>| per_1000(record, cpu_ns? as f64 / 1e9);
    match metric {
        Metric::Throughput => throughput(record),
        Metric::RecordsProduced => flow(record, RecordDirection::Produced, |flow| Some(flow.count)),
        Metric::BytesProduced => flow(record, RecordDirection::Produced, |flow| flow.bytes),
        Metric::RecordsConsumed => flow(record, RecordDirection::Consumed, |flow| Some(flow.count)),
        Metric::BytesConsumed => flow(record, RecordDirection::Consumed, |flow| flow.bytes),
        Metric::Cpu => cpu(total(under_test(record).map(|part| part.cpu_ns))),
        Metric::CpuTotal => {
            let own = record.instances.iter();
            let own = own.filter(|part| part.role != SHARED_CONTROL_PLANE);
            cpu(total(own.map(|part| part.cpu_ns)))
        }
        Metric::Memory => total(under_test(record).map(|part| part.rss_peak_bytes))
            .filter(|bytes| *bytes > 0)
            .map(|bytes| bytes as f64),
        Metric::MeshCpu => cpu(total(proxies(record).map(|part| part.cpu_ns))),
        Metric::ProxyCpu => cpu(largest(proxies(record).map(|part| part.cpu_ns))),
        Metric::ProxyMemory => {
            largest(proxies(record).map(|part| part.rss_peak_bytes)).map(|bytes| bytes as f64)
        }
        Metric::ControlPlaneCpu => control_plane_cores(record),
        Metric::ControlPlaneMemory => {
            total(control_plane(record).map(|part| part.rss_peak_bytes)).map(|bytes| bytes as f64)
        }
        _ => None,
    }
    .map(MaybeLowerBound::exact)
}

/// Whether an instance is under test: not an agent, a link, the conductor, a program that supports a mesh, or a control plane that
/// serves more than the run.
pub fn is_under_test(part: &InstanceUsage) -> bool {
    let not = [
        "agent",
        "link",
        "conductor",
        "support",
        SHARED_CONTROL_PLANE,
    ];
    !not.contains(&part.role.as_str())
}

/// Proxies: instances under test that are neither applications nor a control plane.
fn proxies(record: &TrialRecord) -> impl Iterator<Item = &InstanceUsage> {
    under_test(record).filter(|part| !["app", "control-plane"].contains(&part.role.as_str()))
}

fn control_plane(record: &TrialRecord) -> impl Iterator<Item = &InstanceUsage> {
    let roles = ["control-plane", SHARED_CONTROL_PLANE];
    let all = record.instances.iter();
    all.filter(move |part| roles.contains(&part.role.as_str()))
}

/// Cores that the control plane used in the window.
fn control_plane_cores(record: &TrialRecord) -> Option<f64> {
    let cpu_ns = total(control_plane(record).map(|part| part.cpu_ns))?;
    let window_ns = record.machine.as_ref()?.window_ns;
    (window_ns > 0).then(|| cpu_ns as f64 / window_ns as f64)
}

/// The largest of several amounts; `None` if there are none, one was not observed, or the largest is 0.
fn largest(amounts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let all: Option<Vec<u64>> = amounts.collect();
    all?.into_iter().max().filter(|largest| *largest > 0)
}

fn under_test(record: &TrialRecord) -> impl Iterator<Item = &InstanceUsage> {
    record.instances.iter().filter(|part| is_under_test(part))
}

/// The sum over parts; `None` if one was not observed, or there are no parts.
fn total(amounts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut amounts = amounts.peekable();
    amounts.peek()?;
    amounts.sum()
}

/// Exchanges completed in a role's window: records, if it counts them, else successful exchanges.
fn completed(role: &LoadResult) -> u64 {
    match &role.flow {
        Some(flow) => flow.count,
        None => role.completed_in_window.ok,
    }
}

/// An amount per 1000 successful exchanges (or records) of the window, all roles. Errors do not count: fast errors must not
/// lower the cost.
pub fn per_1000(record: &TrialRecord, amount: f64) -> Option<f64> {
    let completed: u64 = record.load.iter().map(completed).sum();
    (completed > 0).then(|| amount * in_whole_window(record) * 1000.0 / completed as f64)
}

/// What an amount of the observation is multiplied by to be that of the load's window: the first reading takes a moment. What is observed for longer,
/// until a load has ended by itself, is all that there was.
fn in_whole_window(record: &TrialRecord) -> f64 {
    let observed_ns = record.machine.as_ref().map(|machine| machine.window_ns);
    let window_ns = record.load.iter().map(|role| role.window_ns).max();
    match window_ns.zip(observed_ns) {
        Some((window_ns, observed_ns)) if observed_ns > 0 => {
            (window_ns as f64 / observed_ns as f64).max(1.0)
        }
        _ => 1.0,
    }
}

/// Successful exchanges (or records) per second of the window, all roles.
#[must_use]
pub fn throughput(record: &TrialRecord) -> Option<f64> {
    per_second(record, completed)
}

/// Records, or their bytes, in one direction per second of the window; `None` if no role has that direction.
fn flow(
    record: &TrialRecord,
    direction: RecordDirection,
    amount: fn(&RecordFlow) -> Option<u64>,
) -> Option<f64> {
    let flows = record.load.iter().filter_map(|role| {
        let flow = role
            .flow
            .as_ref()
            .filter(|flow| flow.direction == direction)?;
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

/// Offered rate, all roles; `None` if a role has none.
pub fn offered(record: &TrialRecord) -> Option<f64> {
    record
        .load
        .iter()
        .map(|role| role.offered_per_s)
        .sum::<Option<f64>>()
        .filter(|offered| *offered > 0.0)
}

/// Achieved rate: answers in the window per second, errors included. Exchanges that found the queue full, were unfinished or
/// ended in the drain do not count.
pub fn achieved(record: &TrialRecord) -> Option<f64> {
    per_second(record, |role| {
        let answered = role.completed_in_window;
        answered.ok + answered.errors
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

/// The quantile of a metric, and the number of observations that a trial needs for it: ten beyond it.
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

/// Number of observations of a trial: successful exchanges, and those without an answer.
pub fn observations(record: &TrialRecord) -> u64 {
    let roles = record.load.iter();
    roles
        .map(|role| role.ok + role.unfinished + role.never_sent)
        .sum()
}
