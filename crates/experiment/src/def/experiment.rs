//! Definition of an experiment: the keys of its YAML file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tare_record::counter::CounterDef;
use tare_record::metric::Metric;
use tare_record::metrics_source::MetricsSourceDef;
use tare_record::name::Name;
use tare_record::plan::{
    Addressing, BeyondKnee, Blocks, Compare, Fitness, Need, Outliers, Restart,
};
use tare_record::schemas::JsonSchema;
use tare_record::topology::Settings;
use tare_record::units::{BitRate, CoreCount, Period, Share, Size};

use super::{ArmDef, LoadSection, SubjectDef};
use crate::clusters::{ClusterSaslDef, ClusterTlsDef};

/// An experiment: a question, the arms that are compared, and how they are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the experiment"))]
pub struct ExperimentDef {
    /// The question that the experiment answers, as a sentence.
    pub question: String,
    /// Workload under test: its name, or `{use: name}` with settings of the workload and targets of its parts (`part: target`).
    pub workload: WorkloadUse,
    /// Configurations that are compared. The first one is the baseline.
    #[schemars(length(min = 1))]
    pub arms: Vec<ArmDef>,
    /// What is compared: `arms`, or `levels` of each arm. Default: arms.
    pub compare: Option<Compare>,
    /// What is varied in every arm: keys under `load`, `workload` or `targets`, each with its values: `load.rate: [400, 2000]`.
    /// Every combination is a level.
    #[serde(default)]
    pub factors: BTreeMap<String, Vec<Value>>,
    /// What is sent, at which rate and for how long.
    pub load: LoadSection,
    /// What to do with levels whose rate this machine does not sustain. Default: measure.
    pub beyond_knee: Option<BeyondKnee>,
    /// Settings of targets, by target, in every arm: `{envoy: {workers: 2}}`.
    #[serde(default)]
    pub targets: BTreeMap<Name, Settings>,
    /// Parts that run already and are not started by Tare: `{server: 127.0.0.1:8080}`, or a map with more than the address.
    #[serde(default)]
    pub external: BTreeMap<Name, ExternalDef>,
    /// Preparation steps of the workload, by name.
    #[serde(default)]
    pub prepare: Vec<Name>,
    /// Faults: what is done to instances during the window of each trial, in any order. Instances that are still down or paused
    /// at its end are brought back before the next trial.
    #[serde(default)]
    pub faults: Vec<FaultDef>,
    /// Preparation step whose topic is read back after each trial, to count records that are lost or duplicated. Default: with
    /// faults, the only step that creates a topic.
    pub read_back: Option<Name>,
    /// When targets are restarted. Default: block (for every arm in every block).
    pub restart: Option<Restart>,
    /// Burn-in: warm-up of the first trial on freshly started targets, for what is slow at first (just-in-time compilers,
    /// caches). Default: `warmup` of the load.
    pub burn_in: Option<Period>,
    /// Number of blocks: a number, or `{min, max, until}` to stop once the intervals are narrow enough. Default: 5.
    pub blocks: Option<BlocksDef>,
    /// Seed of every random order. Default: derived from the text of the file. The plan records it.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// Cores of agents and targets. Default: agents on the last core, everything else on the others; with one core, no pinning.
    pub placement: Option<PlacementDef>,
    /// How pods get their addresses. Default: auto (network namespaces where the machine allows them, else loopback).
    pub addressing: Option<Addressing>,
    /// Sites with emulated network links between them, and the pods at each. Default: one site, no emulation.
    pub sites: Option<SitesDef>,
    /// CPU and memory limits in all arms, by instance: `{server: {cpu: 2, memory: 1Gi}}`. Default: none.
    #[serde(default)]
    pub limits: BTreeMap<Name, LimitsDef>,
    /// Metrics with a verdict; their intervals are simultaneous. Default: median, p99, cpu.
    #[schemars(length(min = 1))]
    pub primary: Option<Vec<Metric>>,
    /// Margin: relative difference that is too small to matter. Default: 5%.
    pub margin: Option<Share>,
    /// Margin of latencies as a time: differences below it do not matter, whatever their ratio. Default: 20us.
    pub margin_absolute: Option<Period>,
    /// Assertions about the result, judged by confidence intervals: `"client-sidecar: p99 adds < 2ms at 2000/s"`, `"errors <
    /// 0.1%"`.
    #[serde(default)]
    pub assert: Vec<String>,
    /// Whether the baseline is measured twice per block, and the second measurement compared with the first (A/A check).
    /// Default: true.
    pub aa_check: Option<bool>,
    /// Limits beyond which a trial is unfit.
    #[serde(default)]
    pub fitness: Fitness,
    /// Waterfalls: sequences of arms in which each adds one thing to the one before. The report shows what each adds to mean
    /// latency and CPU, as components of the total.
    #[serde(default)]
    pub waterfall: Vec<WaterfallDef>,
    /// Level whose requests are shown one by one (`20 clients`), for loads with several kinds of requests. Default: all levels
    /// on the page, the last one in text.
    pub per_request_level: Option<String>,
    /// Figures from publications, shown beside the measured ones.
    #[serde(default)]
    pub published: Vec<PublishedDef>,
    /// Outlier rule of a published study, for a mean ± standard deviation as that study computes it, shown beside the result.
    /// Intervals and verdicts always use every block. Default: none.
    pub outliers: Option<Outliers>,
    /// Changes for the quick form (`--quick`).
    pub quick: Option<QuickDef>,
}

