//! SASL authentication of a connection, after ApiVersions.

use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::{ApiKey, SaslAuthenticateRequest, SaslHandshakeRequest};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka::sasl::{Authentication, SaslError, SaslStep};

use super::Cluster;
use super::connection::{Purpose, State};
use super::receiving::ProtocolError;
use crate::errors::ErrorCode;
use crate::versions::Api;
use tare_load::client::Outlet;

/// Names the mechanism; from version 1 on, its messages are sent in SaslAuthenticate requests.
pub(super) const HANDSHAKE: Api = Api::new(ApiKey::SaslHandshake, 1, 1);

/// Carries the messages of the mechanism.
pub(super) const AUTHENTICATE: Api = Api::new(ApiKey::SaslAuthenticate, 0, 2);

impl Cluster {
    /// Begins SASL; without credentials the connection is ready.
    pub(super) fn begin_auth(&mut self, at: u32, out: &mut impl Outlet) {
        let Some(credentials) = self.plan.login.clone() else {
            return self.opened(at, out);
        };
        self.connections[at as usize].state = State::Login;
        let mechanism = StrBytes::from_static_str(credentials.mechanism.name());
        let request = SaslHandshakeRequest::default().with_mechanism(mechanism);
        self.send_own(at, Purpose::Handshake, &request, HANDSHAKE.max, out);
    }

    /// Handles the SaslHandshake response.
    pub(super) fn on_sasl_handshake(
        &mut self,
        at: u32,
        bytes: Bytes,
        out: &mut impl Outlet,
    ) -> Result<(), ProtocolError> {
        let answer = frame::read::<SaslHandshakeRequest>(bytes, HANDSHAKE.max)?;
        let Some(credentials) = self.plan.login.clone() else {
            return Ok(());
        };
        if ErrorCode(answer.error_code).is_error() {
            let offered: Vec<&str> = answer.mechanisms.iter().map(|name| &**name).collect();
            let name = &self.connections[at as usize];
            let problem = match offered.is_empty() {
                true => format!(
                    "{name} takes no login on this port: leave out the user, or use its SASL listener"
                ),
                false => format!(
                    "{name} does not take {}, but {}: choose one of them",
                    credentials.mechanism,
                    offered.join(", ")
                ),
            };
            self.give_up(problem);
            return Ok(());
        }
        match Authentication::begin(&credentials) {
            Ok((login, first)) => {
                self.connections[at as usize].login = Some(login);
                self.send_sasl(at, first, out);
            }
            Err(error) => self.auth_failed(at, &error),
        }
        Ok(())
    }

    fn send_sasl(&mut self, at: u32, words: Vec<u8>, out: &mut impl Outlet) {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(words));
        let version = self.connections[at as usize].versions.of(AUTHENTICATE.key);
        self.send_own(at, Purpose::Authenticate, &request, version, out);
    }

    /// Handles a SaslAuthenticate response.
    pub(super) fn on_sasl_response(
        &mut self,
        at: u32,
        bytes: Bytes,
        out: &mut impl Outlet,
    ) -> Result<(), ProtocolError> {
        let connection = &mut self.connections[at as usize];
        let version = connection.versions.of(AUTHENTICATE.key);
        let answer = frame::read::<SaslAuthenticateRequest>(bytes, version)?;
        let Some(login) = &mut connection.login else {
            return Ok(());
        };
        let code = ErrorCode(answer.error_code);
        let step = match code.is_error() {
            true => {
                let words = answer.error_message.as_ref().map(ToString::to_string);
                Err(login.refused(&words.unwrap_or_else(|| code.to_string())))
            }
            false => login.proceed(&answer.auth_bytes),
        };
        match step {
            Ok(SaslStep::Say(words)) => self.send_sasl(at, words, out),
            Ok(SaslStep::Done) => {
                connection.login = None;
                self.opened(at, out);
            }
            Err(error) => self.auth_failed(at, &error),
        }
        Ok(())
    }

    fn auth_failed(&mut self, at: u32, error: &SaslError) {
        let problem = format!("{}: {error}", self.connections[at as usize]);
        self.give_up(problem);
    }
}
