//! The client of a load: its protocol and its connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallSpec, FetchSpec, LoginSpec, ProduceSpec, SerialSpec};

/// Protocol of the client, with its number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClientSpec {
    /// HTTP/1.1 over a pool of connections, one exchange per connection at a time.
    Http1 {
        /// Connections of all workers together.
        connections: u32,
    },
    /// HTTP/2 with multiplexed exchanges.
    Http2 {
        /// Connections of all workers together.
        connections: u32,
        /// Concurrent exchanges per connection (streams); the server may allow fewer.
        streams: u16,
    },
    /// gRPC calls over HTTP/2. A request's path is `/package.Service/Method` and its body the message (or several); the expected
    /// status is the status of the call, the expected body that of each response message.
    Grpc {
        /// Connections of all workers together.
        connections: u32,
        /// Concurrent calls per connection; the server may allow fewer.
        streams: u16,
        /// How calls are made. Default: unary.
        #[serde(default)]
        calls: CallSpec,
    },
    /// Bare TCP, one exchange per connection at a time.
    Tcp {
        /// Connections of all workers together.
        connections: u32,
        /// What is exchanged.
        exchange: TcpExchange,
    },
    /// Kafka producer; an exchange is a record. Each worker has a connection to every broker that leads one of its partitions.
    KafkaProduce {
        /// Number of workers with connections of their own.
        connections: u32,
        /// How records are produced.
        produce: Box<ProduceSpec>,
    },
    /// MongoDB's wire protocol (OP_MSG), one operation per connection at a time. A request's method names the operation: find,
    /// insert, update or delete.
    Mongodb {
        /// Connections of all workers together.
        connections: u32,
        /// Collection that the operations work on.
        data: MongoData,
    },
    /// Connections alone: an exchange opens one (over TLS with its handshake) and closes it. Requests are not sent.
    Connect {
        /// Concurrent attempts of all workers together.
        in_flight_max: u32,
    },
    /// Kafka consumer; an exchange is a fetch. The endpoint's addresses are the bootstrap brokers.
    KafkaFetch {
        /// Connections of all workers together, as far as known beforehand: one per broker and worker.
        connections: u32,
        /// What is fetched, and how.
        fetch: Box<FetchSpec>,
    },
    /// A protocol that can be planned but that the agent does not implement: it refuses the load.
    Planned {
        /// Name of the protocol.
        name: String,
        /// Connections of all workers together.
        connections: u32,
    },
}

impl ClientSpec {
    /// Name of the protocol.
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

    /// Whether an exchange writes a record.
    #[must_use]
    pub fn writes_records(&self) -> bool {
        matches!(self, ClientSpec::KafkaProduce { .. })
    }

    /// Whether the paths of requests name topics.
    #[must_use]
    pub fn uses_topics(&self) -> bool {
        matches!(
            self,
            ClientSpec::KafkaProduce { .. } | ClientSpec::KafkaFetch { .. }
        )
    }

    /// Numbers the records of a producer, as those of one writer per worker; no effect on other clients.
    pub fn number_records(&mut self, run: u64, first_writer: u32) {
        if let ClientSpec::KafkaProduce { produce, .. } = self {
            produce.serials = Some(SerialSpec { run, first_writer });
        }
    }

    /// Sets the SASL login of Kafka clients; no effect on other clients.
    pub fn log_in(&mut self, login: &LoginSpec) {
        match self {
            ClientSpec::KafkaProduce { produce, .. } => produce.login = Some(login.clone()),
            ClientSpec::KafkaFetch { fetch, .. } => fetch.login = Some(login.clone()),
            _ => {}
        }
    }

    /// Connections of all workers together.
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
            ClientSpec::Connect { in_flight_max } => *in_flight_max,
        }
    }
}

/// The documents that operations work on. They are inserted before the load, with `_id` 0, 1, 2 …; existing documents are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongoData {
    /// Database.
    pub database: String,
    /// Collection.
    pub collection: String,
    /// Number of documents that are found and updated.
    pub documents: u32,
    /// Length of the text in each document.
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

/// When connections are opened and closed, for all protocols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionRules {
    /// Exchanges after which a connection is closed and reopened; `None`: connections are kept.
    pub exchanges_max: Option<u64>,
    /// Time over which connections are opened, one after the other, before the load.
    pub open_over_ns: u64,
}

/// An exchange over TCP. The bytes sent repeat the letters a to z, starting anew with every exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "exchange", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TcpExchange {
    /// Sends `send_bytes`, expects `expect_bytes`.
    Echo {
        /// Bytes to send.
        send_bytes: u64,
        /// Bytes to receive.
        expect_bytes: u64,
        /// Which bytes to receive.
        content: TcpContent,
    },
    /// Sends `send_bytes` and FIN, then reads to the server's FIN; one connection per exchange.
    HalfClose {
        /// Bytes to send.
        send_bytes: u64,
        /// Bytes to receive; `None`: any number.
        expect_bytes: Option<u64>,
        /// Which bytes to receive.
        content: TcpContent,
    },
    /// Unlimited transfer; an exchange is one block.
    Throughput {
        /// Direction of the transfer.
        direction: Direction,
        /// Length of a block.
        block_bytes: u64,
    },
}

/// Which bytes of a response are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpContent {
    /// The letters a to z, repeated.
    Pattern,
    /// Any bytes.
    Any,
}

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both at the same time, on each connection.
    Both,
}
