//! Target counters of the trials of a cell.

use std::collections::BTreeMap;

use tare_record::metric::Unit;
use tare_record::record::{TargetCounter, TrialRecord};
use tare_record::view::{CellView, LevelView, Output, Table, TableCell, TableColumn, TableRow};

use crate::cells::{distinct, median};
use crate::quantity;
use crate::read::Run;
use crate::tables::{TableInputs, cell};

/// Suffix of a counter that sums milliseconds. If another counter with the same prefix counts the operations, the mean is shown.
pub const MILLISECONDS_SUFFIX: &str = "-ms";

/// Replaces the number of a trial at the end of a label.
const TRIAL_PLACEHOLDER: &str = "this trial's";

/// A target counter of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterFigure {
    pub level: String,
    pub arm: String,
    pub instance: String,
    /// Name of the counter.
    pub name: String,
    /// Label, where a counter has several series: a topic.
    pub label: Option<String>,
    /// Median over the fit trials.
    pub value: f64,
}

/// The target counters of a run. The second copy of the baseline only measures noise and is left out.
#[must_use]
pub fn figures(run: &Run) -> Vec<CounterFigure> {
    let records = run.trials.iter().map(|trial| &trial.record);
    let fit = records.filter(|one| one.status.is_fit() && !one.superseded && one.aa_copy == 0);
    let mut values: BTreeMap<[&str; 3], BTreeMap<Key, Vec<f64>>> = BTreeMap::new();
    for record in fit {
        for one in &record.target_counters {
            let of = [&record.level, &record.arm, &one.instance].map(String::as_str);
            let of = values.entry(of).or_default();
            of.entry(key(record, one)).or_default().push(one.value);
        }
    }
    let figures = values.into_iter().flat_map(|(of, counters)| {
        counters
            .into_iter()
            .filter_map(move |((name, label), all)| {
                let [level, arm, instance] = of.map(str::to_owned);
                Some(CounterFigure {
                    level,
                    arm,
                    instance,
                    name,
                    label,
                    value: median(all.into_iter().map(Some).collect())?,
                })
            })
    });
    figures.collect()
}

/// Name and label: they identify a counter across trials.
type Key = (String, Option<String>);

/// The counters of each cell, medians over its trials: a row per counter, a column per instance.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let outputs: &[Output] = match source.compares_arms() {
        true => &[Output::Page],
        false => &[Output::Markdown, Output::Page],
    };
    let of_cell = |(level, cell): (&LevelView, &CellView)| {
        let table = table(&cell.arm, &source.records(level, cell)).only(outputs);
        Table {
            level: Some(level.name.clone()),
            ..table
        }
    };
    source.cells().map(of_cell).collect()
}

fn table(arm: &str, records: &[&TrialRecord]) -> Table {
    let all = records.iter().flat_map(|record| {
        let counters = record.target_counters.iter();
        counters.map(move |one| (*record, one))
    });
    let instances = distinct(all.clone().map(|(_, one)| one.instance.as_str()));
    let keys = distinct(all.map(|(record, one)| key(record, one)));
    let note = "Medians over the trials, each from before the first request to after the last answer: warm-up and drain are in \
                them. Where a figure has a mean, it is over as many as another one counts.";
    let title = format!("target counters of {arm}");
    let mut table = Table::new("target-counters", "Target counters", title)
        .note(note)
        .columns([TableColumn::name("figure")])
        .columns(
            instances
                .iter()
                .map(|name| TableColumn::figure(*name).csv(format!("{{}}, {name}"), "")),
        );
    let keys = keys.iter().filter(|key| is_reported_by_most(records, key));
    table.rows = keys.map(|key| row(arm, records, key, &instances)).collect();
    table
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

fn row(arm: &str, records: &[&TrialRecord], key: &Key, instances: &[&str]) -> TableRow {
    let divisor = divisor(records, &key.0);
    let mean = if divisor.is_some() { ", mean" } else { "" };
    let name = match &key.1 {
        Some(label) => format!("{}{mean} ({label})", key.0),
        None => format!("{}{mean}", key.0),
    };
    let mut cells = vec![TableCell::from(name.as_str())];
    cells.extend(instances.iter().map(|instance| {
        let values = records.iter();
        let values = values.map(|r| value(r, key, instance, divisor.as_deref()));
        cell(median(values.collect()), |value| text(&key.0, value))
    }));
    TableRow {
        arm: Some(arm.to_owned()),
        subject: Some(name),
        // Milliseconds have a unit; that of the others is in the name.
        unit: key.0.contains(MILLISECONDS_SUFFIX).then(|| "ms".into()),
        cells,
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

fn text(name: &str, value: f64) -> String {
    if name.ends_with(MILLISECONDS_SUFFIX) {
        return quantity::value(Unit::Nanoseconds, value * 1e6);
    }
    if name.split('-').any(|word| word == "bytes") {
        return quantity::value(Unit::Bytes, value);
    }
    quantity::count(value)
}
