//! Figures of a load that was kept: a folder of `tare load --out`, or a result of Fortio.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tare_record::FORMAT_VERSION;
use tare_record::api::{LOAD_REPORT, LatencyBucket, LoadFigures, LoadPercentile, StatusCodeCount};
use tare_record::checksums::{ChecksumError, Checksums};
use tare_record::load_report::{LatencyReport, LoadReport, QuantileValue};
use tare_record::metric::{Metric, Unit};
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_record::view::CurvePoint;

use crate::figures::StoredFigure;
use crate::{latency, quantity};

/// Primary metrics of a load.
pub const LOAD_PRIMARY: [Metric; 3] = [Metric::Median, Metric::P99, Metric::Throughput];
/// Arm of a load without labels.
const NO_LABELS: &str = "load";
/// Most buckets of a histogram of Fortio that are read.
const BUCKETS_MAX: usize = 100_000;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum LoadReadError {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The content is no result of a load.
    #[error("it is no result of Tare or Fortio: {0}")]
    Content(#[from] serde_json::Error),
    /// Its report is not what was written.
    #[error("{LOAD_REPORT}: {0}")]
    Changed(#[from] ChecksumError),
    /// A file beside it is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// It has another format version.
    #[error(
        "it has format version {0}, this tare reads version {FORMAT_VERSION}: use the tare that wrote it, or measure again"
    )]
    Version(u32),
    /// A histogram has too many buckets.
    #[error("its histogram has more than {BUCKETS_MAX} buckets")]
    Buckets,
}

/// The report of a load in its folder.
///
/// # Errors
/// When it cannot be read, or was written by another version.
pub fn report(folder: &Path) -> Result<LoadReport, LoadReadError> {
    let text = read_regular(&folder.join(LOAD_REPORT), JSON_BYTES_MAX)?;
    if let Some(sums) = Checksums::read(folder)? {
        sums.check(LOAD_REPORT, &text)?;
        let of_file = |(name, error): (&str, ChecksumError)| {
            LoadReadError::Damaged(format!("{name}: {error}"))
        };
        sums.check_trial_files(folder).map_err(of_file)?;
    }
    report_of(&text)
}

/// The report of a load in a file: what `tare load --json` printed.
///
/// # Errors
/// As [`report`].
pub fn report_file(file: &Path) -> Result<LoadReport, LoadReadError> {
    report_of(&read_regular(file, JSON_BYTES_MAX)?)
}

fn report_of(text: &[u8]) -> Result<LoadReport, LoadReadError> {
    let report: LoadReport = serde_json::from_slice(text)?;
    match report.version {
        FORMAT_VERSION => Ok(report),
        other => Err(LoadReadError::Version(other)),
    }
}

/// A load as a cell, as it is called in histories and exports.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCell {
    pub experiment: String,
    pub arm: String,
    pub level: String,
    pub figures: Vec<StoredFigure>,
}

/// The cell of a load.
#[must_use]
pub fn cell(report: &LoadReport) -> LoadCell {
    let arm = report.labels.as_deref().unwrap_or(NO_LABELS).to_owned();
    let level = match report.rate.offered_per_s {
        Some(rate) => format!("{rate:.0}/s"),
        None => format!("{} connections", report.plan.load.client.connections),
    };
    LoadCell {
        experiment: format!("load: {}", report.load),
        figures: stored_figures(report, &arm, &level),
        arm,
        level,
    }
}

