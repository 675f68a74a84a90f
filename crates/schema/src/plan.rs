//! An experiment after validation: every value set, every cell listed; `plan.json` of a run.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::LoadSpec;
use crate::metric::Metric;
use crate::sites::SiteLink;
use crate::topology::{Security, Settings, Topology};

mod assertion;
mod ceiling;
mod event;
mod fitness;
mod preparation;
mod published;
mod subject;

pub use assertion::{Asserted, Assertion, Comparison};
pub use ceiling::{BeyondKnee, Ceiling, LeftOut};
pub use event::{Act, PlannedEvent, Promise, ReadBackPlan, TopicOf};
pub use fitness::Fitness;
pub(crate) use preparation::TRIAL;
pub use preparation::{Ask, Audit, Preparation};
pub use published::{Need, Published, PublishedFigure};
pub use subject::{GrammaticalNumber, Subject};

/// A fully resolved experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// `study/stem`, or the file's stem.
    pub experiment: String,
    /// The question, as asked.
    pub question: String,
    /// File it came from, as it was named.
    pub file: String,
    /// SHA-256 of that file's text, hexadecimal: two runs of one text are comparable.
    pub file_digest: String,
    /// Whether the file's `quick` section was laid over it.
    pub form: Form,
    /// What is called, and by whom.
    pub workload: WorkloadPlan,
    /// What is compared.
    pub compare: Compare,
    /// Arms; the first is the baseline.
    pub arms: Vec<Arm>,
    /// Levels in the order of the file; one without factor values when nothing is varied.
    pub levels: Vec<Level>,
    /// Every arm × level, in that order.
    pub cells: Vec<Cell>,
    /// How often everything is repeated.
    pub blocks: Blocks,
    /// How often the baseline runs in each block.
    pub baseline_runs: BaselineRuns,
    /// When targets are started afresh.
    pub restart: Restart,
    /// How long the first trial on freshly started targets warms up at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_in_ns: Option<u64>,
    /// Seed of every order.
    pub seed: u64,
    /// Who runs on which cores.
    pub placement: Placement,
    /// How pods get their addresses.
    pub addressing: Addressing,
    /// What is between every two sites; none: everything is at one place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site_links: Vec<SiteLink>,
    /// Limits per instance.
    pub limits: BTreeMap<String, Limits>,
    /// Metrics with simultaneous intervals.
    pub primary: Vec<Metric>,
    /// Relative difference that is too small to matter (0.05 = 5 %).
    pub margin: f64,
    /// Difference of a latency that is too small to matter, whatever its share.
    pub margin_absolute_ns: u64,
    /// What is claimed of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Assertion>,
    /// What a trial must not exceed to be fit.
    pub fitness: Fitness,
    /// What becomes of levels whose rate this machine does not carry.
    #[serde(default)]
    pub beyond_knee: BeyondKnee,
    /// What was found to be carried here, where levels beyond it are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Levels of the experiment that are not in `levels`, because they lie beyond that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What cannot be seen of it, in words, beside what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Orders of arms whose steps are shown as parts of a sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waterfall: Vec<Sequence>,
    /// Level whose requests are shown one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_at: Option<String>,
    /// Figures others published, shown beside ours.
    pub published: Vec<Published>,
    /// The rule by which mean ± standard deviation are shown as in a published study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outliers: Option<Outliers>,
}

/// How a published study leaves out blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outliers {
    /// Its rule.
    pub rule: OutlierRuleName,
    /// Blocks that are kept.
    pub keep: u32,
}

/// Rules of published studies, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutlierRuleName {
    /// The blocks in which the baseline's maximum was largest go, in all arms.
    DropWorstByBaselineMaximum,
}

/// Full or quick form of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As written.
    Full,
    /// With the `quick` section laid over.
    Quick,
}

/// The workload of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Name of its folder.
    pub name: String,
    /// What it can answer.
    pub about: String,
    /// Nodes.
    pub parts: Vec<Part>,
    /// Calls between them.
    pub edges: Vec<Edge>,
    /// Steps before a trial or a run, by name.
    pub prepare: Vec<String>,
    /// Settings that only concern what is sent: one bed serves all their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_load: Vec<String>,
}

/// A node of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Target that plays it; `agent` generates load.
    pub target: String,
    /// Whether `services` means it.
    pub kind: PartKind,
}

/// What a part is to the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Generates load.
    Client,
    /// A service in the mesh.
    Service,
    /// Outside the mesh.
    External,
}

/// A call from part to part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Calling part.
    pub from: String,
    /// Called part.
    pub to: String,
    /// Protocol.
    pub protocol: String,
    /// Security it carries itself.
    pub own: Security,
}

