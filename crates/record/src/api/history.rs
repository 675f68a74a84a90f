//! History: series over the runs of a directory, with their change points; what `tare history` prints and the server returns.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::{Metric, Unit};
use crate::plan::Form;
use crate::view::{Better, MetricHead};

/// File of the index in a directory of runs; it can be made again from the runs.
pub const HISTORY_INDEX: &str = ".history.sqlite";

/// What `tare` starts the program `tare-history` with: its only argument, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryCommand {
    /// `tare history`.
    History(HistoryOptions),
    /// `tare suite`.
    Suite(SuiteOptions),
    /// `tare size`.
    Size(super::SizeOptions),
}

/// Options of `tare history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryOptions {
    /// Directory of runs.
    pub runs: PathBuf,
    /// Which series.
    pub filter: SeriesFilter,
    /// Whether change points are computed.
    pub changes: bool,
    /// Most runs of a series that are printed.
    pub last: usize,
    /// What is printed or written.
    pub output: HistoryOutput,
    /// The terminal.
    pub screen: ScreenOptions,
}

/// Which series of a history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SeriesFilter {
    /// Experiment, or the part of its name after the study.
    pub experiment: Option<String>,
    /// Full or quick form.
    pub form: Option<Form>,
    /// Metric; `None`: the primary metrics of the experiment.
    pub metric: Option<Metric>,
    /// Arm.
    pub arm: Option<String>,
    /// Level.
    pub level: Option<String>,
    /// Beginning of the machine's identity.
    pub machine: Option<String>,
}

/// What `tare history` prints or writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryOutput {
    /// Tables for the terminal.
    Text,
    /// JSON.
    Json,
    /// One value per line.
    Csv,
    /// A chart of one series, in this file.
    Svg(PathBuf),
    /// Nothing: the index is made again.
    Index,
}

/// Width and colour of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenOptions {
    /// Columns.
    pub width: u16,
    /// Whether text is coloured.
    pub colour: bool,
}

/// Options of `tare suite`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteOptions {
    /// File of the suite.
    pub file: PathBuf,
    /// Directory of runs.
    pub runs: PathBuf,
    /// Whether every experiment is run in its quick form.
    pub quick: bool,
    /// Whether a change for the worse is confirmed by a run of both versions.
    pub confirm: bool,
    /// Whether the result is printed as JSON.
    pub json: bool,
    /// The program `tare`.
    pub tare: PathBuf,
    /// Directory with the folders `experiments`, `workloads` and `targets`.
    pub home: PathBuf,
    /// The terminal.
    pub screen: ScreenOptions,
}

/// `GET /api/v1/history`: experiments and kept loads with a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryList {
    /// The experiments, by name.
    pub experiments: Vec<HistoryExperiment>,
    /// Complete runs that cannot be read, with the reason.
    pub unreadable: BTreeMap<String, String>,
}

/// An experiment with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryExperiment {
    /// Experiment; of a kept load, `load: ` and its description.
    pub experiment: String,
    /// Full or quick form.
    pub form: Form,
    /// Complete runs.
    pub runs: u64,
    /// Start of the first run, µs since the epoch.
    pub first_unix_us: u64,
    /// Start of the last run.
    pub last_unix_us: u64,
    /// Machines, the one with most runs first.
    pub machines: Vec<HistoryMachine>,
    /// Arms of the last run, in order.
    pub arms: Vec<String>,
    /// Levels of the last run, in order.
    pub levels: Vec<String>,
    /// Metrics of the last run that have values.
    pub metrics: Vec<MetricHead>,
}

/// A machine with its runs of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryMachine {
    /// Short hash of ID, processor, cores and memory; runs of two machines are in two series.
    pub machine: String,
    /// The machine in words.
    pub about: String,
    /// Complete runs.
    pub runs: u64,
}

/// What makes a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesKey {
    /// Experiment.
    pub experiment: String,
    /// Full or quick form.
    pub form: Form,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Machine, [`HistoryMachine::machine`].
    pub machine: String,
}

/// `GET /api/v1/history/series?experiment=…`: the series of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesList {
    /// The series.
    pub series: Vec<SeriesSummary>,
    /// Acknowledgements that match no change of this experiment or have an unknown one, each in a sentence; with change points only.
    #[serde(default)]
    pub unmatched: Vec<String>,
}

/// A series in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesSummary {
    /// What makes it.
    pub key: SeriesKey,
    /// Unit of its values.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Runs.
    pub runs: u64,
    /// Value of the last run.
    pub latest: f64,
    /// Median of all runs.
    pub median: f64,
    /// Last run relative to the median of the runs before it (0.1 = 10 % more); `None`: no run before.
    pub latest_change: Option<f64>,
    /// Values of the last runs, the oldest first.
    pub recent: Vec<f64>,
    /// Lowest and highest value of consecutive runs, the oldest first: all runs, in equal parts where there are many.
    #[serde(default)]
    pub overview: Vec<[f64; 2]>,
    /// The last change point; `None`: none, or not asked for.
    pub last_change: Option<SeriesChange>,
    /// Note of the acknowledgement of the last change point, if it is acknowledged.
    #[serde(default)]
    pub acknowledged: Option<String>,
}

/// `GET /api/v1/history/points?experiment=…&arm=…&level=…&metric=…`: one series with its runs and change points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesDetail {
    /// What makes it.
    pub key: SeriesKey,
    /// The machine in words.
    pub machine: String,
    /// Name of the metric for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Relative change that is too small to matter: the margin of the last run's experiment.
    pub margin: f64,
    /// Runs of the whole series.
    pub runs: u64,
    /// Runs before the first of `points`.
    pub left_out: u64,
    /// The last runs, the oldest first.
    pub points: Vec<SeriesPoint>,
    /// All change points, the oldest first.
    pub changes: Vec<SeriesChange>,
}

/// A run in a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Name of the run folder.
    pub run: String,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// Value: the median over the run's blocks.
    pub value: f64,
    /// Lowest value of a block.
    pub low: Option<f64>,
    /// Highest value of a block.
    pub high: Option<f64>,
    /// Whether `value` is a lower bound.
    pub is_lower_bound: bool,
    /// What changed since the run before in this series.
    pub changed: Vec<VersionChange>,
}

/// A change point: from this run on, the values have another mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesChange {
    /// Number of the first run after the change in the series, from 0.
    pub index: u64,
    /// Name of its folder.
    pub run: String,
    /// Its start, µs since the epoch.
    pub started_unix_us: u64,
    /// Mean from the change point before (or the first run) to this one.
    pub before: f64,
    /// Mean from here to the next change point (or the last run).
    pub after: f64,
    /// `after` relative to `before` (0.1 = 10 % more).
    pub change: f64,
    /// Whether it is for the worse.
    pub is_worse: bool,
    /// Probability of such a difference without a change (Student's t-test).
    pub p: f64,
    /// What changed between the two runs.
    pub changed: Vec<VersionChange>,
}

/// A version that differs between two runs of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionChange {
    /// `kernel`, `tare`, `experiment` (digest of its file), `addressing`, or the name of a target.
    pub axis: String,
    /// Version before; empty: the run before had none.
    pub before: String,
    /// Version after.
    pub after: String,
}
