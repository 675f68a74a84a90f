//! Questions to the index: experiments, their series, one series with its runs and change points.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use tare_record::api::{
    HistoryExperiment, HistoryList, HistoryMachine, SeriesChange, SeriesDetail, SeriesFilter,
    SeriesKey, SeriesList, SeriesPoint, SeriesSummary, VersionChange,
};
use tare_record::metric::{Metric, Unit};
use tare_record::plan::Form;
use tare_record::text::word_of;
use tare_record::view::Better;
use tare_report::view::metric_head;
use tare_stats::change_points::{self, ChangePoint, Options};
use tare_stats::median;

use crate::database::{json, unsigned, word};
use crate::error::HistoryError;
use crate::filter::{Found, matching, several};
use crate::index::Index;
use crate::values::{BINARY, RunSetting};

/// Values of a series in a list: what a line of characters shows.
const RECENT: usize = 30;
/// Parts of a series in a list: every second pixel of a small chart.
const OVERVIEW: usize = 140;

/// The filter that one series matches.
#[must_use]
pub fn filter_of(key: &SeriesKey) -> SeriesFilter {
    SeriesFilter {
        experiment: Some(key.experiment.clone()),
        form: Some(key.form),
        metric: Some(key.metric),
        arm: Some(key.arm.clone()),
        level: Some(key.level.clone()),
        machine: Some(key.machine.clone()),
    }
}

/// Whether change points are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    Find,
    LeaveOut,
}

/// All experiments with their runs.
///
/// # Errors
/// When the index cannot be read.
pub fn experiments(index: &Index) -> Result<HistoryList, HistoryError> {
    list(index).map_err(|error| index.failed(error))
}

fn list(index: &Index) -> rusqlite::Result<HistoryList> {
    let mut query = index.connection.prepare(
        "SELECT experiment, form, runs.machine, about, COUNT(*), MIN(started), MAX(started)
         FROM runs JOIN machines ON machines.machine = runs.machine
         GROUP BY experiment, form, runs.machine ORDER BY experiment, form, COUNT(*) DESC, runs.machine",
    )?;
    let mut experiments: Vec<HistoryExperiment> = Vec::new();
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (name, form): (String, Form) = (row.get(0)?, word(row, 1)?);
        let machine = HistoryMachine {
            machine: row.get(2)?,
            about: row.get(3)?,
            runs: unsigned(row, 4)?,
        };
        let (first, last) = (unsigned(row, 5)?, unsigned(row, 6)?);
        let known = experiments.last_mut();
        match known.filter(|known| known.experiment == name && known.form == form) {
            Some(known) => {
                known.runs += machine.runs;
                known.first_unix_us = known.first_unix_us.min(first);
                known.last_unix_us = known.last_unix_us.max(last);
                known.machines.push(machine);
            }
            None => {
                let setting = last_setting(index, &name, form)?;
                experiments.push(HistoryExperiment {
                    runs: machine.runs,
                    first_unix_us: first,
                    last_unix_us: last,
                    machines: vec![machine],
                    metrics: metrics(index, &name, form)?
                        .into_iter()
                        .map(|metric| metric_head(metric, &setting.primary))
                        .collect(),
                    arms: setting.arms,
                    levels: setting.levels,
                    experiment: name,
                    form,
                });
            }
        }
    }
    let mut query = index
        .connection
        .prepare("SELECT name, problem FROM runs WHERE problem IS NOT NULL")?;
    let unreadable = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(HistoryList {
        experiments,
        unreadable: unreadable.collect::<rusqlite::Result<_>>()?,
    })
}

fn metrics(index: &Index, experiment: &str, form: Form) -> rusqlite::Result<Vec<Metric>> {
    let mut query = index
        .connection
        .prepare("SELECT DISTINCT metric FROM series WHERE experiment = ? AND form = ?")?;
    let rows = query.query_map([experiment, &word_of(&form)], |row| word(row, 0))?;
    let mut metrics: Vec<Metric> = rows.collect::<rusqlite::Result<_>>()?;
    metrics.sort();
    Ok(metrics)
}

/// The setting of the last run of an experiment.
pub(crate) fn last_setting(
    index: &Index,
    experiment: &str,
    form: Form,
) -> rusqlite::Result<RunSetting> {
    index.connection.query_row(
        "SELECT text FROM runs JOIN settings ON settings.id = setting WHERE experiment = ? AND form = ?
         ORDER BY started DESC, name DESC LIMIT 1",
        [experiment, &word_of(&form)],
        |row| json(row, 0),
    )
}

