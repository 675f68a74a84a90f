//! Error codes of brokers: error class, who is to blame, whether to retry, and advice for the user.

use std::fmt;
use std::sync::LazyLock;

use tare_kafka::kafka_protocol::ResponseError;
use tare_record::agent::ErrorSource;

use tare_load::client::ErrorClass;

/// Classes of the errors that have a name, by code.
static CLASS_NAMES: LazyLock<Vec<Option<String>>> = LazyLock::new(|| {
    let codes = (0..CODES_MAX).map(ResponseError::try_from_code);
    let named = codes.map(|error| match error {
        None | Some(ResponseError::Unknown(_)) => None,
        Some(error) => Some(kebab_case(&error.to_string())),
    });
    named.collect()
});

/// Kafka has about 130 errors.
const CODES_MAX: i16 = 300;

fn kebab_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// What a client does after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAction {
    /// Refresh metadata, then retry.
    Refresh,
    Retry,
    /// Not retriable.
    GiveUp,
}

/// The class of records and fetches of a partition without a leader.
#[must_use]
pub fn no_leader() -> ErrorClass {
    ErrorCode(ResponseError::LeaderNotAvailable.code()).class()
}

/// The class of records that a quota of this client did not let through in time.
pub const THROTTLED: ErrorClass = ErrorClass::of("throttled", ErrorSource::Quota);

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

    /// The error class that it is counted under: Kafka's name of the error in kebab case.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        use ResponseError as E;
        let error_source = match self.error() {
            Some(
                E::MessageTooLarge
                | E::RecordListTooLarge
                | E::TopicAuthorizationFailed
                | E::GroupAuthorizationFailed
                | E::ClusterAuthorizationFailed
                | E::SaslAuthenticationFailed
                | E::InvalidRecord
                | E::InvalidTimestamp
                | E::UnsupportedCompressionType
                | E::UnsupportedVersion
                | E::UnsupportedForMessageFormat
                | E::OffsetOutOfRange,
            ) => ErrorSource::Client,
            Some(E::ThrottlingQuotaExceeded) => ErrorSource::Quota,
            _ => ErrorSource::Target,
        };
        let code = usize::try_from(self.0).ok();
        match code.and_then(|code| CLASS_NAMES.get(code)?.as_deref()) {
            Some(name) => ErrorClass::of(name, error_source),
            None => ErrorClass {
                name: "kafka-error",
                code: u16::try_from(self.0).ok(),
                error_source,
            },
        }
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
            Some(E::InvalidRecord) => {
                "give records keys (--keys) if the topic is compacted, else see the broker's log"
            }
            Some(E::UnsupportedForMessageFormat) => {
                "the topic keeps a message format from before Kafka 0.11: use --idempotence off, or raise its message.format.version"
            }
            Some(E::OffsetOutOfRange) => {
                "the log has no such offset (any more): reading goes on at its start, or with --from end at its end"
            }
            _ => "see the broker's log",
        }
    }

    /// The error with the broker's reason, if it gave one, and the advice.
    #[must_use]
    pub fn explained(self, reason: Option<&str>) -> String {
        match (self.error(), reason) {
            (None, _) => "no error".to_owned(),
            (Some(error), None) => format!("{error}: {}", self.advice()),
            (Some(error), Some(reason)) => {
                let reason = reason.trim_end_matches('.');
                format!("{error} ({reason}): {}", self.advice())
            }
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explained(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_the_broker_comes_before_the_advice() {
        let reason =
            "Compacted topic cannot accept message without key in topic partition state-0.";
        let text = ErrorCode(87).explained(Some(reason));
        let (said, advice) = text.split_once("): ").unwrap();
        assert_eq!(
            said,
            format!("InvalidRecord ({}", reason.trim_end_matches('.'))
        );
        assert!(advice.contains("--keys"), "{advice}");
    }

    #[test]
    fn an_error_that_an_option_cures_names_it() {
        // UNSUPPORTED_FOR_MESSAGE_FORMAT, INVALID_RECORD, OFFSET_OUT_OF_RANGE.
        for (code, option) in [(43, "--idempotence off"), (87, "--keys"), (1, "--from end")] {
            let code = ErrorCode(code);
            assert!(code.to_string().contains(option), "{code}");
            assert_eq!(code.class().error_source, ErrorSource::Client, "{code}");
        }
    }

    #[test]
    fn a_code_says_its_class_its_remedy_and_the_next_step() {
        let code = ErrorCode(6);
        assert_eq!(code.class().to_string(), "not-leader-or-follower");
        assert_eq!(code.retry_action(), RetryAction::Refresh);
        assert!(
            code.to_string().starts_with("NotLeaderOrFollower: wait"),
            "{code}"
        );
        assert_eq!(ErrorCode(10).retry_action(), RetryAction::GiveUp);
        assert_eq!(ErrorCode(19).retry_action(), RetryAction::Retry);
        assert_eq!(ErrorCode(999).class().to_string(), "kafka-error-999");
        assert_eq!(ErrorCode(-1).class().to_string(), "kafka-error");
        assert!(!ErrorCode::NONE.is_error());
    }
}
