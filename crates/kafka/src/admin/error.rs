//! What a broker refused to do, and what to do next.

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::AccountError;
use crate::link::LinkError;

/// Why something could not be asked or done at all.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The brokers cannot be talked to.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What was read back cannot be accounted for.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The cluster said no.
    #[error("{what}: {refusal}")]
    Refused {
        /// What was asked.
        what: String,
        /// What it said.
        refusal: Refusal,
    },
    /// What was asked makes no sense for this cluster.
    #[error("{0}")]
    Input(String),
    /// It did not come true in time.
    #[error("{what} within {seconds} s; look at the brokers' logs")]
    Late {
        /// What did not happen.
        what: String,
        /// How long was waited.
        seconds: u64,
    },
}

impl AdminError {
    /// Whether what was asked is at fault, and not the cluster or the way to it.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            AdminError::Input(_) => true,
            AdminError::Refused { refusal, .. } => refusal.is_input(),
            AdminError::Link(_) | AdminError::Account(_) | AdminError::Late { .. } => false,
        }
    }
}

/// An error of the protocol, with the broker's words and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    /// Its number in the protocol.
    pub code: i16,
    /// Its name.
    pub name: String,
    /// What the broker said about it.
    pub said: Option<String>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.said {
            Some(said) => write!(f, "{} ({})", said.trim_end_matches('.'), self.name)?,
            None => f.write_str(&self.name)?,
        }
        match self.next_step() {
            Some(next) => write!(f, "; {next}"),
            None => Ok(()),
        }
    }
}

impl Refusal {
    /// From the words of an answer; nothing when it is no error.
    pub(super) fn of(code: i16, said: Option<&StrBytes>) -> Option<Refusal> {
        let error = ResponseError::try_from_code(code)?;
        Some(Refusal {
            code,
            name: error.to_string(),
            said: said
                .filter(|said| !said.is_empty())
                .map(|said| said.to_string()),
        })
    }

    /// As an error about something.
    pub(super) fn about(self, what: impl Into<String>) -> AdminError {
        AdminError::Refused {
            what: what.into(),
            refusal: self,
        }
    }

    /// Whether another try may do better.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        ResponseError::try_from_code(self.code).is_some_and(|error| error.is_retriable())
    }

    /// Which error it is.
    #[must_use]
    pub fn error(&self) -> Option<ResponseError> {
        ResponseError::try_from_code(self.code)
    }

    fn is_input(&self) -> bool {
        use ResponseError as E;
        matches!(
            self.error(),
            Some(
                E::UnknownTopicOrPartition
                    | E::UnknownTopicId
                    | E::InvalidTopicException
                    | E::TopicAlreadyExists
                    | E::InvalidPartitions
                    | E::InvalidReplicationFactor
                    | E::InvalidReplicaAssignment
                    | E::InvalidConfig
                    | E::InvalidRequest
                    | E::PolicyViolation
                    | E::NonEmptyGroup
                    | E::GroupIdNotFound
                    | E::ReassignmentInProgress
                    | E::NoReassignmentInProgress
                    | E::GroupSubscribedToTopic
            )
        )
    }

    fn next_step(&self) -> Option<&'static str> {
        use ResponseError as E;
        Some(match self.error()? {
            E::UnknownTopicOrPartition | E::UnknownTopicId => {
                "`tare kafka topics list` shows what there is"
            }
            E::TopicAlreadyExists => "take another name, or delete it first",
            E::InvalidReplicationFactor => {
                "a topic cannot have more replicas than there are brokers: see `tare kafka brokers`"
            }
            E::InvalidPartitions => {
                "a topic can only grow; to have fewer partitions, make it again"
            }
            E::TopicAuthorizationFailed
            | E::GroupAuthorizationFailed
            | E::ClusterAuthorizationFailed => {
                "this user may not do that: have an ACL for it added"
            }
            E::NonEmptyGroup => "stop its consumers first: see `tare kafka groups describe`",
            E::GroupIdNotFound => "`tare kafka groups list` shows what there is",
            E::GroupSubscribedToTopic => "stop its consumers first",
            E::ReassignmentInProgress => {
                "see `tare kafka reassign show`; wait for it, or cancel it"
            }
            E::NoReassignmentInProgress => "nothing is moving: there is nothing to cancel",
            E::PreferredLeaderNotAvailable | E::EligibleLeadersNotAvailable => {
                "its broker is down or not in sync: see `tare kafka topics describe`"
            }
            E::CoordinatorNotAvailable | E::CoordinatorLoadInProgress => {
                "the cluster is still starting, or the topic of offsets has no leader: try again"
            }
            E::TopicDeletionDisabled => "the brokers have delete.topic.enable=false",
            E::SecurityDisabled => "the brokers have no authorizer",
            E::RequestTimedOut => "it may still happen: look before trying again",
            _ => return None,
        })
    }
}

/// How one of several things went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// What it was about: a topic, a partition, a group.
    pub name: String,
    /// Why not; nothing when it is done.
    pub refusal: Option<Refusal>,
}

impl Outcome {
    pub(super) fn of(name: impl Into<String>, code: i16, said: Option<&StrBytes>) -> Outcome {
        Outcome {
            name: name.into(),
            refusal: Refusal::of(code, said),
        }
    }

    /// The first that failed, as an error.
    ///
    /// # Errors
    /// When one has failed.
    pub fn all(outcomes: &[Outcome]) -> Result<(), AdminError> {
        let failed = outcomes
            .iter()
            .find_map(|one| Some((one, one.refusal.clone()?)));
        match failed {
            None => Ok(()),
            Some((one, refusal)) => Err(refusal.about(&one.name)),
        }
    }
}
