//! The quantiles of a trial that the fitness rules look at.

use std::io::Cursor;
use std::time::Duration;

use tare_schema::agent::{LoadResult, is_status_class};
use tare_stats::{Latencies, Quantile, hlog};

/// A quantile of lateness, the highest up to the 99th that the counts carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// Which: `p99` where there are a thousand arrivals.
    pub name: &'static str,
    /// Its value.
    pub value_ns: u64,
}

/// Quantiles tried for lateness, highest first.
const TRIED: [(&str, f64); 5] = [
    ("p99", 0.99),
    ("p95", 0.95),
    ("p90", 0.9),
    ("p75", 0.75),
    ("median", 0.5),
];

/// Lateness as far as it can be judged; `None` when nothing was released or hardly anything.
#[must_use]
pub fn lateness(result: &LoadResult) -> Option<Lateness> {
    if let Some(value_ns) = result.instrument.lateness.p99_ns {
        return Some(Lateness {
            name: "p99",
            value_ns,
        });
    }
    let all = merged(&result.lateness_hlog, |tag| tag.ends_with(".lateness"))?;
    TRIED
        .iter()
        .find_map(|&(name, q)| value(all.quantile(q)).map(|value_ns| Lateness { name, value_ns }))
}

/// Median of `service` over right answers of all requests, unless there are too few.
#[must_use]
pub fn service_median_ns(result: &LoadResult) -> Option<u64> {
    // A fourth word is the class of an error, or that of a right answer's status.
    let is_right = |tag: &str| match tag.split('.').collect::<Vec<_>>()[..] {
        [_, _, "service"] => true,
        [_, _, "service", status] => is_status_class(status),
        _ => false,
    };
    value(merged(&result.latency_hlog, is_right)?.quantile(0.5))
}

fn value(quantile: Quantile) -> Option<u64> {
    match quantile {
        Quantile::Exact(ns) | Quantile::Above(ns) => Some(ns),
        Quantile::TooFew => None,
    }
}

/// The histograms of all tags wanted, as one.
fn merged(log: &str, wanted: impl Fn(&str) -> bool) -> Option<Latencies> {
    let tags =
        hlog::read_merged(Cursor::new(log.as_bytes()), Duration::ZERO..Duration::MAX).ok()?;
    let mut all: Option<Latencies> = None;
    for (_, latencies) in tags.into_iter().filter(|(tag, _)| wanted(tag)) {
        match &mut all {
            None => all = Some(latencies),
            Some(all) => all.merge(&latencies).ok()?,
        }
    }
    all
}
