//! Questions to the index: experiments, their series, one series with its runs and change points.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::de::DeserializeOwned;
use tare_experiment::problem::hint;
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

use crate::error::HistoryError;
use crate::index::Index;
use crate::values::{BINARY, RunSetting};

/// Values of a series in a list: what a line of characters shows.
const RECENT: usize = 30;
/// Most series, keys or names that a message names.
const NAMED_MAX: usize = 5;

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

/// A series in the index, with the place of its cell in the experiment.
struct Found {
    id: i64,
    key: SeriesKey,
    place: (usize, usize, Metric),
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
fn last_setting(index: &Index, experiment: &str, form: Form) -> rusqlite::Result<RunSetting> {
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
    let mut settings_by_form = BTreeMap::new();
    for found in matching(index, filter)? {
        let points = points(index, found.id).map_err(|error| index.failed(error))?;
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let Some((latest, before)) = values.split_last() else {
            continue;
        };
        let unit = found.key.metric.unit();
        let last_change = match changes {
            Changes::LeaveOut => None,
            Changes::Find => {
                let settings = match settings_by_form.entry(word_of(&found.key.form)) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(open) => open
                        .insert(settings(index, &found.key).map_err(|error| index.failed(error))?),
                };
                self::changes(settings, &found.key, &points).pop()
            }
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
            last_change,
            key: found.key,
        });
    }
    Ok(SeriesList { series })
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
    let points = points(index, id).map_err(at)?;
    let settings = settings(index, &key).map_err(at)?;
    let changes = changes(&settings, &key, &points);
    let left_out = points.len().saturating_sub(last);
    let mut previous = left_out.checked_sub(1).and_then(|at| points.get(at));
    let mut shown = Vec::new();
    for point in &points[left_out..] {
        let changed = previous.map_or_else(Vec::new, |previous| {
            version_changes(&settings, previous, point)
        });
        shown.push(SeriesPoint {
            run: point.run.clone(),
            started_unix_us: point.started_unix_us,
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
    let margin = margin(&settings, &points, head.unit);
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

/// A run in a series, with the setting it was made with.
struct Point {
    run: String,
    started_unix_us: u64,
    setting: i64,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    is_lower_bound: bool,
}

/// The runs of a series by their start, those of one time by name.
fn points(index: &Index, series: i64) -> rusqlite::Result<Vec<Point>> {
    let mut query = index.connection.prepare(
        "SELECT name, started, setting, value, low, high, is_lower_bound
         FROM points JOIN runs ON runs.id = run WHERE series = ? ORDER BY started, name",
    )?;
    let rows = query.query_map([series], |row| {
        Ok(Point {
            run: row.get(0)?,
            started_unix_us: unsigned(row, 1)?,
            setting: row.get(2)?,
            value: row.get(3)?,
            low: row.get(4)?,
            high: row.get(5)?,
            is_lower_bound: row.get(6)?,
        })
    })?;
    rows.collect()
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
fn margin(settings: &BTreeMap<i64, RunSetting>, points: &[Point], unit: Unit) -> f64 {
    let Some(last) = points.last() else {
        return 0.0;
    };
    let Some(setting) = settings.get(&last.setting) else {
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
    points: &[Point],
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
            run: point.run.clone(),
            started_unix_us: point.started_unix_us,
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
    before: &Point,
    after: &Point,
) -> Vec<VersionChange> {
    if before.setting == after.setting {
        return Vec::new();
    }
    let versions = |point: &Point| settings.get(&point.setting).map(|one| &one.versions);
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

/// The series that a filter matches, in the order of the experiment.
fn matching(index: &Index, filter: &SeriesFilter) -> Result<Vec<Found>, HistoryError> {
    let at = |error| index.failed(error);
    let experiment = experiment(index, filter.experiment.as_deref().unwrap_or_default())?;
    let all = all_series(index, &experiment).map_err(at)?;
    let is_primary = |found: &Found, primary: &BTreeMap<String, Vec<Metric>>| {
        let of_form = primary.get(&word_of(&found.key.form));
        of_form.is_none_or(|primary| primary.contains(&found.key.metric))
    };
    let mut primary = BTreeMap::new();
    for found in &all {
        let form = found.key.form;
        if filter.metric.is_none() && !primary.contains_key(&word_of(&form)) {
            let setting = last_setting(index, &experiment, form).map_err(at)?;
            primary.insert(word_of(&form), setting.primary);
        }
    }
    let is_same = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    let is_wanted = |found: &Found| {
        let key = &found.key;
        let machine = filter.machine.as_deref().unwrap_or_default();
        filter.form.is_none_or(|form| form == key.form)
            && filter.metric.is_none_or(|metric| metric == key.metric)
            && is_same(&filter.arm, &key.arm)
            && is_same(&filter.level, &key.level)
            && key.machine.starts_with(machine)
            && is_primary(found, &primary)
    };
    let (mut wanted, others): (Vec<Found>, Vec<Found>) = all.into_iter().partition(is_wanted);
    if wanted.is_empty() {
        return Err(HistoryError::NoSeries(nothing(
            &experiment,
            filter,
            &others,
        )));
    }
    wanted.sort_by(|a, b| {
        let order = |one: &Found| (word_of(&one.key.form), one.place, one.key.machine.clone());
        order(a).cmp(&order(b))
    });
    Ok(wanted)
}

fn all_series(index: &Index, experiment: &str) -> rusqlite::Result<Vec<Found>> {
    let mut query = index
        .connection
        .prepare("SELECT id, form, arm, level, metric, machine FROM series WHERE experiment = ?")?;
    let rows = query.query_map([experiment], |row| {
        Ok(Found {
            id: row.get(0)?,
            key: SeriesKey {
                experiment: experiment.to_owned(),
                form: word(row, 1)?,
                arm: row.get(2)?,
                level: row.get(3)?,
                metric: word(row, 4)?,
                machine: row.get(5)?,
            },
            place: (0, 0, Metric::Mean),
        })
    })?;
    let mut found: Vec<Found> = rows.collect::<rusqlite::Result<_>>()?;
    let mut settings = BTreeMap::new();
    for one in &mut found {
        let form = word_of(&one.key.form);
        if !settings.contains_key(&form) {
            settings.insert(form.clone(), last_setting(index, experiment, one.key.form)?);
        }
        let setting = &settings[&form];
        let place = |names: &[String], name: &str| names.iter().position(|one| one == name);
        // What the last run does not have stands last.
        let level = place(&setting.levels, &one.key.level).unwrap_or(usize::MAX);
        let arm = place(&setting.arms, &one.key.arm).unwrap_or(usize::MAX);
        one.place = (level, arm, one.key.metric);
    }
    Ok(found)
}

/// The full name of an experiment.
fn experiment(index: &Index, name: &str) -> Result<String, HistoryError> {
    let mut query = index
        .connection
        .prepare(
            "SELECT DISTINCT experiment FROM runs WHERE experiment IS NOT NULL ORDER BY experiment",
        )
        .map_err(|error| index.failed(error))?;
    let all = query
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<String>>>)
        .map_err(|error| index.failed(error))?;
    let is_meant = |full: &&String| !name.is_empty() && full.rsplit('/').next() == Some(name);
    let exact = all.iter().filter(|full| *full == name);
    let meant: Vec<&String> = match exact.clone().count() {
        0 => all.iter().filter(is_meant).collect(),
        _ => exact.collect(),
    };
    match meant.as_slice() {
        [one] => Ok((*one).clone()),
        [] if all.is_empty() => Err(HistoryError::NoSeries(
            "there is no complete run yet: `tare run` makes one".to_owned(),
        )),
        [] => Err(HistoryError::NoSeries(format!(
            "no complete run of \"{name}\"{}; `tare history` lists the experiments",
            hint(name, &all)
        ))),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.as_str()).collect();
            let names = names.join(", ");
            Err(HistoryError::NoSeries(format!(
                "\"{name}\" may be {names}: give the whole name"
            )))
        }
    }
}

/// Why a filter matches nothing.
fn nothing(experiment: &str, filter: &SeriesFilter, all: &[Found]) -> String {
    let of = |flag: &str, wanted: Option<&str>, pick: fn(&SeriesKey) -> String| {
        let wanted = wanted?;
        let mut known: Vec<String> = all.iter().map(|found| pick(&found.key)).collect();
        known.sort();
        known.dedup();
        let is_known = known.iter().any(|one| match flag {
            "machine" => one.starts_with(wanted),
            _ => one == wanted,
        });
        known.truncate(NAMED_MAX * NAMED_MAX);
        let known = known.join(", ");
        (!is_known).then(|| format!("{experiment} has no {flag} \"{wanted}\": there are {known}"))
    };
    let (form, metric) = (
        filter.form.map(|form| word_of(&form)),
        filter.metric.map(Metric::name),
    );
    of("form", form.as_deref(), |key| word_of(&key.form))
        .or_else(|| of("arm", filter.arm.as_deref(), |key| key.arm.clone()))
        .or_else(|| of("level", filter.level.as_deref(), |key| key.level.clone()))
        .or_else(|| of("metric", metric.as_deref(), |key| key.metric.name()))
        .or_else(|| {
            of("machine", filter.machine.as_deref(), |key| {
                key.machine.clone()
            })
        })
        .unwrap_or_else(|| format!("{experiment} has no such series: name less"))
}

/// What else to name where several series match.
fn several(found: &[Found]) -> String {
    type Pick = fn(&SeriesKey) -> String;
    let parts: [(&str, Pick); 5] = [
        ("metric", |key| key.metric.name()),
        ("arm", |key| key.arm.clone()),
        ("level", |key| key.level.clone()),
        ("machine", |key| key.machine.clone()),
        ("form", |key| word_of(&key.form)),
    ];
    let open = parts.iter().filter_map(|(flag, pick)| {
        let mut values: Vec<String> = found.iter().map(|one| pick(&one.key)).collect();
        values.sort();
        values.dedup();
        values.truncate(NAMED_MAX);
        (values.len() > 1).then(|| format!("--{flag} ({})", values.join(", ")))
    });
    let open: Vec<String> = open.collect();
    format!(
        "{} series match: choose one by {}",
        found.len(),
        open.join(", ")
    )
}

/// The median; `None` without values.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// A number that is never negative.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A column with JSON.
fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

/// A column with the word of an enum.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}
