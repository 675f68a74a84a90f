//! What planning knows of a protocol. The protocols themselves, with their clients, are in the load generator; a
//! catalog has their list.

use crate::load::{ClientSpec, ConnectionRules, RequestSpec};

/// A protocol of edges and loads.
#[derive(Debug, Clone, Copy)]
pub struct ProtocolInfo {
    /// Name in files.
    pub name: &'static str,
    /// Whether proxies without support for it may forward it as TCP.
    pub over_tcp: OverTcp,
    /// How a load of this protocol is made; `None`: only edges have it.
    pub load: Option<LoadInfo>,
}

/// How a load of a protocol is made.
#[derive(Debug, Clone, Copy)]
pub struct LoadInfo {
    /// Client with default options, for a number of connections and the requests of the load.
    pub client: fn(u32, &[RequestSpec]) -> ClientSpec,
    /// Checks the options of a client.
    pub check: fn(&ClientSpec) -> Result<(), String>,
    /// Whether exchanges differ by their requests.
    pub requests: RequestUse,
    /// Whether the load says when its connections are opened and closed ([`ConnectionRules`]); else the protocol does.
    pub connection_rules: bool,
}

impl LoadInfo {
    /// Checks that a load has no rules of connections that its protocol does not use.
    ///
    /// # Errors
    /// With the rules to leave out.
    pub fn check_connections(&self, name: &str, rules: &ConnectionRules) -> Result<(), String> {
        let is_given = rules.exchanges_max.is_some() || rules.open_over_ns > 0;
        match is_given && !self.connection_rules {
            false => Ok(()),
            true => Err(format!(
                "a {name} load takes no exchanges per connection and no time to connect: leave them out"
            )),
        }
    }
}

/// What the requests of a load are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestUse {
    /// Each exchange sends one of them.
    Many,
    /// All exchanges are equal: one request gives their size.
    One,
    /// Operations by method, of which these are known.
    Operations(&'static [&'static str]),
}

/// Whether proxies without support for a protocol may forward it as TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTcp {
    /// Yes: usual for this protocol.
    Usual,
    /// Only if the arm asks for it (`as: tcp`), because that is another question.
    OnRequest,
    /// Never: it is not based on TCP.
    Impossible,
}

/// The list of all protocols.
pub type Protocols = &'static [ProtocolInfo];

/// A protocol by its name.
#[must_use]
pub fn find(protocols: Protocols, name: &str) -> Option<&'static ProtocolInfo> {
    protocols.iter().find(|protocol| protocol.name == name)
}

/// Whether its servers are Kafka brokers: they advertise each other's addresses, and may require a login.
#[must_use]
pub fn is_of_brokers(name: &str) -> bool {
    ["kafka", "kafka-produce", "kafka-fetch"].contains(&name)
}

/// What proxies count of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Requests.
    Requests,
    /// Connections and bytes, not requests.
    Connections,
}

/// What proxies on an edge count, by the protocol that they see: requests of each protocol that they parse, connections of all
/// that they forward as TCP.
#[must_use]
pub fn counted(protocol: &str) -> Counted {
    match protocol {
        "tcp" => Counted::Connections,
        _ => Counted::Requests,
    }
}
