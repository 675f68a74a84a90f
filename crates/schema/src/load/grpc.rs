//! How the calls of a gRPC load are made, besides what is in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls of a load. All of them are made alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSpec {
    /// Who sends how many messages.
    pub kind: CallKind,
    /// Messages that a streaming client sends in one call: those of the body in turn, and then from the first again.
    pub messages: u32,
    /// When a streaming client sends its messages.
    pub pace: MessagePace,
    /// What the server is told about how long we wait.
    pub deadline: Deadline,
    /// Messages in the answer of a streaming server; `None`: as many as it likes.
    pub answers: Option<u32>,
}

impl Default for CallSpec {
    /// Unary calls, with the limit of an exchange as their deadline.
    fn default() -> Self {
        Self {
            kind: CallKind::Unary,
            messages: 1,
            pace: MessagePace::Free,
            deadline: Deadline::Timeout,
            answers: None,
        }
    }
}

/// Who sends how many messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// One message there and one back.
    Unary,
    /// Many there, one back.
    ClientStreaming,
    /// One there, many back.
    ServerStreaming,
    /// Many there, many back.
    Bidirectional,
}

impl CallKind {
    /// Whether the client sends more than one message.
    #[must_use]
    pub fn client_streams(self) -> bool {
        matches!(self, CallKind::ClientStreaming | CallKind::Bidirectional)
    }

    /// Whether the server sends other than one message.
    #[must_use]
    pub fn server_streams(self) -> bool {
        matches!(self, CallKind::ServerStreaming | CallKind::Bidirectional)
    }
}

/// When the messages of one call are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pace", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MessagePace {
    /// As fast as flow control lets them go.
    Free,
    /// The first at once, each further one so long after the one before.
    Every {
        /// The distance.
        period_ns: u64,
    },
    /// Each when the one before has been answered by a message: bidirectional calls only.
    PingPong,
}

/// What the server is told about how long we wait (`grpc-timeout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "deadline", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Deadline {
    /// The limit of an exchange.
    Timeout,
    /// Nothing.
    Untold,
    /// So long.
    After {
        /// From the start of the call.
        limit_ns: u64,
    },
}
