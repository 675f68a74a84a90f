//! How connections to brokers come to be and end: addresses, attempts, pauses, and who is there.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use tare_kafka::bytes::BytesMut;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::ApiVersionsRequest;
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::link::{self, Answered, Purpose, SEED, State};
use super::{Cluster, Event, Security};
use crate::client::{Closed, ErrorClass, Outlet};
use crate::kafka::names::{self, Found};

/// How often a name that is being looked up is asked for.
const NAME_EVERY_NS: u64 = 2_000_000;

/// Connections that ended while they were asked for versions, before this is no accident.
const STRANGERS_MAX: u32 = 3;

impl Cluster {
    /// Opens what is wanted and may be opened now.
    pub(super) fn open_more(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        for at in 0..self.links.len() as u32 {
            let link = &mut self.links[at as usize];
            if link.state != State::Closed || !link.wanted {
                continue;
            }
            match link.retry_at_ns {
                Some(retry_ns) if retry_ns > now_ns => {
                    self.retry_at(retry_ns, out);
                    continue;
                }
                Some(_) => {
                    link.retry_at_ns = None;
                    link.backoff.elapsed();
                }
                None => {}
            }
            let Some(address) = self.address(at, out) else {
                continue;
            };
            let deadline_ns = now_ns.saturating_add(self.plan.connect_timeout_ns);
            let link = &mut self.links[at as usize];
            link.reset();
            link.address = Some(address);
            link.state = State::Connecting { deadline_ns };
            self.deadlines.watch(deadline_ns, out);
            out.name(link::conn(at), &link.host);
            out.connect(link::conn(at), address);
        }
    }

    /// Where a connection goes to; `None` while that is not known.
    fn address(&mut self, at: u32, out: &mut impl Outlet) -> Option<SocketAddr> {
        if Self::is_seed(at) {
            // When no seed answers, a broker that was met before may.
            let met = self.links.iter().filter_map(|link| link.address);
            let all: Vec<SocketAddr> = self.plan.seeds.iter().copied().chain(met).collect();
            let address = *all.get(self.next_seed % all.len().max(1))?;
            self.next_seed = self.next_seed.wrapping_add(1);
            let named = self.plan.advertised(address);
            let link = &mut self.links[at as usize];
            link.host = match named {
                SocketAddr::V4(named) => named.ip().to_string(),
                SocketAddr::V6(named) => format!("[{}]", named.ip()),
            };
            link.port = named.port();
            return Some(address);
        }
        let link = &self.links[at as usize];
        match names::resolve(&*self.plan.names, &link.host) {
            Found::Address(ip) => Some(self.plan.connect_to(SocketAddr::new(ip, link.port))),
            Found::Asked => {
                self.retry_at(out.now_ns().saturating_add(NAME_EVERY_NS), out);
                None
            }
            Found::Nothing(reason) => {
                let why = format!(
                    "{} advertises the name {:?}, which is not found here ({reason}): add it to the hosts file, or change the broker's advertised.listeners",
                    link.name(),
                    link.host
                );
                self.ended(
                    at,
                    ErrorClass::of("unknown-host", tare_schema::agent::Fault::Environment),
                    &why,
                    out,
                );
                None
            }
        }
    }

    /// A connection is open.
    pub fn connected(&mut self, at: u32, out: &mut impl Outlet) {
        self.links[at as usize].state = State::Greeting;
        self.greet(at, out);
    }

    /// Asks a broker for its versions.
    pub(super) fn greet(&mut self, at: u32, out: &mut impl Outlet) {
        let version = self.links[at as usize].asked_version;
        let mut request = ApiVersionsRequest::default();
        if version >= 3 {
            request = request
                .with_client_software_name(StrBytes::from_static_str("tare"))
                .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        }
        self.send_own(at, Purpose::Versions { version }, &request, version, out);
    }

    /// Sends a request of the cluster's own.
    pub(super) fn send_own<R: tare_kafka::kafka_protocol::protocol::Request>(
        &mut self,
        at: u32,
        purpose: Purpose,
        request: &R,
        version: i16,
        out: &mut impl Outlet,
    ) {
        let client = self.client_id.clone();
        let link = &mut self.links[at as usize];
        let correlation = link.correlation();
        let mut bytes = BytesMut::new();
        if let Err(error) = frame::write(&mut bytes, request, version, correlation, &client) {
            let problem = format!("{}: {error}", link.name());
            return self.give_up(problem);
        }
        let mut buffer = link.outbox.buffer();
        buffer.extend_from_slice(&bytes);
        link.outbox.push(buffer, correlation);
        let timeout_ns = self.plan.request_timeout_ns;
        let entry = (correlation, purpose, Answered::Yes);
        let deadline_ns = link.expect(entry, out.now_ns(), timeout_ns);
        self.deadlines.watch(deadline_ns, out);
        self.touch(at);
    }

