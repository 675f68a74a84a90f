//! A result in the format of Fortio 1.68 (`fortio load -json`), for Fortio's UI and other tools that read it.
//!
//! Fortio's duration is the time that a thread waited for a call: Tare's `service` over all exchanges. `latency`, which Fortio
//! does not have, is in the labels. What Tare does not measure (sizes of single answers) has a count of 0.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tare_record::load::{ExpectStatus, LoadPlan, Stop};
use tare_stats::{Latencies, Quantile};

use crate::generator::{LoadOutcome, Tag};

/// Version of Fortio whose format this is.
const FORTIO: &str = "1.68.0";

/// Percentiles that Fortio writes by default.
const PERCENTILES: [f64; 5] = [50.0, 75.0, 90.0, 99.0, 99.9];

/// Fortio's code for a call without an answer.
const NO_ANSWER: i32 = -1;

/// A result. The names are Fortio's.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FortioResult {
    run_type: &'static str,
    labels: String,
    start_time: String,
    #[serde(rename = "RequestedQPS")]
    requested_qps: String,
    requested_duration: String,
    #[serde(rename = "ActualQPS")]
    actual_qps: f64,
    actual_duration: u64,
    num_threads: u32,
    version: String,
    duration_histogram: Histogram,
    errors_duration_histogram: Histogram,
    exactly: u64,
    jitter: bool,
    uniform: bool,
    no_catch_up: bool,
    #[serde(rename = "RunID")]
    run_id: u64,
    access_logger_info: &'static str,
    #[serde(rename = "ID")]
    id: String,
    ret_codes: BTreeMap<i32, u64>,
    #[serde(rename = "IPCountMap")]
    ip_count_map: BTreeMap<String, u64>,
    #[serde(rename = "URL")]
    url: String,
    num_connections: u32,
    #[serde(rename = "H2")]
    h2: bool,
    #[serde(rename = "HTTPReqTimeOut")]
    http_req_time_out: u64,
    sizes: Histogram,
    header_sizes: Histogram,
    sockets: Vec<u64>,
    socket_count: u64,
    connection_stats: Histogram,
    abort_on: u32,
}

/// Fortio's histogram: seconds.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Histogram {
    count: u64,
    min: f64,
    max: f64,
    sum: f64,
    avg: f64,
    std_dev: f64,
    data: Option<Vec<Bucket>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    percentiles: Vec<Percentile>,
}

/// A bucket: values above `start` up to `end`, and the cumulative percentage.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Bucket {
    start: f64,
    end: f64,
    percent: f64,
    count: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Percentile {
    percentile: f64,
    value: f64,
}

/// Converts a result. The labels are what Fortio's UI shows beside it.
#[must_use]
pub fn result(plan: &LoadPlan, url: &str, labels: String, outcome: &LoadOutcome) -> FortioResult {
    let load = &plan.load;
    let found = &outcome.result;
    let started = jiff::Timestamp::from_microsecond(
        i64::try_from(found.window_start_unix_us).unwrap_or(i64::MAX),
    )
    .unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let answered = found.completed_in_window;
    let seconds = found.window_ns as f64 / 1e9;
    let connections = load.client.connections;
    let histogram = |wanted: &dyn Fn(&Tag<'_>) -> bool| {
        outcome
            .sum(|tag| tag.quantity == "service" && wanted(tag))
            .map_or_else(Histogram::default, |latencies| Histogram::of(&latencies))
    };
    FortioResult {
        run_type: if load.client.protocol == "grpc" {
            "GRPC"
        } else {
            "HTTP"
        },
        start_time: started.to_string(),
        requested_qps: load
            .pacing
            .offered_per_s(found.intended, found.window_ns)
            .map_or_else(|| "max".into(), |rate_per_s| rate_per_s.to_string()),
        requested_duration: match load.stop {
            Stop::Duration { window_ns } => format!("{:?}", Duration::from_nanos(window_ns)),
            Stop::Count { exchanges } => format!("exactly {exchanges} calls"),
            Stop::Interrupted => "until stop".into(),
        },
        actual_qps: if seconds > 0.0 {
            (answered.ok + answered.errors) as f64 / seconds
        } else {
            0.0
        },
        actual_duration: found.window_ns,
        // A thread of Fortio has one connection.
        num_threads: connections,
        version: format!("{FORTIO} shape by tare {}", env!("CARGO_PKG_VERSION")),
        duration_histogram: histogram(&|_| true),
        errors_duration_histogram: histogram(&|tag| tag.class.is_some()),
        exactly: match load.stop {
            Stop::Count { exchanges } => exchanges,
            Stop::Duration { .. } | Stop::Interrupted => 0,
        },
        jitter: false,
        // Tare's connections start staggered, and late starts are caught up.
        uniform: true,
        no_catch_up: false,
        run_id: 0,
        access_logger_info: "",
        id: id(started, &labels),
        labels,
        ret_codes: ret_codes(plan, outcome),
        ip_count_map: plan
            .endpoint
            .addresses
            .first()
            .map(|address| (address.to_string(), found.connections.opened))
            .into_iter()
            .collect(),
        url: url.to_owned(),
        num_connections: 1,
        h2: load.client.protocol != "http1",
        http_req_time_out: load.timeout_ns,
        sizes: Histogram::default(),
        header_sizes: Histogram::default(),
        sockets: vec![found.connections.opened],
        socket_count: found.connections.opened,
        connection_stats: outcome
            .sum(|tag| tag.quantity == "connect")
            .map_or_else(Histogram::default, |connect| Histogram::of(&connect)),
        abort_on: 0,
    }
}

