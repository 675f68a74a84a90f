//! What is shown of a run: computed once from its records, the same for terminal, page and Markdown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::OutcomeCount;
use crate::metric::{Metric, Unit};
use crate::plan::{Compare, Form};
use crate::record::{Check, RunProgress};

mod as_published;
mod assertion;
mod baseline;
mod disturbance;
mod factor;
mod failures;
mod links;
mod network;
mod overhead;
mod points;
mod published;
mod requests;
mod told;
mod waterfall;

pub use as_published::{AsPublished, AsPublishedRow};
pub use assertion::{AssertionOutcome, AssertionView};
pub use baseline::{BaselineCheck, BaselineDifference};
pub use disturbance::{DisturbanceView, DisturbedTrial, EventMark, MomentPoint, ReadBackView};
pub use factor::{FactorLine, FactorPoint, FactorView};
pub use failures::{FailedShare, FailureView};
pub use links::{DistanceView, WayView};
pub use network::{MachineView, PodView};
pub use overhead::{Family, Interval, Outcome, Overhead};
pub use points::{CurvePoint, TimePoint};
pub use published::{PublishedColumns, PublishedRow, PublishedView};
pub use requests::{RequestColumn, RequestFigure, RequestView};
pub use told::{ToldRow, ToldView};
pub use waterfall::{WaterfallPart, WaterfallSequence, WaterfallStep, WaterfallView};

/// Everything that a report shows. No renderer computes a statistic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// The run.
    pub run: RunHead,
    /// The answer, first things first.
    pub verdict: Vec<Sentence>,
    /// What the experiment claims of its result, and whether it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<AssertionView>,
    /// What differs between the things compared.
    pub compare: Compare,
    /// Metrics with their names, in the order of tables.
    pub metrics: Vec<MetricHead>,
    /// Arms in the order of the experiment.
    pub arms: Vec<ArmHead>,
    /// Levels in the order of the experiment.
    pub levels: Vec<LevelView>,
    /// Level whose requests are shown one by one, if the experiment names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_at: Option<String>,
    /// Overheads with their intervals, all levels.
    pub overheads: Vec<Overhead>,
    /// Comparisons in which exchanges failed: too many for a verdict, or more on one side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureView>,
    /// What was done to test beds during trials, and what came of it; a cell each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<DisturbanceView>,
    /// What each thing adds to the sum, per level and metric.
    #[serde(default)]
    pub waterfalls: Vec<WaterfallView>,
    /// Metrics against the factor, where exactly one is varied.
    #[serde(default)]
    pub factors: Vec<FactorView>,
    /// What others published.
    pub published: Vec<PublishedView>,
    /// The same with a column for each source, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_columns: Option<PublishedColumns>,
    /// Mean ± standard deviation by a published study's rule, if the experiment asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published: Option<AsPublished>,
    /// The baseline's two copies compared, where it runs twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_check: Option<BaselineCheck>,
    /// Scatter from block to block per level and metric, and what can be found in it.
    pub noise: Vec<Noise>,
    /// Every trial.
    pub trials: Vec<TrialRow>,
    /// What lies between every two sites, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceView>,
    /// Files of the run that could not be read, each with the reason.
    pub skipped: Vec<String>,
    /// Machine, versions and settings.
    pub facts: Vec<FactGroup>,
    /// Checks of the machine.
    pub checks: Vec<Check>,
    /// The plan as YAML, for reading.
    pub plan_text: String,
}

/// Head of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHead {
    /// Folder name.
    pub id: String,
    /// Experiment.
    pub experiment: String,
    /// Its question.
    pub question: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Length.
    pub took_ns: u64,
    /// Share of that time inside measuring windows.
    pub measuring_share: f64,
    /// How sure the figures are.
    pub state: ViewState,
    /// How far the run itself came.
    pub progress: RunProgress,
    /// Why it ended so, in words, if it did not end as planned.
    pub ended_why: Option<String>,
    /// Full or quick form of the experiment.
    pub form: Form,
    /// Complete blocks.
    pub blocks_complete: u32,
    /// Blocks planned.
    pub blocks_planned: u32,
    /// Command that repeats it.
    pub command: String,
    /// Version of Tare.
    pub tare: String,
}

/// A metric as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricHead {
    /// Metric.
    pub metric: Metric,
    /// Short name for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Primary or descriptive.
    pub family: Family,
    /// Which direction is good.
    pub better: Better,
}

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better: latency, CPU, memory.
    Lower,
    /// More is better: throughput.
    Higher,
}

/// How much of a run stands behind a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ViewState {
    /// Too few blocks for an interval.
    Provisional,
    /// Intervals, but blocks are still to come.
    Partial,
    /// All blocks.
    Complete,
}

/// One sentence of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sentence {
    /// What kind it is.
    pub kind: SentenceKind,
    /// Its text.
    pub text: String,
}

/// Kind of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceKind {
    /// An answer to the question.
    Finding,
    /// What could mislead.
    Warning,
    /// Good to know.
    Note,
}

