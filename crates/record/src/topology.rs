//! Topology of an arm: pods, instances, and the route of every edge through the proxies.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::external::External;
use crate::units::{BitRate, Period, Share};

/// Settings of a target, a workload or a load, as templates see them.
pub type Settings = BTreeMap<String, serde_json::Value>;

/// Topology of an arm: everything needed to set up its test bed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Pods, each with an address of its own.
    pub pods: Vec<Pod>,
    /// Instances in start order: called parts before callers.
    pub instances: Vec<Instance>,
    /// Routes of all edges.
    pub routes: Vec<Route>,
    /// External authorization routes (a subset of `routes`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ext_authz: Vec<ExtAuthz>,
    /// External parts: routes lead there, nothing is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<External>,
    /// Mesh whose control plane configures proxies of the arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Mesh>,
}

impl Topology {
    /// All instances except agents.
    pub fn parts(&self) -> impl Iterator<Item = &Instance> {
        let instances = self.instances.iter();
        instances.filter(|instance| instance.role != InstanceRole::Agent)
    }

    /// Whether an instance is injected into its pod by a mesh that the cluster has: Tare does not start it.
    #[must_use]
    pub fn is_injected(&self, instance: &str) -> bool {
        let mesh = self.mesh.as_ref().filter(|mesh| mesh.installed);
        mesh.is_some_and(|mesh| mesh.proxies.iter().any(|name| name == instance))
    }
}

/// External authorization: the route from a proxy to its authorization server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtAuthz {
    /// Edge of the route, from the proxy to the server.
    pub edge: String,
    /// Edges whose requests the server decides on.
    pub edges: Vec<String>,
    /// Setting of the proxy that holds the share of requests; `None`: every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_setting: Option<String>,
    /// Share of requests (0 to 1), unless a cell varies that setting.
    pub share: f64,
}

/// A mesh: a control plane and the proxies that get their configuration from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Name of the mesh: `istio`.
    pub name: String,
    /// Security between its proxies.
    pub security: Security,
    /// Host name of the control plane in the pods of its proxies.
    pub host: String,
    /// Instances of the control plane.
    pub control_plane: Vec<String>,
    /// Instances that only the control plane needs.
    pub support: Vec<String>,
    /// Instances of its proxies.
    pub proxies: Vec<String>,
    /// Identities of its proxies by instance, or how they end, for a mesh whose proxies state them to the called part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identities: BTreeMap<String, String>,
    /// Whether it is the mesh that the cluster has, which injects its proxies into pods; the control plane is then no instance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub installed: bool,
}

/// A pod: processes with a common address, as in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// Name: that of the app's instance (`server`) or of the hop (`gateway`).
    pub name: String,
    /// Site of the pod.
    pub site: String,
}

/// An instance: a process (with its children) that the environment starts, or the agents of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Unique name: `server`, `server-sidecar`, `gateway`, `client`.
    pub name: String,
    /// Name of its pod.
    pub pod: String,
    /// Target that it runs; `agent` for load agents.
    pub target: String,
    /// Role of the instance.
    pub role: InstanceRole,
    /// Settings of the instance, over the target's defaults.
    pub settings: Settings,
    /// Host name by which it is called, if not its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Setting of every target that chooses its version.
pub const VERSION_SETTING: &str = "version";

impl Instance {
    /// Version of its target, where its settings choose one.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.settings.get(VERSION_SETTING)?.as_str()
    }
}

/// Role, in records of usage, of a control plane that serves more than the run: it is in no sum, and its use of cores is that of other
/// programs.
pub const SHARED_CONTROL_PLANE: &str = "shared-control-plane";

/// Role of an instance.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceRole {
    /// A part of the workload.
    App,
    /// A load generator.
    Agent,
    /// A proxy in the pod of a part.
    Sidecar,
    /// A proxy at the border of the mesh.
    Gateway,
    /// A proxy that routes by server name (SNI) without terminating TLS.
    Sni,
    /// A proxy in front of a part.
    Ingress,
    /// A program that configures the proxies of a mesh.
    ControlPlane,
    /// A program of Tare that replaces a part of a mesh's usual surroundings. It is in no sum.
    Support,
}

impl InstanceRole {
    /// Whether it forwards traffic of others.
    #[must_use]
    pub fn is_proxy(self) -> bool {
        matches!(
            self,
            InstanceRole::Sidecar
                | InstanceRole::Gateway
                | InstanceRole::Sni
                | InstanceRole::Ingress
        )
    }

    /// Whether it carries no traffic of the workload.
    #[must_use]
    pub fn is_mesh(self) -> bool {
        matches!(self, InstanceRole::ControlPlane | InstanceRole::Support)
    }
}

/// Route of an edge: from the calling instance through proxies to the called instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of the edge: `client->server`.
    pub edge: String,
    /// Calling instance.
    pub from: String,
    /// Called instance.
    pub to: String,
    /// Protocol that the proxies see: `tcp`, `http1`, `http2`, `grpc`, …
    pub protocol: String,
    /// End-to-end security of the edge, through L4 proxies.
    pub edge_security: Security,
    /// Proxy instances, in order from caller to called.
    pub proxies: Vec<String>,
    /// Segments: `segments[i]` leads to `proxies[i]`, the last one to `to`; one more than `proxies`.
    pub segments: Vec<RouteSegment>,
}

/// A segment of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSegment {
    /// Security of the segment.
    pub security: Security,
    /// How traffic enters the segment.
    pub interception: Interception,
}

/// Security of a segment or an edge.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// No TLS.
    Plaintext,
    /// TLS with a server certificate.
    Tls,
    /// TLS with certificates of both ends.
    Mtls,
}

impl Security {
    /// Name in texts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Security::Plaintext => "plaintext",
            Security::Tls => "TLS",
            Security::Mtls => "mTLS",
        }
    }
}

/// How traffic reaches a proxy.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Interception {
    /// The caller connects to the proxy's address.
    Explicit,
    /// The kernel redirects connections to the proxy.
    Redirect,
}

/// A link between two sites, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLink {
    /// Names of the two sites, sorted.
    pub between: [String; 2],
    /// Whether it is between clusters, as it is there: then nothing below is emulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub between_clusters: bool,
    /// Delay of each direction: half of the round-trip time.
    pub one_way_ns: u64,
    /// Jitter: the delay varies by up to this, up and down.
    pub jitter_ns: u64,
    /// Rate of each direction, bits of IP packets per second; `None`: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// Queue at that rate, in bytes; 0 without a rate.
    pub queue_bytes: u64,
    /// Share of packets lost in each direction (0 to 1).
    pub loss: f64,
}

impl SiteLink {
    /// Name of the link, `east-west`.
    #[must_use]
    pub fn name(&self) -> String {
        self.between.join("-")
    }

    /// Description: `east–west 24ms, 1Gbit/s, 0.1% lost`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let [one, other] = &self.between;
        if self.between_clusters {
            return format!("{one}–{other} not emulated, between clusters");
        }
        let period = |ns| Period(Duration::from_nanos(ns));
        let mut words = format!("{one}–{other} {}", period(self.round_trip_ns()));
        if self.jitter_ns > 0 {
            words += &format!(" ± {} each way", period(self.jitter_ns));
        }
        if let Some(rate) = self.rate_bits_per_s {
            words += &format!(", {}", BitRate(rate));
        }
        if self.loss > 0.0 {
            words += &format!(", {} lost", Share(self.loss));
        }
        words
    }

    /// Round-trip time without jitter.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.one_way_ns.saturating_mul(2)
    }
}
