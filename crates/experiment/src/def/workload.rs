//! Definition of a workload (`workload.yaml`): parts, edges, requests and the expected responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tare_record::load::TemplateMode;
use tare_record::name::{EdgePattern, Name};
use tare_record::plan::{PartKind, PrepareWhen};
use tare_record::schemas::JsonSchema;
use tare_record::topology::Security;
use tare_record::units::Period;

use super::ExternalDef;

/// A workload: the application under load, what is sent to it, and which responses count as successful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the workload"))]
pub struct WorkloadDef {
    /// Name of the workload, the name of its folder.
    pub workload: Name,
    /// The question that the workload can answer, in one line.
    pub about: String,
    /// Parts of the application, by name, in any order.
    #[schemars(extend("minProperties" = 1))]
    pub parts: BTreeMap<Name, PartDef>,
    /// Calls between parts.
    #[schemars(length(min = 1))]
    pub edges: Vec<WorkloadEdgeDef>,
    /// Settings that an experiment may change, with their defaults.
    #[serde(default)]
    pub settings: BTreeMap<String, WorkloadSettingDef>,
    /// Loads by name; an experiment selects one by `use`. Default: the one named `default`, or the only one.
    #[schemars(extend("minProperties" = 1))]
    pub loads: BTreeMap<Name, LoadKindDef>,
    /// Preparation steps by name; an experiment selects them under `prepare`.
    #[serde(default)]
    pub prepare: BTreeMap<Name, PrepareDef>,
}

/// A part: a node of the application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "part"))]
pub struct PartDef {
    /// Kind of the part: a client, a service of the mesh, or external to the mesh.
    pub kind: PartKind,
    /// Target of the part, unless the experiment names another. Clients have none: they are agents.
    pub target: Option<Name>,
    /// Number of instances: a number, or the name of a setting. Default: 1.
    pub count: Option<CountDef>,
    /// Host name of a part outside of the mesh, also the name in its certificate. It resolves where pods have network
    /// namespaces; elsewhere callers get the address.
    pub host: Option<String>,
    /// An external part, which runs already and is not started, unless the experiment says otherwise. Files are beside the
    /// workload. Excludes `count`; `target` is only for its `metrics`.
    pub external: Option<ExternalDef>,
    /// Description.
    pub about: Option<String>,
}

/// A number of instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountDef {
    /// This many.
    Number(#[schemars(range(min = 1, max = 64))] u32),
    /// The value of this setting.
    Setting(String),
}

/// A call from part to part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "edge"))]
pub struct WorkloadEdgeDef {
    /// The edge, `from->to`; `*` as caller means every service.
    pub edge: EdgePattern,
    /// Protocol of the calls: `http1`, `http2`, `grpc`, `kafka`, `tcp` …
    pub protocol: String,
    /// End-to-end security: `plaintext`, `tls` or `mtls`. Default: plaintext.
    pub security: Option<Security>,
}

/// A setting of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "setting"))]
pub struct WorkloadSettingDef {
    /// Type of its values.
    pub kind: SettingKind,
    /// Value where the experiment gives none.
    pub default: Value,
    /// Description: what the setting does.
    pub about: String,
    /// Allowed values (kind choice).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// Least number (kinds integer and number).
    pub min: Option<f64>,
    /// Greatest number (kinds integer and number).
    pub max: Option<f64>,
    /// What depends on the setting. Default: targets, which are restarted for another value.
    pub affects: Option<Affected>,
}

/// What a setting affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Affected {
    /// Targets: their templates see the setting.
    Targets,
    /// Only what is sent and prepared: targets are not restarted.
    Load,
}

/// Type of a setting.
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
    /// A size such as `1kB`; templates see bytes.
    Size,
    /// A time such as `5ms`; templates see that text.
    Period,
    /// A share such as `5%`; templates see 0.05.
    Share,
    /// One of a list.
    Choice,
}

