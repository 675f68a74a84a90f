//! Target counters of the trials of a cell, as a table with a column for each part.

use tare_schema::metric::Unit;
use tare_schema::record::{TargetCounter, TrialRecord};
use tare_schema::view::{TargetCounterRow, TargetCountersView};

use crate::cells::median;
use crate::quantity::{self, MISSING};

/// Suffix of a counter that sums milliseconds. If another counter with the same prefix counts the operations, the mean is shown.
const MILLISECONDS_SUFFIX: &str = "-ms";

/// Replaces the number of a trial at the end of a label.
const TRIAL_PLACEHOLDER: &str = "this trial's";

/// Name and label: they identify a counter across trials.
type Key = (String, Option<String>);

/// The counters of a cell, medians over its trials.
pub fn view(records: &[&TrialRecord]) -> TargetCountersView {
    let mut instances: Vec<String> = Vec::new();
    let mut keys: Vec<Key> = Vec::new();
    for record in records {
        for one in &record.target_counters {
            if !instances.contains(&one.instance) {
                instances.push(one.instance.clone());
            }
            let key = key(record, one);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let rows = keys.iter().filter(|key| is_reported_by_most(records, key));
    TargetCountersView {
        rows: rows.map(|key| row(records, key, &instances)).collect(),
        instances,
    }
}

fn key(record: &TrialRecord, one: &TargetCounter) -> Key {
    let number = record.trial.to_string();
    let label = one
        .label
        .as_ref()
        .map(|label| match label.rsplit_once('-') {
            Some((_, last)) if last == number => TRIAL_PLACEHOLDER.to_owned(),
            _ => label.clone(),
        });
    (one.name.clone(), label)
}

/// Whether most trials report this counter and label.
fn is_reported_by_most(records: &[&TrialRecord], wanted: &Key) -> bool {
    let has = |record: &&&TrialRecord| {
        record
            .target_counters
            .iter()
            .any(|one| key(record, one) == *wanted)
    };
    records.iter().filter(has).count() * 2 > records.len()
}

fn row(records: &[&TrialRecord], key: &Key, instances: &[String]) -> TargetCounterRow {
    let divisor = divisor(records, &key.0);
    let values: Vec<Option<f64>> = instances
        .iter()
        .map(|instance| {
            median(
                records
                    .iter()
                    .map(|r| value(r, key, instance, divisor.as_deref()))
                    .collect(),
            )
        })
        .collect();
    let mean = if divisor.is_some() { ", mean" } else { "" };
    let name = match &key.1 {
        Some(label) => format!("{}{mean} ({label})", key.0),
        None => format!("{}{mean}", key.0),
    };
    TargetCounterRow {
        texts: values.iter().map(|value| text(&key.0, *value)).collect(),
        name,
        values,
    }
}

/// The counter of the operations whose milliseconds this one sums.
fn divisor(records: &[&TrialRecord], name: &str) -> Option<String> {
    let stem = name.strip_suffix(MILLISECONDS_SUFFIX)?;
    let all = records.iter().flat_map(|record| &record.target_counters);
    let mut names = all.map(|one| one.name.as_str());
    names
        .find(|other| {
            let rest = other.strip_prefix(stem);
            *other != name && rest.is_some_and(|rest| !rest.trim_start_matches('-').contains('-'))
        })
        .map(str::to_owned)
}

fn value(record: &TrialRecord, wanted: &Key, instance: &str, divisor: Option<&str>) -> Option<f64> {
    let mut own = record
        .target_counters
        .iter()
        .filter(|one| one.instance == instance);
    let found = own.clone().find(|one| key(record, one) == *wanted)?;
    let Some(divisor) = divisor else {
        return Some(found.value);
    };
    let of =
        own.find(|one| one.name == divisor && (one.label.is_none() || one.label == found.label))?;
    (of.value > 0.0).then(|| found.value / of.value)
}

fn text(name: &str, value: Option<f64>) -> String {
    let Some(value) = value else {
        return MISSING.into();
    };
    if name.ends_with(MILLISECONDS_SUFFIX) {
        return quantity::value(Unit::Nanoseconds, value * 1e6);
    }
    if name.split('-').any(|word| word == "bytes") {
        return quantity::value(Unit::Bytes, value);
    }
    quantity::count(value)
}