fn stored_figures(report: &LoadReport, arm: &str, level: &str) -> Vec<StoredFigure> {
    let value = |metric, value, is_lower_bound| StoredFigure {
        arm: arm.to_owned(),
        level: level.to_owned(),
        metric,
        value,
        low: None,
        high: None,
        is_lower_bound,
    };
    type Pick = fn(&LatencyReport) -> Option<&QuantileValue>;
    let quantiles: [(Metric, &str, Pick); 9] = [
        (Metric::Median, "all.latency", |of| of.p50.as_ref()),
        (Metric::P90, "all.latency", |of| of.p90.as_ref()),
        (Metric::P99, "all.latency", |of| of.p99.as_ref()),
        (Metric::P999, "all.latency", |of| of.p99_9.as_ref()),
        (Metric::Max, "all.latency", |of| of.max.as_ref()),
        (Metric::ResponseMedian, "all.response", |of| of.p50.as_ref()),
        (Metric::ResponseP99, "all.response", |of| of.p99.as_ref()),
        (Metric::ServiceMedian, "all.service", |of| of.p50.as_ref()),
        (Metric::ServiceP99, "all.service", |of| of.p99.as_ref()),
    ];
    let quantiles = quantiles.into_iter().filter_map(|(metric, tag, pick)| {
        let (ns, is_lower_bound) = match pick(report.latency_ns.get(tag)?)? {
            QuantileValue::Exact(ns) => (*ns, false),
            QuantileValue::Bound { lower_bound } => (*lower_bound, true),
        };
        Some(value(metric, ns as f64, is_lower_bound))
    });
    let rate = report.rate.achieved_per_s;
    let rate = rate.map(|rate| value(Metric::Throughput, rate, false));
    quantiles.chain(rate).collect()
}

/// What was found, in one line; `None`: no latency was measured.
#[must_use]
pub fn finding(report: &LoadReport) -> Option<String> {
    let latency = report.latency_ns.get("all.latency")?;
    let time = |found: &Option<QuantileValue>| match found {
        Some(QuantileValue::Exact(ns)) => quantity::value(Unit::Nanoseconds, *ns as f64),
        Some(QuantileValue::Bound { lower_bound }) => {
            format!(
                "> {}",
                quantity::value(Unit::Nanoseconds, *lower_bound as f64)
            )
        }
        None => quantity::MISSING.to_owned(),
    };
    let errors = report.result.failed();
    Some(format!(
        "median {}, p99 {}, {}",
        time(&latency.p50),
        time(&latency.p99),
        quantity::counted(errors, "error", "errors")
    ))
}

/// Figures of a report; the curve is made of the histograms in its folder.
#[must_use]
pub fn figures(report: &LoadReport, folder: &Path) -> LoadFigures {
    let read = latency::read_trial(folder, &[]).ok();
    let window = read.and_then(|read| read.latency.window);
    let result = &report.result;
    let latency = report.latency_ns.get("all.latency");
    let mut statuses: Vec<StatusCodeCount> = result
        .ok_by_status
        .iter()
        .map(|one| StatusCodeCount {
            status: one.status.to_string(),
            count: one.count,
        })
        .collect();
    let mut failed: BTreeMap<&str, u64> = BTreeMap::new();
    for outcome in result
        .outcomes
        .iter()
        .filter(|outcome| outcome.class != "ok")
    {
        *failed.entry(&outcome.class).or_default() += outcome.count;
    }
    statuses.extend(failed.into_iter().map(|(class, count)| StatusCodeCount {
        status: class.to_owned(),
        count,
    }));
    LoadFigures {
        tool: format!("tare {}", report.tare),
        target: report.load.clone(),
        labels: report.labels.clone().unwrap_or_default(),
        started_unix_us: Some(result.window_start_unix_us),
        window_ns: result.window_ns,
        offered_per_s: report.rate.offered_per_s,
        achieved_per_s: report.rate.achieved_per_s,
        connections: Some(report.plan.load.client.connections),
        quantity: "latency".to_owned(),
        ok: result.ok,
        errors: result.failed(),
        min_ns: latency.and_then(|latency| latency.min),
        mean_ns: latency.and_then(|latency| latency.mean),
        percentiles: latency.map(percentiles).unwrap_or_default(),
        max_ns: latency.and_then(|latency| value(latency.max.as_ref()).0),
        curve: window.as_ref().map(latency::curve).unwrap_or_default(),
        histogram: window.as_ref().map(latency::histogram).unwrap_or_default(),
        statuses,
    }
}

