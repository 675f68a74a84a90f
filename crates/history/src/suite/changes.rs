//! What changed: the last change point of each series to which a run of this night belongs.

use std::collections::BTreeSet;
use std::path::Path;

use tare_experiment::suite::AcknowledgedChange;
use tare_record::api::{
    NightChange, SeriesChange, SeriesDetail, SeriesFilter, SeriesKey, VersionChange,
};

use super::state::ReportedChange;
use crate::error::HistoryError;
use crate::index::{History, Say};
use crate::series::{Changes, experiments, filter_of, list_series, one_series};

/// Runs by which a change point can move when more runs are there: it is still the same change.
const MOVES_MAX: usize = 2;

/// Brings the index up to date and finds the changes, those for the worse first, each with its series.
pub fn find(
    runs: &Path,
    ran: &BTreeSet<&str>,
    acknowledged: &[AcknowledgedChange],
    reported: &[ReportedChange],
    say: Say<'_>,
) -> Result<Vec<(NightChange, SeriesDetail)>, HistoryError> {
    if ran.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = History::of(runs).ask(say, |index| {
        let mut found = Vec::new();
        for one in experiments(index)?.experiments {
            let filter = SeriesFilter {
                experiment: Some(one.experiment),
                form: Some(one.form),
                ..SeriesFilter::default()
            };
            for series in list_series(index, &filter, Changes::Find)?.series {
                if series.last_change.is_some() {
                    found.push(one_series(index, &filter_of(&series.key), usize::MAX)?);
                }
            }
        }
        Ok(found)
    })?;
    found.retain(|series| {
        let last = series.points.last();
        last.is_some_and(|last| ran.contains(last.run.as_str()))
    });
    let with_change = |series: SeriesDetail| {
        let mut change = series.changes.last()?.clone();
        if change.changed.is_empty() {
            change.changed = versions_near(&series, &change);
        }
        let of_series = reported.iter().filter(|known| known.key == series.key);
        let mut alike = of_series.filter(|known| known.is_worse == change.is_worse);
        let night = NightChange {
            is_new: !alike.any(|known| is_near(&series, &change, run_index(&series, &known.run))),
            acknowledged: acknowledgement(&series, &change, acknowledged),
            confirmation: None,
            key: series.key.clone(),
            label: series.label.clone(),
            unit: series.unit,
            change,
        };
        Some((night, series))
    };
    let mut changes: Vec<_> = found.into_iter().filter_map(with_change).collect();
    changes.sort_by_key(|(night, _)| {
        (
            !night.change.is_worse,
            night.acknowledged.is_some(),
            !night.is_new,
        )
    });
    Ok(changes)
}

/// The versions that changed next to a change point, within the runs by which it can move: the nearest, of equally near ones the later.
fn versions_near(series: &SeriesDetail, change: &SeriesChange) -> Vec<VersionChange> {
    let Some(at) = run_index(series, &change.run) else {
        return Vec::new();
    };
    let distances = (1..=MOVES_MAX).flat_map(|by| [at.checked_add(by), at.checked_sub(by)]);
    let near = distances.filter_map(|place| series.points.get(place?));
    let changed = near.map(|point| &point.changed);
    let mut changed = changed.filter(|changed| !changed.is_empty());
    changed.next().cloned().unwrap_or_default()
}

/// The note of the first acknowledgement of a change.
fn acknowledgement(
    series: &SeriesDetail,
    change: &SeriesChange,
    acknowledged: &[AcknowledgedChange],
) -> Option<String> {
    let found = acknowledged.iter().find(|known| {
        let since = run_index(series, &known.since).or_else(|| date_index(series, &known.since));
        is_of(known, &series.key) && is_near(series, change, since)
    });
    found.map(|known| known.note.clone())
}

fn is_of(known: &AcknowledgedChange, key: &SeriesKey) -> bool {
    let is_same = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    known.experiment == key.experiment
        && is_same(&known.arm, &key.arm)
        && is_same(&known.level, &key.level)
        && known.metric.is_none_or(|metric| metric == key.metric)
}

/// Whether a place in the series is that of the change.
fn is_near(series: &SeriesDetail, change: &SeriesChange, place: Option<usize>) -> bool {
    let of_change = run_index(series, &change.run);
    of_change
        .zip(place)
        .is_some_and(|(a, b)| a.abs_diff(b) <= MOVES_MAX)
}

fn run_index(series: &SeriesDetail, run: &str) -> Option<usize> {
    series.points.iter().position(|point| point.run == run)
}

/// The first run at or after a date.
fn date_index(series: &SeriesDetail, since: &str) -> Option<usize> {
    let since: jiff::civil::Date = since.parse().ok()?;
    let since = since.to_string();
    series
        .points
        .iter()
        .position(|point| date(point.started_unix_us) >= since)
}

/// The date of a time, in UTC.
pub fn date(unix_us: u64) -> String {
    let time = i64::try_from(unix_us).ok();
    let time = time.and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    time.map_or_else(String::new, |time| time.strftime("%Y-%m-%d").to_string())
}
