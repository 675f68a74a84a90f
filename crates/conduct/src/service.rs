//! The median service time of a trial, which the fitness rule measures lateness against.

use std::io::Cursor;
use std::time::Duration;

use tare_schema::agent::LoadResult;
use tare_stats::{Quantile, hlog};

/// Median of `service` over right answers of all requests, unless there are too few.
#[must_use]
pub fn median_ns(result: &LoadResult) -> Option<u64> {
    let tags = hlog::read_merged(
        Cursor::new(result.latency_hlog.as_bytes()),
        Duration::ZERO..Duration::MAX,
    )
    .ok()?;
    let mut merged = None;
    for (tag, latencies) in tags {
        // `<role>.<request>.service`; a fourth word would be an error class.
        if tag.split('.').count() == 3 && tag.ends_with(".service") {
            match &mut merged {
                None => merged = Some(latencies),
                Some(all) => {
                    tare_stats::Latencies::merge(all, &latencies).ok()?;
                }
            }
        }
    }
    match merged?.quantile(0.5) {
        Quantile::Exact(ns) | Quantile::Above(ns) => Some(ns),
        Quantile::TooFew => None,
    }
}
