//! What parts say of themselves: told figures of the trials of a cell → a table with a column for each part.

use tare_schema::metric::Unit;
use tare_schema::record::{Told, TrialRecord};
use tare_schema::view::{ToldRow, ToldView};

use crate::cells::middle;
use crate::quantity::{self, MISSING};

/// What ends the name of a figure that adds up milliseconds. Where another one counts what they were spent on (its name begins with
/// the same words), their mean is shown.
const MS: &str = "-ms";

/// What stands for the number of a trial in a label that has it for its last word.
const OF_TRIAL: &str = "this trial's";

/// Name and label, as figures of several trials are alike by them.
type Key = (String, Option<String>);

/// The figures of a cell, medians over its trials.
pub fn told(records: &[&TrialRecord]) -> ToldView {
    let mut instances: Vec<String> = Vec::new();
    let mut keys: Vec<Key> = Vec::new();
    for record in records {
        for one in &record.told {
            if !instances.contains(&one.instance) {
                instances.push(one.instance.clone());
            }
            let key = key(record, one);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let rows = keys.iter().filter(|key| is_usual(records, key));
    ToldView {
        rows: rows.map(|key| row(records, key, &instances)).collect(),
        instances,
    }
}

fn key(record: &TrialRecord, one: &Told) -> Key {
    let number = record.trial.to_string();
    let label = one
        .label
        .as_ref()
        .map(|label| match label.rsplit_once('-') {
            Some((_, last)) if last == number => OF_TRIAL.to_owned(),
            _ => label.clone(),
        });
    (one.name.clone(), label)
}

/// Whether most trials have it: what is of another trial is nobody's here.
fn is_usual(records: &[&TrialRecord], wanted: &Key) -> bool {
    let has = |record: &&&TrialRecord| record.told.iter().any(|one| key(record, one) == *wanted);
    records.iter().filter(has).count() * 2 > records.len()
}

fn row(records: &[&TrialRecord], key: &Key, instances: &[String]) -> ToldRow {
    let counted = counted(records, &key.0);
    let values: Vec<Option<f64>> = instances
        .iter()
        .map(|instance| {
            middle(
                records
                    .iter()
                    .map(|r| value(r, key, instance, counted.as_deref()))
                    .collect(),
            )
        })
        .collect();
    let mean = if counted.is_some() { ", mean" } else { "" };
    let name = match &key.1 {
        Some(label) => format!("{}{mean} ({label})", key.0),
        None => format!("{}{mean}", key.0),
    };
    ToldRow {
        texts: values.iter().map(|value| text(&key.0, *value)).collect(),
        name,
        values,
    }
}

/// The figure that counts what milliseconds were spent on.
fn counted(records: &[&TrialRecord], name: &str) -> Option<String> {
    let stem = name.strip_suffix(MS)?;
    let all = records.iter().flat_map(|record| &record.told);
    let mut names = all.map(|one| one.name.as_str());
    names
        .find(|other| {
            let rest = other.strip_prefix(stem);
            *other != name && rest.is_some_and(|rest| !rest.trim_start_matches('-').contains('-'))
        })
        .map(str::to_owned)
}

fn value(record: &TrialRecord, wanted: &Key, instance: &str, counted: Option<&str>) -> Option<f64> {
    let mut own = record.told.iter().filter(|one| one.instance == instance);
    let found = own.clone().find(|one| key(record, one) == *wanted)?;
    let Some(counted) = counted else {
        return Some(found.value);
    };
    let of =
        own.find(|one| one.name == counted && (one.label.is_none() || one.label == found.label))?;
    (of.value > 0.0).then(|| found.value / of.value)
}

fn text(name: &str, value: Option<f64>) -> String {
    let Some(value) = value else {
        return MISSING.into();
    };
    if name.ends_with(MS) {
        return quantity::value(Unit::Nanoseconds, value * 1e6);
    }
    if name.split('-').any(|word| word == "bytes") {
        return quantity::value(Unit::Bytes, value);
    }
    quantity::count(value)
}
