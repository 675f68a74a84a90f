//! The protocols of loads, each a folder: options, checks, URL schemes, client. A new one is a folder and its line in [`ALL`].

pub mod connect;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod kafka;
pub mod mongodb;
pub mod tcp;
pub mod udp;

use std::sync::{LazyLock, OnceLock};

#[cfg(feature = "schema")]
use serde_json::{Map, Value, json};
use tare_record::load::{ClientSpec, RequestSpec, Transport};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, Protocols, RequestUse};
use tare_record::schemas::Shape;
use tare_record::shape;

use crate::generator::{Launch, LoadError, LoadOutcome, PlanError};

/// Counters of a protocol: a line each, with its name in results.
#[macro_export]
macro_rules! protocol_counters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$doc])* $vis $field: u64,)*
        }

        impl $name {
            /// Reports all of them by name.
            $vis fn report(&self, report: &mut dyn FnMut(&'static str, u64)) {
                $(report($text, self.$field);)*
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

pub static ALL: [&Protocol; 9] = [
    &http1::PROTOCOL,
    &http2::PROTOCOL,
    &grpc::PROTOCOL,
    &tcp::PROTOCOL,
    &udp::PROTOCOL,
    &kafka::PRODUCE,
    &kafka::FETCH,
    &mongodb::PROTOCOL,
    &connect::PROTOCOL,
];

/// A protocol of loads.
#[derive(Debug)]
pub struct Protocol {
    /// What planning knows of it.
    pub info: ProtocolInfo,
    pub schemes: &'static [UrlScheme],
    /// JSON Schema of its options; `None`: it has none.
    #[cfg(feature = "schema")]
    options: Option<fn() -> Value>,
    /// Flags of the command line for its options.
    pub flags: Flags,
    /// ALPN name offered over TLS.
    pub(crate) alpn: Option<&'static str>,
    /// Sockets of its connections.
    pub(crate) sockets: SocketKind,
    /// When its connections are opened.
    pub(crate) connects: Connects,
    runner: Runner,
}

/// Runs a load with the clients of its protocol.
pub type RunLoad = fn(Launch<'_, '_>) -> Result<LoadOutcome, LoadError>;

/// Where the clients of a protocol are.
#[derive(Debug, Clone, Copy)]
enum Runner {
    Here(RunLoad),
    /// In a crate of their own, which installs them in the programs that have it.
    Installed(&'static OnceLock<RunLoad>),
}

/// Flags of the command line for the options of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    OfOptions,
    /// Of the command line itself: with names that users of other tools know.
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlScheme {
    /// Its name, before `://`.
    pub name: &'static str,
    /// What follows `://`, for help texts: `host:port/path`.
    pub rest: &'static str,
    /// When TLS is used.
    pub tls: UrlTls,
    /// Default port.
    pub port: Option<u16>,
    pub servers: UrlServers,
    /// How a URL with TLS is written, for messages.
    pub secured: Option<&'static str>,
}

/// When TLS is used with a URL scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlTls {
    Always,
    Never,
    /// With `tls=true` or `ssl=true` in the query.
    ByQuery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlServers {
    One,
    /// A list, separated by commas, of which any one is enough.
    Several,
}

/// Sockets of a protocol's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// TCP.
    Stream,
    /// UDP: each write is a datagram, each datagram is read as a whole.
    Datagram,
}

/// How connections are secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionSecurity {
    /// Plaintext.
    Plain,
    Tls,
}

impl ConnectionSecurity {
    /// That of a load.
    #[must_use]
    pub fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Tcp => ConnectionSecurity::Plain,
            Transport::Tls(_) => ConnectionSecurity::Tls,
        }
    }
}

/// When connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connects {
    BeforeLoad,
    PerExchange,
}

impl Protocol {
    /// A protocol over TCP without URLs, options and ALPN name.
    const fn new(info: ProtocolInfo, run: RunLoad) -> Self {
        Self::run_by(info, Runner::Here(run))
    }

    const fn run_by(info: ProtocolInfo, runner: Runner) -> Self {
        Self {
            info,
            schemes: &[],
            #[cfg(feature = "schema")]
            options: None,
            flags: Flags::Own,
            alpn: None,
            sockets: SocketKind::Stream,
            connects: Connects::BeforeLoad,
            runner,
        }
    }