/// A workload by name, or with settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WorkloadUse {
    /// By name, with its defaults.
    Name(Name),
    /// With settings, and targets of parts, under every other key.
    #[schemars(extend("x-word" = "workload"))]
    With {
        /// Name of the workload.
        #[serde(rename = "use")]
        name: Name,
        /// Settings, and targets of parts.
        #[serde(flatten)]
        settings: Settings,
    },
}

impl WorkloadUse {
    /// Name of the workload.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            WorkloadUse::Name(name) => name,
            WorkloadUse::With { name, .. } => name,
        }
    }
}

/// Number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BlocksDef {
    /// Exactly this many.
    Number(#[schemars(range(min = 1, max = 1000))] u32),
    /// Until the intervals are narrow enough.
    Range(Blocks),
}

/// Cores of agents and targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "placement"))]
pub struct PlacementDef {
    /// Cores of the agents. Default: the last core.
    pub agents: Option<CpuList>,
    /// Cores of everything else. Default: all others.
    pub targets: Option<CpuList>,
}

/// Core numbers, from 0.
pub type CpuList = Vec<u32>;

/// Limits of an instance (cgroup).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "limits"))]
pub struct LimitsDef {
    /// Cores: `1.5`, or thousandths of one, `300m`. Default: no limit.
    pub cpu: Option<CoreCount>,
    /// Memory: `1Gi`. Default: no limit.
    pub memory: Option<Size>,
}

/// A published figure. Exactly one of `ratio`, `added`, `value` and `finding`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "published"))]
pub struct PublishedDef {
    /// Arm of this experiment (or level, when levels are compared) that corresponds to the figure.
    pub arm: String,
    /// Arm (or level) that the figure is relative to. Default: the baseline.
    pub against: Option<String>,
    /// Metric of the figure.
    pub metric: Metric,
    /// Level that the figure belongs to, by name. Default: every level.
    pub level: Option<String>,
    /// Published ratio: the arm divided by the one it was compared with.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ratio: Option<f64>,
    /// Published difference of a latency: `2.6ms`.
    pub added: Option<Period>,
    /// Published absolute value: a time such as `6ms`, a size such as `26.3MB`, or a number in the metric's unit.
    pub value: Option<ValueDef>,
    /// Published finding in words, where there is no figure: `falls, less than linearly`.
    pub finding: Option<String>,
    /// Condition for the comparison. `headroom`: the baseline must not saturate the machine; where it does, the report says that the
    /// figure cannot be tested here. Default: none.
    pub requires: Option<Need>,
    /// Source: product, version, publication.
    pub source: String,
    /// Differences between the published setup and this one.
    pub caveat: Option<String>,
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ValueDef {
    /// A number in the metric's unit: nanoseconds, bytes, exchanges per second, CPU-seconds per 1000 exchanges.
    Number(f64),
    /// Text with a unit.
    WithUnit(String),
}

/// The quick form: keys that replace those of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "quick"))]
pub struct QuickDef {
    /// Arms of the quick form, by name. Default: all.
    #[schemars(length(min = 1))]
    pub arms: Option<Vec<Name>>,
    /// Values of factors, over those of the experiment.
    #[serde(default)]
    pub factors: BTreeMap<String, Vec<Value>>,
    /// Keys of the load, over those of the experiment.
    pub load: Option<LoadSection>,
    /// Settings of the workload, over those of the experiment.
    #[serde(default)]
    pub workload: Settings,
    /// Settings of targets, over those of the experiment.
    #[serde(default)]
    pub targets: BTreeMap<Name, Settings>,
    /// Number of blocks.
    pub blocks: Option<BlocksDef>,
    /// Faults, instead of those of the experiment.
    pub faults: Option<Vec<FaultDef>>,
    /// When targets are restarted.
    pub restart: Option<Restart>,
    /// Burn-in: warm-up of the first trial on freshly started targets.
    pub burn_in: Option<Period>,
    /// Metrics with a verdict.
    #[schemars(length(min = 1))]
    pub primary: Option<Vec<Metric>>,
    /// Margin: relative difference that is too small to matter.
    pub margin: Option<Share>,
    /// Whether the baseline is measured twice per block (A/A check).
    pub aa_check: Option<bool>,
}

/// A fault, injected at one time. Exactly one of the keys besides `at` says which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "fault"))]
pub struct FaultDef {
    /// Time of the fault, from the start of the window.
    pub at: Period,
    /// Kills an instance (SIGKILL). The name of a part means one of its instances, drawn at random for each trial.
    pub kill: Option<Name>,
    /// Stops an instance (SIGTERM). A part: one of its instances, drawn at random for each trial.
    pub stop: Option<Name>,
    /// Starts an instance again, on the data it left. A part: all of its instances that were killed or stopped.
    pub start: Option<Name>,
    /// Pauses an instance (SIGSTOP). A part: one of its instances, drawn at random for each trial. A paused agent is a client
    /// that does not read.
    pub pause: Option<Name>,
    /// Resumes an instance (SIGCONT). A part: all of its instances that are paused.
    pub resume: Option<Name>,
    /// Changes an object of a control plane. A part: all of its instances. Done when every proxy has its new configuration.
    pub change: Option<Name>,
    /// Elects the preferred leaders of the topic that this preparation step creates.
    pub elect: Option<Name>,
    /// Moves each partition of the topic that this preparation step creates to the next broker.
    pub reassign: Option<Name>,
}

/// Sites with emulated links between them: data centres, zones, an edge location.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "sites"))]
pub struct SitesDef {
    /// Pods (parts, and hops with a pod of their own) of each site: `{east: [client], west: [server]}`.
    pub pods: BTreeMap<Name, Vec<Name>>,
    /// A link for every two sites.
    pub links: Vec<SiteLinkDef>,
}

/// An emulated link between two sites, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "link"))]
pub struct SiteLinkDef {
    /// Names of the two sites.
    pub between: Vec<Name>,
    /// Round-trip time; half of it is the delay of each direction. Exactly one of `round_trip` and `one_way`.
    pub round_trip: Option<Period>,
    /// Delay of each direction, instead of `round_trip`. At most 10s.
    pub one_way: Option<Period>,
    /// Jitter: the delay of each direction varies by up to this, up and down; packets keep their order. Default: 0.
    pub jitter: Option<Period>,
    /// Rate of each direction in bits per second: `1Gbit/s`. Default: no limit.
    pub rate: Option<BitRate>,
    /// Queue at that rate; packets beyond it are dropped. Default: what the link carries in one round trip, at least 150kB.
    pub queue: Option<Size>,
    /// Share of packets lost in each direction: `0.1%`. Default: 0.
    pub loss: Option<Share>,
}

/// Arms in a sequence in which each adds one thing to the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "waterfall"))]
pub struct WaterfallDef {
    /// Name of the sequence.
    pub name: Name,
    /// Arms, from the least to the most.
    #[schemars(length(min = 2))]
    pub arms: Vec<SequenceArmDef>,
}

/// An arm of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum SequenceArmDef {
    /// Name of the arm; what it adds is derived from the test beds.
    Name(Name),
    /// Name of the arm, with words for what it adds.
    #[schemars(extend("x-word" = "the arm of a sequence"))]
    Adding {
        /// Name of the arm.
        arm: Name,
        /// What it adds to the arm before, as the subject of "… adds 0.1 ms to the mean". The same words in two sequences are
        /// compared.
        adds: SubjectDef,
    },
}

