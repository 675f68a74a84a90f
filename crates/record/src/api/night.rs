//! Results of `tare suite`: what ran in a night, and what changed.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SeriesChange, SeriesKey};
use crate::metric::Unit;

/// Folder of the results of suites, in a directory of runs.
pub const NIGHTS: &str = "nights";
/// File of a result, in its folder.
pub const NIGHT: &str = "night.json";

/// Result of a suite, `night.json` and `tare suite --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NightReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// File of the suite.
    pub suite: String,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// Duration.
    pub took_ns: u64,
    /// Version of Tare.
    pub tare: String,
    /// What was run, in this order.
    pub entries: Vec<NightEntry>,
    /// Entries without a result: the next call runs them first.
    pub left: Vec<String>,
    /// Why entries are left.
    pub left_reason: Option<String>,
    /// The last change point of each series to which a run of this night belongs, the worse ones first.
    pub changes: Vec<NightChange>,
    /// Acknowledgements that match no change of any run, each in a sentence with the reason.
    #[serde(default)]
    pub unmatched: Vec<String>,
    /// Why there are no change points, if they could not be looked for.
    pub history_problem: Option<String>,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why the exit code is not 0, in one line: the first reason, and how many more there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An entry of a suite after its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NightEntry {
    /// Name.
    pub name: String,
    /// How it ended.
    pub outcome: EntryOutcome,
    /// Why, if not as planned, in one line; of a check that failed with its figures.
    pub reason: Option<String>,
    /// Name of the run folder.
    pub run: Option<String>,
    /// Duration.
    pub took_ns: u64,
    /// First sentences of the result.
    pub findings: Vec<String>,
    /// Exports that failed, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export_problems: Vec<String>,
    /// Command line.
    pub command: String,
}

/// How an entry of a suite ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOutcome {
    /// As planned.
    Done,
    /// It was measured, and an assertion does not hold or a benchmark is worse.
    AssertionFailed,
    /// It was not measured.
    Failed,
    /// Its limit, the budget or a signal ended it.
    Interrupted,
}

/// A change point with what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NightChange {
    /// The series.
    pub key: SeriesKey,
    /// Name of the metric for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// The change point.
    pub change: SeriesChange,
    /// Whether the suite had not reported it before.
    pub is_new: bool,
    /// Note of the acknowledgement, if it is acknowledged.
    pub acknowledged: Option<String>,
    /// Result of a run of both versions.
    pub confirmation: Option<Confirmation>,
}

/// Result of a run of both versions at a change point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Confirmation {
    /// The new version is worse.
    Confirmed,
    /// The versions are equal, or the new one is better: something else changed.
    NotConfirmed,
    /// The run did not decide it.
    Undecided,
    /// Both versions cannot be run.
    NotTestable {
        /// Why.
        reason: String,
    },
}

/// `GET /api/v1/history/nights`: results of suites, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NightList {
    /// The nights.
    pub nights: Vec<NightSummary>,
}

/// A night in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NightSummary {
    /// Name of its folder: the date, and a number from the second of a date on.
    pub night: String,
    /// How far it came.
    pub state: NightState,
    /// What it found; `None` without a result.
    pub result: Option<NightCounts>,
    /// Why the result cannot be read.
    pub problem: Option<String>,
}

/// How far a night came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NightState {
    /// A suite runs, and this is its night.
    Running,
    /// It has a result.
    Done,
    /// The suite was killed before it wrote a result.
    Killed,
    /// Its result cannot be read.
    Unreadable,
}

/// What a night found, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NightCounts {
    /// File of the suite.
    pub suite: String,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// Duration.
    pub took_ns: u64,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why it is not 0, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Entries that were measured, also those with an assertion that does not hold.
    pub done: u64,
    /// Entries that failed, or reached their limit.
    pub failed: u64,
    /// Entries left to the next call: not started, or interrupted.
    pub left: u64,
    /// Change points.
    pub changes: u64,
    /// Those for the worse that are not acknowledged.
    pub worse: u64,
    /// Those that no earlier night had.
    pub new: u64,
    /// Those that a run of both versions confirmed.
    pub confirmed: u64,
}
