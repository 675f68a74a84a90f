//! Which series a filter matches, and what is said where that is none, or more than one.

use std::collections::BTreeMap;

use tare_experiment::problem::hint;
use tare_record::api::{SeriesFilter, SeriesKey};
use tare_record::metric::Metric;
use tare_record::text::word_of;

use crate::database::word;
use crate::error::HistoryError;
use crate::index::Index;
use crate::series::last_setting;

/// Most values of a part of the key that a message names.
const NAMED_MAX: usize = 5;

/// A series in the index, with the place of its cell in the experiment.
pub struct Found {
    pub id: i64,
    pub key: SeriesKey,
    place: (usize, usize, Metric),
}

/// The series that a filter matches, in the order of the experiment.
pub fn matching(index: &Index, filter: &SeriesFilter) -> Result<Vec<Found>, HistoryError> {
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
pub fn several(found: &[Found]) -> String {
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
