//! Definition of the load: one, or one per role.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_record::load::{AtEnd, Interarrival, Sched, Spin, ThinkDistribution};
use tare_record::name::{EdgePattern, Name};
use tare_record::schemas::JsonSchema;
use tare_record::units::Period;

/// The load: its keys, or a map from role names to keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LoadSection {
    /// One role, named after the client part.
    One(Box<LoadDef>),
    /// Several roles at the same time.
    Roles(#[schemars(extend("minProperties" = 1))] BTreeMap<Name, LoadDef>),
}

/// The load of one role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "load"))]
pub struct LoadDef {
    /// Load of the workload to use, by name. Default: `default`, or the only one.
    #[serde(rename = "use")]
    pub kind: Option<Name>,
    /// Edge that the load goes over. Default: the edge of the workload's load.
    pub edge: Option<EdgePattern>,
    /// Number of agents that generate this load together, each with its own connections; 0 leaves the role out. Default: 1.
    #[schemars(range(min = 0, max = 64))]
    pub agents: Option<u32>,
    /// When exchanges start. Default, by the keys that are given: constant with a `rate`, max with `rate: max`, ramp with `to`,
    /// steps with `steps`, replay with a `recording`, closed with `clients`.
    pub model: Option<LoadModel>,
    /// Exchanges per second, all agents together (models constant and poisson), or `max` (model max).
    pub rate: Option<RateDef>,
    /// Exchanges per second at the start of the ramp, and during warm-up (model ramp).
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub from: Option<f64>,
    /// Exchanges per second at the end of the ramp and from then on (model ramp).
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub to: Option<f64>,
    /// Duration of the ramp (model ramp). Default: the window.
    pub ramp_duration: Option<Period>,
    /// Rates, one after the other; the last one continues to the end (model steps).
    #[schemars(extend("minItems" = 1))]
    pub steps: Option<Vec<RateStepDef>>,
    /// Inter-arrival times at a given rate: `constant` or `exponential`. For models ramp and steps; constant and poisson
    /// are the two at a constant rate. Default: constant.
    pub interarrival: Option<Interarrival>,
    /// File with the start times of a recorded load, beside the experiment (model replay).
    pub recording: Option<String>,
    /// Speed of the replay: 2 is twice as fast as recorded (model replay). Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed: Option<f64>,
    /// What follows the last recorded start (model replay). Default: stop.
    pub at_end: Option<AtEnd>,
    /// Number of clients, each with one exchange in flight (model closed).
    #[schemars(range(min = 1, max = 100_000))]
    pub clients: Option<u32>,
    /// Thinking time of a client between an answer and its next request (model closed). Default: none.
    pub think_time: Option<Period>,
    /// Distribution of thinking times, with `think_time` as mean (model closed). Default: none (all alike).
    pub think_distribution: Option<ThinkDistribution>,
    /// Number of connections of each agent. Default: 16; in a closed loop, the number of clients.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Option<u32>,
    /// Exchanges after which a connection is closed and reopened. Default: connections are kept.
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u64>,
    /// Time over which connections are opened, one after the other, before the load. Default: all at once.
    pub connect_ramp: Option<Period>,
    /// Length of the window. Default: that of all steps, else 10s.
    pub duration: Option<Period>,
    /// End the window after this many exchanges instead of after `duration`.
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Warm-up: exchanges intended in this time before the window are sent but not counted. Default: 1s.
    pub warmup: Option<Period>,
    /// Timeout of an exchange, of a connection attempt and of the drain. Default: 10s.
    pub timeout: Option<Period>,
    /// Worker threads per agent. Default: 1.
    #[schemars(range(min = 1, max = 64))]
    pub workers: Option<u32>,
    /// How a worker waits for the last microseconds before a start. Default: bounded.
    pub spin: Option<Spin>,
    /// Kernel scheduling of the workers. Default: auto (SCHED_FIFO for an open loop with a core of its own).
    pub sched: Option<Sched>,
    /// Interval between samples for the live view. Default: 1s.
    pub sample_interval: Option<Period>,
}

/// A rate: exchanges per second, or `max`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RateDef {
    /// Exchanges per second.
    PerSecond(#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10_000_000))] f64),
    /// No fixed rate.
    Word(RateWord),
}

/// A rate that is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateWord {
    /// As fast as the connections allow.
    Max,
}

/// A rate for some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStepDef {
    /// Exchanges per second, all agents together; 0 is a pause.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub rate: f64,
    /// How long this rate is held.
    #[serde(rename = "for")]
    pub length: Period,
}

/// When exchanges start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadModel {
    /// Open loop at a constant rate: starts do not wait for answers.
    Constant,
    /// Open loop with exponential inter-arrival times (a Poisson process): many independent users.
    Poisson,
    /// Open loop whose rate changes linearly.
    Ramp,
    /// Open loop at one rate after the other.
    Steps,
    /// Open loop that replays recorded start times.
    Replay,
    /// Closed loop: each client waits for its answer.
    Closed,
    /// As fast as the connections allow.
    Max,
}
