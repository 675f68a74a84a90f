//! The load as it is written: one, or one per role.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::load::{AtEnd, Gaps, Sched, Spin, ThinkSpread};
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
    /// Agents that generate it together, each with its connections; 0: the role is left out. Default: 1.
    #[schemars(range(min = 0, max = 64))]
    pub count: Option<u32>,
    /// When exchanges start. Default: constant if there is a rate, max if it is `max`, ramp if there is a `to`, steps if there
    /// are steps, replay if there is a recording, closed if there are clients.
    pub model: Option<LoadModel>,
    /// Exchanges per second, all agents together (models constant and poisson), or `max` (model max).
    pub rate: Option<RateDef>,
    /// Exchanges per second at the start of the ramp, and in the warm-up (model ramp).
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub from: Option<f64>,
    /// Exchanges per second at the end of the ramp and from then on (model ramp).
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub to: Option<f64>,
    /// Length of the ramp (model ramp). Default: the window.
    pub over: Option<Period>,
    /// One rate after the other; the last one stays (model steps).
    #[schemars(extend("minItems" = 1))]
    pub steps: Option<Vec<StepDef>>,
    /// Distances between starts at one rate (models ramp and steps; model poisson is a constant rate with random gaps). Default:
    /// even.
    pub gaps: Option<Gaps>,
    /// File with the starts of a recorded load, beside the experiment (model replay).
    pub recording: Option<String>,
    /// 2: twice as fast as recorded (model replay). Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed: Option<f64>,
    /// What follows the recording's last start (model replay). Default: stop.
    pub at_end: Option<AtEnd>,
    /// Clients, each with one exchange under way (model closed).
    #[schemars(range(min = 1, max = 100_000))]
    pub clients: Option<u32>,
    /// Pause of a client between an answer and its next request (model closed). Default: none.
    pub think: Option<Period>,
    /// How pauses differ (model closed); `think` is their mean. Default: none.
    pub think_spread: Option<ThinkSpread>,
    /// Connections. Default: 16; as many as clients in a closed loop.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Option<u32>,
    /// Close a connection and open it anew after so many exchanges. Default: keep it.
    #[schemars(range(min = 1))]
    pub exchanges_per_connection: Option<u64>,
    /// Open the connections one after the other over this time, before the load. Default: at once.
    pub open_over: Option<Period>,
    /// Length of the measuring window. Default: that of the steps, else 10s.
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
    /// How the kernel schedules the workers. Default: auto, SCHED_FIFO for an open loop that has a core of its own.
    pub sched: Option<Sched>,
    /// Distance between two samples of the live view. Default: 1s.
    pub sample_every: Option<Period>,
}

/// Exchanges per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RateDef {
    /// So many.
    PerSecond(f64),
    /// As many as the connections carry.
    Word(RateWord),
}

/// A rate that is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateWord {
    /// As many as the connections carry.
    Max,
}

impl JsonSchema for RateDef {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 10_000_000},
                {"type": "string", "enum": ["max"]},
            ],
        })
    }
}

/// A rate for a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDef {
    /// Exchanges per second, all agents together; 0 is a pause.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub rate: f64,
    /// How long.
    #[serde(rename = "for")]
    pub length: Period,
}

/// When exchanges start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadModel {
    /// At fixed times, whatever the answers do: an open loop.
    Constant,
    /// An open loop with exponential gaps: many independent users.
    Poisson,
    /// An open loop whose rate changes evenly.
    Ramp,
    /// An open loop at one rate after the other.
    Steps,
    /// An open loop that repeats recorded starts.
    Replay,
    /// Each client waits for its answer: a closed loop.
    Closed,
    /// As fast as the connections carry it.
    Max,
}
