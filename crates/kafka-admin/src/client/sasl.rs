//! SASL authentication of a connection: SaslHandshake, then SaslAuthenticate exchanges.

use std::time::Instant;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use tare_kafka::sasl::{Authentication, Credentials, Mechanism, SaslError, SaslStep};

use super::connection::Connection;
use super::error::{ClientError, Result};

pub(super) fn authenticate(
    connection: &mut Connection,
    credentials: &Credentials,
    deadline: Instant,
) -> Result<()> {
    negotiate_mechanism(connection, credentials.mechanism, deadline)?;
    let broker = connection.broker().clone();
    let refuse = |error: SaslError| {
        ClientError::AuthenticationFailed(
            broker.clone(),
            credentials.user.clone(),
            error.to_string(),
        )
    };
    let (mut login, mut token) = Authentication::begin(credentials).map_err(refuse)?;
    loop {
        let answer = send_token(connection, credentials, token, deadline)?;
        match login.proceed(&answer).map_err(refuse)? {
            SaslStep::Say(next) => token = next,
            SaslStep::Done => return Ok(()),
        }
    }
}

fn negotiate_mechanism(
    connection: &mut Connection,
    mechanism: Mechanism,
    deadline: Instant,
) -> Result<()> {
    let name = StrBytes::from_static_str(mechanism.name());
    let request = SaslHandshakeRequest::default().with_mechanism(name);
    let answer = connection.request(&request, i16::MAX, deadline)?;
    let broker = connection.broker().clone();
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(()),
        Some(ResponseError::UnsupportedSaslMechanism) => {
            let offered = answer.mechanisms.iter().map(|name| name.as_str());
            let offered: Vec<&str> = offered.collect();
            let offered = match &offered[..] {
                [] => "none".to_owned(),
                some => some.join(", "),
            };
            Err(ClientError::Mechanism(broker, mechanism.name(), offered))
        }
        Some(ResponseError::IllegalSaslState) => Err(ClientError::SaslNotEnabled(broker)),
        Some(error) => Err(connection.malformed("SaslHandshake".to_owned(), error.to_string())),
    }
}

/// One SaslAuthenticate exchange: our token out, the broker's in.
fn send_token(
    connection: &mut Connection,
    credentials: &Credentials,
    token: Vec<u8>,
    deadline: Instant,
) -> Result<Bytes> {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(token.into());
    let answer = connection.request(&request, i16::MAX, deadline)?;
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(answer.auth_bytes),
        Some(error) => {
            let why = match answer.error_message {
                Some(message) if !message.is_empty() => message.to_string(),
                _ => error.to_string(),
            };
            let broker = connection.broker().clone();
            Err(ClientError::AuthenticationFailed(
                broker,
                credentials.user.clone(),
                why,
            ))
        }
    }
}
