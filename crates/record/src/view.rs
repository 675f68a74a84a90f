//! The view of a run: what reports show, computed once from the records, the same for terminal, page and Markdown.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{GeneratorCounts, OutcomeCount};
use crate::metric::{Metric, Unit};
use crate::plan::{Compare, Form};
use crate::record::{Check, RunProgress};

mod charts;
mod overhead;
mod table;

pub use charts::{
    FactorLine, FactorPoint, FactorView, FaultMark, FaultSample, FaultTrial, FaultView,
    ReadBackView, WaterfallPart, WaterfallSequence, WaterfallStep, WaterfallView,
};
pub use overhead::{
    AssertionOutcome, AssertionView, BaselineCheck, BaselineDifference, FailedShare, FailureView,
    Family, Interval, Outcome, Overhead, PublishedView,
};
pub use table::{ColumnKind, ColumnOf, Output, Table, TableCell, TableColumn, TableRow};

/// Everything that a report shows. Renderers compute no statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Identity and state of the run.
    pub run: RunHead,
    /// Sentences that answer the question, the most important first.
    pub verdict: Vec<Sentence>,
    /// Assertions of the experiment, with their outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<AssertionView>,
    /// Whether arms or levels are compared.
    pub compare: Compare,
    /// Metrics with their labels, in the order of tables.
    pub metrics: Vec<MetricHead>,
    /// Arms in the order of the experiment.
    pub arms: Vec<ArmHead>,
    /// Levels in the order of the experiment.
    pub levels: Vec<LevelView>,
    /// Overheads with their intervals, all levels.
    pub overheads: Vec<Overhead>,
    /// Comparisons affected by failed exchanges: too many for a verdict, or more on one side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureView>,
    /// Injected faults and their effects, one entry per cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultView>,
    /// Waterfalls: what each arm of a sequence adds, by level and metric.
    #[serde(default)]
    pub waterfalls: Vec<WaterfallView>,
    /// Metrics by value of the factor, if exactly one factor is varied.
    #[serde(default)]
    pub factors: Vec<FactorView>,
    /// Published figures beside the measured ones.
    pub published: Vec<PublishedView>,
    /// A/A check: the baseline's two measurements compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_check: Option<BaselineCheck>,
    /// Noise: scatter between blocks by level and metric, and the smallest difference that can be found.
    pub noise: Vec<Noise>,
    /// Every trial.
    pub trials: Vec<TrialRow>,
    /// Tables, in the order of text outputs.
    pub tables: Vec<Table>,
    /// Flame graphs of profiled instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flame_graphs: Vec<FlameGraphView>,
    /// Files of the run that could not be read, each with a reason.
    pub unreadable_files: Vec<String>,
    /// Machine, versions and settings, in groups.
    pub facts: Vec<FactGroup>,
    /// Checks of the machine.
    pub checks: Vec<Check>,
    /// The plan as YAML.
    pub plan_text: String,
}

/// A flame graph of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlameGraphView {
    /// Name of the arm.
    pub arm: String,
    /// Name of the level.
    pub level: String,
    /// Name of the instance.
    pub instance: String,
    /// Arm that a differential flame graph compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The picture, an SVG document.
    pub svg: String,
}

/// Identity and state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHead {
    /// Name of the run folder.
    pub id: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Question of the experiment.
    pub question: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Duration.
    pub took_ns: u64,
    /// Share of the duration inside windows.
    pub measuring_share: f64,
    /// State of the statistics.
    pub state: ViewState,
    /// How far the run came.
    pub progress: RunProgress,
    /// Why it ended, if not as planned.
    pub end_reason: Option<String>,
    /// Full or quick form of the experiment.
    pub form: Form,
    /// Complete blocks.
    pub blocks_complete: u32,
    /// Blocks planned.
    pub blocks_planned: u32,
    /// Command that repeats the run.
    pub command: String,
    /// Version of Tare.
    pub tare: String,
}

/// A metric with its label and unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricHead {
    /// Metric.
    pub metric: Metric,
    /// Short name for people.
    pub label: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether it has verdicts (primary) or is descriptive.
    pub family: Family,
    /// Which direction is better.
    pub better: Better,
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better: latency, CPU, memory.
    Lower,
    /// More is better: throughput.
    Higher,
}

/// State of the statistics of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ViewState {
    /// Too few blocks for intervals.
    Provisional,
    /// Intervals exist, more blocks are to come.
    Partial,
    /// All blocks are measured.
    Complete,
}

/// A sentence of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sentence {
    /// Kind of the sentence.
    pub kind: SentenceKind,
    /// Text of the sentence.
    pub text: String,
}

/// Kind of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceKind {
    /// Answers the question.
    Finding,
    /// Warns of what could mislead.
    Warning,
    /// Gives background.
    Note,
}

