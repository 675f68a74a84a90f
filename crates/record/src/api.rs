//! Shapes of the server's API, `/api/v1` of `tare serve`: what it takes and what it returns.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load_report::LoadReport;
use crate::plan::Form;
use crate::record::{RunProgress, TrialRecord};
use crate::seal::RunOrigin;
use crate::view::{Sentence, View};

mod audit;
mod comparison;
mod history;
mod night;
mod perfcheck;
mod sizing;
mod start;

pub use audit::{AuditEntry, AuditList, Caller, LinkReply};
pub use comparison::{
    LatencyBucket, LoadFigures, LoadPercentile, RunCell, RunFigures, RunOverlay, StatusCodeCount,
};
pub use history::{
    HISTORY_INDEX, HistoryCommand, HistoryExperiment, HistoryList, HistoryMachine, HistoryOptions,
    HistoryOutput, ScreenOptions, SeriesChange, SeriesDetail, SeriesFilter, SeriesKey, SeriesList,
    SeriesPoint, SeriesSummary, SuiteOptions, VersionChange,
};
pub use night::{
    Confirmation, EntryOutcome, NIGHT, NIGHTS, NightChange, NightCounts, NightEntry, NightList,
    NightReport, NightState, NightSummary,
};
pub use perfcheck::{
    BenchmarkFailure, BenchmarkOutcome, BenchmarkResult, GOLDEN_FILE, GOLDEN_VERSION, GoldenFile,
    GoldenMachine, GoldenSession, GoldenUpdate, KEPT_CHECK, KeptCheck, PerfReference,
    PerfcheckOptions, PerfcheckReport,
};
pub use sizing::{
    ProxyFeatures, RepeatUnit, ServiceSize, Side, SizeOptions, SizedEdge, SizedGroup, SizedPart,
    SizedTopology, SizedValue, SizingPoint, SizingPublished, SizingReport, TopologySize,
};
pub use start::{
    ExperimentRequest, KafkaLoadMode, KafkaLoadRequest, LoadPace, LoadRequest, LoadStop, PlanReply,
    ServeOptions, StartReply, StartState,
};

/// `GET /api/v1/server`: what this server is and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// Version of Tare.
    pub tare: String,
    /// [`crate::FORMAT_VERSION`] of what it returns.
    pub version: u32,
    /// Directory of runs.
    pub runs: String,
    /// Whether nothing can be started, stopped, deleted or imported.
    pub read_only: bool,
    /// Directories whose files an experiment or a load may name.
    pub files: Vec<String>,
    /// Runs and loads that are measured at a time; further ones are refused.
    pub parallel: u32,
    /// Who asks.
    pub caller: Caller,
}

/// `GET /api/v1/runs`: all runs of the directory, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunEntry>,
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEntry {
    /// Name of the run folder.
    pub id: String,
    /// Its state.
    pub state: RunEntryState,
    /// What is known of it; `None` as long as it has not been read.
    pub summary: Option<RunSummary>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Where it is from; `None`: its folder does not say it. Only one that was begun here can be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
}

/// State of a run in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunEntryState {
    /// A process is measuring.
    Running,
    /// All blocks were measured.
    Complete,
    /// Interrupted by the user; it can be resumed.
    Interrupted,
    /// Ended with an error; it can be resumed.
    Failed,
    /// The process was killed; it can be resumed.
    Killed,
    /// The folder cannot be read.
    Unreadable,
}

/// File with the summary of a run.
pub const SUMMARY: &str = "summary.json";

/// File with the report of a load.
pub const LOAD_REPORT: &str = "load.json";

/// What a list says of a run; `summary.json` of its folder, written when the run ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Experiment.
    pub experiment: String,
    /// Question of the experiment.
    pub question: String,
    /// Full or quick form.
    pub form: Form,
    /// How far the run came.
    pub progress: RunProgress,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// Duration.
    pub took_ns: u64,
    /// Findings and warnings of the verdict, the most important first.
    pub verdict: Vec<Sentence>,
    /// Complete blocks.
    pub blocks_complete: u32,
    /// Blocks planned.
    pub blocks_planned: u32,
    /// Trials measured.
    pub trials: u32,
    /// Trials that count.
    pub trials_fit: u32,
    /// Machine: processor, cores, memory.
    pub machine: String,
    /// Version of Tare that measured.
    pub tare: String,
}

