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

use tare_record::regular::read_regular;
use tare_record::view::Better;

use crate::error::CheckError;
use crate::process::Processes;

/// Largest file that a tool or a project has written, such as results and lists of dependencies.
const FILE_BYTES_MAX: u64 = 16 << 20;

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
