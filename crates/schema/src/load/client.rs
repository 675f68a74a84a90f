//! The protocol and its connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CallSpec;

/// The protocol spoken and how many connections carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClientSpec {
    /// HTTP/1.1 with a pool of connections, one exchange per connection at a time.
    Http1 {
        /// Connections over all workers.
        connections: u32,
    },
    /// HTTP/2 with many exchanges on each connection.
    Http2 {
        /// Connections over all workers.
        connections: u32,
        /// Exchanges on one connection at a time; the server may allow fewer.
        streams: u16,
    },
    /// gRPC calls over HTTP/2: the path is `/package.Service/Method`, the body is the message (or several), and the status of
    /// the expectation is that of the call, its body that of each message of the answer.
    Grpc {
        /// Connections over all workers.
        connections: u32,
        /// Calls on one connection at a time; the server may allow fewer.
        streams: u16,
        /// How the calls are made; unary where a plan does not say.
        #[serde(default)]
        calls: CallSpec,
    },
    /// A protocol that can be planned but that this version's agent does not speak: it refuses it by name.
    Planned {
        /// Name of the protocol.
        name: String,
        /// Connections over all workers.
        connections: u32,
    },
}
