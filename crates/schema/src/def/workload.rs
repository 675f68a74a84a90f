//! A workload folder's `workload.yaml`: parts, edges, what is sent and what a right answer is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::external::ExternalDef;
use crate::name::{EdgePattern, Name};
use crate::plan::PartKind;
use crate::topology::Security;
use crate::units::Period;

/// A workload: what is called, by whom, and what a right answer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the workload"))]
pub struct WorkloadDef {
    /// Its name, the name of the folder.
    pub workload: Name,
    /// The question it can answer, in a line.
    pub about: String,
    /// Nodes, called before callers or not: the order does not matter.
    #[schemars(extend("minProperties" = 1))]
    pub parts: BTreeMap<Name, PartDef>,
    /// Calls between them.
    #[schemars(length(min = 1))]
    pub edges: Vec<WorkloadEdgeDef>,
    /// What an experiment may set, with defaults.
    #[serde(default)]
    pub settings: BTreeMap<String, WorkloadSettingDef>,
    /// What clients send; an experiment's load chooses one by `use`. The one named `default`, or the only one, needs no choosing.
    #[schemars(extend("minProperties" = 1))]
    pub loads: BTreeMap<Name, LoadKindDef>,
    /// Steps that an experiment may ask for by name.
    #[serde(default)]
    pub prepare: BTreeMap<Name, PrepareDef>,
}

/// A node of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "part"))]
pub struct PartDef {
    /// What it is to the mesh.
    pub kind: PartKind,
    /// Target that plays it unless the experiment says otherwise. Clients have none: agents play them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Name>,
    /// How many of it: a number, or the name of a setting. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountDef>,
    /// Name by which it is called from the mesh, and which its certificate has; for parts outside of it. It resolves where pods
    /// have networks of their own; elsewhere callers are told its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// It runs already and is not started, unless the experiment says otherwise; files lie beside the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalDef>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// How many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountDef {
    /// So many.
    Number(#[schemars(range(min = 1, max = 64))] u32),
    /// As many as this setting says.
    Setting(String),
}

/// A call from part to part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "edge"))]
pub struct WorkloadEdgeDef {
    /// `from->to`.
    pub edge: EdgePattern,
    /// Protocol.
    pub protocol: String,
    /// Security it carries itself. Default: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Security>,
}

/// Something that an experiment may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "setting"))]
pub struct WorkloadSettingDef {
    /// What values it takes.
    pub kind: SettingKind,
    /// Value when the experiment says nothing.
    pub default: Value,
    /// What it does.
    pub about: String,
    /// The words it may be (kind choice).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// Least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// What is made with it. Default: targets, which are started afresh for another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concerns: Option<Concern>,
}

/// What a setting decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Concern {
    /// Targets: their templates see it.
    Targets,
    /// What is sent and prepared alone: targets stay up.
    Load,
}

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// Whole number.
    Integer,
    /// Number.
    Number,
    /// Text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A size; templates see bytes.
    Size,
    /// A time; templates see it as `5ms`.
    Period,
    /// A share; templates see 0.05.
    Share,
    /// One of a list.
    Choice,
}

/// One kind of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "load"))]
pub struct LoadKindDef {
    /// Edge it goes over.
    pub edge: EdgePattern,
    /// Protocol of the client, when not the edge's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// What it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Keys of the client's plan over the protocol's own (`acks`, `linger_ns`). Texts may hold settings; a time may be written
    /// as `5ms`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client: BTreeMap<String, Value>,
    /// What is sent; one is chosen per exchange by weight.
    #[serde(default)]
    pub requests: Vec<RequestDef>,
    /// A session instead of requests: a file beside this one, as `tare load --session` plays it. Clients play it again and again; a
    /// rate is that of sessions which start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Calls behind each request of the session, by its name: see `calls` of a request. They are counted for the requests that were
    /// made, which a session's chances and conditions decide.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Name, CallsDef>,
    /// Steps that are taken before every trial with this load, whether or not the experiment asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Name>,
    /// Requests after every trial with this load whose answers say whether all adds up. If one is not answered as expected, the
    /// trial is invalid, with the words of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditDef>,
}

/// Calls by edge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallsDef(
    /// How many over each.
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub BTreeMap<EdgePattern, u32>,
);

/// One kind of request. Texts may hold settings as `{{ payload }}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "request"))]
pub struct RequestDef {
    /// Its name, the second word of its histogram tags.
    pub name: Name,
    /// Share among all requests, relative to the others. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// HTTP method. Default: GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path with query. Default: `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Headers besides those the protocol needs.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What is sent. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyDef>,
    /// How path, headers and body are read: `random` fills `{uuid}`, `{int:1..9}`, `{choice:a,b}` anew for every exchange.
    /// Default: literal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsDef>,
    /// What a right answer is. Default: any 2xx or 3xx, any body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<ExpectDef>,
    /// Calls that the called part makes further on for one such request, by edge; every other edge between parts sees none.
    /// The path proof counts them. Left out: not known, and not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub calls: Option<BTreeMap<EdgePattern, u32>>,
}

/// How the text of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartsDef {
    /// As it stands.
    Literal,
    /// Places in it are filled anew for every exchange.
    Random,
}

/// A request body: `text` or `filler`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "body"))]
pub struct BodyDef {
    /// This text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// So many bytes of a fixed pattern: a size or `{{ setting }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<String>,
}

/// A right answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "expect"))]
pub struct ExpectDef {
    /// This status. Default: any 2xx or 3xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// A body of exactly so many bytes: a size or `{{ setting }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<String>,
    /// Exactly this body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A step before measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "step"))]
pub struct PrepareDef {
    /// What it does.
    pub about: String,
    /// When. Default: before every trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<PrepareWhen>,
    /// A request, sent once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestDef>,
    /// Edge that the request goes over, from where the load comes. Default: that of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgePattern>,
    /// How long its answer may take. Default: 60s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Period>,
    /// A topic of Kafka is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicDef>,
}

/// A question after a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "audit"))]
pub struct AuditDef {
    /// What adds up if it is answered as expected.
    pub about: String,
    /// What is asked.
    pub request: RequestDef,
    /// Edge that it goes over, from where the load comes. Default: that of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgePattern>,
    /// How long the answer may take. Default: 60s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Period>,
}

/// A topic to make. Texts may hold settings as `{{ partitions }}`, and `{trial}`: the number of the trial, in what is sent as
/// well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "topic"))]
pub struct TopicDef {
    /// Part whose instances are the brokers.
    pub part: Name,
    /// Which of its target's ports is asked.
    pub port: String,
    /// Name of the topic.
    pub name: String,
    /// How many partitions.
    pub partitions: String,
    /// How many copies of each.
    pub replicas: String,
    /// Records in it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled: Option<FilledDef>,
}

/// Records that are written into a topic before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "what a topic is filled with"))]
pub struct FilledDef {
    /// The workload's load that writes them, as fast as it can, over the way of the first role.
    #[serde(rename = "use")]
    pub load: Name,
    /// How many.
    pub records: String,
}

/// When a step is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrepareWhen {
    /// Before every trial.
    #[default]
    Trial,
    /// When targets were started: all trials on a test bed find what was made for the first.
    Start,
}