    /// A connection can be used.
    pub(super) fn opened(&mut self, at: u32, out: &mut impl Outlet) {
        self.links[at as usize].state = State::Open;
        if !Self::is_seed(at) {
            self.events.push_back(Event::Opened { broker: at });
        }
        self.ask_if_due(out);
        self.leave_seed(out);
    }

    /// Closes the connection that asked the seeds, once those to the brokers do as well.
    pub(super) fn leave_seed(&mut self, out: &mut impl Outlet) {
        let seed = &mut self.links[SEED as usize];
        if self.asking.is_asking() || !seed.is_open() || !seed.pending.is_empty() {
            return;
        }
        if self.is_open() {
            let seed = &mut self.links[SEED as usize];
            seed.wanted = false;
            seed.state = State::Closed;
            seed.reset();
            out.close(link::conn(SEED));
        }
    }

    /// A connection ended or did not come to be.
    pub fn closed(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        let link = &mut self.links[at as usize];
        match link.state {
            State::Closed => return,
            State::Greeting => self.stranger(at, why),
            State::Login | State::Connecting { .. } | State::Open => {}
        }
        if let Closed::OutOfReach(refused) = why {
            let name = self.links[at as usize].name();
            let problem = format!(
                "{name}, as it advertises itself, is not called: {refused}, or change its advertised.listeners"
            );
            self.give_up(problem);
        }
        let link = &self.links[at as usize];
        let words = format!("{}: {why}", link.name());
        self.ended(at, why.class(), &words, out);
    }

    /// A broker told its versions and ended the connection at the first question: its listener may ask for a login first.
    fn unheard(&mut self, at: u32, why: &str) {
        self.strangers += 1;
        let known = self.links.iter().any(|link| link.node != link::NO_NODE);
        if !known && self.strangers >= STRANGERS_MAX && self.plan.login.is_none() {
            let name = self.links[at as usize].name();
            let problem = format!(
                "{name} tells its versions and then ends the connection ({why}): if this listener asks for a login, give one by --sasl-user"
            );
            self.give_up(problem);
        }
    }

    /// What a server may be that does not speak as a broker does.
    pub(super) fn hint(&self) -> &'static str {
        match self.plan.security {
            Security::Plain => {
                "if it is a TLS port, write kafka+tls://; if it asks for a password only, see its listeners"
            }
            Security::Tls => "if this is an old or a foreign broker, use one of 2.1 or newer",
        }
    }

    /// Somebody who accepted us said nothing for as long as an answer is waited for: never met before, it is no broker.
    pub(super) fn mute(&mut self, at: u32) {
        let is_known = self.links.iter().any(|link| link.node != link::NO_NODE);
        if is_known || self.links[at as usize].state != State::Greeting {
            return;
        }
        self.strangers += 1;
        // Another seed may know better.
        if (self.strangers as usize) < self.plan.seeds.len() {
            return;
        }
        let hint = self.hint();
        let limit_ms = self.plan.request_timeout_ns / 1_000_000;
        let name = self.links[at as usize].name();
        let problem = format!(
            "{name} gave no answer within {limit_ms} ms when asked which versions of the Kafka protocol it has: {hint}"
        );
        self.give_up(problem);
    }

    /// Somebody who accepted us hung up when asked for its versions.
    fn stranger(&mut self, at: u32, why: Closed) {
        let ever = self
            .links
            .iter()
            .any(|link| link.node != link::NO_NODE || link.answers > 0);
        self.strangers += 1;
        if ever || self.strangers < STRANGERS_MAX {
            return;
        }
        let hint = self.hint();
        let name = self.links[at as usize].name();
        let problem = format!(
            "{name} ended the connection when asked which versions of the Kafka protocol it has ({why}): {hint}"
        );
        self.give_up(problem);
    }

    /// Ends a connection that the driver knows as closed: what was asked on it is lost, and it is opened anew after a pause.
    pub(super) fn ended(
        &mut self,
        at: u32,
        class: ErrorClass,
        why: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let now_ns = out.now_ns();
        let link = &mut self.links[at as usize];
        let words: Arc<str> = Arc::from(why.to_string());
        link.state = State::Closed;
        if link.answers > 0 {
            link.backoff.succeeded();
        }
        let retry_ns = link.backoff.failed(now_ns);
        link.retry_at_ns = Some(retry_ns);
        let pending = std::mem::take(&mut link.pending);
        let answers = link.answers;
        link.reset();
        let mut unheard = false;
        for lost in &pending {
            match lost.purpose {
                Purpose::Owner { token, .. } => self.events.push_back(Event::Lost {
                    broker: at,
                    token,
                    sent_ns: lost.sent_ns,
                    class,
                    why: Arc::clone(&words),
                }),
                Purpose::Metadata => {
                    self.asking.lost();
                    unheard = answers == 1 && lost.sent_ns.is_some();
                }
                Purpose::Versions { .. } | Purpose::Handshake | Purpose::Authenticate => {}
            }
        }
        if unheard {
            self.unheard(at, &words);
        }
        self.last_end = Some((class, words));
        self.retry_at(retry_ns, out);
        // Its partitions may be led by others now.
        self.refresh(out);
    }
}
