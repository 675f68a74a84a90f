//! What changed: the last change point of each series to which a run of this night belongs.

use std::collections::BTreeSet;
use std::path::Path;

use tare_experiment::suite::AcknowledgedChange;
use tare_record::api::{NightChange, SeriesChange, SeriesDetail, SeriesFilter, VersionChange};

use super::state::ReportedChange;
use crate::acknowledged::{self, MOVES_MAX, is_near, run_index};
use crate::error::HistoryError;
use crate::index::{History, Say};
use crate::series::{Changes, experiments, filter_of, list_series, one_series};

/// What was found.
#[derive(Default)]
pub struct FoundChanges {
    /// The changes, each with its series.
    pub changes: Vec<(NightChange, SeriesDetail)>,
    /// Acknowledgements that match no change.
    pub unmatched: Vec<String>,
}

/// Brings the index up to date and finds the changes, those for the worse first.
pub fn find(
    runs: &Path,
    ran: &BTreeSet<&str>,
    acknowledged: &[AcknowledgedChange],
    reported: &[ReportedChange],
    say: Say<'_>,
) -> Result<FoundChanges, HistoryError> {
    if ran.is_empty() && acknowledged.is_empty() {
        return Ok(FoundChanges::default());
    }
    let (mut found, unmatched) = History::of(runs).ask(say, |index| {
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
        Ok((found, acknowledged::unmatched(index, acknowledged)?))
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
            acknowledged: acknowledged::note(&series, &change, acknowledged),
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
    Ok(FoundChanges { changes, unmatched })
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