/// An arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmHead {
    /// Name.
    pub name: String,
    /// Description.
    pub about: String,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// Why it was not run, if so.
    pub not_run: Option<String>,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelView {
    /// Name.
    pub name: String,
    /// Key and value of each factor, as texts.
    pub values: Vec<(String, String)>,
    /// Why it is beyond the knee of this machine, if so.
    pub beyond_knee: Option<String>,
    /// Cells, one per arm, in the order of arms.
    pub cells: Vec<CellView>,
    /// Why figures of this level are missing, as sentences.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A cell: one arm at one level, over all its fit trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// Arm.
    pub arm: String,
    /// Fit trials, the baseline's second measurement excluded.
    pub trials_fit: u32,
    /// Trials measured.
    pub trials_made: u32,
    /// Offered rate; `None`: no fixed rate.
    pub offered_per_s: Option<f64>,
    /// Whether every trial reached the offered rate.
    pub rate_reached: bool,
    /// Successful exchanges, all trials.
    pub ok: u64,
    /// Failed exchanges, all trials.
    pub errors: u64,
    /// Unfinished exchanges, all trials.
    pub unfinished: u64,
    /// Exchanges that were never sent, all trials.
    #[serde(default)]
    pub never_sent: u64,
    /// Share of failed exchanges, and the metrics without a verdict because of it.
    #[serde(default)]
    pub failed: FailedShare,
    /// Fit trials flagged as saturated.
    pub trials_saturated: u32,
    /// Share of the planned trials that did not count at first (and were repeated), or are missing.
    pub repeated_share: Option<f64>,
    /// Outcomes other than success, all fit trials.
    pub outcomes: Vec<OutcomeCount>,
    /// Metrics of the cell, in the order of [`Metric::ALL`].
    pub figures: Vec<Figure>,
    /// Percentiles of `latency`: successful exchanges, and unfinished ones at their age; trials merged.
    pub latency: Vec<CurvePoint>,
    /// Percentiles of `response`, the response time: from the intended start.
    pub response: Vec<CurvePoint>,
    /// Percentiles of `service`, the service time: from sending.
    pub service: Vec<CurvePoint>,
    /// Latency over the time of a trial, per second of intended start, median over blocks.
    pub over_time: Vec<TimePoint>,
    /// Resource usage of each instance.
    pub parts: Vec<PartView>,
    /// Resource usage of the machine.
    #[serde(default)]
    pub machine: MachineView,
    /// Measurement error of the generator.
    pub generator: GeneratorView,
}

/// A metric of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Metric.
    pub metric: Metric,
    /// Unit.
    pub unit: Unit,
    /// Median over blocks; `None`: too few observations.
    pub value: Option<f64>,
    /// Whether `value` is a lower bound, because unfinished exchanges enter into it.
    pub is_lower_bound: bool,
    /// Lowest value of a block.
    pub low: Option<f64>,
    /// Highest value of a block.
    pub high: Option<f64>,
    /// Value per block, in order of blocks.
    pub by_block: Vec<Option<f64>>,
    /// The value as text, with unit: `0.31 ms`, `> 12 ms`, `–`.
    pub text: String,
}

/// One point of a percentile curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Percentile, 0 to 100.
    pub percentile: f64,
    /// Value.
    pub value_ns: u64,
    /// Whether the value is a lower bound, because unfinished exchanges enter into it.
    pub is_lower_bound: bool,
}

/// One point of a latency-over-time chart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimePoint {
    /// Time since the start of the window.
    pub offset_ns: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: Option<u64>,
}

/// Resource usage of an instance, medians over blocks.
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
    /// Run-queue wait: time runnable but not running, per second.
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
    /// Bytes written to disk within the window.
    pub disk_write_bytes: Option<u64>,
    /// Share of the window throttled by a CPU limit.
    pub throttled_share: Option<f64>,
}

/// Resource usage of the machine within the windows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Share of all cores' time in softirq (receiving packets).
    pub softirq_share: Option<f64>,
    /// Share of all cores' time stolen by the hypervisor.
    pub steal_share: Option<f64>,
    /// Busy share of the parts' cores, background load and other arms included.
    pub target_cores_busy: Option<f64>,
    /// Share of the parts' cores used by background load; of all cores where agents have none of their own.
    pub background_target_share: Option<f64>,
    /// Share of the agents' cores used by background load.
    pub background_agent_share: Option<f64>,
    /// Share of the parts' cores used by instances of other arms; of all cores where agents have none of their own.
    pub other_arms_share: Option<f64>,
    /// Busy share of the busiest core.
    pub busiest_core: Option<f64>,
    /// Share of the window in which a part was throttled by a CPU limit, worst part.
    pub throttled_share: Option<f64>,
}

/// Measurement error of the generator in a cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorView {
    /// Median lateness, median over blocks.
    pub lateness_p50_ns: Option<u64>,
    /// 99th percentile of lateness, worst block.
    pub lateness_p99_ns: Option<u64>,
    /// Share of bunched starts, all trials.
    pub bunched_share: Option<f64>,
    /// 99th percentile of receive lag, worst block.
    pub receive_lag_p99_ns: Option<u64>,
    /// Lateness by percentile, trials merged.
    pub lateness: Vec<CurvePoint>,
    /// Busy share of the agents' cores, spinning excluded.
    pub agent_cpu_share: Option<f64>,
    /// Counters of the workers, all trials.
    pub counts: GeneratorCounts,
}

/// Noise of one metric: scatter between blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// Residual standard deviation of the log-ratios.
    pub residual: Option<f64>,
    /// Smallest relative difference that this design would find (minimum detectable difference).
    pub minimum_detectable: Option<f64>,
}

/// A trial in the list of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRow {
    /// Number of the trial.
    pub trial: u32,
    /// Block.
    pub block: u32,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// 0, or 1 for the second measurement of the baseline.
    pub aa_copy: u32,
    /// 0, or 1 for a repetition.
    pub attempt: u32,
    /// Status: `fit`, `unfit`, `invalid`, `failed`, `superseded`.
    pub status: String,
    /// Reasons, if not fit.
    pub reasons: Vec<String>,
    /// Start, since the start of the run.
    pub offset_ns: u64,
    /// Duration from its start to its record.
    pub took_ns: u64,
    /// Whether it is flagged as saturated.
    pub saturated: bool,
    /// Median of `latency`.
    pub p50_ns: Option<u64>,
    /// 99th percentile of `latency`.
    pub p99_ns: Option<u64>,
    /// Successful exchanges per second.
    pub throughput_per_s: Option<f64>,
    /// 99th percentile of lateness.
    pub lateness_p99_ns: Option<u64>,
    /// Path checks passed.
    pub proofs_held: u32,
    /// Path checks made.
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