/// The series of an experiment; of its primary metrics, unless the filter names one.
///
/// # Errors
/// When no series matches, or the index cannot be read.
pub fn list_series(
    index: &Index,
    filter: &SeriesFilter,
    changes: Changes,
) -> Result<SeriesList, HistoryError> {
    let mut series = Vec::new();
    let mut runs_by_form = BTreeMap::new();
    for found in matching(index, filter)? {
        let runs = match runs_by_form.entry(word_of(&found.key.form)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(open) => {
                open.insert(runs(index, &found.key).map_err(|error| index.failed(error))?)
            }
        };
        let points = points(index, runs, found.id).map_err(|error| index.failed(error))?;
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let Some((latest, before)) = values.split_last() else {
            continue;
        };
        let unit = found.key.metric.unit();
        let last_change = match changes {
            Changes::LeaveOut => None,
            Changes::Find => self::changes(&runs.settings, &found.key, &points).pop(),
        };
        series.push(SeriesSummary {
            unit,
            better: metric_head(found.key.metric, &[]).better,
            runs: values.len() as u64,
            latest: *latest,
            median: median(&values).unwrap_or(*latest),
            latest_change: median(before)
                .filter(|median| *median != 0.0)
                .map(|median| latest / median - 1.0),
            recent: values[values.len().saturating_sub(RECENT)..].to_vec(),
            overview: overview(&values),
            last_change,
            acknowledged: None,
            key: found.key,
        });
    }
    Ok(SeriesList {
        series,
        unmatched: Vec::new(),
    })
}

/// One series with its last runs and all its change points.
///
/// # Errors
/// When not exactly one series matches, or the index cannot be read.
pub fn one_series(
    index: &Index,
    filter: &SeriesFilter,
    last: usize,
) -> Result<SeriesDetail, HistoryError> {
    let mut found = matching(index, filter)?;
    if found.len() > 1 {
        return Err(HistoryError::NoSeries(several(&found)));
    }
    let Some(Found { id, key, .. }) = found.pop() else {
        return Err(HistoryError::NoSeries("no series matches".to_owned()));
    };
    let at = |error| index.failed(error);
    let runs = runs(index, &key).map_err(at)?;
    let points = points(index, &runs, id).map_err(at)?;
    let settings = &runs.settings;
    let changes = changes(settings, &key, &points);
    let left_out = points.len().saturating_sub(last);
    let mut previous = left_out.checked_sub(1).and_then(|at| points.get(at));
    let mut shown = Vec::new();
    for point in &points[left_out..] {
        let changed = previous.map_or_else(Vec::new, |previous| {
            version_changes(settings, previous, point)
        });
        shown.push(SeriesPoint {
            run: point.run.name.clone(),
            started_unix_us: point.run.started_unix_us,
            value: point.value,
            low: point.low,
            high: point.high,
            is_lower_bound: point.is_lower_bound,
            changed,
        });
        previous = Some(point);
    }
    let machine = index.connection.query_row(
        "SELECT about FROM machines WHERE machine = ?",
        [&key.machine],
        |row| row.get(0),
    );
    let head = metric_head(key.metric, &[]);
    let margin = margin(settings, &points, head.unit);
    Ok(SeriesDetail {
        machine: machine.map_err(at)?,
        label: head.label,
        unit: head.unit,
        better: head.better,
        margin,
        runs: points.len() as u64,
        left_out: left_out as u64,
        points: shown,
        changes,
        key,
    })
}

/// The runs of one form of an experiment by their start, those of one time by name. A list of series reads them once.
struct Runs {
    ordered: Vec<Run>,
    /// Place in `ordered` by number of the run in the index.
    places: HashMap<i64, usize>,
    settings: BTreeMap<i64, RunSetting>,
}

struct Run {
    name: String,
    started_unix_us: u64,
    setting: i64,
}

/// The value of a run in a series.
struct Point<'a> {
    run: &'a Run,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    is_lower_bound: bool,
}

fn runs(index: &Index, key: &SeriesKey) -> rusqlite::Result<Runs> {
    let mut query = index.connection.prepare(
        "SELECT id, name, started, setting FROM runs WHERE experiment = ? AND form = ? ORDER BY started, name",
    )?;
    let mut rows = query.query([&key.experiment, &word_of(&key.form)])?;
    let (mut ordered, mut places) = (Vec::new(), HashMap::new());
    while let Some(row) = rows.next()? {
        places.insert(row.get(0)?, ordered.len());
        ordered.push(Run {
            name: row.get(1)?,
            started_unix_us: unsigned(row, 2)?,
            setting: row.get(3)?,
        });
    }
    Ok(Runs {
        ordered,
        places,
        settings: settings(index, key)?,
    })
}