impl Edge {
    /// `from->to`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}->{}", self.from, self.to)
    }
}

/// What differs between the things compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// Arms, at each level.
    Arms,
    /// Levels, in each arm; the first level is the baseline.
    Levels,
}

/// One configuration compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// What it is, in words made from its definition.
    pub about: String,
    /// What sentences call it.
    pub subject: Subject,
    /// What an environment must offer to run it; an arm whose needs are not met is listed as not run.
    pub needs: Option<String>,
    /// Traffic kept out of its proxies by port or address range (what is excluded by edge or part,
    /// the routes show already).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Exclusion>,
    /// Its test bed.
    pub topology: Topology,
}

/// Traffic that never enters a sidecar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exclusion {
    /// To or from this port.
    Port(u16),
    /// To this address range, `10.0.0.0/8`.
    Range(String),
}

/// One combination of factor values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Short name, unique: `2000/s`, or `replicas=3, acks=all`.
    pub name: String,
    /// Factor key → value.
    pub values: Settings,
}

/// One arm at one level, ready to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the arm.
    pub arm: String,
    /// Name of the level.
    pub level: String,
    /// Settings of the workload at this level.
    pub workload: Settings,
    /// Settings per target at this level, over those of the instance.
    pub targets: BTreeMap<String, Settings>,
    /// Load, one entry per role.
    pub load: Vec<RoleLoad>,
    /// Steps before each trial, or the first on a test bed. Where there are some, `{trial}` in the path of a request is the number of the trial, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Preparation>,
    /// Questions after each trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Audit>,
    /// What is done to the test bed during each window, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// What is read back after each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackPlan>,
}

impl Cell {
    /// Settings of the workload that a test bed is made from: those that only concern the load share one.
    #[must_use]
    pub fn settings_of_bed(&self, plan: &Plan) -> Settings {
        let mut settings = self.workload.clone();
        settings.retain(|name, _| !plan.workload.of_load.contains(name));
        settings
    }
}

/// The load of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleLoad {
    /// Name of the role.
    pub role: String,
    /// Agent instance that generates it.
    pub instance: String,
    /// Edge it goes over.
    pub edge: String,
    /// How many agents share it, at least one.
    pub agents: u32,
    /// What it looks like.
    pub load: LoadSpec,
    /// Calls that each request makes further on: request → edge → calls. Empty: not known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Repetition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// At least so many.
    pub min: u32,
    /// At most so many.
    pub max: u32,
    /// Between the two: stop when this is narrow enough.
    pub until: Option<Until>,
}

/// When an interval is narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Interval of this metric's overhead.
    pub metric: Metric,
    /// Half width relative to the baseline (0.05 = 5 %).
    pub within: f64,
}

/// How often the baseline runs in each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineRuns {
    /// Twice: the second copy checks the instrument and the machine (A/A), and both are the baseline.
    Twice,
    /// Once.
    Once,
}

/// When targets are started afresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// For every trial.
    Trial,
    /// For every arm in every block.
    Block,
    /// Once per run and arm.
    Run,
}

/// How pods get their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addressing {
    /// Each pod a 127.x.y.z address of its own.
    Loopback,
    /// Each pod a network namespace.
    Namespaces,
    /// Namespaces where the machine allows them, else loopback; the environment's record says which.
    Auto,
}

impl FromStr for Addressing {
    type Err = String;

    /// The word of files and records: `loopback`, `namespaces`, `auto`.
    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "loopback" => Ok(Self::Loopback),
            "namespaces" => Ok(Self::Namespaces),
            "auto" => Ok(Self::Auto),
            _ => Err(format!("no addressing is called `{word}`")),
        }
    }
}

/// Who runs on which cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Cores of the agents; empty: everywhere (one core only).
    pub agent_cpus: Vec<u32>,
    /// Cores of everything else.
    pub part_cpus: Vec<u32>,
}

impl Placement {
    /// Whether nothing else of a run is on the agents' cores.
    #[must_use]
    pub fn agents_have_cores_of_their_own(&self) -> bool {
        let shared = |cpu| self.part_cpus.contains(cpu);
        !self.agent_cpus.is_empty()
            && !self.part_cpus.is_empty()
            && !self.agent_cpus.iter().any(shared)
    }
}

/// Limits of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Cores.
    pub cpu: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

/// Arms in an order in which each is one thing more than the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// Name of the order.
    pub name: String,
    /// At least two arms, each once, from the least to the most.
    pub arms: Vec<String>,
    /// Arm → what it adds to the one before it, in words, where the experiment says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adds: BTreeMap<String, Subject>,
}
