//! The load as it is written: one, or one per role.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Spin;
use crate::name::{EdgePattern, Name};
use crate::units::Period;

/// The load: its keys at once, or a name for each of several roles with the keys below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LoadSection {
    /// One role, named after the client.
    One(Box<LoadDef>),
    /// Several roles at the same time.
    Roles(#[schemars(extend("minProperties" = 1))] BTreeMap<Name, LoadDef>),
}

/// The load of one role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "load"))]
pub struct LoadDef {
    /// Which of the workload's loads. Default: its first.
    #[serde(rename = "use")]
    pub kind: Option<Name>,
    /// Edge it goes over, when not the one the workload names.
    pub edge: Option<EdgePattern>,
    /// Agents that generate it together. Default: 1.
    #[schemars(range(min = 1, max = 64))]
    pub count: Option<u32>,
    /// When exchanges start. Default: constant if there is a rate, closed if there are clients.
    pub model: Option<LoadModel>,
    /// Exchanges per second, all agents together (model constant).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10_000_000))]
    pub rate: Option<f64>,
    /// Clients, each with one exchange under way (model closed).
    #[schemars(range(min = 1, max = 100_000))]
    pub clients: Option<u32>,
    /// Pause of a client between an answer and its next request (model closed). Default: none.
    pub think: Option<Period>,
    /// Connections. Default: 16; as many as clients in a closed loop.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Option<u32>,
    /// Length of the measuring window. Default: 10s.
    pub duration: Option<Period>,
    /// End the window after so many exchanges instead of a time.
    #[schemars(range(min = 1))]
    pub exchanges: Option<u64>,
    /// Exchanges intended in this time before the window are sent but not counted. Default: 1s.
    pub warmup: Option<Period>,
    /// Limit of one exchange, of a connection attempt and of the drain. Default: 10s.
    pub timeout: Option<Period>,
    /// Worker threads of each agent. Default: 1.
    #[schemars(range(min = 1, max = 64))]
    pub workers: Option<u32>,
    /// Last microseconds before a start. Default: bounded.
    pub spin: Option<Spin>,
    /// Distance between two samples of the live view. Default: 1s.
    pub sample_every: Option<Period>,
}

/// When exchanges start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadModel {
    /// At fixed times, whatever the answers do: an open loop.
    Constant,
    /// Each client waits for its answer: a closed loop.
    Closed,
    /// As fast as the connections carry it.
    Max,
}
