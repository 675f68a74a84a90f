//! Why a broker cannot be talked to: which broker, what was tried, what to do next.

use std::time::Duration;

use tare_schema::load::OutOfReach;

use crate::frame::FrameError;

use super::address::Address;

/// Why a broker cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The host has no address.
    #[error(
        "the host of broker {broker} cannot be found: {why}; check the name, or what the broker advertises"
    )]
    Unknown {
        /// Which.
        broker: Address,
        /// The system's words.
        why: String,
    },
    /// Its address may not be called.
    #[error(
        "broker {broker} is not called: {refused}, or change what it advertises (advertised.listeners)"
    )]
    OutOfReach {
        /// Which, as it was named or advertises itself.
        broker: Address,
        /// Why not.
        refused: OutOfReach,
    },
    /// Nobody takes the connection.
    #[error(
        "no connection to broker {broker}: {why}; check that it is up and that this is a listener of it"
    )]
    Refused {
        /// Which.
        broker: Address,
        /// The system's words.
        why: String,
    },
    /// Too slow.
    #[error(
        "broker {broker} gave no answer to {api} within {} s: it hangs, or something between drops packets; look at its log",
        within.as_secs_f32()
    )]
    Slow {
        /// Which.
        broker: Address,
        /// What it was asked.
        api: String,
        /// How long was waited.
        within: Duration,
    },
    /// The connection broke while it was used.
    #[error(
        "broker {broker} closed the connection during {api} ({why}): it stopped, or refuses this client; look at its log"
    )]
    Closed {
        /// Which.
        broker: Address,
        /// What it was asked.
        api: String,
        /// The system's words.
        why: String,
    },
    /// Plain bytes to a listener that does not take them.
    #[error(
        "broker {broker} does not speak plain Kafka ({why}): if this listener has TLS, say so (--tls, or `tls:` of the cluster)"
    )]
    NotPlain {
        /// Which.
        broker: Address,
        /// What came instead.
        why: String,
    },
    /// A TLS client at a plain listener, as it seems.
    #[error(
        "broker {broker} does not speak TLS ({why}): if this listener is a plain one, leave TLS out, or give the port of the TLS listener"
    )]
    NotTls {
        /// Which.
        broker: Address,
        /// What came instead.
        why: String,
    },
    /// The broker's certificate is not believed.
    #[error(
        "the certificate of broker {broker} is not trusted ({why}): give the authority that signed it (--cacert FILE, or `tls: {{ca: FILE}}` of the cluster)"
    )]
    Untrusted {
        /// Which.
        broker: Address,
        /// What is wrong with it.
        why: String,
    },
    /// The certificate is good, but for another name.
    #[error(
        "the certificate of broker {broker} is for another name ({why}): use a name in it, or say which one to expect (--server-name NAME)"
    )]
    Misnamed {
        /// Which.
        broker: Address,
        /// What is wrong with it.
        why: String,
    },
    /// The broker wants a certificate of the client, or another one.
    #[error(
        "broker {broker} refuses this client's certificate ({why}): give one that it trusts (--cert FILE --key FILE, or `tls: {{cert, key}}` of the cluster)"
    )]
    Identity {
        /// Which.
        broker: Address,
        /// What it said.
        why: String,
    },
    /// TLS failed otherwise.
    #[error(
        "no TLS with broker {broker}: {why}; compare its ssl.enabled.protocols and ssl.cipher.suites"
    )]
    Tls {
        /// Which.
        broker: Address,
        /// What it said.
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
    /// The system has no authorities.
    #[error(
        "the system has no certificate authorities: install ca-certificates, or give --cacert FILE"
    )]
    NoRoots,
    /// The listener asks for no password.
    #[error(
        "broker {broker} asks for no password on this listener: leave SASL out, or give the port of its SASL listener"
    )]
    NoSasl {
        /// Which.
        broker: Address,
    },
    /// The listener wants a password.
    #[error(
        "broker {broker} told its versions but nothing else ({why}): if this listener wants a password, give a user (--sasl scram-sha-256 --user NAME, or `sasl:` of the cluster)"
    )]
    WantsSasl {
        /// Which.
        broker: Address,
        /// How it ended.
        why: String,
    },
    /// Another mechanism is wanted.
    #[error("broker {broker} does not take SASL {asked}: it takes {offered}")]
    Mechanism {
        /// Which.
        broker: Address,
        /// What was asked for.
        asked: &'static str,
        /// What there is.
        offered: String,
    },
    /// Wrong user or password.
    #[error(
        "broker {broker} does not let user {user} in: {why}; check user, password and mechanism"
    )]
    Password {
        /// Which.
        broker: Address,
        /// Who.
        user: String,
        /// What was said.
        why: String,
    },
    /// No version of a request that both sides know.
    #[error(
        "broker {broker} has no version of {api} that Tare speaks (broker {theirs}, Tare {ours}): it is older than this needs, or not Kafka"
    )]
    Version {
        /// Which.
        broker: Address,
        /// Name of the request.
        api: String,
        /// What the broker can.
        theirs: String,
        /// What we can.
        ours: String,
    },
    /// What came is not Kafka, or not the answer.
    #[error(
        "broker {broker} answered {api} with what is not Kafka: {why}; is this the port of a broker?"
    )]
    Garbage {
        /// Which.
        broker: Address,
        /// What it was asked.
        api: String,
        /// What was wrong.
        why: String,
    },
    /// A request that cannot be written in the version agreed on.
    #[error("broker {broker} is too old for {api}: {source}")]
    Request {
        /// Which.
        broker: Address,
        /// What was to be asked.
        api: String,
        /// Why.
        source: FrameError,
    },
    /// A broker that the cluster does not list.
    #[error(
        "the cluster has no broker {id} now: it is down, or was never there; see `tare kafka brokers`"
    )]
    NoBroker {
        /// Its number.
        id: i32,
    },
    /// Nobody was named.
    #[error("no address of a broker was given: write HOST:PORT")]
    NoAddress,
    /// None of the addresses given led to a broker.
    #[error("no broker could be reached; the last one tried: {last}")]
    Nobody {
        /// What the last one said.
        last: Box<LinkError>,
    },
}

impl LinkError {
    /// Whether another broker, or the same one later, may do better: one that is stopping closes connections at any stage.
    #[must_use]
    pub fn is_passing(&self) -> bool {
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
