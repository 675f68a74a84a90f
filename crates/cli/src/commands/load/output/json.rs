//! The report of a load as JSON, in the shape of docs/schema/load-report.json.

use std::collections::BTreeMap;

use tare_lab::doctor::describe;
use tare_load::LoadOutcome;
use tare_record::FORMAT_VERSION;
use tare_record::agent::Sample;
use tare_record::load::LoadPlan;
use tare_record::load_report::{LatencyReport, LoadReport, QuantileValue, RateReport};
use tare_record::record::MachineRecord;
use tare_record::secrets::redacted;
use tare_stats::{Latencies, Quantile};

use crate::commands::load::summary::Summary;

/// The report, without the histogram logs, which `--hlog` writes.
pub fn report(
    summary: &Summary<'_>,
    plan: &LoadPlan,
    outcome: &LoadOutcome,
    (samples, labels): (Vec<Sample>, Option<&str>),
) -> LoadReport {
    let mut latency_ns: BTreeMap<String, LatencyReport> = outcome
        .totals
        .iter()
        .filter_map(|(tag, total)| Some((tag.clone(), latency_report(&total.latencies().ok()?))))
        .collect();
    for (tag, latencies) in [
        ("all.latency", outcome.latency()),
        ("all.response", outcome.response()),
        ("all.service", outcome.service()),
    ] {
        latency_ns.extend(latencies.map(|latencies| (tag.to_owned(), latency_report(&latencies))));
    }
    for quantity in ["latency", "service"] {
        for (status, latencies) in outcome.by_status(quantity) {
            latency_ns.insert(
                format!("all.{quantity}.{status}"),
                latency_report(&latencies),
            );
        }
    }
    let rate = summary.rate;
    let described = describe("local", "", Vec::new());
    LoadReport {
        version: FORMAT_VERSION,
        machine: Some(MachineRecord::from(&described)),
        tare: described.tare,
        tare_build: described.tare_build,
        tare_sha256: described.tare_sha256,
        load: summary.words.to_owned(),
        labels: labels.map(str::to_owned),
        plan: redacted(plan).unwrap_or_else(|_| {
            let mut plan = plan.clone();
            plan.load.requests.clear();
            plan.load.mix.session = None;
            plan
        }),
        rate: RateReport {
            offered_per_s: rate.offered_per_s,
            achieved_per_s: rate.achieved_per_s,
            reached: rate.offered_per_s.map(|_| rate.is_reached()),
        },
        latency_ns,
        generator: summary.generator_check.report.clone(),
        warnings: summary.generator_check.warnings.clone(),
        profiled: summary.profiled.to_vec(),
        assertions: summary.assertions.to_vec(),
        result: outcome.result.clone().without_logs(),
        samples,
    }
}

/// Statistics of a histogram.
pub fn latency_report(latencies: &Latencies) -> LatencyReport {
    let of = |q| figure(latencies.quantile(q));
    LatencyReport {
        count: latencies.count(),
        mean: latencies.mean_ns(),
        min: latencies.min_ns(),
        p50: of(0.5),
        p75: of(0.75),
        p90: of(0.9),
        p95: of(0.95),
        p99: of(0.99),
        p99_9: of(0.999),
        p99_99: of(0.9999),
        max: latencies.max().and_then(figure),
    }
}

fn figure(quantile: Quantile) -> Option<QuantileValue> {
    match quantile {
        Quantile::Exact(ns) => Some(QuantileValue::Exact(ns)),
        Quantile::Above(ns) => Some(QuantileValue::Bound { lower_bound: ns }),
        Quantile::TooFew => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_says_that_it_is_one_and_what_the_counts_do_not_carry_is_null() {
        let mut latencies = Latencies::new(tare_stats::Range::default()).unwrap();
        latencies.record_many(1000, 60);
        (0..40).for_each(|_| latencies.record_unfinished(2000));
        let json = serde_json::to_value(latency_report(&latencies)).unwrap();
        assert_eq!(json["p50"], 1000);
        assert_eq!(json["p75"]["lower_bound"], 2000);
        assert_eq!(json["p99"], serde_json::Value::Null);
    }
}
