//! Connection settings of a cluster: security, names and timeouts.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tare_kafka::sasl::Credentials;
use tare_record::broker_address::Address;
use tare_record::load::{AddressPolicy, Identity, Trust};

/// Connection settings.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The client id, in the brokers' logs and quotas.
    pub client_id: String,
    /// TLS; `None`: plaintext.
    pub tls: Option<Tls>,
    /// SASL credentials; `None`: no SASL.
    pub sasl: Option<Credentials>,
    /// How names of brokers are resolved.
    pub names: NameResolution,
    /// How TCP connections are opened.
    pub connector: Connector,
    /// Which addresses may be connected to, including those that brokers advertise.
    pub reach: AddressPolicy,
    /// Timeout of opening a connection: TCP, TLS, SASL and ApiVersions together.
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
}

impl Default for ClientSettings {
    fn default() -> ClientSettings {
        ClientSettings {
            client_id: "tare".to_owned(),
            tls: None,
            sasl: None,
            names: NameResolution::System,
            connector: Connector::Direct,
            reach: AddressPolicy::Private,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
        }
    }
}

/// How names of brokers are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameResolution {
    /// By the system's resolver.
    System,
    /// All to one address: nobody is asked about names that come from arbitrary input.
    One(IpAddr),
}

impl NameResolution {
    pub(super) fn resolve(self, broker: &Address) -> io::Result<Vec<SocketAddr>> {
        match self {
            NameResolution::System => {
                let all = (broker.host.as_str(), broker.port).to_socket_addrs();
                all.map(Iterator::collect)
            }
            NameResolution::One(ip) => Ok(vec![SocketAddr::new(ip, broker.port)]),
        }
    }
}

/// How TCP connections are opened.
#[derive(Clone, Default)]
pub enum Connector {
    /// By the kernel.
    #[default]
    Direct,
    /// By this function: brokers may be reachable through another network only.
    Custom(Arc<ConnectFn>),
}

/// Connects to an address within a timeout.
pub type ConnectFn = dyn Fn(SocketAddr, Duration) -> io::Result<TcpStream> + Send + Sync;

impl Connector {
    pub(super) fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        match self {
            Connector::Direct => TcpStream::connect_timeout(&at, within),
            Connector::Custom(connect) => connect(at, within),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connector::Direct => "Direct",
            Connector::Custom(_) => "Custom(..)",
        })
    }
}

/// TLS settings of a client.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Trusted certificates.
    pub trust: Trust,
    /// The client certificate.
    pub identity: Option<Identity>,
    /// Host name to verify and to send as SNI; by default the broker's host.
    pub server_name: Option<String>,
}
