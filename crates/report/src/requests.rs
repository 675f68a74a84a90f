//! Figures of each request of a load: counts, and latency over the blocks.

use std::collections::BTreeMap;

use tare_record::load::session::SESSION_NAME;
use tare_record::metric::Unit;
use tare_record::record::TrialRecord;
use tare_record::view::{LevelView, Output, Table, TableCell, TableColumn};
use tare_stats::Latencies;

use crate::cells::{distinct, median};
use crate::latency::{self, ByRequest, MaybeLowerBound};
use crate::measure::TrialMetrics;
use crate::quantity;
use crate::tables::TableInputs;

/// Columns of latency: label, quantile (`None`: the mean), and the step at which a narrow terminal omits it.
const COLUMNS: [(&str, Option<f64>, u8); 5] = [
    ("mean", None, 2),
    ("median", Some(0.5), 0),
    ("p90", Some(0.9), 2),
    ("p95", Some(0.95), 1),
    ("p99", Some(0.99), 0),
];

/// The figures of one request in one trial, in the order of the columns; `None`: too few observations.
pub type RequestFigures = [Option<MaybeLowerBound>; COLUMNS.len()];

/// The figures of each request in a trial.
pub fn figures(by_request: &ByRequest) -> BTreeMap<String, RequestFigures> {
    let of = |latencies: &Latencies| {
        COLUMNS.map(|(_, quantile, _)| match quantile {
            None => latency::mean(latencies),
            Some(q) => MaybeLowerBound::quantile(latencies.quantile(q)),
        })
    };
    let requests = by_request.iter();
    requests
        .map(|(name, latencies)| (name.clone(), of(latencies)))
        .collect()
}

/// A row per request and arm of each level, if there are several kinds of requests. Text outputs show the level that the plan
/// names, else the last.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let levels = &source.view.levels;
    let named = source.run.plan.per_request_level.as_ref();
    let named = named.filter(|name| levels.iter().any(|level| level.name == **name));
    let shown = named.or(levels.last().map(|level| &level.name));
    let of_level = |level: &LevelView| {
        let outputs: &[Output] = match shown == Some(&level.name) {
            true => &Output::ALL,
            false => &[Output::Page],
        };
        table(source, level).only(outputs)
    };
    levels.iter().map(of_level).collect()
}

fn table(source: &TableInputs<'_>, level: &LevelView) -> Table {
    let title = "each request by itself, median of the blocks";
    let latency =
        |(label, _, step): &(&str, Option<f64>, u8)| TableColumn::figure(*label).omit(*step);
    let mut table = Table::new("requests-by-kind", "Requests", title)
        .note("“–”: too few of them. A whole session goes from its start to its end, with its pauses.")
        .columns([
            TableColumn::group("request"),
            TableColumn::name("arm"),
            TableColumn::figure("ok"),
            TableColumn::figure("errors"),
        ])
        .columns(COLUMNS.iter().map(latency));
    table.level = Some(level.name.clone());
    let cells = level.cells.iter();
    let of_arms: Vec<(&str, Vec<Request>)> = cells
        .map(|cell| {
            let fit = source.trials.fit(&(cell.arm.clone(), level.name.clone()));
            (cell.arm.as_str(), requests(&fit))
        })
        .collect();
    let all = of_arms.iter().flat_map(|(_, requests)| requests);
    for name in distinct(all.map(|request| request.name.as_str())) {
        for (arm, requests) in &of_arms {
            if let Some(request) = requests.iter().find(|request| request.name == name) {
                table.rows.push(row(arm, request).into());
            }
        }
    }
    table
}

fn row(arm: &str, request: &Request) -> Vec<TableCell> {
    let name = match request.whole_session {
        true => format!("{} (whole)", request.name),
        false => request.name.clone(),
    };
    let latency = |figure: &Option<MaybeLowerBound>| TableCell {
        value: figure.map(|figure| figure.value),
        ..quantity::figure(Unit::Nanoseconds, *figure).into()
    };
    let mut cells = vec![
        name.into(),
        arm.into(),
        request.ok.to_string().into(),
        request.wrong.to_string().into(),
    ];
    cells.extend(request.figures.iter().map(latency));
    cells
}

/// A kind of request, over all fit trials of a cell.
struct Request {
    name: String,
    /// Whether it is a whole session, thinking times included.
    whole_session: bool,
    ok: u64,
    /// Failed and unfinished exchanges.
    wrong: u64,
    figures: RequestFigures,
}

/// Every request of a cell, the most frequent first and whole sessions last; empty if there is only one kind.
fn requests(fit: &[&TrialMetrics<'_>]) -> Vec<Request> {
    let records: Vec<&TrialRecord> = fit.iter().map(|measured| measured.record).collect();
    let names = distinct(fit.iter().flat_map(|measured| measured.requests.keys()));
    if names.len() < 2 {
        return Vec::new();
    }
    let mut all: Vec<Request> = names
        .into_iter()
        .map(|name| Request {
            figures: over_blocks(name, fit),
            ..counted(name, &records)
        })
        .collect();
    all.sort_by_key(|request| (request.whole_session, std::cmp::Reverse(request.ok)));
    all
}

fn over_blocks(name: &str, fit: &[&TrialMetrics<'_>]) -> RequestFigures {
    std::array::from_fn(|column| {
        let of_trials = fit.iter().filter_map(|one| one.requests.get(name));
        let values: Vec<MaybeLowerBound> = of_trials.filter_map(|all| all[column]).collect();
        let value = median(values.iter().map(|one| Some(one.value)).collect())?;
        Some(MaybeLowerBound {
            value,
            is_lower_bound: values.iter().any(|v| v.is_lower_bound && v.value <= value),
        })
    })
}

fn counted(name: &str, records: &[&TrialRecord]) -> Request {
    let roles = || records.iter().flat_map(|record| &record.load);
    let mut request = Request {
        name: name.to_owned(),
        whole_session: false,
        ok: 0,
        wrong: 0,
        figures: [None; COLUMNS.len()],
    };
    if name == SESSION_NAME && roles().any(|role| role.sessions.is_some()) {
        request.whole_session = true;
        for sessions in roles().filter_map(|role| role.sessions) {
            request.ok += sessions.completed;
            request.wrong += sessions.failed + sessions.unfinished + sessions.never_started;
        }
        return request;
    }
    let outcomes = roles().flat_map(|role| &role.outcomes);
    for outcome in outcomes.filter(|outcome| outcome.request == name) {
        match outcome.class.as_str() {
            "ok" => request.ok += outcome.count,
            _ => request.wrong += outcome.count,
        }
    }
    request
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
        let ms = |name: &str| {
            figures[name].map(|figure| figure.map(|figure| (figure.value / 1e6).round() as u64))
        };
        let all = [Some(501), Some(500), Some(900), Some(950), Some(990)];
        assert_eq!(ms("query"), all);
        // Of thirty none is the 99th of a hundred.
        let [_, median, .., p99] = ms("login");
        assert_eq!((median, p99), (Some(15), None));
    }
}
