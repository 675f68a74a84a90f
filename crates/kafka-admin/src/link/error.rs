//! Connection errors: which broker, which operation, the next step.

use std::time::Duration;

use tare_kafka::frame::FrameError;
use tare_schema::load::OutOfReach;

use super::address::Address;

/// Why a broker could not be reached or used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The host cannot be resolved.
    #[error(
        "the host of broker {broker} cannot be found: {why}; check the name, or what the broker advertises"
    )]
    Unknown {
        /// The broker.
        broker: Address,
        /// The system's message.
        why: String,
    },
    /// Connections to its address are not allowed.
    #[error(
        "broker {broker} is not called: {refused}, or change what it advertises (advertised.listeners)"
    )]
    OutOfReach {
        /// The broker, as configured or advertised.
        broker: Address,
        /// Why not.
        refused: OutOfReach,
    },
    /// The connection attempt failed.
    #[error(
        "no connection to broker {broker}: {why}; check that it is up and that this is a listener of it"
    )]
    Refused {
        /// The broker.
        broker: Address,
        /// The system's message.
        why: String,
    },
    /// A timeout.
    #[error(
        "broker {broker} gave no answer to {api} within {} s: it hangs, or something between drops packets; look at its log",
        within.as_secs_f32()
    )]
    Slow {
        /// The broker.
        broker: Address,
        /// The request.
        api: String,
        /// The timeout.
        within: Duration,
    },
    /// The connection was closed while it was used.
    #[error(
        "broker {broker} closed the connection during {api} ({why}): it stopped, or refuses this client; look at its log"
    )]
    Closed {
        /// The broker.
        broker: Address,
        /// The request.
        api: String,
        /// The system's message.
        why: String,
    },
    /// A plaintext connection, probably to a TLS listener.
    #[error(
        "broker {broker} does not speak plain Kafka ({why}): if this listener has TLS, say so (--tls, or `tls:` of the cluster)"
    )]
    NotPlain {
        /// The broker.
        broker: Address,
        /// The failure.
        why: String,
    },
    /// A TLS connection, probably to a plaintext listener.
    #[error(
        "broker {broker} does not speak TLS ({why}): if this listener is a plain one, leave TLS out, or give the port of the TLS listener"
    )]
    NotTls {
        /// The broker.
        broker: Address,
        /// The failure.
        why: String,
    },
    /// The broker's certificate is not trusted.
    #[error(
        "the certificate of broker {broker} is not trusted ({why}): give the authority that signed it (--cacert FILE, or `tls: {{ca: FILE}}` of the cluster)"
    )]
    Untrusted {
        /// The broker.
        broker: Address,
        /// The reason.
        why: String,
    },
    /// The broker's certificate is for another host name.
    #[error(
        "the certificate of broker {broker} is for another name ({why}): use a name in it, or say which one to expect (--server-name NAME)"
    )]
    Misnamed {
        /// The broker.
        broker: Address,
        /// The reason.
        why: String,
    },
    /// The broker rejects the client certificate, or its absence.
    #[error(
        "broker {broker} refuses this client's certificate ({why}): give one that it trusts (--cert FILE --key FILE, or `tls: {{cert, key}}` of the cluster)"
    )]
    Identity {
        /// The broker.
        broker: Address,
        /// The broker's message.
        why: String,
    },
    /// Another TLS failure.
    #[error(
        "no TLS with broker {broker}: {why}; compare its ssl.enabled.protocols and ssl.cipher.suites"
    )]
    Tls {
        /// The broker.
        broker: Address,
        /// The message.
        why: String,
    },
    /// A file of certificates or keys cannot be used.
    #[error("{path} cannot be used for TLS: {why}")]
    File {
        /// Its path.
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
        "broker {broker} asks for no password on this listener: leave SASL out, or give the port of its SASL listener"
    )]
    NoSasl {
        /// The broker.
        broker: Address,
    },
    /// The listener probably requires SASL.
    #[error(
        "broker {broker} answered ApiVersions but nothing else ({why}): if this listener wants a password, give a user (--sasl-user NAME, or `sasl:` of the cluster)"
    )]
    WantsSasl {
        /// The broker.
        broker: Address,
        /// How the connection ended.
        why: String,
    },
    /// The SASL mechanism is not enabled.
    #[error("broker {broker} does not take SASL {asked}: it takes {offered}")]
    Mechanism {
        /// The broker.
        broker: Address,
        /// The requested mechanism.
        asked: &'static str,
        /// The enabled mechanisms.
        offered: String,
    },
    /// Authentication failed.
    #[error(
        "broker {broker}: authentication of user {user} failed: {why}; check user, password and mechanism"
    )]
    Password {
        /// The broker.
        broker: Address,
        /// The user.
        user: String,
        /// The reason.
        why: String,
    },
    /// No common version of a request.
    #[error(
        "broker {broker} has no version of {api} that Tare speaks (broker {theirs}, Tare {ours}): it is older than this needs, or not Kafka"
    )]
    Version {
        /// The broker.
        broker: Address,
        /// Name of the request.
        api: String,
        /// Versions of the broker.
        theirs: String,
        /// Versions of this client.
        ours: String,
    },
    /// A malformed response, or one to another request.
    #[error(
        "broker {broker} answered {api} with what is not Kafka: {why}; is this the port of a broker?"
    )]
    Garbage {
        /// The broker.
        broker: Address,
        /// The request.
        api: String,
        /// What is wrong.
        why: String,
    },
    /// A request that cannot be encoded in the common version.
    #[error("broker {broker} is too old for {api}: {source}")]
    Request {
        /// The broker.
        broker: Address,
        /// The request.
        api: String,
        /// Why.
        source: FrameError,
    },
    /// A broker that the metadata does not list.
    #[error(
        "the cluster has no broker {id} now: it is down, or was never there; see `tare kafka brokers`"
    )]
    NoBroker {
        /// Its id.
        id: i32,
    },
    /// No bootstrap address was given.
    #[error("no address of a broker was given: write HOST:PORT")]
    NoAddress,
    /// None of the bootstrap addresses answered.
    #[error("no broker could be reached; the last one tried: {last}")]
    Nobody {
        /// The error of the last one.
        last: Box<LinkError>,
    },
}

impl LinkError {
    /// Whether another broker, or a retry, may succeed: a broker that is stopping closes connections at any stage.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        matches!(
            self,
            LinkError::Unknown { .. }
                | LinkError::Refused { .. }
                | LinkError::Slow { .. }
                | LinkError::Closed { .. }
                | LinkError::NotPlain { .. }
                | LinkError::NotTls { .. }
                | LinkError::WantsSasl { .. }
                | LinkError::NoBroker { .. }
        )
    }
}
