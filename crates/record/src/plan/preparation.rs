//! What is done before and after a trial, besides the load.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::load::{FetchSpec, LoadSpec, RequestSpec};

/// A preparation step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Preparation {
    /// Creates a Kafka topic; done when every broker knows the leader and all replicas of each partition.
    Topic {
        /// Name of the step.
        step: String,
        /// Before every trial, or once per test bed.
        #[serde(default)]
        when: PrepareWhen,
        /// Part whose instances are the brokers.
        part: String,
        /// Name of the port of the part's target that is connected to.
        port: String,
        /// Name of the topic, in which `{trial}` stands for the number of the trial.
        topic: String,
        /// Number of partitions.
        partitions: u32,
        /// Replication factor.
        replicas: u16,
        /// Load that fills the topic before anything is measured; `None`: it stays empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<Box<LoadSpec>>,
    },
    /// Sends a request, which must be answered as expected.
    Request {
        /// Name of the step.
        step: String,
        /// The request.
        ask: Box<Ask>,
    },
}

/// When a preparation step runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrepareWhen {
    /// Before every trial.
    #[default]
    Trial,
    /// Once after targets were started: all trials on a test bed use the same result.
    Start,
}

/// Placeholder for the number of a trial in names of topics and paths of requests.
pub const TRIAL: &str = "{trial}";

impl Preparation {
    /// Name of the step.
    #[must_use]
    pub fn step(&self) -> &str {
        match self {
            Preparation::Topic { step, .. } | Preparation::Request { step, .. } => step,
        }
    }

    /// When the step runs.
    #[must_use]
    pub fn when(&self) -> PrepareWhen {
        match self {
            Preparation::Topic { when, .. } => *when,
            Preparation::Request { .. } => PrepareWhen::Trial,
        }
    }

    /// Load that runs after the step.
    #[must_use]
    pub fn fill(&self) -> Option<&LoadSpec> {
        match self {
            Preparation::Topic { fill, .. } => fill.as_deref(),
            Preparation::Request { .. } => None,
        }
    }

    /// The step in one trial.
    #[must_use]
    pub fn of_trial(&self, trial: u32) -> Preparation {
        let mut own = self.clone();
        match &mut own {
            Preparation::Topic { topic, fill, .. } => {
                *topic = numbered(topic, trial);
                if let Some(load) = fill {
                    number(load, trial);
                }
            }
            Preparation::Request { ask, .. } => {
                ask.request.path = numbered(&ask.request.path, trial);
            }
        }
        own
    }
}

/// A single request over the route of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Edge that the request goes over.
    pub edge: String,
    /// Agent instance that sends it.
    pub from: String,
    /// Timeout of the response.
    pub timeout_ns: u64,
    /// The request and the expected response.
    pub request: RequestSpec,
}

/// A consistency check after a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// What is consistent if the response is as expected.
    pub about: String,
    /// Request of the check.
    pub ask: Ask,
}

impl Cell {
    /// Load of a role in one trial.
    #[must_use]
    pub fn load_of_trial(&self, load: &LoadSpec, trial: u32) -> LoadSpec {
        let mut own = load.clone();
        if !self.prepare.is_empty() {
            number(&mut own, trial);
        }
        own
    }
}

/// Replaces the placeholder by the number of the trial in request paths and topic names.
fn number(load: &mut LoadSpec, trial: u32) {
    for request in &mut load.requests {
        request.path = numbered(&request.path, trial);
    }
    load.client.change(|fetch: &mut FetchSpec| {
        for topic in &mut fetch.topics {
            *topic = numbered(topic, trial);
        }
    });
}

fn numbered(text: &str, trial: u32) -> String {
    text.replace(TRIAL, &trial.to_string())
}
