//! Acknowledged changes: which change of a series each one means, and those that mean none.

use tare_experiment::suite::AcknowledgedChange;
use tare_record::api::{SeriesChange, SeriesDetail, SeriesFilter, SeriesKey, SeriesList};

use crate::error::HistoryError;
use crate::index::Index;
use crate::series::{Changes, filter_of, list_series, one_series};
use crate::text::date;

/// Runs by which a change point can move when more runs are there: it is still the same change.
pub(crate) const MOVES_MAX: usize = 2;

/// The changes that the files of some suites acknowledge.
#[derive(Debug, Clone, Default)]
pub struct KnownChanges {
    /// The changes.
    pub changes: Vec<AcknowledgedChange>,
    /// Why files cannot be read.
    pub problems: Vec<String>,
}

impl KnownChanges {
    /// Marks the acknowledged ones among the last changes of a list, and adds what matches none: of its experiments, and of
    /// experiments without runs.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn mark(&self, index: &Index, list: &mut SeriesList) -> Result<(), HistoryError> {
        for one in &mut list.series {
            let is_of_series = |known: &&AcknowledgedChange| is_of(known, &one.key);
            if let Some(change) = &one.last_change
                && self.changes.iter().any(|known| is_of_series(&known))
            {
                let series = one_series(index, &filter_of(&one.key), usize::MAX)?;
                one.acknowledged = note(&series, change, &self.changes);
            }
        }
        list.unmatched.clone_from(&self.problems);
        for known in &self.changes {
            let found = problem(index, known)?;
            let is_asked = |found: &Unmatched| {
                let mut series = list.series.iter();
                !found.has_runs || series.any(|one| one.key.experiment == known.experiment)
            };
            let said = found.filter(is_asked).map(|found| found.sentence);
            list.unmatched.extend(said);
        }
        Ok(())
    }
}

/// The acknowledgements that match no change, each in a sentence with the reason.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn unmatched(
    index: &Index,
    acknowledged: &[AcknowledgedChange],
) -> Result<Vec<String>, HistoryError> {
    let mut said = Vec::new();
    for known in acknowledged {
        said.extend(problem(index, known)?.map(|found| found.sentence));
    }
    Ok(said)
}

/// The note of the first acknowledgement of a change.
pub(crate) fn note(
    series: &SeriesDetail,
    change: &SeriesChange,
    acknowledged: &[AcknowledgedChange],
) -> Option<String> {
    let is_meant = |known: &&AcknowledgedChange| {
        is_of(known, &series.key) && is_near(series, change, since_index(series, &known.since))
    };
    let found = acknowledged.iter().find(is_meant);
    found.map(|known| known.note.clone())
}

/// An acknowledgement that matches no change.
struct Unmatched {
    sentence: String,
    /// Whether its experiment has runs.
    has_runs: bool,
}

/// Why an acknowledgement matches no change; `None`: it matches one, not only the last one of a series.
fn problem(index: &Index, known: &AcknowledgedChange) -> Result<Option<Unmatched>, HistoryError> {
    let unmatched = |reason: &str, has_runs| {
        let of = [
            known.arm.clone().map(|arm| format!(", arm {arm}")),
            known.level.clone().map(|level| format!(", level {level}")),
            known
                .metric
                .map(|metric| format!(", metric {}", metric.name())),
        ];
        let of: String = of.into_iter().flatten().collect();
        let AcknowledgedChange {
            experiment,
            since,
            note,
            ..
        } = known;
        let sentence = format!(
            "acknowledged \"{note}\" ({experiment}{of}, since {since}) matches no change: {reason}"
        );
        Ok(Some(Unmatched { sentence, has_runs }))
    };
    let filter = SeriesFilter {
        experiment: Some(known.experiment.clone()),
        metric: known.metric,
        arm: known.arm.clone(),
        level: known.level.clone(),
        ..SeriesFilter::default()
    };
    let found = match list_series(index, &filter, Changes::LeaveOut) {
        Ok(found) => found.series,
        Err(HistoryError::NoSeries(reason)) => {
            let whole = SeriesFilter {
                experiment: filter.experiment,
                ..SeriesFilter::default()
            };
            let has_runs = list_series(index, &whole, Changes::LeaveOut).is_ok();
            return unmatched(&reason, has_runs);
        }
        Err(error) => return Err(error),
    };
    let mut has_since = false;
    for one in &found {
        if one.key.experiment != known.experiment {
            let name = &one.key.experiment;
            return unmatched(&format!("give the whole name, {name}"), false);
        }
        let series = one_series(index, &filter_of(&one.key), usize::MAX)?;
        let since = since_index(&series, &known.since);
        has_since |= since.is_some();
        let mut changes = series.changes.iter();
        if changes.any(|change| is_near(&series, change, since)) {
            return Ok(None);
        }
    }
    match (has_since, known.since.parse::<jiff::civil::Date>()) {
        (true, _) => unmatched(
            &format!("no series changed within {MOVES_MAX} runs of it"),
            true,
        ),
        (false, Ok(_)) => unmatched("there is no run of that date or later", true),
        (false, Err(_)) => unmatched("there is no run of that name, and it is no date", true),
    }
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
pub(crate) fn is_near(series: &SeriesDetail, change: &SeriesChange, place: Option<usize>) -> bool {
    let of_change = run_index(series, &change.run);
    of_change
        .zip(place)
        .is_some_and(|(a, b)| a.abs_diff(b) <= MOVES_MAX)
}

pub(crate) fn run_index(series: &SeriesDetail, run: &str) -> Option<usize> {
    series.points.iter().position(|point| point.run == run)
}

/// The run of this name, or the first one at or after a date.
fn since_index(series: &SeriesDetail, since: &str) -> Option<usize> {
    run_index(series, since).or_else(|| {
        let since: jiff::civil::Date = since.parse().ok()?;
        let since = since.to_string();
        series
            .points
            .iter()
            .position(|point| date(point.started_unix_us) >= since)
    })
}
