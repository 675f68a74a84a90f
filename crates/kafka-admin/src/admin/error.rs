//! Errors of administration requests, with the next step for the user.

use std::fmt;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use serde::Serialize;
use tare_kafka::audit::AuditError;
use tare_record::schemas::JsonSchema;

use crate::client::ClientError;

/// The result of an administration request.
pub type Result<T, E = AdminError> = std::result::Result<T, E>;

/// Why an administration request failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The connection to the brokers failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Reading a topic back failed.
    #[error(transparent)]
    DeliveryAudit(#[from] AuditError),
    /// The cluster returned an error.
    #[error("{what}: {error}")]
    Refused {
        /// The operation or resource.
        what: String,
        /// The error.
        error: ApiError,
    },
    /// The request is invalid for this cluster.
    #[error("{0}")]
    Input(String),
    /// A change was not made, since what it needs is not known.
    #[error("nothing was changed: {0}")]
    Unchanged(String),
    /// An expected state was not reached in time.
    #[error("{what} within {seconds} s; look at the brokers' logs")]
    Late {
        /// What did not happen.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

impl AdminError {
    /// Whether the user's input is at fault, not the cluster or the connection.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            AdminError::Input(_) => true,
            AdminError::Refused { error, .. } => error.is_input(),
            AdminError::Client(_)
            | AdminError::DeliveryAudit(_)
            | AdminError::Unchanged(_)
            | AdminError::Late { .. } => false,
        }
    }

    /// Whether this user is not authorised.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, AdminError::Refused { error, .. } if error.is_forbidden())
    }

    /// The same, with the operation that this user may not do if that is the reason.
    pub(super) fn needing(self, operation: Operation) -> AdminError {
        match self {
            AdminError::Refused { what, error } => AdminError::Refused {
                what,
                error: error.needing(operation),
            },
            other => other,
        }
    }
}

/// An operation of Kafka's access control lists, by Kafka's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Create,
    Delete,
    Alter,
    Describe,
    DescribeConfigs,
    AlterConfigs,
}

/// An error of the protocol, with the broker's words and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApiError {
    /// Its number in the protocol.
    pub code: i16,
    /// Its name.
    pub name: String,
    /// The broker's message.
    pub message: Option<String>,
    /// The permission that this user lacks, such as `DescribeConfigs on the topic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With the permission the words of the broker tell nothing more; some print the whole request.
        match self.message.as_ref().filter(|_| self.permission.is_none()) {
            Some(message) => write!(f, "{} ({})", message.trim_end_matches('.'), self.name)?,
            None => f.write_str(&self.name)?,
        }
        if let Some(permission) = &self.permission {
            return write!(
                f,
                "; this user needs {permission}: have an ACL for it added"
            );
        }
        match self.next_step() {
            Some(next) => write!(f, "; {next}"),
            None => Ok(()),
        }
    }
}

impl ApiError {
    /// From the error code and message of a response; `None` for code 0.
    pub(super) fn of(code: i16, message: Option<&StrBytes>) -> Option<ApiError> {
        let error = ResponseError::try_from_code(code)?;
        Some(ApiError {
            code,
            name: error.to_string(),
            message: message
                .filter(|message| !message.is_empty())
                .map(|message| message.to_string()),
            permission: None,
        })
    }

    /// The same, with the permission that is missing if that is the reason.
    pub(super) fn needing(mut self, operation: Operation) -> ApiError {
        use ResponseError as E;
        let on = match self.error() {
            Some(E::TopicAuthorizationFailed) => "topic",
            Some(E::GroupAuthorizationFailed) => "group",
            Some(E::ClusterAuthorizationFailed) => "cluster",
            _ => return self,
        };
        self.permission
            .get_or_insert_with(|| format!("{operation:?} on the {on}"));
        self
    }

    /// As an [`AdminError`] about this resource or operation.
    pub(super) fn about(self, what: impl fmt::Display) -> AdminError {
        AdminError::Refused {
            what: what.to_string(),
            error: self,
        }
    }

    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        ResponseError::try_from_code(self.code).is_some_and(|error| error.is_retriable())
    }

    /// The protocol error.
    #[must_use]
    pub fn error(&self) -> Option<ResponseError> {
        ResponseError::try_from_code(self.code)
    }

    /// Whether this user is not authorised.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        use ResponseError as E;
        matches!(
            self.error(),
            Some(
                E::TopicAuthorizationFailed
                    | E::GroupAuthorizationFailed
                    | E::ClusterAuthorizationFailed
                    | E::TransactionalIdAuthorizationFailed
            )
        )
    }

    /// Whether the user's input is at fault, not the cluster or the rights of the user.
    #[must_use]
    pub fn is_input(&self) -> bool {
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
            E::NonEmptyGroup => {
                "stop its consumers first: see `tare kafka groups describe`; one with a group.instance.id stays a member until its session timeout"
            }
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
            E::RequestTimedOut => "the request may still take effect: check before a retry",
            _ => return None,
        })
    }
}

/// Fails if a response has an error code.
pub(super) fn check(code: i16, message: Option<&StrBytes>, what: impl fmt::Display) -> Result<()> {
    ApiError::of(code, message).map_or(Ok(()), |error| Err(error.about(what)))
}

/// How one of several things went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemResult {
    /// What it was about: a topic, a partition, a group.
    pub name: String,
    /// Why not; nothing when it is done.
    pub error: Option<ApiError>,
}

impl ItemResult {
    pub(super) fn of(name: impl Into<String>, code: i16, message: Option<&StrBytes>) -> ItemResult {
        ItemResult {
            name: name.into(),
            error: ApiError::of(code, message),
        }
    }

    /// The same, with the permission that is missing if that is the reason.
    pub(super) fn needing(self, operation: Operation) -> ItemResult {
        ItemResult {
            name: self.name,
            error: self.error.map(|error| error.needing(operation)),
        }
    }

    /// Whether a topic was not created because it exists (TopicAlreadyExists).
    #[must_use]
    pub fn is_existing_topic(&self) -> bool {
        let code = self.error.as_ref().map(|error| error.code);
        code == Some(ResponseError::TopicAlreadyExists.code())
    }

    /// The first error, if any.
    ///
    /// # Errors
    /// If one has failed.
    pub fn all(results: &[ItemResult]) -> Result<()> {
        let mut errors = results
            .iter()
            .filter_map(|one| Some(one.error.clone()?.about(&one.name)));
        errors.next().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_named_with_what_it_is_on() {
        for (error, operation, expected) in [
            (
                ResponseError::TopicAuthorizationFailed,
                Operation::DescribeConfigs,
                "this user needs DescribeConfigs on the topic",
            ),
            (
                ResponseError::GroupAuthorizationFailed,
                Operation::Read,
                "this user needs Read on the group",
            ),
            (
                ResponseError::ClusterAuthorizationFailed,
                Operation::Alter,
                "this user needs Alter on the cluster",
            ),
        ] {
            let refused = check(error.code(), None, "it").unwrap_err();
            // The first that names the operation is the nearest to the request.
            let refused = refused.needing(operation).needing(Operation::Create);
            let text = refused.to_string();
            assert!(text.contains(expected), "{text}");
            let one = ItemResult::of("it", error.code(), None).needing(operation);
            assert!(one.error.unwrap().to_string().contains(expected));
        }
        let other = check(ResponseError::InvalidConfig.code(), None, "it").unwrap_err();
        let text = other.needing(Operation::AlterConfigs).to_string();
        assert!(!text.contains("needs"), "{text}");
    }
}
