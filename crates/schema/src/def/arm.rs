//! An arm as it is written: who has a sidecar, which edges have hops, what an edge carries itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::{EdgePattern, ExcludeText, Name};
use crate::plan::Subject;
use crate::topology::{Security, Settings};

/// One configuration compared. Without sidecars and hops it is the direct way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "arm"))]
pub struct ArmDef {
    /// Its name, unique in the experiment.
    pub name: Name,
    /// What it is, in words; made from the definition when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What sentences of the verdict call it: `an Envoy sidecar`, `{plural: both sidecars with mTLS}`. Default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<SubjectDef>,
    /// Proxies beside parts, on every edge of those parts unless excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sidecars: Option<SidecarsDef>,
    /// Further proxies on single edges, in order from the caller: `{"*->database": [{hop: gateway, proxy: envoy}]}`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "edge"}))]
    pub via: BTreeMap<EdgePattern, Vec<HopDef>>,
    /// Security that edges carry themselves, end to end, over what the workload says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnDef>,
    /// Other targets for parts: `{server: nginx}`.
    #[serde(default)]
    pub parts: BTreeMap<Name, Name>,
    /// Settings of single instances: `{server-sidecar: {concurrency: 2}}`.
    #[serde(default)]
    pub settings: BTreeMap<Name, Settings>,
    /// Pods that stand at another site in this arm than `sites` says: `{far: [broker-3]}`.
    #[serde(default)]
    pub sites: BTreeMap<Name, Vec<Name>>,
    /// What an environment must offer to run it (`kubernetes`); the arm is listed as not run where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// What sentences call a thing: one of it, unless it says that it is several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SubjectDef {
    /// One thing: "mTLS adds".
    Singular(#[schemars(length(min = 1))] String),
    /// Several: "both sidecars add".
    Plural(PluralDef),
}

/// Several things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "subject"))]
pub struct PluralDef {
    /// What they are called.
    #[schemars(length(min = 1))]
    pub plural: String,
}

impl SubjectDef {
    /// As sentences need it.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            SubjectDef::Singular(text) => Subject::singular(text),
            SubjectDef::Plural(several) => Subject::plural(&several.plural),
        }
    }
}

/// One kind of sidecar, or several kinds on different parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SidecarsDef {
    /// All alike.
    One(SidecarDef),
    /// Different ones.
    Several(Vec<SidecarDef>),
}

impl SidecarsDef {
    /// All of them, in order.
    #[must_use]
    pub fn all(&self) -> &[SidecarDef] {
        match self {
            SidecarsDef::One(one) => std::slice::from_ref(one),
            SidecarsDef::Several(all) => all,
        }
    }
}

/// Proxies beside parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "sidecars"))]
pub struct SidecarDef {
    /// Parts that have one: a list, `services` (every part of that kind) or `all` (clients as well).
    pub on: OnDef,
    /// Target that plays it.
    pub proxy: Name,
    /// What is wrapped round the stretch between two sidecars. Default: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkDef>,
    /// What stays out: edges (`*->database`), parts, ports (`port:9092`), address ranges (`10.0.0.0/8`).
    #[serde(default)]
    pub exclude: Vec<ExcludeText>,
    /// How traffic gets in. Default: explicit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interception: Option<InterceptionDef>,
    /// Treat traffic as this protocol (`tcp`: do not look into it). Default: the edge's own.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub treat_as: Option<String>,
    /// Settings, over the target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// Which parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OnDef {
    /// By kind.
    Word(OnWord),
    /// By name.
    Parts(#[schemars(length(min = 1))] Vec<Name>),
}

/// Which kind of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnWord {
    /// Every service of the mesh.
    Services,
    /// Every service and every client.
    All,
}

/// What is wrapped round a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDef {
    /// Nothing.
    Plaintext,
    /// TLS in which both ends show a certificate.
    Mtls,
}

/// How traffic reaches a sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterceptionDef {
    /// The caller is told the sidecar's address.
    Explicit,
    /// The kernel redirects it, as a mesh does in its pods. Where it cannot, the arm is left out.
    Redirect,
    /// As `redirect` where that is possible, else as `explicit`; the plan says which.
    RedirectIfPossible,
}

/// A further proxy on an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "hop"))]
pub struct HopDef {
    /// Its role.
    pub hop: HopRole,
    /// Its name; the role's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// Target that plays it.
    pub proxy: Name,
    /// What is wrapped round the stretch before it. Default: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkDef>,
    /// Hop or part whose pod it shares. Default: a pod of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Name>,
    /// Treat traffic as this protocol. Default: the edge's own.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub treat_as: Option<String>,
    /// Settings, over the target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// Role of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopRole {
    /// At the border of the mesh.
    Gateway,
    /// Routes by server name without ending TLS.
    Sni,
    /// In front of a part.
    Ingress,
}

impl HopRole {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            HopRole::Gateway => "gateway",
            HopRole::Sni => "sni",
            HopRole::Ingress => "ingress",
        }
    }
}

/// Security of edges: one for all, or by edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OwnDef {
    /// Every edge.
    All(Security),
    /// By edge.
    Edges(
        #[schemars(extend("propertyNames" = {"format": "edge"}))] BTreeMap<EdgePattern, Security>,
    ),
}