/// A load: what clients send over an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "load"))]
pub struct LoadKindDef {
    /// Edge that the load goes over.
    pub edge: EdgePattern,
    /// Protocol of the client. Default: the edge's.
    pub protocol: Option<String>,
    /// Description.
    pub about: Option<String>,
    /// Keys of the client's load plan, over the protocol's defaults (`acks`, `linger_ns`). Texts may hold settings; a time may
    /// be written as `5ms`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client: BTreeMap<String, Value>,
    /// Requests; one is drawn per exchange, by weight.
    #[serde(default)]
    pub requests: Vec<RequestDef>,
    /// Session script instead of requests: a file beside this one, as for `tare load --session`. Clients repeat it; a rate is
    /// that of session starts.
    pub session: Option<String>,
    /// Calls behind each request of the session, by its name: see `calls` of a request. They are counted per request made, since
    /// probabilities and conditions decide which requests a session makes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Name, CallsDef>,
    /// Preparation steps before every trial with this load, whether or not the experiment names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Name>,
    /// Consistency checks after every trial with this load. A response other than expected makes the trial invalid and is quoted
    /// as the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditDef>,
}

/// Calls by edge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallsDef(
    /// Number of calls over each edge.
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub BTreeMap<EdgePattern, u32>,
);

/// A kind of request. Texts may hold settings as `{{ payload }}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "request"))]
pub struct RequestDef {
    /// Name of the request, the second word of its histogram tags.
    pub name: Name,
    /// Weight among all requests. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// HTTP method. Default: GET.
    pub method: Option<String>,
    /// Path with query. Default: `/`.
    pub path: Option<String>,
    /// Headers besides those that the protocol needs.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Body of the request. Default: none.
    pub body: Option<BodyDef>,
    /// How path, headers and body are read: `none` (as written), or `random`, which fills `{uuid}`, `{int:1..9}`, `{choice:a,b}`
    /// anew for every exchange. Default: none.
    pub template: Option<TemplateMode>,
    /// Which responses count as successful. Default: any 2xx or 3xx, any body.
    pub expect: Option<ExpectDef>,
    /// Calls that the called part makes for one such request, by edge; every edge that is not listed gets none. The path proof
    /// counts them. Default: unknown, not counted.
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub calls: Option<BTreeMap<EdgePattern, u32>>,
}

/// A request body: either `text` or `filler`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "body"))]
pub struct BodyDef {
    /// The body as text.
    pub text: Option<String>,
    /// Length of a body that repeats a fixed pattern: a size or `{{ setting }}`.
    pub filler: Option<String>,
}

/// The expected response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "expect"))]
pub struct ExpectDef {
    /// Expected status. Default: any 2xx or 3xx.
    #[schemars(range(min = 100, max = 999))]
    pub status: Option<u16>,
    /// Expected length of the body: a size or `{{ setting }}`. Default: any.
    pub length: Option<String>,
    /// Expected body. Default: any.
    pub text: Option<String>,
}

/// A preparation step before measuring: a `request` or a `topic`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "step"))]
pub struct PrepareDef {
    /// Description.
    pub about: String,
    /// When the step runs. Default: before every trial.
    pub when: Option<PrepareWhen>,
    /// Request, sent once.
    pub request: Option<RequestDef>,
    /// Edge that the request goes over, from an agent of its load. Default: the edge of the first load.
    pub edge: Option<EdgePattern>,
    /// Timeout of the response. Default: 60s.
    pub timeout: Option<Period>,
    /// Kafka topic to create.
    pub topic: Option<TopicDef>,
}

/// A consistency check after a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "audit"))]
pub struct AuditDef {
    /// What is consistent if the response is as expected.
    pub about: String,
    /// Request of the check, with the expected response.
    pub request: RequestDef,
    /// Edge that the request goes over, from an agent of its load. Default: the edge of the first load.
    pub edge: Option<EdgePattern>,
    /// Timeout of the response. Default: 60s.
    pub timeout: Option<Period>,
}

/// A topic to create. Texts may hold settings as `{{ partitions }}`, and `{trial}`, the number of the trial, which requests may
/// hold too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "topic"))]
pub struct TopicDef {
    /// Part whose instances are the brokers.
    pub part: Name,
    /// Name of the port of the part's target that is connected to.
    pub port: String,
    /// Name of the topic.
    pub name: String,
    /// Number of partitions.
    pub partitions: String,
    /// Replication factor.
    pub replicas: String,
    /// Records to write into it before the trial. Default: none.
    pub prefill: Option<FilledDef>,
}

/// Records that are written into a topic before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "what a topic is filled with"))]
pub struct FilledDef {
    /// Load of the workload that writes the records, as fast as possible, over one connection.
    #[serde(rename = "use")]
    pub load: Name,
    /// Number of records.
    pub records: String,
}