/// The values of a series in the order of its runs.
fn points<'a>(index: &Index, runs: &'a Runs, series: i64) -> rusqlite::Result<Vec<Point<'a>>> {
    let mut query = index
        .connection
        .prepare("SELECT run, value, low, high, is_lower_bound FROM points WHERE series = ?")?;
    let mut rows = query.query([series])?;
    let mut points = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(place) = runs.places.get(&row.get(0)?) else {
            continue;
        };
        let point = Point {
            run: &runs.ordered[*place],
            value: row.get(1)?,
            low: row.get(2)?,
            high: row.get(3)?,
            is_lower_bound: row.get(4)?,
        };
        points.push((*place, point));
    }
    points.sort_by_key(|(place, _)| *place);
    Ok(points.into_iter().map(|(_, point)| point).collect())
}

/// The settings of all runs of the experiment of a series.
fn settings(index: &Index, key: &SeriesKey) -> rusqlite::Result<BTreeMap<i64, RunSetting>> {
    let mut query = index.connection.prepare(
        "SELECT id, text FROM settings WHERE id IN (SELECT setting FROM runs WHERE experiment = ? AND form = ?)",
    )?;
    let rows = query.query_map([&key.experiment, &word_of(&key.form)], |row| {
        Ok((row.get(0)?, json(row, 1)?))
    })?;
    rows.collect()
}

/// Relative change that is too small to matter: what the last run's experiment declares.
fn margin(settings: &BTreeMap<i64, RunSetting>, points: &[Point<'_>], unit: Unit) -> f64 {
    let Some(last) = points.last() else {
        return 0.0;
    };
    let Some(setting) = settings.get(&last.run.setting) else {
        return 0.0;
    };
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    match (unit, median(&values)) {
        (Unit::Nanoseconds, Some(median)) if median > 0.0 => setting
            .margin
            .max(setting.margin_absolute_ns as f64 / median),
        _ => setting.margin,
    }
}

/// The change points of a series. One with a value of 0 has none: its changes have no ratio.
fn changes(
    settings: &BTreeMap<i64, RunSetting>,
    key: &SeriesKey,
    points: &[Point<'_>],
) -> Vec<SeriesChange> {
    let head = metric_head(key.metric, &[]);
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let options = Options {
        min_change: margin(settings, points, head.unit),
        ..Options::default()
    };
    let found = change_points::find(&values, &options).unwrap_or_default();
    let described = |change: ChangePoint| {
        let point = points.get(change.index)?;
        let previous = points.get(change.index.checked_sub(1)?)?;
        let relative = change.ratio() - 1.0;
        Some(SeriesChange {
            index: change.index as u64,
            run: point.run.name.clone(),
            started_unix_us: point.run.started_unix_us,
            before: change.before,
            after: change.after,
            change: relative,
            is_worse: (relative > 0.0) == (head.better == Better::Lower),
            p: change.p,
            changed: version_changes(settings, previous, point),
        })
    };
    found.into_iter().filter_map(described).collect()
}

/// The versions that differ between two runs. The digest of a binary is named where its version is the same.
fn version_changes(
    settings: &BTreeMap<i64, RunSetting>,
    before: &Point<'_>,
    after: &Point<'_>,
) -> Vec<VersionChange> {
    if before.run.setting == after.run.setting {
        return Vec::new();
    }
    let versions = |point: &Point<'_>| settings.get(&point.run.setting).map(|one| &one.versions);
    let (Some(before), Some(after)) = (versions(before), versions(after)) else {
        return Vec::new();
    };
    let differs = |axis: &str| before.get(axis) != after.get(axis);
    let axes = before
        .keys()
        .chain(after.keys().filter(|axis| !before.contains_key(*axis)));
    let axes = axes.filter(|axis| differs(axis));
    let axes = axes.filter(|axis| !axis.strip_suffix(BINARY).is_some_and(&differs));
    axes.map(|axis| VersionChange {
        axis: axis.clone(),
        before: before.get(axis).cloned().unwrap_or_default(),
        after: after.get(axis).cloned().unwrap_or_default(),
    })
    .collect()
}

/// Lowest and highest value of equally many consecutive runs each, the last part aside.
fn overview(values: &[f64]) -> Vec<[f64; 2]> {
    let parts = values.chunks(values.len().div_ceil(OVERVIEW).max(1));
    let extremes = |part: &[f64]| {
        let values = part.iter().copied();
        let low = values.clone().fold(f64::INFINITY, f64::min);
        [low, values.fold(f64::NEG_INFINITY, f64::max)]
    };
    parts.map(extremes).collect()
}
