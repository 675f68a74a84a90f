//! A plan: a resolved experiment with every default set and every cell listed. A run keeps it as `plan.json`.

use std::collections::BTreeMap;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::LoadSpec;
use crate::metric::Metric;
use crate::protocol::is_of_brokers;
use crate::topology::{Instance, Interception, Security, Settings, SiteLink, Topology};
use crate::units;

mod assertion;
mod capacity;
mod fault;
mod fitness;
mod preparation;

pub use assertion::{Assertion, AssertionSubject, Comparator};
pub use capacity::{BeyondKnee, Capacity, SkippedLevel};
pub use fault::{FaultKind, Guarantee, PlannedFault, PreparedTopic, ReadBackPlan};
pub use fitness::Fitness;
pub use preparation::{Ask, Audit, Preparation, PrepareWhen, TRIAL};

/// A resolved experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// `study/stem`, or the file's stem.
    pub experiment: String,
    /// The question, as written.
    pub question: String,
    /// Experiment file, as it was named.
    pub file: String,
    /// SHA-256 of the file's text in hexadecimal: runs of the same text are comparable.
    pub file_digest: String,
    /// Whether the `quick` section of the file was merged into it.
    pub form: Form,
    /// The workload: parts, edges, preparation.
    pub workload: WorkloadPlan,
    /// Whether arms or levels are compared.
    pub compare: Compare,
    /// Arms; the first is the baseline.
    pub arms: Vec<Arm>,
    /// Levels in the order of the file; one without values if there are no factors.
    pub levels: Vec<Level>,
    /// Every arm × level, the levels of an arm together.
    pub cells: Vec<Cell>,
    /// Number of blocks.
    pub blocks: Blocks,
    /// Whether the baseline is measured twice per block, and the two are compared (A/A check). Both count as the baseline.
    pub aa_check: bool,
    /// When targets are restarted.
    pub restart: Restart,
    /// Least warm-up of the first trial on freshly started targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_in_ns: Option<u64>,
    /// Seed of every random order.
    pub seed: u64,
    /// Cores of agents and targets.
    pub placement: Placement,
    /// How pods get their addresses.
    pub addressing: Addressing,
    /// Links between every two sites; empty: a single site.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site_links: Vec<SiteLink>,
    /// Limits by instance, in all arms.
    pub limits: BTreeMap<String, Limits>,
    /// Metrics with a verdict; their intervals are simultaneous.
    pub primary: Vec<Metric>,
    /// Margin: relative difference that is too small to matter (0.05 = 5 %).
    pub margin: f64,
    /// Margin of latencies as a time.
    pub margin_absolute_ns: u64,
    /// Assertions about the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Assertion>,
    /// Limits beyond which a trial is unfit.
    pub fitness: Fitness,
    /// What to do with levels whose rate this machine does not sustain.
    #[serde(default)]
    pub beyond_knee: BeyondKnee,
    /// Measured capacity, where levels above it are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Levels of the experiment that are not in `levels` because they are above the capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_levels: Vec<SkippedLevel>,
    /// What cannot be observed in this plan, as sentences for the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Waterfalls: sequences of arms in which each adds one thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waterfall: Vec<Sequence>,
    /// Level whose requests are shown one by one; `None`: every level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request_level: Option<String>,
    /// Figures from publications, shown beside the measured ones.
    pub published: Vec<Published>,
    /// Outlier rule of a published study, for a mean ± standard deviation as that study computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outliers: Option<Outliers>,
    /// Instances whose stacks are sampled after the blocks, in one more trial per cell that is not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<String>,
}

impl Plan {
    /// Limits by instance in an arm.
    #[must_use]
    pub fn limits_of(&self, arm: &Arm) -> BTreeMap<String, Limits> {
        let mut all = self.limits.clone();
        for (instance, own) in &arm.limits {
            let limits = all.entry(instance.clone()).or_default();
            limits.cpu = own.cpu.or(limits.cpu);
            limits.memory_bytes = own.memory_bytes.or(limits.memory_bytes);
        }
        all.retain(|instance, _| {
            arm.topology
                .instances
                .iter()
                .any(|one| one.name == *instance)
        });
        all
    }

