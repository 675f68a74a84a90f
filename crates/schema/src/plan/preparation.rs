//! What is done before a trial and after it, beside the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::def::PrepareWhen;
use crate::load::{ClientSpec, LoadSpec, RequestSpec};

/// A step before a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "makes", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Preparation {
    /// A topic of Kafka; it is there when every broker knows a leader and all copies of each partition.
    Topic {
        /// Name of the step.
        step: String,
        /// Before every trial, or once on each test bed.
        #[serde(default)]
        when: PrepareWhen,
        /// Part whose instances are the brokers.
        part: String,
        /// Which of its target's ports is asked.
        port: String,
        /// Name of the topic; `{trial}` in it is the number of the trial.
        topic: String,
        /// How many partitions.
        partitions: u32,
        /// How many copies of each.
        replicas: u16,
        /// What is written into it before anything is measured; `None`: it is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<Box<LoadSpec>>,
    },
    /// A request that is answered as expected.
    Request {
        /// Name of the step.
        step: String,
        /// The request.
        ask: Box<Ask>,
    },
}

/// What stands for the number of a trial, where a cell is prepared for each of them.
pub(crate) const TRIAL: &str = "{trial}";

impl Preparation {
    /// Name of the step.
    #[must_use]
    pub fn step(&self) -> &str {
        match self {
            Preparation::Topic { step, .. } | Preparation::Request { step, .. } => step,
        }
    }

    /// When it is taken.
    #[must_use]
    pub fn when(&self) -> PrepareWhen {
        match self {
            Preparation::Topic { when, .. } => *when,
            Preparation::Request { .. } => PrepareWhen::Trial,
        }
    }

    /// What is written once it is done.
    #[must_use]
    pub fn fill(&self) -> Option<&LoadSpec> {
        match self {
            Preparation::Topic { fill, .. } => fill.as_deref(),
            Preparation::Request { .. } => None,
        }
    }

    /// The step of one trial.
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

/// A request that is sent once, over the way that the load takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Edge it goes over.
    pub edge: String,
    /// Agent instance that it goes out from.
    pub from: String,
    /// How long the answer may take.
    pub within_ns: u64,
    /// What is sent and expected.
    pub request: RequestSpec,
}

/// A question after a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// What adds up if it is answered as expected.
    pub about: String,
    /// The question.
    pub ask: Ask,
}

impl Cell {
    /// What a role sends in one trial.
    #[must_use]
    pub fn load_of_trial(&self, load: &LoadSpec, trial: u32) -> LoadSpec {
        let mut own = load.clone();
        if !self.prepare.is_empty() {
            number(&mut own, trial);
        }
        own
    }
}

/// Puts the number of the trial into everything that names what is prepared for it.
fn number(load: &mut LoadSpec, trial: u32) {
    for request in &mut load.requests {
        request.path = numbered(&request.path, trial);
    }
    if let ClientSpec::KafkaFetch { fetch, .. } = &mut load.client {
        for topic in &mut fetch.topics {
            *topic = numbered(topic, trial);
        }
    }
}

fn numbered(text: &str, trial: u32) -> String {
    text.replace(TRIAL, &trial.to_string())
}
