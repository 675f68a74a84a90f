//! An experiment file as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arm::ArmDef;
use super::event::EventDef;
use super::external::ExternalDef;
use super::load::LoadSection;
use super::sites::SitesDef;
use super::waterfall::WaterfallDef;
use crate::metric::Metric;
use crate::name::Name;
use crate::plan::{Addressing, BaselineRuns, BeyondKnee, Compare, Need, OutlierRuleName, Restart};
use crate::topology::Settings;
use crate::units::{Period, Share, Size};

/// An experiment: a question, what is compared, and how it is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the experiment"))]
pub struct ExperimentDef {
    /// The question, as a sentence.
    pub question: String,
    /// Name of a workload, or `{use: name}` with its settings and `part: target`.
    pub workload: WorkloadUse,
    /// Configurations compared; the first is the baseline.
    #[schemars(length(min = 1))]
    pub arms: Vec<ArmDef>,
    /// What differs between the things compared. Default: arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// Keys under `load`, `workload` or `targets` that are varied, each with its values: `load.rate: [400, 2000]`.
    #[serde(default)]
    pub factors: BTreeMap<String, Vec<Value>>,
    /// What is sent, how fast and how long.
    pub load: LoadSection,
    /// What becomes of levels whose rate this machine does not carry. Default: measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_knee: Option<BeyondKnee>,
    /// Settings of targets in every arm: `{envoy: {concurrency: 2}}`.
    #[serde(default)]
    pub targets: BTreeMap<Name, Settings>,
    /// Parts that run already and are not started: `{server: 127.0.0.1:8080}`, or more than the address.
    #[serde(default)]
    pub external: BTreeMap<Name, ExternalDef>,
    /// Steps of the workload to be taken, by name.
    #[serde(default)]
    pub prepare: Vec<Name>,
    /// What is done to the test bed during the window of each trial, in any order. What is still down or held at its end is brought
    /// back before the next one.
    #[serde(default)]
    pub events: Vec<EventDef>,
    /// The step whose topic is read back after each trial: what was acknowledged and is not there, or is there twice, is counted. Default:
    /// with events, the one step that makes a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<Name>,
    /// When targets are started afresh. Default: block (for every arm in every block).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// How long the first trial on freshly started targets warms up: what compiles while it runs (Java) is slow until then. Default:
    /// as every trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_in: Option<Period>,
    /// How often everything is repeated: a number, or `{min, max, until}`. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksDef>,
    /// Seed of every random order. Default: made from the text of the file, and recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// Who runs on which cores. Default: agents alone on the last core, everything else on the others; on one core, everything everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementDef>,
    /// How pods get their addresses. Default: auto, namespaces where the machine allows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addressing: Option<Addressing>,
    /// Places at a distance from one another, and which pods stand where. Default: everything at one place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<SitesDef>,
    /// Limits of instances, by name: `{server: {cpu: 2, memory: 1Gi}}`.
    #[serde(default)]
    pub limits: BTreeMap<Name, LimitsDef>,
    /// Metrics with simultaneous intervals and verdicts. Default: median, p99, cpu.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub primary: Option<Vec<Metric>>,
    /// Relative difference too small to matter. Default: 5%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// Difference of a latency too small to matter, whatever its share. Default: 20us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_absolute: Option<Period>,
    /// What the result must show, each by its interval: `"client-sidecar: p99 adds < 2ms at 2000/s"`, `"errors < 0.1%"`.
    #[serde(default)]
    pub assert: Vec<String>,
    /// How often the baseline runs in each block; the second copy is a check (A/A). Default: twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_runs: Option<BaselineRuns>,
    /// What makes a trial unfit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitness: Option<FitnessDef>,
    /// Orders of arms, each one thing more than the one before: what each adds to mean latency and CPU is shown as a part of the sum.
    #[serde(default)]
    pub waterfall: Vec<WaterfallDef>,
    /// Name of the level whose requests are shown one by one (`20 clients`), where there are several kinds. Default: all levels on the
    /// page, and in text the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_at: Option<String>,
    /// Figures that others published, printed beside ours.
    #[serde(default)]
    pub published: Vec<PublishedDef>,
    /// The rule of a published study by which blocks are left out of its kind of figure (mean ± standard deviation), shown beside
    /// ours. Default: none is shown. Intervals and verdict always use every block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outliers: Option<OutliersDef>,
    /// What is different in the quick form (`--quick`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<QuickDef>,
}

/// A rule that leaves out blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "outliers"))]
pub struct OutliersDef {
    /// Its name.
    pub rule: OutlierRuleName,
    /// Blocks that are kept; with no more than these none is left out.
    #[schemars(range(min = 2, max = 1000))]
    pub keep: u32,
}

