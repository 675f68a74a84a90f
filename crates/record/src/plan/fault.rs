//! Planned faults of a trial, and what is read back after it.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Preparation, TRIAL};

/// A fault at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedFault {
    /// Time of the fault since the start of the window.
    pub at_ns: u64,
    /// Action of the fault.
    pub action: FaultKind,
}

/// Action of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultKind {
    /// Kills an instance (SIGKILL).
    Kill {
        /// Instances of which one is drawn for each trial.
        of: Vec<String>,
    },
    /// Stops an instance (SIGTERM).
    Stop {
        /// Instances of which one is drawn for each trial.
        of: Vec<String>,
    },
    /// Starts instances again.
    Start {
        /// Instances, of which those that were killed or stopped are started.
        of: Vec<String>,
    },
    /// Pauses an instance (SIGSTOP).
    Pause {
        /// Instances of which one is drawn for each trial.
        of: Vec<String>,
    },
    /// Resumes instances (SIGCONT).
    Resume {
        /// Instances, of which those that are paused are resumed.
        of: Vec<String>,
    },
    /// Changes what a control plane hands out.
    Change {
        /// Its instances.
        of: Vec<String>,
    },
    /// Elects the preferred leaders of a topic.
    Elect {
        /// Preparation step that creates the topic.
        step: String,
    },
    /// Moves the partitions of a topic to other brokers.
    Reassign {
        /// Preparation step that creates the topic.
        step: String,
    },
}

impl FaultKind {
    /// The instances that it is about, or one of them.
    #[must_use]
    pub fn instances(&self) -> &[String] {
        match self {
            FaultKind::Kill { of }
            | FaultKind::Stop { of }
            | FaultKind::Start { of }
            | FaultKind::Pause { of }
            | FaultKind::Resume { of }
            | FaultKind::Change { of } => of,
            FaultKind::Elect { .. } | FaultKind::Reassign { .. } => &[],
        }
    }

    /// Its key in experiment files.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            FaultKind::Kill { .. } => "kill",
            FaultKind::Stop { .. } => "stop",
            FaultKind::Start { .. } => "start",
            FaultKind::Pause { .. } => "pause",
            FaultKind::Resume { .. } => "resume",
            FaultKind::Change { .. } => "change",
            FaultKind::Elect { .. } => "elect",
            FaultKind::Reassign { .. } => "reassign",
        }
    }

    /// Description: `kill one of broker-1, broker-2`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let word = self.word();
        match self {
            FaultKind::Kill { of } | FaultKind::Stop { of } | FaultKind::Pause { of } => {
                match of.as_slice() {
                    [one] => format!("{word} {one}"),
                    several => format!("{word} one of {}", several.join(", ")),
                }
            }
            FaultKind::Start { of } => match of.as_slice() {
                [one] => format!("start {one} again"),
                _ => String::from("start again what was ended"),
            },
            FaultKind::Resume { of } => match of.as_slice() {
                [one] => format!("resume {one}"),
                _ => String::from("resume what is held"),
            },
            FaultKind::Change { of } => match of.as_slice() {
                [one] => format!("change the configuration of {one}"),
                _ => String::from("change the configuration of the control plane"),
            },
            FaultKind::Elect { step } => format!("elect the preferred leaders of {step}"),
            FaultKind::Reassign { step } => format!("reassign the partitions of {step}"),
        }
    }
}

/// A topic that a preparation step creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreparedTopic {
    /// Name of the preparation step.
    pub step: String,
    /// Part whose instances are the brokers.
    pub part: String,
    /// Name of the port of the part's target that is connected to.
    pub port: String,
    /// Name of the topic, in which `{trial}` stands for the number of the trial.
    pub topic: String,
}

impl PreparedTopic {
    /// The topic that a step creates, if any.
    #[must_use]
    pub fn of(step: &Preparation) -> Option<PreparedTopic> {
        match step {
            Preparation::Topic {
                step,
                part,
                port,
                topic,
                ..
            } => Some(PreparedTopic {
                step: step.clone(),
                part: part.clone(),
                port: port.clone(),
                topic: topic.clone(),
            }),
            Preparation::Request { .. } => None,
        }
    }

    /// The topic of one trial.
    #[must_use]
    pub fn of_trial(&self, trial: u32) -> PreparedTopic {
        PreparedTopic {
            topic: self.topic.replace(TRIAL, &trial.to_string()),
            ..self.clone()
        }
    }
}

/// What is read back after a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBackPlan {
    /// Topic to read back.
    pub topic: PreparedTopic,
    /// Delivery guarantees to check, by the settings of the producers.
    pub guarantees: Vec<Guarantee>,
}

/// A delivery guarantee for acknowledged records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// No record is lost (`acks=all`).
    NoneLost,
    /// No record is duplicated (idempotent producer).
    NoneDuplicated,
}