/// `GET /api/v1/runs/{id}`: one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    /// Its entry in the list.
    pub entry: RunEntry,
    /// Size of its folder.
    pub bytes: u64,
    /// The experiment as YAML, resolved.
    pub plan_text: String,
    /// Arms in order, with the routes of each.
    pub arms: Vec<ArmRoute>,
}

/// An arm with its routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRoute {
    /// Name.
    pub name: String,
    /// Description.
    pub about: String,
    /// Routes: parts and proxies, and between two of them the security of the hop (`plaintext`, `tls`, `mtls`).
    pub routes: Vec<Vec<String>>,
}

/// `GET /api/v1/runs/{id}/trials/{trial}`: one trial with its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDetail {
    /// The record.
    pub record: TrialRecord,
    /// Files of the trial and of its test bed; `GET /api/v1/runs/{id}/files/{path}` returns one as text.
    pub files: Vec<FileEntry>,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Path in the run folder.
    pub path: String,
    /// Size.
    pub bytes: u64,
}

/// `GET /api/v1/loads`: loads that were kept, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadList {
    /// The loads.
    pub loads: Vec<LoadEntry>,
}

/// A load in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadEntry {
    /// Name of its folder, or of Fortio's file.
    pub id: String,
    /// Whether it is running.
    pub running: bool,
    /// Its figures; `None` while it runs, or if it ended without any.
    pub figures: Option<LoadFigures>,
    /// Why it has none.
    pub problem: Option<String>,
}

/// `GET /api/v1/loads/{id}`: one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadDetail {
    /// Its entry in the list.
    pub entry: LoadEntry,
    /// Report of a load of Tare; `None` for one of Fortio.
    pub report: Option<Box<LoadReport>>,
}

/// `GET /api/v1/library`: experiments that can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentLibrary {
    /// The experiments.
    pub experiments: Vec<LibraryEntry>,
}

/// An experiment of the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LibraryEntry {
    /// Name: `study/experiment`.
    pub name: String,
    /// Its question.
    pub question: String,
    /// Whether it has a quick form.
    pub has_quick: bool,
}

/// An error of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// What is wrong, and the next step.
    pub message: String,
    /// Line in the YAML that was sent, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in that line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// All shapes of the API, for its schema.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApiShapes {
    /// The server.
    pub server: ServerInfo,
    /// Runs.
    pub runs: RunList,
    /// A run.
    pub run: RunDetail,
    /// The view of a run.
    pub view: View,
    /// A trial.
    pub trial: TrialDetail,
    /// Runs side by side.
    pub overlay: RunOverlay,
    /// Loads.
    pub loads: LoadList,
    /// A load.
    pub load: LoadDetail,
    /// The library.
    pub library: ExperimentLibrary,
    /// Experiments with a history.
    pub history: HistoryList,
    /// Series.
    pub series: SeriesList,
    /// A series.
    pub series_detail: SeriesDetail,
    /// Nights.
    pub nights: NightList,
    /// A night.
    pub night: NightReport,
    /// What a run or a plan is asked for with.
    pub experiment_request: ExperimentRequest,
    /// What a load is asked for with.
    pub load_request: LoadRequest,
    /// A plan.
    pub plan: PlanReply,
    /// What was started.
    pub start: StartReply,
    /// A line of a run's event stream.
    pub run_event: crate::event::RunEvent,
    /// A line of a load's event stream.
    pub load_event: crate::event::LoadEvent,
    /// The machine.
    pub machine: crate::record::EnvironmentRecord,
    /// Who changed what.
    pub audit: AuditList,
    /// A link for another browser.
    pub link: LinkReply,
    /// An error.
    pub error: ErrorReply,
}