    /// Whether any arm that will be run redirects traffic.
    #[must_use]
    pub fn redirects(&self) -> bool {
        let arms = self.arms.iter().filter(|arm| arm.requires.is_none());
        let mut links = arms
            .flat_map(|arm| &arm.topology.routes)
            .flat_map(|route| &route.segments);
        links.any(|link| link.interception == Interception::Redirect)
    }

    /// Whether its parts call Kafka brokers.
    #[must_use]
    pub fn has_brokers(&self) -> bool {
        let mut edges = self.workload.edges.iter();
        edges.any(|edge| is_of_brokers(&edge.protocol))
    }
}

/// A rule by which a published study excludes outlying blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "outliers"))]
pub struct Outliers {
    /// Name of the rule.
    pub rule: OutlierRuleName,
    /// Blocks to keep. With no more blocks than this, none is excluded.
    #[schemars(range(min = 2, max = 1000))]
    pub keep: u32,
}

/// Outlier rules of published studies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutlierRuleName {
    /// Excludes, in all arms, the blocks in which the baseline's maximum was largest.
    DropWorstByBaselineMaximum,
}

/// Full or quick form of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The experiment as written, without its `quick` section.
    Full,
    /// The experiment with the `quick` section merged into it.
    Quick,
}

/// The workload of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Name of the workload, that of its folder.
    pub name: String,
    /// The question that the workload can answer.
    pub about: String,
    /// Parts of the application.
    pub parts: Vec<Part>,
    /// Calls between parts.
    pub edges: Vec<Edge>,
    /// Preparation steps that the experiment names.
    pub prepare: Vec<String>,
    /// Settings that only affect what is sent: one test bed serves all their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_only_settings: Vec<String>,
}

/// A part: a node of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of the part.
    pub name: String,
    /// Target of the part; `agent` for clients.
    pub target: String,
    /// Kind of the part.
    pub kind: PartKind,
}

/// Kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// A client, which generates load.
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
    /// End-to-end security.
    pub security: Security,
}

impl Edge {
    /// Name of the edge, `from->to`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}->{}", self.from, self.to)
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// Arms, at each level.
    Arms,
    /// Levels, in each arm; the first level is the baseline.
    Levels,
}

/// One of the configurations that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Name of the arm.
    pub name: String,
    /// Description.
    pub about: String,
    /// Subject of sentences about the arm.
    pub subject: Subject,
    /// What the environment must offer to run this arm. Where it does not, the arm is listed as not run.
    pub requires: Option<String>,
    /// Ports and address ranges whose traffic bypasses the proxies. (Excluded edges and parts show in the routes.)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Exclusion>,
    /// Limits by instance, over those of all arms.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Limits>,
    /// Test bed of the arm.
    pub topology: Topology,
}

/// Traffic that bypasses the sidecars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exclusion {
    /// To or from this port.
    Port(u16),
    /// To this address range, `10.0.0.0/8`.
    Range(String),
}

/// A level: one combination of factor values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Short name, unique: `2000/s`, or `replicas=3, acks=all`.
    pub name: String,
    /// Value of each factor.
    pub values: Settings,
}

/// A cell: one arm at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the arm.
    pub arm: String,
    /// Name of the level.
    pub level: String,
    /// Settings of the workload at this level.
    pub workload: Settings,
    /// Settings by target at this level, over those of the instance.
    pub targets: BTreeMap<String, Settings>,
    /// Load, one entry per role.
    pub load: Vec<RoleLoad>,
    /// Preparation steps, before each trial or once per test bed. With any, `{trial}` in request paths is the number of the
    /// trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Preparation>,
    /// Consistency checks after each trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Audit>,
    /// Faults during each window, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<PlannedFault>,
    /// What is read back after each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackPlan>,
}

impl Cell {
    /// A setting of an instance at this level: its own value, else that of its target. Defaults of targets are not in a plan.
    #[must_use]
    pub fn setting<'a>(&'a self, instance: &'a Instance, name: &str) -> Option<&'a Value> {
        let of_target = || self.targets.get(&instance.target)?.get(name);
        instance.settings.get(name).or_else(of_target)
    }

