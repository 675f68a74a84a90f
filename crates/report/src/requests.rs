//! Figures of each request of a load: counts, and latency over the blocks.

use std::collections::BTreeMap;

use tare_schema::load::session::SESSION_NAME;
use tare_schema::metric::Unit;
use tare_schema::record::TrialRecord;
use tare_schema::view::{RequestColumn, RequestFigure, RequestView};
use tare_stats::Latencies;

use crate::cells::median;
use crate::latency::{self, ByRequest, MaybeLowerBound};
use crate::measure::TrialMetrics;
use crate::quantity;

/// The figures of one request in one trial; those with too few observations are missing.
pub type RequestFigures = BTreeMap<RequestColumn, MaybeLowerBound>;

/// The figures of each request in a trial.
pub fn figures(by_request: &ByRequest) -> BTreeMap<String, RequestFigures> {
    let of = |latencies: &Latencies| {
        RequestColumn::ALL
            .iter()
            .filter_map(|column| Some((*column, figure(latencies, *column)?)))
            .collect()
    };
    let requests = by_request.iter();
    requests
        .map(|(name, latencies)| (name.clone(), of(latencies)))
        .collect()
}

fn figure(latencies: &Latencies, column: RequestColumn) -> Option<MaybeLowerBound> {
    match column.quantile() {
        None => latency::mean(latencies),
        Some(q) => MaybeLowerBound::quantile(latencies.quantile(q)),
    }
}

/// Every request of a cell, the most frequent first and whole sessions last; empty if there is only one kind.
pub fn requests(fit: &[&TrialMetrics<'_>]) -> Vec<RequestView> {
    let records: Vec<&TrialRecord> = fit.iter().map(|measured| measured.record).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in fit.iter().flat_map(|measured| measured.requests.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.len() < 2 {
        return Vec::new();
    }
    let mut all: Vec<RequestView> = names
        .into_iter()
        .map(|name| RequestView {
            figures: over_blocks(name, fit),
            ..counted(name, &records)
        })
        .collect();
    all.sort_by_key(|request| (request.whole_session, std::cmp::Reverse(request.ok)));
    all
}

fn over_blocks(name: &str, fit: &[&TrialMetrics<'_>]) -> Vec<RequestFigure> {
    let of = |column: RequestColumn| -> Vec<MaybeLowerBound> {
        let each = fit
            .iter()
            .filter_map(|measured| measured.requests.get(name));
        each.filter_map(|figures| figures.get(&column).copied())
            .collect()
    };
    RequestColumn::ALL
        .iter()
        .map(|column| {
            let values = of(*column);
            let value = median(values.iter().map(|figured| Some(figured.value)).collect());
            let figured = value.map(|value| MaybeLowerBound {
                value,
                is_lower_bound: values.iter().any(|v| v.is_lower_bound && v.value <= value),
            });
            RequestFigure {
                column: *column,
                value_ns: figured.map(|figured| figured.value),
                is_lower_bound: figured.is_some_and(|figured| figured.is_lower_bound),
                text: quantity::figure(Unit::Nanoseconds, figured),
            }
        })
        .collect()
}

fn counted(name: &str, records: &[&TrialRecord]) -> RequestView {
    let roles = || records.iter().flat_map(|record| &record.load);
    let mut view = RequestView {
        request: name.to_owned(),
        whole_session: false,
        ok: 0,
        errors: 0,
        unfinished: 0,
        figures: Vec::new(),
    };
    if name == SESSION_NAME && roles().any(|role| role.sessions.is_some()) {
        view.whole_session = true;
        for sessions in roles().filter_map(|role| role.sessions) {
            view.ok += sessions.completed;
            view.errors += sessions.failed;
            view.unfinished += sessions.unfinished;
        }
        return view;
    }
    let outcomes = roles().flat_map(|role| &role.outcomes);
    for outcome in outcomes.filter(|outcome| outcome.request == name) {
        match outcome.class.as_str() {
            "ok" => view.ok += outcome.count,
            "unfinished" => view.unfinished += outcome.count,
            _ => view.errors += outcome.count,
        }
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_stats::Range;

    #[test]
    fn each_request_has_its_own_figures_as_far_as_its_counts_carry() {
        let mut query = Latencies::new(Range::default()).unwrap();
        (1..=1000).for_each(|ms| query.record(ms * 1_000_000));
        let mut login = Latencies::new(Range::default()).unwrap();
        (1..=30).for_each(|ms| login.record(ms * 1_000_000));
        let by_request = [("query".to_owned(), query), ("login".to_owned(), login)];
        let figures = figures(&by_request.into());
        let ms = |name: &str, column| {
            let figured = figures[name].get(&column);
            figured.map(|figured| (figured.value / 1e6).round() as u64)
        };
        let all = RequestColumn::ALL.map(|column| ms("query", column));
        assert_eq!(all, [Some(501), Some(500), Some(900), Some(950), Some(990)]);
        // Of thirty none is the 99th of a hundred.
        assert_eq!(ms("login", RequestColumn::Median), Some(15));
        assert_eq!(ms("login", RequestColumn::P99), None);
    }
}
