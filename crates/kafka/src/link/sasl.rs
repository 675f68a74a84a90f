//! Proving who we are on a connection: the mechanism is agreed on, then its steps go back and forth.

use std::time::Instant;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;

use super::connection::Connection;
use super::error::LinkError;
use super::settings::{Mechanism, Sasl};

/// Goes through it.
pub(super) fn prove(
    connection: &mut Connection,
    sasl: &Sasl,
    until: Instant,
) -> Result<(), LinkError> {
    agree(connection, sasl.mechanism, until)?;
    match sasl.mechanism {
        Mechanism::Plain => {
            let words = format!("\0{}\0{}", sasl.user, sasl.password);
            step(connection, sasl, words.into(), until).map(drop)
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
        Some(ResponseError::UnsupportedSaslMechanism) => Err(LinkError::Mechanism {
            broker,
            asked: mechanism.name(),
            offered: match &answer.mechanisms[..] {
                [] => "none".to_owned(),
                some => some
                    .iter()
                    .map(|name| name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            },
        }),
        Some(ResponseError::IllegalSaslState) => Err(LinkError::NoSasl { broker }),
        Some(error) => Err(connection.garbage("SaslHandshake".to_owned(), error.to_string())),
    }
}

/// One step: our words out, the broker's in.
fn step(
    connection: &mut Connection,
    sasl: &Sasl,
    words: Bytes,
    until: Instant,
) -> Result<Bytes, LinkError> {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(words);
    let answer = connection.ask(&request, i16::MAX, until)?;
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(answer.auth_bytes),
        Some(error) => Err(LinkError::Password {
            broker: connection.broker().clone(),
            user: sasl.user.clone(),
            why: match answer.error_message {
                Some(said) if !said.is_empty() => said.to_string(),
                _ => error.to_string(),
            },
        }),
    }
}
