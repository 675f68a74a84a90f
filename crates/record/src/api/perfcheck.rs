//! `tare perfcheck`: its options, the golden file, and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ScreenOptions;
use crate::record::MachineRecord;
use crate::view::{Better, Interval};

/// Name of the golden file, beside the benchmarks of a project.
pub const GOLDEN_FILE: &str = "perf.golden.json";

/// Version of the golden file.
pub const GOLDEN_VERSION: u32 = 1;

/// File of a golden check that a suite has kept, in a folder of its own in the directory of runs.
pub const KEPT_CHECK: &str = "perfcheck.json";

/// What `tare` starts the program `tare-perfcheck` with: its only argument, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerfcheckOptions {
    /// Folder below which benchmarks are looked for.
    pub folder: PathBuf,
    /// Regular expression that names of benchmarks match; `None`: all.
    pub benchmarks: Option<String>,
    /// Repeats of every benchmark; `None`: as many as in the golden file, or the default.
    pub repeats: Option<u32>,
    /// Size below which a difference does not matter, as a share.
    pub margin: f64,
    /// With what the benchmarks are compared.
    pub reference: PerfReference,
    /// What becomes of the golden files.
    pub update: GoldenUpdate,
    /// Whether they are written without a question.
    pub yes: bool,
    /// Whether the result is printed as JSON.
    pub json: bool,
    /// File for the result as JUnit.
    pub junit: Option<PathBuf>,
    /// File for the result as Markdown.
    pub markdown: Option<PathBuf>,
    /// This machine.
    pub machine: MachineRecord,
    /// The terminal.
    pub screen: ScreenOptions,
}

/// With what benchmarks are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerfReference {
    /// Golden files. A machine without values in them is said.
    Golden,
    /// Golden files. A machine without values in them is a failure.
    RequiredGolden,
    /// This revision, built and measured in the same session.
    Revision(String),
}

/// What becomes of a golden file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GoldenUpdate {
    /// It stays as it is.
    Keep,
    /// The session is added.
    Add,
    /// The session replaces those of this machine.
    Reset,
}

/// `perf.golden.json`: values of benchmarks, per machine, of several sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenFile {
    /// Version of the format.
    pub version: u32,
    /// Machines by their hash, as in `tare history`.
    pub machines: BTreeMap<String, GoldenMachine>,
}

/// The sessions of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenMachine {
    /// The machine in words.
    pub about: String,
    /// Sessions, the oldest first.
    pub sessions: Vec<GoldenSession>,
}

/// One session: all benchmarks of the project, measured once or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenSession {
    /// Start, `2026-11-26T09:00:00Z`.
    pub started: String,
    /// Revision of the sources; ends with `+` when files were changed since. `None`: not in a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Version of Tare.
    pub tare: String,
    /// Kernel release.
    pub kernel: String,
    /// Versions of the tools.
    pub versions: BTreeMap<String, String>,
    /// Values by benchmark (`go: BenchmarkEncode`), then by unit: one per repeat.
    pub values: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

/// What `tare perfcheck --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerfcheckReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Folder.
    pub folder: String,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// Duration.
    pub took_ns: u64,
    /// Version of Tare.
    pub tare: String,
    /// Hash of the machine.
    pub machine: String,
    /// The machine in words.
    pub machine_about: String,
    /// Revision of the sources.
    pub revision: Option<String>,
    /// Revision that was measured beside it.
    pub against: Option<String>,
    /// Repeats of every benchmark.
    pub repeats: u32,
    /// Seed of their order.
    pub seed: u64,
    /// Size below which a difference does not matter, as a share.
    pub margin: f64,
    /// Versions of the tools.
    pub versions: BTreeMap<String, String>,
    /// Kernel release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Benchmarks, the worst first.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Benchmarks that failed.
    pub failed: Vec<BenchmarkFailure>,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// The result in one sentence.
    pub answer: String,
    /// Exit code.
    pub exit_code: u8,
}

/// A golden check of a suite, [`KEPT_CHECK`] of its folder: a run in the history of its benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptCheck {
    /// The entry of the suite, `perfcheck FOLDER`.
    pub name: String,
    /// What it found.
    pub report: PerfcheckReport,
}

/// One value of a benchmark compared with its reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkResult {
    /// Folder of the project, below the folder of the report; empty: this one.
    pub project: String,
    /// Benchmark, with the tool before it.
    pub benchmark: String,
    /// Unit.
    pub unit: String,
    /// Whether less or more is better.
    pub better: Better,
    /// Value now: the median of the repeats.
    pub now: f64,
    /// Value of the reference; `None`: it has none.
    pub reference: Option<f64>,
    /// Ratio to it, with the simultaneous 95 % interval.
    pub ratio: Option<Interval>,
    /// Sessions, or with `against` repeats, behind the reference.
    pub sessions: u32,
    /// The outcome.
    pub outcome: BenchmarkOutcome,
}

/// Outcome of a benchmark.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BenchmarkOutcome {
    /// Shown to be worse, by more than the margin.
    Worse,
    /// Shown to be better, by more than the margin.
    Better,
    /// Neither could be shown.
    Undecided,
    /// Shown to differ by less than the margin.
    Same,
    /// There is no reference.
    New,
}

/// A benchmark that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkFailure {
    /// Folder of the project.
    pub project: String,
    /// Benchmark.
    pub benchmark: String,
    /// Why.
    pub reason: String,
}
