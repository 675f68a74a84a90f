//! Transport: TCP or TLS.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transport {
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tls(TlsSpec),
}

/// TLS settings of the client. Files are given by path, because plans are kept in records, which must not hold keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// Trusted certificate authorities.
    pub trust: Trust,
    /// Client certificate, shown if the server requests one.
    pub identity: Option<Identity>,
    /// Server name (SNI) to send and to verify; `None`: the endpoint's host.
    pub server_name: Option<String>,
    /// ALPN protocols to offer, in order of preference; `None`: those of the client's protocol (`h2`, `http/1.1`); empty: no
    /// ALPN.
    pub alpn: Option<Vec<String>>,
    /// Oldest TLS version to offer.
    pub oldest: TlsVersion,
    /// Newest TLS version to offer.
    pub newest: TlsVersion,
    /// Whether new connections may resume earlier sessions.
    pub resumption: Resumption,
}

/// Trusted certificate authorities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "trust", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trust {
    /// Those of the system.
    #[default]
    System,
    /// Those in a PEM file.
    File {
        /// Path of the file.
        path: String,
    },
    /// No verification: any certificate is accepted.
    Any,
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// PEM file with the certificate chain.
    pub certificate: String,
    /// PEM file with the private key.
    pub key: String,
}

/// A TLS version.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

/// Whether TLS sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Every handshake is full.
    Off,
    /// New connections resume a session if the server issued a ticket.
    On,
}
