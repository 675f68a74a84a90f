//! How to talk to the brokers of a cluster: security, names and limits.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tare_schema::load::Reach;

use crate::sasl::Credentials;

/// How to talk to brokers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How this client is called in the brokers' logs and quotas.
    pub client_id: String,
    /// TLS; none: plain.
    pub tls: Option<Tls>,
    /// User and password; none: anonymous, or known by certificate.
    pub sasl: Option<Credentials>,
    /// How TCP connections come to be.
    pub dial: Dial,
    /// Which addresses they may go to, those included that brokers advertise.
    pub reach: Reach,
    /// Longest way to a connection that can be used: TCP, TLS, SASL and versions together.
    pub connect_within: Duration,
    /// Longest wait for one answer.
    pub answer_within: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            client_id: "tare".to_owned(),
            tls: None,
            sasl: None,
            dial: Dial::Kernel,
            reach: Reach::Private,
            connect_within: Duration::from_secs(10),
            answer_within: Duration::from_secs(30),
        }
    }
}

/// How TCP connections come to be.
#[derive(Clone, Default)]
pub enum Dial {
    /// The kernel connects.
    #[default]
    Kernel,
    /// Somebody else does, within a time: brokers may be where only another network leads.
    By(Arc<Dialler>),
}

/// Connects to an address within a time.
pub type Dialler = dyn Fn(SocketAddr, Duration) -> io::Result<TcpStream> + Send + Sync;

impl Dial {
    pub(super) fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        match self {
            Dial::Kernel => TcpStream::connect_timeout(&at, within),
            Dial::By(connect) => connect(at, within),
        }
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dial::Kernel => "Kernel",
            Dial::By(_) => "By(..)",
        })
    }
}

/// TLS as a client.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Whom to believe.
    pub trust: Trust,
    /// What to show when asked.
    pub identity: Option<Identity>,
    /// Name to expect in the certificate and to send as SNI; the broker's host when there is none.
    pub server_name: Option<String>,
}

/// Whom to believe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// The system's authorities.
    #[default]
    System,
    /// The certificates of a PEM file: authorities, or the broker's own.
    File(PathBuf),
    /// Everybody: for test beds.
    Anybody,
}

/// A certificate and its key, PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// File of the certificate and what signed it.
    pub certificate: PathBuf,
    /// File of the key.
    pub key: PathBuf,
}
