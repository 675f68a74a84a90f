//! How to talk to the brokers of a cluster: security, names and limits.

use std::path::PathBuf;
use std::time::Duration;

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
            connect_within: Duration::from_secs(10),
            answer_within: Duration::from_secs(30),
        }
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
