//! How bytes travel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bytes travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transport {
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tls(TlsSpec),
}

/// How the client speaks TLS. Files are named, not contained: a plan goes into the record, and keys do not belong there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// Whom to believe.
    pub trust: Trust,
    /// What the client shows when asked for a certificate.
    pub identity: Option<Identity>,
    /// Name to ask for and to verify; `None`: the endpoint's host.
    pub server_name: Option<String>,
    /// Protocols to offer, in order of preference; `None`: what the protocol needs (`h2`, `http/1.1`); empty: no offer.
    pub alpn: Option<Vec<String>>,
    /// Oldest version to offer.
    pub oldest: TlsVersion,
    /// Newest version to offer.
    pub newest: TlsVersion,
    /// Whether a new connection may resume an earlier session.
    pub resumption: Resumption,
}

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "trust", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trust {
    /// Those that the system's authorities signed.
    System,
    /// Those that the authorities in this PEM file signed.
    File {
        /// Path of the file.
        path: String,
    },
    /// Any: nothing is verified.
    Anybody,
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// PEM file of the certificate and those that lead to the authority.
    pub certificate: String,
    /// PEM file of the key.
    pub key: String,
}

/// A version of TLS.
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

/// Whether sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Every handshake is a full one.
    Off,
    /// A new connection resumes when the server gave a ticket.
    On,
}