    /// Whether this process has its clients.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        self.runner().is_some()
    }

    fn runner(&self) -> Option<RunLoad> {
        match self.runner {
            Runner::Here(run) => Some(run),
            Runner::Installed(place) => place.get().copied(),
        }
    }

    pub(crate) fn run(&self, launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
        let Some(run) = self.runner() else {
            let name = self.info.name;
            return Err(
                PlanError::Invalid(format!("this program has no clients of {name}")).into(),
            );
        };
        run(launch)
    }
}

impl UrlScheme {
    /// A scheme of a protocol over TCP, without a default port and a path.
    const fn over_tcp(name: &'static str, tls: UrlTls, secured: &'static str) -> Self {
        Self {
            name,
            rest: "host:port",
            tls,
            port: None,
            servers: UrlServers::One,
            secured: Some(secured),
        }
    }
}

#[must_use]
pub fn find(name: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|protocol| protocol.info.name == name)
}

/// What planning knows of each protocol that edges and loads of a workload can have.
#[must_use]
pub fn infos() -> Protocols {
    // Connections alone are a load of the command line.
    static INFOS: LazyLock<Vec<ProtocolInfo>> = LazyLock::new(|| {
        let of_loads = ALL.iter().map(|protocol| protocol.info);
        let of_workloads = of_loads.filter(|info| info.name != connect::NAME);
        of_workloads.chain([kafka::EDGE]).collect()
    });
    &INFOS
}

/// Options of clients by protocol, the keys of `client` in a workload's load: a branch for each protocol, with its name as title.
pub const OPTIONS: Shape = shape!(
    "client",
    "options of a client by protocol: `client` of a workload's load",
);

/// The schema that [`OPTIONS`] has, made from the types.
#[cfg(feature = "schema")]
#[must_use]
pub fn options_schema() -> Value {
    let mut definitions = Map::new();
    let mut one_of = Vec::new();
    for protocol in ALL {
        let Some(Value::Object(mut schema)) = protocol.options.map(|schema| schema()) else {
            continue;
        };
        schema.remove("$schema");
        schema.insert("title".into(), protocol.info.name.into());
        if let Some(Value::Object(own)) = schema.remove("$defs") {
            definitions.extend(own);
        }
        one_of.push(Value::Object(schema));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Options of a client, by the protocol of its load",
        "oneOf": one_of,
        "$defs": definitions,
    })
}

/// What planning knows of a protocol whose client has no options.
const fn without_options(
    name: &'static str,
    over_tcp: OverTcp,
    connection_rules: bool,
    client: fn(u32, &[RequestSpec]) -> ClientSpec,
) -> ProtocolInfo {
    ProtocolInfo {
        name,
        over_tcp,
        load: Some(LoadInfo {
            client,
            check: |client| match client.options.keys().next() {
                Some(key) => Err(format!(
                    "{key:?} is unknown: {} has no options",
                    client.protocol
                )),
                None => Ok(()),
            },
            requests: RequestUse::Many,
            connection_rules,
        }),
    }
}

fn check_range<N: PartialOrd + std::fmt::Display>(
    what: &str,
    value: N,
    range: std::ops::RangeInclusive<N>,
) -> Result<(), String> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(format!(
            "{what} is {value}, but must be {} to {}",
            range.start(),
            range.end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_a_name_of_its_own_and_default_options_that_it_accepts() {
        let mut names: Vec<&str> = infos().iter().map(|info| info.name).collect();
        for info in infos() {
            let Some(load) = info.load else { continue };
            let request = crate::Load::get("http://127.0.0.1/topic").unwrap();
            let client = (load.client)(7, &request.plan().load.requests);
            assert_eq!(
                (client.protocol.as_str(), client.connections),
                (info.name, 7)
            );
            assert_eq!((load.check)(&client), Ok(()), "{}", info.name);
            let mut unknown = client.clone();
            unknown.options.insert("no-such-option".into(), 1.into());
            let said = (load.check)(&unknown).unwrap_err();
            assert!(said.contains("no-such-option"), "{}: {said}", info.name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), infos().len());
    }

    #[test]
    fn a_url_scheme_belongs_to_one_protocol() {
        let mut schemes: Vec<&str> = ALL
            .iter()
            .flat_map(|protocol| protocol.schemes)
            .map(|scheme| scheme.name)
            .collect();
        let count = schemes.len();
        schemes.sort_unstable();
        schemes.dedup();
        assert_eq!(schemes.len(), count);
    }
}
