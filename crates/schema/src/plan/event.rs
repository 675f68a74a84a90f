//! What is done to a test bed during a trial, and what is read back after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Preparation, TRIAL};

/// Something that is done at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedEvent {
    /// When, from the start of the window.
    pub at_ns: u64,
    /// What.
    pub act: Act,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "act", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// An instance is ended by SIGKILL.
    Kill {
        /// One of these, drawn for each trial.
        of: Vec<String>,
    },
    /// An instance is asked to end by SIGTERM.
    Stop {
        /// One of these, drawn for each trial.
        of: Vec<String>,
    },
    /// Instances are started again.
    Start {
        /// Those of these that were killed or stopped.
        of: Vec<String>,
    },
    /// An instance is held by SIGSTOP.
    Pause {
        /// One of these, drawn for each trial.
        of: Vec<String>,
    },
    /// Instances go on.
    Resume {
        /// Those of these that are held.
        of: Vec<String>,
    },
    /// The preferred leaders of a topic lead again.
    Elect {
        /// Name of the step that made it.
        step: String,
    },
    /// The partitions of a topic move to other brokers.
    Reassign {
        /// Name of the step that made it.
        step: String,
    },
}

impl Act {
    /// The word for it, as it is written.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Act::Kill { .. } => "kill",
            Act::Stop { .. } => "stop",
            Act::Start { .. } => "start",
            Act::Pause { .. } => "pause",
            Act::Resume { .. } => "resume",
            Act::Elect { .. } => "elect",
            Act::Reassign { .. } => "reassign",
        }
    }

    /// It in words: `kill one of broker-1, broker-2`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let word = self.word();
        match self {
            Act::Kill { of } | Act::Stop { of } | Act::Pause { of } => match of.as_slice() {
                [one] => format!("{word} {one}"),
                several => format!("{word} one of {}", several.join(", ")),
            },
            Act::Start { of } => match of.as_slice() {
                [one] => format!("start {one} again"),
                _ => String::from("start again what was ended"),
            },
            Act::Resume { of } => match of.as_slice() {
                [one] => format!("resume {one}"),
                _ => String::from("resume what is held"),
            },
            Act::Elect { step } => format!("elect the preferred leaders of {step}"),
            Act::Reassign { step } => format!("reassign the partitions of {step}"),
        }
    }
}

/// A topic that a step before a trial has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopicOf {
    /// Name of the step.
    pub step: String,
    /// Part whose instances are the brokers.
    pub part: String,
    /// Which of its target's ports is asked.
    pub port: String,
    /// Name of the topic; `{trial}` in it is the number of the trial.
    pub topic: String,
}

impl TopicOf {
    /// The topic that a step makes, if it makes one.
    #[must_use]
    pub fn of(step: &Preparation) -> Option<TopicOf> {
        match step {
            Preparation::Topic {
                step,
                part,
                port,
                topic,
                ..
            } => Some(TopicOf {
                step: step.clone(),
                part: part.clone(),
                port: port.clone(),
                topic: topic.clone(),
            }),
            Preparation::Request { .. } => None,
        }
    }

    /// That of one trial.
    #[must_use]
    pub fn of_trial(&self, trial: u32) -> TopicOf {
        TopicOf {
            topic: self.topic.replace(TRIAL, &trial.to_string()),
            ..self.clone()
        }
    }
}

/// What is read back after a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBackPlan {
    /// The topic.
    pub topic: TopicOf,
    /// What must hold, by what the writers ask of the brokers.
    pub promises: Vec<Promise>,
}

/// What must hold of records that were acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// All are there: the word of all replicas in sync was waited for.
    NoneLost,
    /// None is there twice: batches are numbered.
    NoneDuplicated,
}
