//! Error codes of brokers: error class, who is to blame, whether to retry, and advice for the user.

use std::fmt;

use tare_kafka::kafka_protocol::ResponseError;
use tare_schema::agent::ErrorSource;

use crate::client::ErrorClass;

/// What a client does after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAction {
    /// Refresh metadata, then retry.
    Refresh,
    /// Retry.
    Retry,
    /// Not retriable.
    GiveUp,
}

/// A Kafka error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    /// No error.
    pub const NONE: ErrorCode = ErrorCode(0);

    /// Whether it is an error.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.0 != 0
    }

    /// The error of this code; `None` without an error and for unknown codes.
    #[must_use]
    pub fn error(self) -> Option<ResponseError> {
        ResponseError::try_from_code(self.0)
    }

    /// The error class that it is counted under.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        use ResponseError as E;
        let (name, fault) = match self.error() {
            Some(E::CorruptMessage) => ("corrupt-message", ErrorSource::Target),
            Some(E::UnknownTopicOrPartition | E::UnknownTopicId) => {
                ("unknown-topic", ErrorSource::Target)
            }
            Some(E::LeaderNotAvailable) => ("leader-not-available", ErrorSource::Target),
            Some(E::NotLeaderOrFollower) => ("not-leader", ErrorSource::Target),
            Some(E::FencedLeaderEpoch | E::UnknownLeaderEpoch) => {
                ("leader-epoch", ErrorSource::Target)
            }
            Some(E::RequestTimedOut) => ("request-timed-out", ErrorSource::Target),
            Some(E::MessageTooLarge | E::RecordListTooLarge) => {
                ("message-too-large", ErrorSource::Client)
            }
            Some(E::NotEnoughReplicas) => ("not-enough-replicas", ErrorSource::Target),
            Some(E::NotEnoughReplicasAfterAppend) => {
                ("not-enough-replicas-after-append", ErrorSource::Target)
            }
            Some(E::TopicAuthorizationFailed) => ("topic-authorization", ErrorSource::Client),
            Some(E::GroupAuthorizationFailed) => ("group-authorization", ErrorSource::Client),
            Some(E::ClusterAuthorizationFailed) => ("cluster-authorization", ErrorSource::Client),
            Some(E::OutOfOrderSequenceNumber) => ("out-of-order-sequence", ErrorSource::Target),
            Some(E::UnknownProducerId) => ("unknown-producer", ErrorSource::Target),
            Some(E::InvalidProducerEpoch | E::ProducerFenced) => {
                ("producer-fenced", ErrorSource::Target)
            }
            Some(E::KafkaStorageError) => ("storage", ErrorSource::Target),
            Some(E::InvalidRecord) => ("invalid-record", ErrorSource::Client),
            Some(E::InvalidTimestamp) => ("invalid-timestamp", ErrorSource::Client),
            Some(E::UnsupportedCompressionType) => ("unsupported-compression", ErrorSource::Client),
            Some(E::UnsupportedVersion) => ("unsupported-version", ErrorSource::Client),
            Some(E::OffsetOutOfRange) => ("offset-out-of-range", ErrorSource::Client),
            Some(E::CoordinatorNotAvailable) => ("coordinator-not-available", ErrorSource::Target),
            Some(E::CoordinatorLoadInProgress) => ("coordinator-loading", ErrorSource::Target),
            Some(E::NotCoordinator) => ("not-coordinator", ErrorSource::Target),
            Some(E::RebalanceInProgress) => ("rebalance", ErrorSource::Target),
            Some(E::IllegalGeneration) => ("illegal-generation", ErrorSource::Target),
            Some(E::UnknownMemberId) => ("unknown-member", ErrorSource::Target),
            Some(E::ThrottlingQuotaExceeded) => ("throttled", ErrorSource::Target),
            Some(E::SaslAuthenticationFailed) => ("sasl-refused", ErrorSource::Client),
            _ => {
                return ErrorClass {
                    name: "kafka-error",
                    code: u16::try_from(self.0).ok(),
                    error_source: ErrorSource::Target,
                };
            }
        };
        ErrorClass::of(name, fault)
    }

    /// Whether it can be retried, and after what.
    #[must_use]
    pub fn retry_action(self) -> RetryAction {
        use ResponseError as E;
        match self.error() {
            Some(
                E::NotLeaderOrFollower
                | E::LeaderNotAvailable
                | E::FencedLeaderEpoch
                | E::UnknownLeaderEpoch
                | E::UnknownTopicOrPartition
                | E::UnknownTopicId
                | E::InconsistentTopicId
                | E::ReplicaNotAvailable
                | E::ListenerNotFound
                | E::KafkaStorageError
                | E::NetworkException,
            ) => RetryAction::Refresh,
            Some(error) if error.is_retriable() => RetryAction::Retry,
            _ => RetryAction::GiveUp,
        }
    }

    /// Advice for the user.
    fn advice(self) -> &'static str {
        use ResponseError as E;
        match self.error() {
            Some(E::MessageTooLarge | E::RecordListTooLarge) => {
                "use a smaller --batch-size or --payload, or raise the topic's max.message.bytes"
            }
            Some(E::UnknownTopicOrPartition | E::UnknownTopicId) => {
                "create the topic first, or check its name"
            }
            Some(E::NotEnoughReplicas | E::NotEnoughReplicasAfterAppend) => {
                "bring its replicas back in sync, or lower the topic's min.insync.replicas"
            }
            Some(
                E::TopicAuthorizationFailed
                | E::ClusterAuthorizationFailed
                | E::GroupAuthorizationFailed,
            ) => "grant this user the operation (ACLs), or use another user",
            Some(E::LeaderNotAvailable | E::NotLeaderOrFollower) => {
                "wait until the partition has a leader, and see whether its brokers run"
            }
            Some(E::KafkaStorageError) => "see the broker's log directory and its disk",
            Some(E::CorruptMessage) => "see what changes bytes between here and the broker",
            Some(E::UnsupportedCompressionType) => "use another --compression",
            Some(E::InvalidTimestamp) => "set the clocks of this machine and the broker",
            _ => "see the broker's log",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            None => f.write_str("no error"),
            Some(error) => write!(f, "{error}: {}", self.advice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_its_class_its_remedy_and_the_next_step() {
        let code = ErrorCode(6);
        assert_eq!(code.class().to_string(), "not-leader");
        assert_eq!(code.retry_action(), RetryAction::Refresh);
        assert!(
            code.to_string().starts_with("NotLeaderOrFollower: wait"),
            "{code}"
        );
        assert_eq!(ErrorCode(10).retry_action(), RetryAction::GiveUp);
        assert_eq!(ErrorCode(19).retry_action(), RetryAction::Retry);
        assert_eq!(ErrorCode(99).class().to_string(), "kafka-error-99");
        assert_eq!(ErrorCode(-1).class().to_string(), "kafka-error");
        assert!(!ErrorCode::NONE.is_error());
    }
}
