//! How gRPC calls are made.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// How calls are made, the same for all calls of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSpec {
    /// Unary or streaming.
    pub kind: CallKind,
    /// Messages that a streaming client sends per call; those of the body in order, repeated.
    pub messages: u32,
    /// When a streaming client sends its messages.
    pub pace: MessagePace,
    /// Deadline of the call, sent as `grpc-timeout`.
    pub deadline: Deadline,
    /// Messages expected from a streaming server; `None`: any number.
    pub answers: Option<u32>,
}

impl Default for CallSpec {
    /// Unary calls with the timeout of an exchange as their deadline.
    fn default() -> Self {
        Self {
            kind: CallKind::Unary,
            messages: 1,
            pace: MessagePace::Unpaced,
            deadline: Deadline::Timeout,
            answers: None,
        }
    }
}

/// Kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// One request message, one response message.
    Unary,
    /// Many request messages, one response message.
    ClientStreaming,
    /// One request message, many response messages.
    ServerStreaming,
    /// Many messages in both directions.
    Bidirectional,
}

impl CallKind {
    /// Whether the client sends a stream of messages.
    #[must_use]
    pub fn client_streams(self) -> bool {
        matches!(self, CallKind::ClientStreaming | CallKind::Bidirectional)
    }

    /// Whether the server sends a stream of messages.
    #[must_use]
    pub fn server_streams(self) -> bool {
        matches!(self, CallKind::ServerStreaming | CallKind::Bidirectional)
    }
}

/// When the messages of a call are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pace", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MessagePace {
    /// As fast as flow control allows.
    Unpaced,
    /// At a fixed interval, the first at once.
    Every {
        /// The interval.
        period_ns: u64,
    },
    /// Each when the previous one was answered by a message; bidirectional calls only.
    PingPong,
}

/// Deadline of a call, sent as `grpc-timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "deadline", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Deadline {
    /// The timeout of an exchange.
    Timeout,
    /// None: no `grpc-timeout` is sent.
    Unset,
    /// A fixed time.
    After {
        /// Time since the start of the call.
        limit_ns: u64,
    },
}