fn percentiles(latency: &LatencyReport) -> Vec<LoadPercentile> {
    let all = [
        (50.0, &latency.p50),
        (75.0, &latency.p75),
        (90.0, &latency.p90),
        (99.0, &latency.p99),
        (99.9, &latency.p99_9),
    ];
    let of = |(percentile, found): (f64, &Option<QuantileValue>)| {
        let (value_ns, is_lower_bound) = value(found.as_ref());
        LoadPercentile {
            percentile,
            value_ns,
            is_lower_bound,
        }
    };
    all.map(of).to_vec()
}

fn value(found: Option<&QuantileValue>) -> (Option<u64>, bool) {
    match found {
        None => (None, false),
        Some(QuantileValue::Exact(ns)) => (Some(*ns), false),
        Some(QuantileValue::Bound { lower_bound }) => (Some(*lower_bound), true),
    }
}

/// A result of Fortio, as far as it is shown. (`fortio load -json`; the names are Fortio's)
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioResult {
    #[serde(default)]
    labels: String,
    #[serde(default)]
    start_time: String,
    #[serde(rename = "RequestedQPS", default)]
    requested_qps: String,
    #[serde(rename = "ActualQPS")]
    actual_qps: f64,
    actual_duration: u64,
    #[serde(default)]
    num_threads: u32,
    #[serde(default)]
    version: String,
    duration_histogram: FortioHistogram,
    #[serde(default)]
    ret_codes: BTreeMap<String, u64>,
    #[serde(rename = "URL", default)]
    url: String,
    /// The target of a gRPC, TCP or UDP load.
    #[serde(default)]
    destination: String,
}

