//! `tare size`: what a part needs per 1000 requests/s, per connection and per configured service, and what a topology needs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ScreenOptions;
use crate::topology::{Security, Settings};

/// Options of `tare size`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeOptions {
    /// Folders of the runs.
    pub runs: Vec<PathBuf>,
    /// A topology to size.
    pub topology: Option<SizedTopology>,
    /// Latency objective, `p99 < 10ms`.
    pub objective: String,
    /// Print JSON.
    pub json: bool,
    /// File of the page.
    pub html: Option<PathBuf>,
    /// Where the text is printed.
    pub screen: ScreenOptions,
}

/// A topology to size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedTopology {
    /// Its name.
    pub name: String,
    /// Arm whose proxies it has.
    pub arm: Option<String>,
    /// What its proxies do.
    pub features: ProxyFeatures,
    /// Worker threads of each sidecar.
    pub workers: Option<u64>,
    /// Services in the configuration of each sidecar.
    pub configured_services: u32,
    /// Number of instances of each service with a sidecar.
    pub services: BTreeMap<String, u32>,
    /// Calls.
    pub edges: Vec<SizedEdge>,
}

/// Calls over an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedEdge {
    /// Calling service, or a client without a sidecar.
    pub from: String,
    /// Called service.
    pub to: String,
    /// Requests per second.
    pub rate_per_s: f64,
    /// Connections.
    pub connections: u32,
}

/// Result of `tare size --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizingReport {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Experiment that the runs are of.
    pub experiment: String,
    /// Names of the runs.
    pub runs: Vec<String>,
    /// Machine and software.
    pub conditions: Vec<String>,
    /// Number of values behind an interval.
    pub repeats: u64,
    /// What the repeats are: blocks, or runs if there are several.
    pub repeat_is: RepeatUnit,
    /// Latency objective.
    pub objective: String,
    /// Each arm with its proxies, by number of workers.
    pub groups: Vec<SizedGroup>,
    /// Published figures beside the measured ones.
    pub published: Vec<SizingPublished>,
    /// What the topology needs.
    pub topology: Option<TopologySize>,
}

/// What a repeat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatUnit {
    /// A block of a run: what changes between runs is not in the interval.
    Block,
    /// A run.
    Run,
}

/// A value with its 95 % interval; none with fewer than three repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedValue {
    /// Value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// An arm with one number of workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedGroup {
    /// Arm.
    pub arm: String,
    /// Worker threads of each proxy, if it has such a setting.
    pub workers: Option<u64>,
    /// ProxyFeatures of the arm that a topology asks for.
    pub features: ProxyFeatures,
    /// Highest measured rate that meets the objective; `None`: none does.
    pub rate_per_s: Option<f64>,
    /// Whether no higher rate was measured: the capacity is then at least this.
    pub is_highest_measured: bool,
    /// Parts of the arm.
    pub parts: Vec<SizedPart>,
}

/// What the proxies of an arm do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProxyFeatures {
    /// Security between proxies.
    pub security: Security,
    /// Settings of the proxies, and of the mesh that configures them, as in the experiment.
    pub settings: Settings,
}

impl Default for ProxyFeatures {
    fn default() -> ProxyFeatures {
        ProxyFeatures {
            security: Security::Plaintext,
            settings: Settings::new(),
        }
    }
}

/// A part of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedPart {
    /// Instance.
    pub instance: String,
    /// Its place on the way of a request.
    pub side: Side,
    /// Target with version.
    pub software: String,
    /// vCPU per 1000 requests/s at the rate of the group.
    pub cores_per_1000: Option<SizedValue>,
    /// Memory without connections and configured services, bytes.
    pub memory_base: Option<SizedValue>,
    /// Memory of a connection, bytes; `None`: only one number of connections was measured.
    pub memory_per_connection: Option<SizedValue>,
    /// Memory of a configured service, bytes; `None`: only one number was measured.
    pub memory_per_service: Option<SizedValue>,
    /// Measured points.
    pub points: Vec<SizingPoint>,
}

/// Place of a part on the way of a request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Beside the caller.
    Caller,
    /// Between both.
    Between,
    /// Beside the called service.
    Called,
    /// An external authorization server.
    Authorizer,
    /// Control plane of a mesh.
    ControlPlane,
}

/// CPU of a part at a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizingPoint {
    /// Requests per second through the part.
    pub rate_per_s: f64,
    /// Connections of the load.
    pub connections: u32,
    /// Configured services beside those of the workload.
    pub services: u32,
    /// vCPU.
    pub cores: SizedValue,
    /// Memory, bytes.
    pub memory: Option<SizedValue>,
}

/// A published figure beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizingPublished {
    /// Arm.
    pub arm: String,
    /// Published figure or finding.
    pub published: String,
    /// Part that is shown beside it.
    pub instance: Option<String>,
    /// Its CPU per 1000 requests/s, for each number of workers that meets the objective.
    pub measured: Vec<SizedValue>,
    /// Publication.
    pub source: String,
    /// Differences between the published setup and this one.
    pub caveat: Option<String>,
}

/// What a topology needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopologySize {
    /// Name.
    pub name: String,
    /// Arm that has its features.
    pub arm: String,
    /// Each service.
    pub services: Vec<ServiceSize>,
    /// Number of sidecars.
    pub sidecars: u64,
    /// vCPU of all parts.
    pub cores: SizedValue,
    /// Memory of all parts, bytes.
    pub memory: SizedValue,
    /// What was not measured but extrapolated, and other limits of the answer.
    pub limits: Vec<String>,
}

/// What the sidecars of a service need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceSize {
    /// Service.
    pub service: String,
    /// Number of sidecars.
    pub sidecars: u32,
    /// Requests per second that it receives.
    pub received_per_s: f64,
    /// Requests per second that it sends.
    pub sent_per_s: f64,
    /// vCPU of all its sidecars.
    pub cores: SizedValue,
    /// Memory of all its sidecars, bytes.
    pub memory: SizedValue,
}