/// An arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmHead {
    /// Name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// Why it was not run, if it was not.
    pub not_run: Option<String>,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelView {
    /// Name.
    pub name: String,
    /// Factor key and value, in words.
    pub values: Vec<(String, String)>,
    /// Why it lies beyond the knee of this machine, if it does.
    pub beyond_knee: Option<String>,
    /// One cell per arm, in the order of arms.
    pub cells: Vec<CellView>,
    /// Why figures of this level are missing, in sentences.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// One arm at one level, over all its fit trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// Arm.
    pub arm: String,
    /// Trials that count (the A/A copy not included).
    pub trials_fit: u32,
    /// Trials made.
    pub trials_made: u32,
    /// Rate asked for.
    pub offered_per_s: Option<f64>,
    /// Whether that rate was reached in every trial.
    pub rate_reached: bool,
    /// Right answers, all trials.
    pub right: u64,
    /// Errors, all trials.
    pub errors: u64,
    /// Unfinished, all trials.
    pub unfinished: u64,
    /// What of its exchanges failed, and which metrics have no verdict for it.
    #[serde(default)]
    pub failed: FailedShare,
    /// Fit trials in which the parts' cores were busier than the plan's limit.
    pub trials_saturated: u32,
    /// Share of the planned trials that did not count the first time and were repeated, or are missing.
    pub repeated_share: Option<f64>,
    /// Every outcome but right answers, all fit trials.
    pub outcomes: Vec<OutcomeCount>,
    /// Each kind of request by itself, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestView>,
    /// Figures, in the order of [`Metric::ALL`].
    pub figures: Vec<Figure>,
    /// Latency (`latency`, right answers and unfinished ones at their age, trials merged) by percentile.
    pub latency: Vec<CurvePoint>,
    /// The same for `response`: from the intended start, as this client saw it.
    pub response: Vec<CurvePoint>,
    /// The same for `service`.
    pub service: Vec<CurvePoint>,
    /// Latency over the time of a trial, per second of intended time, median over blocks.
    pub over_time: Vec<TimePoint>,
    /// What each instance consumed.
    pub parts: Vec<PartView>,
    /// What passed through the network of each pod that has one of its own.
    #[serde(default)]
    pub pods: Vec<PodView>,
    /// What crossed each way of each link between sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<WayView>,
    /// What parts say of themselves.
    #[serde(default)]
    pub told: ToldView,
    /// What the machine as a whole did.
    #[serde(default)]
    pub machine: MachineView,
    /// Our own error.
    pub instrument: InstrumentView,
}

/// One figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Metric.
    pub metric: Metric,
    /// Unit.
    pub unit: Unit,
    /// Median over blocks; `None`: too few observations.
    pub value: Option<f64>,
    /// Whether the true value lies above `value` (unanswered exchanges reach into it).
    pub at_least: bool,
    /// Lowest block.
    pub low: Option<f64>,
    /// Highest block.
    pub high: Option<f64>,
    /// Value per block, in order of blocks.
    pub by_block: Vec<Option<f64>>,
    /// The value as people read it, with unit: `0.31 ms`, `> 12 ms`, `–`.
    pub text: String,
}

/// What an instance consumed, medians over blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartView {
    /// Instance.
    pub instance: String,
    /// Role: `app`, `agent`, `sidecar`, `gateway`, …, `link`, `conductor`.
    pub role: String,
    /// Software and version.
    pub software: String,
    /// CPU-seconds per 1000 completed exchanges.
    pub cpu_s_per_1000: Option<f64>,
    /// Cores used, on average.
    pub cores: Option<f64>,
    /// Peak resident memory.
    pub rss_peak_bytes: Option<u64>,
    /// Mean resident memory.
    pub rss_mean_bytes: Option<u64>,
    /// Time runnable but not running, per second.
    pub run_queue_wait_share: Option<f64>,
    /// Context switches per 1000 exchanges.
    pub switches_per_1000: Option<f64>,
    /// Packets per 1000 exchanges.
    pub packets_per_1000: Option<f64>,
    /// Packets in and out per second.
    #[serde(default)]
    pub packets_per_s: Option<f64>,
    /// Bytes written to disk per second.
    #[serde(default)]
    pub disk_write_per_s: Option<f64>,
    /// Bytes written to disk within a window.
    pub disk_write_bytes: Option<u64>,
    /// Share of the window throttled by a limit.
    pub throttled_share: Option<f64>,
}

/// Our own error in a cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentView {
    /// Lateness, median of blocks' medians.
    pub lateness_p50_ns: Option<u64>,
    /// Lateness, worst block's p99.
    pub lateness_p99_ns: Option<u64>,
    /// Share of arrivals that were released late enough to leave in a burst, all trials.
    pub bunched_share: Option<f64>,
    /// Lag, worst block's p99.
    pub lag_p99_ns: Option<u64>,
    /// Lateness by percentile, trials merged.
    pub lateness: Vec<CurvePoint>,
    /// Busy share of the agents' cores, spinning apart.
    pub agent_busy: Option<f64>,
    /// Share of answers stamped by the kernel.
    pub stamped_share: Option<f64>,
    /// Share of kernel stamps that are upper bounds.
    pub upper_bound_share: Option<f64>,
}

/// Scatter of one metric from block to block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Residual standard deviation of the log-ratios.
    pub residual: Option<f64>,
    /// Smallest relative difference that this design would find.
    pub detectable: Option<f64>,
}

/// One trial in the list of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRow {
    /// Number.
    pub trial: u32,
    /// Block.
    pub block: u32,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// Copy of the baseline.
    pub copy: u32,
    /// Attempt.
    pub attempt: u32,
    /// `fit`, `unfit`, `invalid`, `failed`, `superseded`.
    pub status: String,
    /// Why, when not fit.
    pub why: Vec<String>,
    /// Start since the start of the run.
    pub offset_ns: u64,
    /// From its start to its record.
    pub took_ns: u64,
    /// Saturated.
    pub saturated: bool,
    /// Median of `latency`.
    pub p50_ns: Option<u64>,
    /// 99th percentile of `latency`.
    pub p99_ns: Option<u64>,
    /// Right answers per second.
    pub throughput_per_s: Option<f64>,
    /// Lateness p99.
    pub lateness_p99_ns: Option<u64>,
    /// Proofs that held / all.
    pub proofs_held: u32,
    /// All proofs.
    pub proofs_made: u32,
}

/// A titled list of facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactGroup {
    /// Title.
    pub title: String,
    /// Name and value.
    pub facts: Vec<(String, String)>,
}
