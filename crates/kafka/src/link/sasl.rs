//! Proving who we are on a connection: the mechanism is agreed on, then its steps go back and forth.

use std::time::Instant;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;

use crate::sasl::{Credentials, Login, Mechanism, SaslError, Step};

use super::connection::Connection;
use super::error::LinkError;

/// Goes through it.
pub(super) fn prove(
    connection: &mut Connection,
    credentials: &Credentials,
    until: Instant,
) -> Result<(), LinkError> {
    agree(connection, credentials.mechanism, until)?;
    let broker = connection.broker().clone();
    let refuse = |error: SaslError| LinkError::Password {
        broker: broker.clone(),
        user: credentials.user.clone(),
        why: error.to_string(),
    };
    let (mut login, mut words) = Login::begin(credentials).map_err(refuse)?;
    loop {
        let answer = say(connection, credentials, words, until)?;
        match login.proceed(&answer).map_err(refuse)? {
            Step::Say(next) => words = next,
            Step::Done => return Ok(()),
        }
    }
}

fn agree(
    connection: &mut Connection,
    mechanism: Mechanism,
    until: Instant,
) -> Result<(), LinkError> {
    let name = StrBytes::from_static_str(mechanism.name());
    let request = SaslHandshakeRequest::default().with_mechanism(name);
    let answer = connection.ask(&request, i16::MAX, until)?;
    let broker = connection.broker().clone();
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(()),
        Some(ResponseError::UnsupportedSaslMechanism) => {
            let offered = answer.mechanisms.iter().map(|name| name.as_str());
            let offered: Vec<&str> = offered.collect();
            Err(LinkError::Mechanism {
                broker,
                asked: mechanism.name(),
                offered: match &offered[..] {
                    [] => "none".to_owned(),
                    some => some.join(", "),
                },
            })
        }
        Some(ResponseError::IllegalSaslState) => Err(LinkError::NoSasl { broker }),
        Some(error) => Err(connection.garbage("SaslHandshake".to_owned(), error.to_string())),
    }
}

/// One step: our words out, the broker's in.
fn say(
    connection: &mut Connection,
    credentials: &Credentials,
    words: Vec<u8>,
    until: Instant,
) -> Result<Bytes, LinkError> {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(words.into());
    let answer = connection.ask(&request, i16::MAX, until)?;
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(answer.auth_bytes),
        Some(error) => Err(LinkError::Password {
            broker: connection.broker().clone(),
            user: credentials.user.clone(),
            why: match answer.error_message {
                Some(said) if !said.is_empty() => said.to_string(),
                _ => error.to_string(),
            },
        }),
    }
}
