//! The client of a load: its protocol, its connections, and the options of the protocol.

use crate::schemas::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FetchSpec, LoginSpec, ProduceSpec, SerialSpec};

/// Protocol of the client, its number of connections, and the options of the protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSpec {
    /// Name of the protocol.
    pub protocol: String,
    /// Connections of all workers together.
    pub connections: u32,
    /// Options of the protocol, see [`ClientOptions`].
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// Options of a protocol's client, as in files: in a plan, and in the `client` of a workload's load.
pub trait ClientOptions: Serialize + DeserializeOwned {
    /// Name of the protocol.
    const PROTOCOL: &'static str;
}

impl ClientOptions for ProduceSpec {
    const PROTOCOL: &'static str = "kafka-produce";
}

impl ClientOptions for FetchSpec {
    const PROTOCOL: &'static str = "kafka-fetch";
}

impl ClientSpec {
    /// A client of a protocol without options.
    #[must_use]
    pub fn new(protocol: &str, connections: u32) -> Self {
        Self {
            protocol: protocol.to_owned(),
            connections,
            options: Map::new(),
        }
    }

    /// A client with options.
    #[must_use]
    pub fn with<O: ClientOptions>(connections: u32, options: &O) -> Self {
        let mut client = Self::new(O::PROTOCOL, connections);
        client.set(options);
        client
    }

    /// Whether this is the client of a protocol.
    #[must_use]
    pub fn is<O: ClientOptions>(&self) -> bool {
        self.protocol == O::PROTOCOL
    }

    /// The options.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn options<O: ClientOptions>(&self) -> Result<O, String> {
        let given = Value::Object(self.options.clone());
        serde_json::from_value(given).map_err(|error| error.to_string())
    }

    /// The options, if this is the client of their protocol; `None` also where they are invalid.
    #[must_use]
    pub fn get<O: ClientOptions>(&self) -> Option<O> {
        self.is::<O>().then(|| self.options().ok()).flatten()
    }

    /// Replaces the options.
    pub fn set<O: ClientOptions>(&mut self, options: &O) {
        // Options are structs, and a struct is a map in JSON.
        if let Ok(Value::Object(options)) = serde_json::to_value(options) {
            self.options = options;
        }
    }

    /// Changes the options, if this is the client of their protocol.
    pub fn change<O: ClientOptions>(&mut self, change: impl FnOnce(&mut O)) {
        if let Some(mut options) = self.get::<O>() {
            change(&mut options);
            self.set(&options);
        }
    }

    /// Whether an exchange writes a record.
    #[must_use]
    pub fn writes_records(&self) -> bool {
        self.is::<ProduceSpec>()
    }

    /// Whether the paths of requests name topics.
    #[must_use]
    pub fn uses_topics(&self) -> bool {
        self.is::<ProduceSpec>() || self.is::<FetchSpec>()
    }

    /// Numbers the records of a producer, as those of one writer per worker; no effect on other clients.
    pub fn number_records(&mut self, run: u64, first_writer: u32) {
        self.change(|produce: &mut ProduceSpec| {
            produce.serials = Some(SerialSpec { run, first_writer });
        });
    }

    /// Sets the SASL login of Kafka clients; no effect on other clients.
    pub fn log_in(&mut self, login: &LoginSpec) {
        self.change(|produce: &mut ProduceSpec| produce.sasl = Some(login.clone()));
        self.change(|fetch: &mut FetchSpec| fetch.sasl = Some(login.clone()));
    }
}

/// When connections are opened and closed, for all protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionRules {
    /// Exchanges after which a connection is closed and reopened; `None`: connections are kept.
    pub exchanges_max: Option<u64>,
    /// Time over which connections are opened, one after the other, before the load.
    pub open_over_ns: u64,
    /// Unix socket that all connections are made to, instead of the addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<String>,
    /// Header of the PROXY protocol that each connection begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// A version of the PROXY protocol, by which a proxy tells a server who it speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyProtocol {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}
