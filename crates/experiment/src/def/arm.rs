//! Definition of an arm: its sidecars, its hops, and the security of its edges.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_record::name::{EdgePattern, ExcludeText, Name};
use tare_record::plan::Subject;
use tare_record::schemas::JsonSchema;
use tare_record::topology::{InstanceRole, Security, Settings};

use super::{LimitsDef, MeshUse, OneOrSeveral};

/// One of the configurations that are compared. An arm without sidecars and hops has no proxies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "arm"))]
pub struct ArmDef {
    /// Name of the arm, unique in the experiment.
    pub name: Name,
    /// Description of the arm. Default: made from its definition.
    pub about: Option<String>,
    /// Subject of sentences about the arm: `an Envoy sidecar`, `{plural: both sidecars with mTLS}`. Default: the arm's name.
    pub subject: Option<SubjectDef>,
    /// Proxies in the pods of parts, at most one in each. A sidecar takes every edge of its part unless the edge is excluded.
    pub sidecars: Option<OneOrSeveral<SidecarDef>>,
    /// Mesh with a control plane: `istio`, or `{use: istio, on: services, security: plaintext, settings: {…}}`. It has sidecars of
    /// its own, so `sidecars` is left out.
    pub mesh: Option<MeshUse>,
    /// Further proxies on single edges, in the order in which a call passes them: `{"*->database": [{hop: gateway, proxy:
    /// envoy}]}`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub via: BTreeMap<EdgePattern, Vec<HopDef>>,
    /// End-to-end security of edges, over what the workload says: `tls` for all, or by edge: `{"client->server": mtls}`.
    pub edge_security: Option<EdgeSecurityDef>,
    /// Targets of parts in this arm, over those of the workload: `{server: nginx}`.
    #[serde(default)]
    pub parts: BTreeMap<Name, Name>,
    /// Settings of single instances, or of all instances of a part: `{server-sidecar: {workers: 2}}`.
    #[serde(default)]
    pub settings: BTreeMap<Name, Settings>,
    /// Settings of targets in this arm, over those of the experiment: `{envoy: {version: 1.38.3}}`.
    #[serde(default)]
    pub targets: BTreeMap<Name, Settings>,
    /// CPU and memory limits in this arm, by instance, over those of all arms: `{client-sidecar: {cpu: 300m}}`.
    #[serde(default)]
    pub limits: BTreeMap<Name, LimitsDef>,
    /// Pods that are at another site in this arm than `sites` says: `{far: [broker-3]}`.
    #[serde(default)]
    pub sites: BTreeMap<Name, Vec<Name>>,
    /// What the environment must offer to run this arm (`kubernetes`). Elsewhere the arm is listed as not run.
    pub requires: Option<String>,
}

/// Grammatical subject of sentences about something: singular, unless marked as plural.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum SubjectDef {
    /// Singular: "mTLS adds".
    Singular(#[schemars(length(min = 1))] String),
    /// Plural: "both sidecars add".
    #[schemars(extend("x-word" = "subject"))]
    Plural {
        /// The subject: `both sidecars`.
        #[schemars(length(min = 1))]
        plural: String,
    },
}

impl SubjectDef {
    /// As the plan has it.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            SubjectDef::Singular(text) => Subject::singular(text),
            SubjectDef::Plural { plural } => Subject::plural(plural),
        }
    }
}

/// Proxies in the pods of parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "sidecars"))]
pub struct SidecarDef {
    /// Parts with a sidecar: a list of names, `services` (every part of that kind) or `all` (clients as well).
    pub on: PartSelector,
    /// Target of the proxy: the name of a target folder.
    pub proxy: Name,
    /// Security between two sidecars: `plaintext` or `mtls`. Default: plaintext.
    pub security: Option<HopSecurity>,
    /// Traffic that bypasses the sidecar: edges (`*->database`), parts, ports (`port:9092`), address ranges (`10.0.0.0/8`).
    #[serde(default)]
    pub exclude: Vec<ExcludeText>,
    /// How traffic reaches the sidecar: `explicit`, `redirect` or `redirect-if-possible`. Default: explicit.
    pub interception: Option<InterceptionDef>,
    /// Protocol that the sidecar treats traffic as: the edge's own, or `tcp` (opaque bytes). Default: the edge's own.
    #[serde(rename = "as")]
    pub treat_as: Option<String>,
    /// Settings of the proxy, over the target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// Parts by kind or by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PartSelector {
    /// All parts of a kind.
    Word(PartGroup),
    /// The parts with these names.
    Parts(#[schemars(length(min = 1))] Vec<Name>),
}

/// A kind of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartGroup {
    /// Every service.
    Services,
    /// Every service and every client.
    All,
}

/// Security of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopSecurity {
    /// No TLS.
    Plaintext,
    /// TLS with certificates of both ends.
    Mtls,
}

/// How traffic reaches a sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterceptionDef {
    /// The caller connects to the sidecar's address.
    Explicit,
    /// The kernel redirects connections to the sidecar, as in the pods of a mesh. Where it cannot, the arm is listed as not run.
    Redirect,
    /// `redirect` where that is possible, else `explicit`; the plan says which.
    RedirectIfPossible,
}

/// A proxy on an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "hop"))]
pub struct HopDef {
    /// Role of the proxy: `gateway`, `sni` or `ingress`.
    pub hop: HopRole,
    /// Name of the instance. Default: the role. Hops of one name are one process.
    pub name: Option<Name>,
    /// Target of the proxy: the name of a target folder, or of a mesh, whose gateway it then is.
    pub proxy: Name,
    /// Security of the connection into this hop: `plaintext` or `mtls`. Default: plaintext.
    pub security: Option<HopSecurity>,
    /// Hop or part whose pod this hop shares; it must be defined before. Default: a pod of its own.
    pub pod: Option<Name>,
    /// Protocol that the hop treats traffic as: the edge's own, or `tcp` (opaque bytes). Default: the edge's own.
    #[serde(rename = "as")]
    pub treat_as: Option<String>,
    /// Settings of the proxy, over the target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// Role of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopRole {
    /// Proxy at the border of the mesh.
    Gateway,
    /// Proxy that routes by the server name of TLS (SNI) without terminating it.
    Sni,
    /// Proxy in front of a part.
    Ingress,
}

impl HopRole {
    /// The role of its instance.
    #[must_use]
    pub fn of_instance(self) -> InstanceRole {
        match self {
            HopRole::Gateway => InstanceRole::Gateway,
            HopRole::Sni => InstanceRole::Sni,
            HopRole::Ingress => InstanceRole::Ingress,
        }
    }
}

/// Security of edges: one for all, or by edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EdgeSecurityDef {
    /// The same for every edge.
    All(Security),
    /// By edge or pattern; a pattern without `*` takes precedence.
    Edges(
        #[schemars(extend("propertyNames" = {"format": "edge"}))] BTreeMap<EdgePattern, Security>,
    ),
}