/// A workload, with or without settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WorkloadUse {
    /// As it is.
    Name(Name),
    /// With settings and targets of parts.
    With(WorkloadUseMap),
}

/// A workload with settings: every other key is one of its settings, or one of its parts with the target that plays it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-word" = "workload"))]
pub struct WorkloadUseMap {
    /// Its name.
    #[serde(rename = "use")]
    pub name: Name,
    /// Settings, and targets of parts.
    #[serde(flatten)]
    pub settings: Settings,
}

impl WorkloadUse {
    /// Name of the workload.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            WorkloadUse::Name(name) => name,
            WorkloadUse::With(with) => &with.name,
        }
    }

    /// Settings, and targets of parts.
    #[must_use]
    pub fn settings(&self) -> Settings {
        match self {
            WorkloadUse::Name(_) => Settings::new(),
            WorkloadUse::With(with) => with.settings.clone(),
        }
    }
}

/// How often everything is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BlocksDef {
    /// Just so often.
    Number(#[schemars(range(min = 1, max = 1000))] u32),
    /// Until the intervals are narrow enough.
    Range(BlocksRange),
}

/// Between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "blocks"))]
pub struct BlocksRange {
    /// At least.
    #[schemars(range(min = 1, max = 1000))]
    pub min: u32,
    /// At most.
    #[schemars(range(min = 1, max = 1000))]
    pub max: u32,
    /// Stop between the two when this holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilDef>,
}

/// When an interval is narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "until"))]
pub struct UntilDef {
    /// Interval of this metric's overhead …
    pub metric: Metric,
    /// … is no wider than this to each side, relative to the baseline.
    pub within: Share,
}

/// Who runs on which cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "placement"))]
pub struct PlacementDef {
    /// Cores of the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<CpuList>,
    /// Cores of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<CpuList>,
}

/// Cores by number, from 0.
pub type CpuList = Vec<u32>;

/// Limits of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "limits"))]
pub struct LimitsDef {
    /// Cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cpu: Option<f64>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
}

/// What makes a trial unfit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "fitness"))]
pub struct FitnessDef {
    /// More than this share of the arrivals of an open loop bunched: released in a burst behind a late wake-up. Default: 10%.
    pub bunched: Option<Share>,
    /// Less than this share of the intended arrivals released. Default: 99%.
    pub released: Option<Share>,
    /// A worker of an open loop busier than this share of the window, spinning apart. Default: 85%.
    pub worker_busy: Option<Share>,
    /// The parts' cores busier than this by the parts' own work: flagged as saturated, not unfit. Default: 80%.
    pub saturated: Option<Share>,
}

/// A figure that somebody published: exactly one of `ratio`, `added`, `value` and `says`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "published"))]
pub struct PublishedDef {
    /// Arm of ours (or level, when levels are compared) that it stands beside.
    pub arm: String,
    /// Arm (or level) it was compared with. Default: the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Metric.
    pub metric: Metric,
    /// Level it belongs to, by name. Default: every level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Their arm divided by the one it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ratio: Option<f64>,
    /// Latency added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<Period>,
    /// The figure itself: a time such as `6ms`, a size such as `26.3MB`, or a number in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueDef>,
    /// What they found, in words, where they give no figure: `falls, less than linearly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// What it presumes of the machine. `room`: that what it is compared with does not fill it; where ours does, the report says
    /// that it cannot be tested here. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Need>,
    /// Where: product, version, publication.
    pub source: String,
    /// What is not alike between theirs and ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// A published figure as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ValueDef {
    /// In the metric's unit: nanoseconds, bytes, exchanges per second, CPU-seconds per 1000.
    Number(f64),
    /// With its unit.
    WithUnit(String),
}

/// The quick form: laid over the experiment, key by key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "quick"))]
pub struct QuickDef {
    /// Only these arms. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub arms: Option<Vec<Name>>,
    /// Other values.
    #[serde(default)]
    pub factors: BTreeMap<String, Vec<Value>>,
    /// Other keys of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSection>,
    /// Other settings of the workload.
    #[serde(default)]
    pub workload: Settings,
    /// Other settings of targets.
    #[serde(default)]
    pub targets: BTreeMap<Name, Settings>,
    /// Other repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksDef>,
    /// Other events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventDef>>,
    /// Other restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Another first warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_in: Option<Period>,
    /// Other metrics with verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub primary: Option<Vec<Metric>>,
    /// Other margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// How often the baseline runs in each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_runs: Option<BaselineRuns>,
}
