//! Connection errors: which broker, which operation, the next step.

use std::time::Duration;

use tare_kafka::frame::FrameError;
use tare_record::broker_address::Address;
use tare_record::load::AddressNotAllowed;

use super::versions::NoCommonVersion;

/// The result of a connection or a request.
pub(crate) type Result<T, E = ClientError> = std::result::Result<T, E>;

/// Why a broker could not be reached or used: the broker, the request or the user if there is one, then the reason, in the words of
/// the system, the broker or the TLS library.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The host cannot be resolved.
    #[error(
        "the host of broker {0} cannot be found: {1}; check the name, or what the broker advertises (advertised.listeners)"
    )]
    HostNotFound(Address, String),
    /// Connections to its address, as configured or advertised, are not allowed.
    #[error(
        "connecting to broker {0} is not allowed: {1}, or change what it advertises (advertised.listeners)"
    )]
    AddressNotAllowed(Address, AddressNotAllowed),
    /// The connection attempt failed.
    #[error(
        "no connection to broker {0}: {1}; check that it is up and that this is a listener of it"
    )]
    Refused(Address, String),
    /// A timeout.
    #[error(
        "broker {0} gave no answer to {1} within {seconds} s: it hangs, or something between drops packets; look at its log",
        seconds = .2.as_secs_f32()
    )]
    Timeout(Address, String, Duration),
    /// The connection was closed while it was used.
    #[error(
        "broker {0} closed the connection during {1} ({2}): it stopped, or refuses this client; look at its log"
    )]
    Closed(Address, String, String),
    /// A plaintext connection, probably to a TLS listener.
    #[error(
        "broker {0} does not speak plain Kafka ({1}): if this listener has TLS, say so (--tls, or `tls:` of the cluster)"
    )]
    NotPlain(Address, String),
    /// A TLS connection, probably to a plaintext listener.
    #[error(
        "broker {0} does not speak TLS ({1}): if this listener is a plain one, leave TLS out, or give the port of the TLS listener"
    )]
    NotTls(Address, String),
    /// The broker's certificate is not trusted.
    #[error(
        "the certificate of broker {0} is not trusted ({1}): give the authority that signed it (--cacert FILE, or `tls: {{ca: FILE}}` of the cluster)"
    )]
    Untrusted(Address, String),
    /// The broker's certificate is for another host name.
    #[error(
        "the certificate of broker {0} is for another name ({1}): use a name in it, or say which one to expect (--server-name NAME)"
    )]
    HostnameMismatch(Address, String),
    /// The broker rejects the client certificate, or its absence.
    #[error(
        "broker {0} refuses this client's certificate ({1}): give one that it trusts (--cert FILE --key FILE, or `tls: {{cert, key}}` of the cluster)"
    )]
    ClientCertificateRejected(Address, String),
    /// Another TLS failure.
    #[error("no TLS with broker {0}: {1}; compare its ssl.enabled.protocols and ssl.cipher.suites")]
    Tls(Address, String),
    /// A file of certificates or keys cannot be used.
    #[error("{path} cannot be used for TLS: {why}")]
    File {
        path: String,
        /// Why not.
        why: String,
    },
    /// The system has no certificate authorities.
    #[error(
        "the system has no certificate authorities: install ca-certificates, or give --cacert FILE"
    )]
    NoRoots,
    /// The listener does not use SASL.
    #[error(
        "broker {0} asks for no password on this listener: leave SASL out, or give the port of its SASL listener"
    )]
    SaslNotEnabled(Address),
    /// The listener probably requires SASL.
    #[error(
        "broker {0} answered ApiVersions but nothing else ({1}): if this listener wants a password, give a user (--sasl-user NAME, or `sasl:` of the cluster)"
    )]
    SaslRequired(Address, String),
    /// The SASL mechanism is not enabled: the requested one, and the enabled ones.
    #[error("broker {0} does not take SASL {1}: it takes {2}")]
    Mechanism(Address, &'static str, String),
    /// Authentication of a user failed.
    #[error(
        "broker {0}: authentication of user {1} failed: {2}; check user, password and mechanism"
    )]
    AuthenticationFailed(Address, String, String),
    /// No common version of a request.
    #[error("broker {0} has no version of {1}: it is older than this needs, or not Kafka")]
    Version(Address, NoCommonVersion),
    /// A malformed response, or one to another request.
    #[error("broker {0} sent a malformed response to {1}: {2}; is this the port of a broker?")]
    Malformed(Address, String, String),
    /// A request that cannot be encoded in the common version.
    #[error("broker {0} is too old for {1}: {2}")]
    Request(Address, String, #[source] FrameError),
    /// A broker that the metadata does not list.
    #[error(
        "the cluster has no broker {0} now: it is down, or was never there; see `tare kafka brokers`"
    )]
    NoBroker(i32),
    /// No bootstrap address was given.
    #[error("no address of a broker was given: write HOST:PORT")]
    NoAddress,
    /// None of the bootstrap addresses answered; the error of the last one.
    #[error("no broker could be reached; the last one tried: {0}")]
    NoBrokerReachable(Box<ClientError>),
}

impl ClientError {
    /// Whether another broker, or a retry, may succeed: a broker that is stopping closes connections at any stage.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        matches!(
            self,
            ClientError::HostNotFound(..)
                | ClientError::Refused(..)
                | ClientError::Timeout(..)
                | ClientError::Closed(..)
                | ClientError::NotPlain(..)
                | ClientError::NotTls(..)
                | ClientError::SaslRequired(..)
                | ClientError::NoBroker(_)
        )
    }
}