    /// Settings of the workload that a test bed depends on: without those that only affect the load.
    #[must_use]
    pub fn settings_of_bed(&self, plan: &Plan) -> Settings {
        let mut settings = self.workload.clone();
        settings.retain(|name, _| !plan.workload.load_only_settings.contains(name));
        settings
    }
}

/// The load of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleLoad {
    /// Name of the role.
    pub role: String,
    /// Name of its agent instance.
    pub instance: String,
    /// Edge that the load goes over.
    pub edge: String,
    /// Number of agents that share it, at least one.
    pub agents: u32,
    /// The load, all agents together.
    pub load: LoadSpec,
    /// Calls behind each request: request → edge → number of calls. Empty: unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "blocks"))]
pub struct Blocks {
    /// Least number of blocks.
    #[schemars(range(min = 1, max = 1000))]
    pub min: u32,
    /// Greatest number of blocks.
    #[schemars(range(min = 1, max = 1000))]
    pub max: u32,
    /// Stop in between as soon as an interval is this narrow. Default: run `max` blocks.
    pub until: Option<Until>,
}

/// When an interval is narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "until"))]
pub struct Until {
    /// Metric whose overhead is looked at.
    pub metric: Metric,
    /// Half width of its interval, relative to the baseline: `5%` or 0.05.
    #[serde(deserialize_with = "units::share")]
    #[schemars(with = "crate::units::Share")]
    pub half_width: f64,
}

/// When targets are restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Before every trial.
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
    /// Each pod has a 127.x.y.z address of its own.
    Loopback,
    /// Each pod has a network namespace.
    Namespaces,
    /// Namespaces where the machine allows them, else loopback. The run's environment record says which.
    Auto,
}

/// Cores of agents and targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Cores of the agents; empty: no pinning (there is one core).
    pub agent_cpus: Vec<u32>,
    /// Cores of everything else.
    pub target_cpus: Vec<u32>,
}

impl Placement {
    /// Whether agents have cores that no target uses.
    #[must_use]
    pub fn agents_have_cores_of_their_own(&self) -> bool {
        let shared = |cpu| self.target_cpus.contains(cpu);
        !self.agent_cpus.is_empty()
            && !self.target_cpus.is_empty()
            && !self.agent_cpus.iter().any(shared)
    }
}

/// Limits of an instance (cgroup).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Cores; `None`: no limit.
    pub cpu: Option<f64>,
    /// Memory; `None`: no limit.
    pub memory_bytes: Option<u64>,
}

/// A waterfall: a sequence of arms in which each adds one thing to the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// Name of the sequence.
    pub name: String,
    /// Arms, at least two, each once, from the least to the most.
    pub arms: Vec<String>,
    /// What an arm adds to the one before it, by arm, where the experiment gives words for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adds: BTreeMap<String, Subject>,
}

/// The subject of a sentence: "both sidecars with mTLS" add, "mTLS" adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Words of the subject, as within a sentence.
    pub text: String,
    /// Singular ("adds") or plural ("add").
    pub number: GrammaticalNumber,
}

/// Grammatical number of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrammaticalNumber {
    /// "adds".
    Singular,
    /// "add".
    Plural,
}

impl Subject {
    /// A singular subject.
    pub fn singular(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Singular,
        }
    }

    /// A plural subject.
    pub fn plural(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Plural,
        }
    }
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Arm of this experiment (or level, when levels are compared) that corresponds to it.
    pub arm: String,
    /// Arm (or level) that it is relative to.
    pub against: String,
    /// Metric.
    pub metric: Metric,
    /// Level that it belongs to; `None`: every level.
    pub level: Option<String>,
    /// Value of the figure.
    pub figure: PublishedFigure,
    /// Condition for the comparison; `None`: no further condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<Need>,
    /// Publication, with product and version.
    pub source: String,
    /// Differences between the published setup and this one.
    pub caveat: Option<String>,
}

/// Condition for a comparison with a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Headroom: the arm that it is relative to must not have saturated the machine, else growth cannot be tested.
    Headroom,
}

/// Kind of a published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedFigure {
    /// The arm divided by the other.
    Ratio(f64),
    /// Added latency, ns.
    AddedNs(u64),
    /// Absolute value, in the metric's unit.
    Value(f64),
    /// A finding in words, without a figure.
    Words(String),
}