/// Fortio's id: time and labels, of letters, digits and `_`. Its UI uses it as the file name.
fn id(started: jiff::Timestamp, labels: &str) -> String {
    let time: String = started
        .to_string()
        .chars()
        .filter(char::is_ascii_digit)
        .take(14)
        .collect();
    let labels: String = labels
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(64)
        .collect();
    match (time.get(..4), time.get(4..6), time.get(6..8), time.get(8..)) {
        (Some(year), Some(month), Some(day), Some(clock)) => {
            format!("{year}-{month}-{day}-{clock}_{labels}")
        }
        _ => labels,
    }
}

/// Counts by code: successes under their status, or under the expected one of a gRPC call (default 0); errors under their own.
fn ret_codes(plan: &LoadPlan, outcome: &LoadOutcome) -> BTreeMap<i32, u64> {
    let statuses = &outcome.result.ok_by_status;
    let mut codes: BTreeMap<i32, u64> = statuses
        .iter()
        .map(|seen| (i32::from(seen.status), seen.count))
        .collect();
    for seen in &outcome.result.outcomes {
        let code = if seen.class == "ok" {
            if !statuses.is_empty() {
                continue;
            }
            let request = plan.load.requests.iter().find(|r| r.name == seen.request);
            match request.map(|request| &request.expect.status) {
                Some(&ExpectStatus::Exactly(status)) => i32::from(status),
                _ => 0,
            }
        } else {
            let code = seen.class.rsplit('-').next().map(str::parse::<i32>);
            code.and_then(Result::ok).unwrap_or(NO_ANSWER)
        };
        *codes.entry(code).or_insert(0) += seen.count;
    }
    codes
}

impl Histogram {
    fn of(latencies: &Latencies) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let count = latencies.count();
        let avg = latencies.mean_ns().unwrap_or(0.0) / 1e9;
        let mut sum_of_squares = 0.0;
        let mut below = 0;
        let mut max = 0.0;
        let mut data = Vec::new();
        for (low, high, here) in latencies.buckets() {
            below += here;
            let middle = (seconds(low) + seconds(high)) / 2.0;
            sum_of_squares += here as f64 * (middle - avg).powi(2);
            max = seconds(high);
            data.push(Bucket {
                start: seconds(low),
                end: max,
                percent: 100.0 * below as f64 / count.max(1) as f64,
                count: here,
            });
        }
        let percentiles = PERCENTILES
            .iter()
            .filter_map(|&percentile| {
                let value_ns = match latencies.quantile(percentile / 100.0) {
                    Quantile::Exact(ns) | Quantile::Above(ns) => ns,
                    Quantile::TooFew => return None,
                };
                Some(Percentile {
                    percentile,
                    value: seconds(value_ns),
                })
            })
            .collect();
        Self {
            count,
            min: latencies.min_ns().map_or(0.0, seconds),
            max,
            sum: avg * count as f64,
            avg,
            std_dev: (sum_of_squares / count.max(1) as f64).sqrt(),
            data: (!data.is_empty()).then(|| thinned(data)),
            percentiles,
        }
    }
}

/// Fortio's UI draws each bucket: at most this many, of equal ratio of end to start.
const BUCKETS_MAX: f64 = 100.0;

fn thinned(data: Vec<Bucket>) -> Vec<Bucket> {
    let first = data.first().map_or(0.0, |bucket| bucket.end).max(1e-9);
    let last = data.last().map_or(0.0, |bucket| bucket.end).max(first);
    let ratio = ((last / first).ln() / BUCKETS_MAX).max(1e-9);
    let place = |bucket: &Bucket| ((bucket.end.max(first) / first).ln() / ratio).ceil() as u64;
    let mut thin: Vec<Bucket> = Vec::new();
    for bucket in data {
        match thin.last_mut() {
            Some(last) if place(last) == place(&bucket) => {
                last.end = bucket.end;
                last.percent = bucket.percent;
                last.count += bucket.count;
            }
            _ => thin.push(bucket),
        }
    }
    thin
}
