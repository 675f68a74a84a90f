//! The tools that benchmarks are run by: a module each behind one trait.

mod command;
mod cpp;
mod go;
mod java;
mod python;
mod rust;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_record::regular::read_regular;
use tare_record::view::Better;

use crate::error::CheckError;
use crate::process::Processes;

/// Largest file that a tool or a project has written, such as results and lists of dependencies.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Number of short runs that a repeat is the best of.
const RUNS_PER_REPEAT: usize = 3;
/// Time of all batches of a run.
const RUN_TIME: Duration = Duration::from_millis(120);
/// Most batches of a run.
const BATCHES_MAX: u32 = 200;

/// Number of batches of a run, if one takes so long.
fn batches(one: Duration) -> u32 {
    let fitting = RUN_TIME.as_secs_f64() / one.as_secs_f64().max(1e-6);
    (fitting as u32).clamp(1, BATCHES_MAX)
}

/// All tools.
pub const TOOLS: [&dyn Tool; 6] = [
    &go::Go,
    &rust::Criterion,
    &java::Jmh,
    &cpp::GoogleBenchmark,
    &python::PytestBenchmark,
    &command::Commands,
];

/// A tool that runs benchmarks.
pub trait Tool: Sync {
    /// Name, before the names of its benchmarks.
    fn name(&self) -> &'static str;
    /// Whether a file with this name may have benchmarks or name them.
    fn may_have(&self, file: &str) -> bool;
    /// Whether such a file has.
    fn has(&self, content: &str) -> bool;
    /// Files whose folder is the project of what is below.
    fn markers(&self) -> &'static [&'static str];
    /// Builds the benchmarks of a project and lists them.
    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError>;
}

/// Where a project is built and measured.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of the same project in the sources that are checked; another one for an old revision.
    pub home: PathBuf,
    /// Empty folder for what is built.
    pub scratch: PathBuf,
    /// Whether this is an old revision, whose build must not touch what the user has built.
    pub is_old: bool,
}

/// Benchmarks that are built.
pub struct Prepared {
    /// Versions of the tool and of what it needs.
    pub versions: BTreeMap<String, String>,
    /// Names of what can be run alone. One may have several benchmarks.
    pub names: Vec<String>,
    /// What runs them.
    pub runner: Box<dyn Runner>,
}

impl Prepared {
    /// Runs one of them once.
    pub fn repeat(
        &self,
        place: usize,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        self.runner.repeat(place, &self.names[place], processes)
    }
}

/// Runs benchmarks by their place among the names.
pub trait Runner {
    /// Number of short runs, spread over a round, that a repeat is the best of: where a process starts fast enough.
    fn runs_per_repeat(&self) -> usize {
        1
    }

    /// Runs one of them once.
    fn repeat(
        &self,
        place: usize,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError>;
}

/// A value of one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub benchmark: String,
    pub unit: String,
    pub better: Better,
    pub value: f64,
}

impl Reading {
    /// A time in ns.
    fn time(benchmark: impl Into<String>, ns: f64) -> Reading {
        Reading {
            benchmark: benchmark.into(),
            unit: "ns".into(),
            better: Better::Lower,
            value: ns,
        }
    }
}

/// The better one of two values.
pub fn better_of(better: Better, one: f64, other: f64) -> f64 {
    match better {
        Better::Lower => one.min(other),
        Better::Higher => one.max(other),
    }
}

/// The best reading of each benchmark and unit.
fn best_of(readings: Vec<Reading>) -> Vec<Reading> {
    let mut best: Vec<Reading> = Vec::new();
    for reading in readings {
        let is_same =
            |one: &&mut Reading| one.benchmark == reading.benchmark && one.unit == reading.unit;
        match best.iter_mut().find(is_same) {
            Some(known) => known.value = better_of(reading.better, known.value, reading.value),
            None => best.push(reading),
        }
    }
    best
}

/// The first line of an output that is not empty.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Reads JSON that a tool has written.
fn read_json(path: &Path) -> Result<serde_json::Value, CheckError> {
    let text = read_regular(path, FILE_BYTES_MAX).map_err(CheckError::at(path))?;
    serde_json::from_slice(&text)
        .map_err(|error| CheckError::Environment(format!("{}: {error}", path.display())))
}

/// A folder that is there and empty.
fn empty_folder(path: &Path) -> Result<(), CheckError> {
    if path.exists() {
        fs::remove_dir_all(path).map_err(CheckError::at(path))?;
    }
    fs::create_dir_all(path).map_err(CheckError::at(path))
}

/// What a benchmark that printed no value is told.
fn no_value(name: &str, said: &str) -> CheckError {
    CheckError::Environment(format!("{name} printed no value:\n{said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_as_many_batches_as_fit() {
        let of = |ms| batches(Duration::from_millis(ms));
        assert_eq!([of(0), of(1), of(10), of(1000)], [200, 120, 12, 1]);
    }

    #[test]
    fn the_best_of_each_unit_counts() {
        let reading = |unit: &str, better, value| Reading {
            benchmark: "a".into(),
            unit: unit.into(),
            better,
            value,
        };
        let all = vec![
            reading("ns/op", Better::Lower, 3.0),
            reading("op/s", Better::Higher, 3.0),
            reading("ns/op", Better::Lower, 2.0),
            reading("op/s", Better::Higher, 2.0),
        ];
        let best: Vec<f64> = best_of(all).iter().map(|one| one.value).collect();
        assert_eq!(best, [2.0, 3.0]);
    }
}