/// Its histogram, in seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioHistogram {
    count: u64,
    min: f64,
    max: f64,
    avg: f64,
    #[serde(default)]
    data: Option<Vec<FortioBucket>>,
    #[serde(default)]
    percentiles: Option<Vec<FortioPercentile>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioBucket {
    #[serde(default)]
    start: f64,
    end: f64,
    /// Cumulative.
    percent: f64,
    #[serde(default)]
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioPercentile {
    percentile: f64,
    value: f64,
}

/// Figures of a result of Fortio.
///
/// # Errors
/// When the text is none.
pub fn fortio(text: &[u8]) -> Result<LoadFigures, LoadReadError> {
    let result: FortioResult = serde_json::from_slice(text)?;
    let histogram = &result.duration_histogram;
    let buckets = histogram.data.as_deref().unwrap_or_default();
    if buckets.len() > BUCKETS_MAX {
        return Err(LoadReadError::Buckets);
    }
    let any = histogram.count > 0;
    let minimum = any.then(|| point(0.0, histogram.min));
    let curve = buckets
        .iter()
        .map(|bucket| point(bucket.percent, bucket.end));
    let percentiles = histogram.percentiles.iter().flatten();
    let answered: u64 = result
        .ret_codes
        .iter()
        .filter(|(code, _)| is_ok(code))
        .map(|(_, count)| count)
        .sum();
    let started: Option<jiff::Timestamp> = result.start_time.parse().ok();
    Ok(LoadFigures {
        tool: format!("fortio {}", result.version),
        target: if result.url.is_empty() {
            result.destination.clone()
        } else {
            result.url.clone()
        },
        labels: result.labels.clone(),
        started_unix_us: started.and_then(|at| u64::try_from(at.as_microsecond()).ok()),
        window_ns: result.actual_duration,
        offered_per_s: result.requested_qps.parse().ok(),
        achieved_per_s: Some(result.actual_qps).filter(|rate| rate.is_finite()),
        connections: (result.num_threads > 0).then_some(result.num_threads),
        quantity: "service time".to_owned(),
        ok: answered,
        errors: histogram.count.saturating_sub(answered),
        min_ns: any.then(|| ns(histogram.min)),
        mean_ns: any.then_some(histogram.avg * 1e9),
        percentiles: percentiles
            .take(BUCKETS_MAX)
            .map(|one| LoadPercentile {
                percentile: one.percentile,
                value_ns: Some(ns(one.value)),
                is_lower_bound: false,
            })
            .collect(),
        max_ns: any.then(|| ns(histogram.max)),
        curve: minimum.into_iter().chain(curve).collect(),
        histogram: buckets.iter().map(bucket).collect(),
        statuses: result
            .ret_codes
            .iter()
            .map(|(status, count)| StatusCodeCount {
                status: status.clone(),
                count: *count,
            })
            .collect(),
    })
}

/// Status 2xx of HTTP; of gRPC's health check `SERVING`, of TCP and UDP `OK`.
fn is_ok(code: &str) -> bool {
    matches!(code, "SERVING" | "OK") || (code.len() == 3 && code.starts_with('2'))
}

fn point(percentile: f64, seconds: f64) -> CurvePoint {
    CurvePoint {
        percentile,
        value_ns: ns(seconds),
        is_lower_bound: false,
    }
}

fn bucket(found: &FortioBucket) -> LatencyBucket {
    LatencyBucket {
        start_ns: ns(found.start),
        end_ns: ns(found.end),
        count: found.count,
        cumulative_percent: found.percent,
    }
}

/// Seconds as nanoseconds; a negative number or none is 0.
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Fortio 1.68 writes it, with fewer buckets.
    const RESULT: &str = r#"{"RunType":"HTTP","Labels":"echo before","StartTime":"2019-03-01T10:00:00.5Z","RequestedQPS":"1000",
        "RequestedDuration":"10s","ActualQPS":999.5,"ActualDuration":10000000000,"NumThreads":4,"Version":"1.68.0",
        "DurationHistogram":{"Count":10,"Min":0.0002,"Max":0.004,"Sum":0.01,"Avg":0.001,"StdDev":0.0003,
        "Data":[{"Start":0.0002,"End":0.001,"Percent":90,"Count":9},{"Start":0.003,"End":0.004,"Percent":100,"Count":1}],
        "Percentiles":[{"Percentile":50,"Value":0.0006},{"Percentile":99,"Value":0.0039}]},
        "RetCodes":{"200":9,"503":1},"URL":"http://localhost:8080/echo"}"#;

    #[test]
    fn a_result_of_fortio_has_its_own_figures() {
        let found = fortio(RESULT.as_bytes()).unwrap();
        assert_eq!((found.ok, found.errors), (9, 1));
        assert_eq!(found.min_ns, Some(200_000));
        assert_eq!(found.percentiles[1].value_ns, Some(3_900_000));
        assert_eq!(found.started_unix_us, Some(1_551_434_400_500_000));
        let curve: Vec<(f64, u64)> = found
            .curve
            .iter()
            .map(|p| (p.percentile, p.value_ns))
            .collect();
        assert_eq!(
            curve,
            [(0.0, 200_000), (90.0, 1_000_000), (100.0, 4_000_000)]
        );
        let histogram: Vec<(u64, u64, u64)> = found
            .histogram
            .iter()
            .map(|b| (b.start_ns, b.end_ns, b.count))
            .collect();
        assert_eq!(
            histogram,
            [(200_000, 1_000_000, 9), (3_000_000, 4_000_000, 1)]
        );
        assert_eq!(found.histogram[0].cumulative_percent, 90.0);
        assert_eq!(found.offered_per_s, Some(1000.0));
    }

    #[test]
    fn a_text_that_is_no_result_is_refused_and_an_empty_one_has_no_latency() {
        assert!(fortio(b"{}").is_err());
        assert!(fortio(b"[1]").is_err());
        let none = RESULT.replace("\"Count\":10,", "\"Count\":0,");
        let found = fortio(none.as_bytes()).unwrap();
        assert_eq!(
            (found.min_ns, found.mean_ns, found.max_ns),
            (None, None, None)
        );
    }
}
