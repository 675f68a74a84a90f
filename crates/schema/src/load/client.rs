//! The protocol and its connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallSpec, FetchSpec, LoginSpec, ProduceSpec, SerialSpec};

/// The protocol spoken and how many connections carry it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// TCP without a protocol above it, one exchange per connection at a time.
    Tcp {
        /// Connections over all workers.
        connections: u32,
        /// What an exchange is.
        exchange: TcpExchange,
    },
    /// Records to Kafka: each is an exchange. A worker has a connection to each broker that leads one of its partitions.
    KafkaProduce {
        /// Workers that have connections of their own.
        connections: u32,
        /// How they go.
        produce: Box<ProduceSpec>,
    },
    /// MongoDB's wire protocol (OP_MSG), one operation per connection at a time. The method of a request says which: find, insert,
    /// update or delete.
    Mongodb {
        /// Connections over all workers.
        connections: u32,
        /// What the operations work on.
        data: MongoData,
    },
    /// Connections alone: each exchange opens one, over TLS with its handshake, and closes it. Requests are not sent.
    Connect {
        /// Attempts at once over all workers.
        at_once: u32,
    },
    /// Fetching from a Kafka cluster; its addresses are those to ask first. An exchange is a fetch.
    KafkaFetch {
        /// Connections over all workers, as far as that can be known before: one to each broker in each worker.
        connections: u32,
        /// What is fetched, and how.
        fetch: Box<FetchSpec>,
    },
    /// A protocol that can be planned but that this version's agent does not speak: it refuses it by name.
    Planned {
        /// Name of the protocol.
        name: String,
        /// Connections over all workers.
        connections: u32,
    },
}

impl ClientSpec {
    /// The protocol in a word.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            ClientSpec::Http1 { .. } => "http1",
            ClientSpec::Http2 { .. } => "http2",
            ClientSpec::Grpc { .. } => "grpc",
            ClientSpec::Tcp { .. } => "tcp",
            ClientSpec::Mongodb { .. } => "mongodb",
            ClientSpec::Connect { .. } => "connect",
            ClientSpec::KafkaProduce { .. } => "kafka-produce",
            ClientSpec::KafkaFetch { .. } => "kafka-fetch",
            ClientSpec::Planned { name, .. } => name,
        }
    }

    /// Whether its exchanges are records that are written.
    #[must_use]
    pub fn writes_records(&self) -> bool {
        matches!(self, ClientSpec::KafkaProduce { .. })
    }

    /// Whether the paths of its requests are topics.
    #[must_use]
    pub fn uses_topics(&self) -> bool {
        matches!(
            self,
            ClientSpec::KafkaProduce { .. } | ClientSpec::KafkaFetch { .. }
        )
    }

    /// Has its records numbered, as those of one writer or several (one for each worker) of a run; nothing where it writes none.
    pub fn number_records(&mut self, run: u64, first_writer: u32) {
        if let ClientSpec::KafkaProduce { produce, .. } = self {
            produce.serials = Some(SerialSpec { run, first_writer });
        }
    }

    /// Has it say who it is, where its protocol can.
    pub fn log_in(&mut self, login: &LoginSpec) {
        match self {
            ClientSpec::KafkaProduce { produce, .. } => produce.login = Some(login.clone()),
            ClientSpec::KafkaFetch { fetch, .. } => fetch.login = Some(login.clone()),
            _ => {}
        }
    }

    /// Connections over all workers.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            ClientSpec::Http1 { connections }
            | ClientSpec::Http2 { connections, .. }
            | ClientSpec::Grpc { connections, .. }
            | ClientSpec::Tcp { connections, .. }
            | ClientSpec::KafkaProduce { connections, .. }
            | ClientSpec::KafkaFetch { connections, .. }
            | ClientSpec::Mongodb { connections, .. }
            | ClientSpec::Planned { connections, .. } => *connections,
            ClientSpec::Connect { at_once } => *at_once,
        }
    }
}

/// The documents of a load over MongoDB's protocol. They are put there before it begins, with `_id` 0, 1, 2 …; those that are there
/// stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongoData {
    /// Their database.
    pub database: String,
    /// Their collection.
    pub collection: String,
    /// How many are found and updated.
    pub documents: u32,
    /// Length of the text in each.
    pub document_bytes: u32,
}

impl Default for MongoData {
    fn default() -> Self {
        Self {
            database: "tare".into(),
            collection: "load".into(),
            documents: 10_000,
            document_bytes: 200,
        }
    }
}

/// How connections come and go, whatever is spoken on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionRules {
    /// A connection is closed and opened anew after so many exchanges; `None`: it is kept.
    pub exchanges_max: Option<u64>,
    /// The connections are opened one after the other, spread over this time, before the load starts.
    pub open_over_ns: u64,
}

/// An exchange over TCP. What is sent are the letters a to z, over and over, from a on in every exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "exchange", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TcpExchange {
    /// So many bytes there, so many back.
    Echo {
        /// Bytes there.
        send_bytes: u64,
        /// Bytes back.
        expect_bytes: u64,
        /// Which ones.
        content: TcpContent,
    },
    /// So many bytes there and the end of that direction, then everything back up to the end of the other: a connection for every
    /// exchange.
    HalfClose {
        /// Bytes there.
        send_bytes: u64,
        /// Bytes back; `None`: however many.
        expect_bytes: Option<u64>,
        /// Which ones.
        content: TcpContent,
    },
    /// As many bytes as go through: one exchange is one block.
    Throughput {
        /// Which way.
        direction: Direction,
        /// Length of a block.
        block_bytes: u64,
    },
}

/// Which bytes of an answer are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpContent {
    /// The letters a to z, over and over, from a on.
    Pattern,
    /// Any.
    Any,
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To the server.
    Up,
    /// From the server.
    Down,
    /// Both at the same time on each connection.
    Both,
}
