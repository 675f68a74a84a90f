//! CSV for Apache Otava: a row per run, in order of time, with a column per arm, level and metric.

use std::collections::{BTreeMap, BTreeSet};

use tare_report::csv::quoted;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions, measured};
use crate::subject::{ExportSubject, Source};

/// The format.
pub struct Otava;

/// A run as a row.
struct Row {
    started_unix_us: u64,
    time: String,
    run: String,
    /// Versions by what has them: attributes of Otava.
    versions: BTreeMap<String, String>,
    values: BTreeMap<String, f64>,
}

impl Format for Otava {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let experiments = subjects.iter().map(|one| one.view.run.experiment.as_str());
        let experiments: BTreeSet<&str> = experiments.collect();
        if experiments.len() > 1 {
            let experiments: Vec<&str> = experiments.into_iter().collect();
            return Err(ExportError::Input(format!(
                "the runs are of several experiments ({}): a test of Otava is of one",
                experiments.join(", ")
            )));
        }
        let mut rows: Vec<Row> = subjects.iter().map(row).collect();
        rows.sort_by(|a, b| (a.started_unix_us, &a.run).cmp(&(b.started_unix_us, &b.run)));
        // Otava takes no empty fields: a column is there if every run has its value.
        let mut columns: BTreeMap<&String, usize> = BTreeMap::new();
        for column in rows.iter().flat_map(|row| row.values.keys()) {
            *columns.entry(column).or_default() += 1;
        }
        columns.retain(|_, runs| *runs == rows.len());
        let versions: BTreeSet<&String> = rows.iter().flat_map(|row| row.versions.keys()).collect();
        let mut head = vec!["time".to_owned(), "run".to_owned()];
        head.extend(versions.iter().map(|name| quoted(name)));
        head.extend(columns.keys().map(|name| quoted(name)));
        let mut text = head.join(",") + "\n";
        for row in &rows {
            let mut fields = vec![row.time.clone(), quoted(&row.run)];
            let of = |name: &&String| row.versions.get(*name).map(|version| quoted(version));
            fields.extend(versions.iter().map(|name| of(name).unwrap_or_default()));
            let values = columns.keys().filter_map(|name| row.values.get(*name));
            fields.extend(values.map(f64::to_string));
            text.push_str(&(fields.join(",") + "\n"));
        }
        Ok(text)
    }
}

fn row(subject: &ExportSubject) -> Row {
    let view = &subject.view;
    let mut versions = BTreeMap::from([("tare".to_owned(), view.run.tare.clone())]);
    match &subject.source {
        Source::Run(run) => {
            if let Some(environment) = &run.environment {
                versions.insert("kernel".to_owned(), environment.kernel.clone());
                let targets = environment.targets.iter();
                versions.extend(targets.map(|(name, one)| (name.clone(), one.version.clone())));
            }
        }
        Source::Load(report) => {
            if let Some(machine) = &report.machine {
                versions.insert("kernel".to_owned(), machine.kernel.clone());
            }
        }
    }
    let values = measured(view).map(|one| {
        let metric = one.figure.metric.name();
        let column = format!("{} {} {metric}", one.cell.arm, one.level.name);
        (column, one.value)
    });
    Row {
        started_unix_us: subject.started_unix_us,
        time: view.run.started.clone(),
        run: view.run.id.clone(),
        versions,
        values: values.collect(),
    }
}
