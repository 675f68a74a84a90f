//! What is done before a trial and after it, beside the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::RequestSpec;

/// A step before a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "makes", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Preparation {
    /// A topic of Kafka; it is there when every broker knows a leader and all copies of each partition.
    Topic {
        /// Name of the step.
        step: String,
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
pub(super) const TRIAL: &str = "{trial}";

impl Preparation {
    /// Name of the step.
    #[must_use]
    pub fn step(&self) -> &str {
        match self {
            Preparation::Topic { step, .. } | Preparation::Request { step, .. } => step,
        }
    }

    /// The step of one trial.
    #[must_use]
    pub fn of_trial(&self, trial: u32) -> Preparation {
        let mut own = self.clone();
        let named = match &mut own {
            Preparation::Topic { topic, .. } => topic,
            Preparation::Request { ask, .. } => &mut ask.request.path,
        };
        *named = named.replace(TRIAL, &trial.to_string());
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