impl SequenceArmDef {
    /// Name of the arm, and what it adds if given.
    #[must_use]
    pub fn parts(&self) -> (&Name, Option<&SubjectDef>) {
        match self {
            SequenceArmDef::Name(name) => (name, None),
            SequenceArmDef::Adding { arm, adds } => (arm, Some(adds)),
        }
    }
}

/// An external part: its address, or a map with address and options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExternalDef {
    /// `HOST:PORT`, in plaintext.
    At(String),
    /// Address and options.
    With(Box<ExternalMapDef>),
}

/// An external part. Exactly one of `address`, `addresses` and `bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "external part"))]
pub struct ExternalMapDef {
    /// Address of the only instance, `HOST:PORT`.
    pub address: Option<String>,
    /// Addresses of the instances, `HOST:PORT` each.
    pub addresses: Vec<String>,
    /// Bootstrap brokers, `HOST:PORT` each. Where a proxy is in front of them: all brokers, as they advertise themselves.
    pub bootstrap: Vec<String>,
    /// Host name to send (`Host`, `:authority`). Default: the address as written.
    pub host: Option<String>,
    /// TLS of the part. Files are beside the experiment or below its folder. Default: plaintext.
    pub tls: Option<ClusterTlsDef>,
    /// SASL login at brokers. The password comes from `password_file`, beside the experiment or below its folder.
    pub sasl: Option<ClusterSaslDef>,
    /// Counters of the part, as in a target folder: `json`, `prometheus` and `text` pages at absolute `http://` addresses;
    /// `{host}` stands for the host of each address. Names are those of targets, and `cpu-seconds` and `memory-bytes`.
    pub counters: Vec<CounterDef>,
    /// Where to read the metrics (JMX) of the instances, named by the part's target: one address per instance, in the same
    /// order. The password of a user comes from `password_file`, beside the experiment or below its folder.
    pub metrics: Option<MetricsSourceDef>,
}

impl ExternalDef {
    /// The definition as a map.
    #[must_use]
    pub fn map(&self) -> ExternalMapDef {
        match self {
            ExternalDef::At(address) => ExternalMapDef {
                address: Some(address.clone()),
                ..ExternalMapDef::default()
            },
            ExternalDef::With(map) => (**map).clone(),
        }
    }
}
