//! Saying who we are on a connection, between asking for its versions and using it.

use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::{ApiKey, SaslAuthenticateRequest, SaslHandshakeRequest};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka::sasl::{Login, SaslError, Step};

use super::Cluster;
use super::link::{Purpose, State};
use super::receiving::Rubbish;
use crate::client::Outlet;
use crate::kafka::errors::Code;
use crate::kafka::versions::Api;

/// The request that names the mechanism; from 1 on the rest goes in requests of its own.
pub(super) const HANDSHAKE: Api = Api::new(ApiKey::SaslHandshake, 1, 1);

/// The request that carries the mechanism's words.
pub(super) const AUTHENTICATE: Api = Api::new(ApiKey::SaslAuthenticate, 0, 2);

impl Cluster {
    /// The versions of a broker are known: what comes next.
    pub(super) fn introduce(&mut self, at: u32, out: &mut impl Outlet) {
        let Some(credentials) = self.plan.login.clone() else {
            return self.opened(at, out);
        };
        self.links[at as usize].state = State::Login;
        let mechanism = StrBytes::from_static_str(credentials.mechanism.name());
        let request = SaslHandshakeRequest::default().with_mechanism(mechanism);
        self.send_own(at, Purpose::Handshake, &request, HANDSHAKE.max, out);
    }

    /// The broker agrees to the mechanism, or not.
    pub(super) fn shaken(
        &mut self,
        at: u32,
        bytes: Bytes,
        out: &mut impl Outlet,
    ) -> Result<(), Rubbish> {
        let answer = frame::read::<SaslHandshakeRequest>(bytes, HANDSHAKE.max)?;
        let Some(credentials) = self.plan.login.clone() else {
            return Ok(());
        };
        if Code(answer.error_code).is_error() {
            let offered: Vec<&str> = answer.mechanisms.iter().map(|name| &**name).collect();
            let name = self.links[at as usize].name();
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
        match Login::begin(&credentials) {
            Ok((login, first)) => {
                self.links[at as usize].login = Some(login);
                self.say(at, first, out);
            }
            Err(error) => self.not_let_in(at, &error),
        }
        Ok(())
    }

    fn say(&mut self, at: u32, words: Vec<u8>, out: &mut impl Outlet) {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(words));
        let version = self.links[at as usize].versions.of(AUTHENTICATE.key);
        self.send_own(at, Purpose::Authenticate, &request, version, out);
    }

    /// The broker answered a word of the login.
    pub(super) fn heard(
        &mut self,
        at: u32,
        bytes: Bytes,
        out: &mut impl Outlet,
    ) -> Result<(), Rubbish> {
        let link = &mut self.links[at as usize];
        let version = link.versions.of(AUTHENTICATE.key);
        let answer = frame::read::<SaslAuthenticateRequest>(bytes, version)?;
        let Some(login) = &mut link.login else {
            return Ok(());
        };
        let code = Code(answer.error_code);
        let step = match code.is_error() {
            true => {
                let words = answer.error_message.as_ref().map(ToString::to_string);
                Err(login.refused(&words.unwrap_or_else(|| code.to_string())))
            }
            false => login.proceed(&answer.auth_bytes),
        };
        match step {
            Ok(Step::Say(words)) => self.say(at, words, out),
            Ok(Step::Done) => {
                link.login = None;
                self.opened(at, out);
            }
            Err(error) => self.not_let_in(at, &error),
        }
        Ok(())
    }

    fn not_let_in(&mut self, at: u32, error: &SaslError) {
        let problem = format!("{}: {error}", self.links[at as usize].name());
        self.give_up(problem);
    }
}
