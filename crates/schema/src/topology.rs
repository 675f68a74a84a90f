//! Where the processes of an arm stand and which way each edge takes through them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::external::External;

/// Settings of a target, a workload or a load, as templates see them.
pub type Settings = BTreeMap<String, serde_json::Value>;

/// All that an arm needs to be set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Pods, each an address of its own.
    pub pods: Vec<Pod>,
    /// Processes, in start order (called before callers).
    pub instances: Vec<Instance>,
    /// The way of every edge.
    pub routes: Vec<Route>,
    /// Of the routes, those that an instance takes to ask about what passes through it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
    /// What runs already: routes lead there, nothing is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<External>,
}

impl Topology {
    /// All instances but agents.
    pub fn parts(&self) -> impl Iterator<Item = &Instance> {
        let instances = self.instances.iter();
        instances.filter(|instance| instance.role != InstanceRole::Agent)
    }
}

/// A route that begins at an instance on the way of other edges: to an authorisation server, say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its edge, from who asks to who is asked.
    pub edge: String,
    /// Edges whose requests are asked about.
    pub about: Vec<String>,
    /// Setting of who asks that says the share of requests; none: every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_setting: Option<String>,
    /// The share (0 to 1) where a cell does not vary that setting.
    pub share: f64,
}

/// A place with an address of its own: what a Kubernetes pod is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// Name, the app part's name (`server`) or the hop's (`gateway`).
    pub name: String,
    /// Site the pod belongs to.
    pub site: String,
}

/// A process (with its children) that the environment starts, or the agent of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Unique name: `server`, `server-sidecar`, `gateway`, `client`.
    pub name: String,
    /// Pod it runs in.
    pub pod: String,
    /// Target folder that says how to run it; `agent` for load agents.
    pub target: String,
    /// What it is for.
    pub role: InstanceRole,
    /// Settings of the instance, over the target's defaults.
    pub settings: Settings,
    /// Name by which it is called, where that is not its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// What an instance is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceRole {
    /// A part of the workload.
    App,
    /// Generates load.
    Agent,
    /// A proxy beside a part.
    Sidecar,
    /// A hop at the border of the mesh.
    Gateway,
    /// A hop that routes by server name without ending TLS.
    Sni,
    /// A hop in front of a part.
    Ingress,
}

impl InstanceRole {
    /// Whether traffic passes through it on its way to somewhere else.
    #[must_use]
    pub fn is_proxy(self) -> bool {
        !matches!(self, InstanceRole::App | InstanceRole::Agent)
    }
}

/// The way one edge takes: from the calling part through the stops to the called part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of the edge: `client->server`.
    pub edge: String,
    /// Instance that calls.
    pub from: String,
    /// Instance that answers.
    pub to: String,
    /// Protocol the proxies see: `tcp`, `http1`, `http2`, `grpc`, …
    pub protocol: String,
    /// Security that the edge carries itself, end to end through L4 hops.
    pub own: Security,
    /// Proxy instances in order from caller to called.
    pub stops: Vec<String>,
    /// Stretches: `links[i]` leads to `stops[i]`, the last one to `to`; one more than stops.
    pub links: Vec<Link>,
}

/// One stretch of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What is wrapped round it.
    pub security: Security,
    /// How traffic gets into it.
    pub interception: Interception,
}

/// Protection of a link or an edge.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// None.
    Plaintext,
    /// TLS, the server shows a certificate.
    Tls,
    /// TLS, both show one.
    Mtls,
}

impl Security {
    /// It in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Security::Plaintext => "plaintext",
            Security::Tls => "TLS",
            Security::Mtls => "mTLS",
        }
    }
}

/// How traffic reaches a stop.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Interception {
    /// The caller is told the stop's address.
    Explicit,
    /// The kernel redirects it.
    Redirect,
}
