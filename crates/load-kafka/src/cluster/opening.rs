//! Opens and closes connections to brokers: addresses, attempts, backoff, ApiVersions.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use tare_kafka::kafka_protocol::messages::ApiVersionsRequest;
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::connection::{self, Purpose, SEED, State};
use super::{Cluster, Event};
use crate::resolver::{self, Lookup};
use tare_load::client::{Closed, ConnId, ErrorClass, Outlet};
use tare_load::protocols::ConnectionSecurity;
use tare_record::agent::ErrorSource;

/// How often a running name lookup is polled.
const NAME_EVERY_NS: u64 = 2_000_000;

/// A broker advertises a name that has no address here.
const UNKNOWN_HOST: ErrorClass = ErrorClass::of("unknown-host", ErrorSource::Configuration);

/// What answers at an address is no broker that can be used.
pub(super) const NOT_A_BROKER: ErrorClass =
    ErrorClass::of("not-a-broker", ErrorSource::Configuration);

/// Failed ApiVersions exchanges after which the failure is taken for permanent.
const FAILED_HANDSHAKES_MAX: u32 = 3;

impl Cluster {
    /// Whether metadata has named a broker.
    fn knows_brokers(&self) -> bool {
        let mut all = self.connections.iter();
        all.any(|connection| connection.node != connection::NO_NODE)
    }

    /// Opens the connections that are wanted and whose backoff is over.
    pub(super) fn open_more(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        for at in 0..self.connections.len() as u32 {
            let connection = &mut self.connections[at as usize];
            if connection.state != State::Closed || !connection.wanted {
                continue;
            }
            match connection.retry_at_ns {
                Some(retry_ns) if retry_ns > now_ns => {
                    self.retry_at(retry_ns, out);
                    continue;
                }
                Some(_) => {
                    connection.retry_at_ns = None;
                    connection.backoff.elapsed();
                }
                None => {}
            }
            let Some(address) = self.address(at, out) else {
                continue;
            };
            let deadline_ns = now_ns.saturating_add(self.plan.connect_timeout_ns);
            let connection = &mut self.connections[at as usize];
            connection.reset();
            connection.address = Some(address);
            connection.state = State::Connecting { deadline_ns };
            self.deadlines.watch(deadline_ns, out);
            out.set_server_name(ConnId(at), &connection.host);
            out.connect(ConnId(at), address);
        }
    }

    /// The address to connect to; `None` while it is not known.
    fn address(&mut self, at: u32, out: &mut impl Outlet) -> Option<SocketAddr> {
        if at == SEED {
            // If no seed responds, a broker known from metadata may.
            let met = self
                .connections
                .iter()
                .filter_map(|connection| connection.address);
            let all: Vec<SocketAddr> = self.plan.seeds.iter().copied().chain(met).collect();
            let address = *all.get(self.next_seed % all.len().max(1))?;
            self.next_seed = self.next_seed.wrapping_add(1);
            let named = self.plan.advertised(address);
            let connection = &mut self.connections[at as usize];
            connection.host = match named {
                SocketAddr::V4(named) => named.ip().to_string(),
                SocketAddr::V6(named) => format!("[{}]", named.ip()),
            };
            connection.port = named.port();
            return Some(address);
        }
        let connection = &self.connections[at as usize];
        match resolver::resolve(&*self.plan.names, &connection.host) {
            Lookup::Address(ip) => Some(self.plan.connect_to(SocketAddr::new(ip, connection.port))),
            Lookup::Pending => {
                self.retry_at(out.now_ns().saturating_add(NAME_EVERY_NS), out);
                None
            }
            Lookup::NotFound(reason) => {
                let was_found = connection.address.is_some();
                let why = format!(
                    "{} advertises the name {:?}, which is not found here ({reason}): add it to the hosts file, or change the broker's advertised.listeners",
                    connection, connection.host
                );
                // The name of a broker that is started again may be missing for a while; one that was never found is a setting.
                if !was_found {
                    out.fault(UNKNOWN_HOST, &why);
                    self.give_up(why.clone());
                }
                self.ended(at, UNKNOWN_HOST, &why, out);
                None
            }
        }
    }

    /// A connection is established: its API versions come next.
    pub fn connected(&mut self, at: u32, out: &mut impl Outlet) {
        self.connections[at as usize].state = State::Negotiating;
        self.request_versions(at, out);
    }

    /// Sends an ApiVersions request.
    pub(super) fn request_versions(&mut self, at: u32, out: &mut impl Outlet) {
        let version = self.connections[at as usize].api_versions_version;
        let mut request = ApiVersionsRequest::default();
        if version >= 3 {
            request = request
                .with_client_software_name(StrBytes::from_static_str("tare"))
                .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        }
        self.send_own(at, Purpose::Versions { version }, &request, version, out);
    }

    /// Sends a request of the cluster layer's own.
    pub(super) fn send_own<R: tare_kafka::kafka_protocol::protocol::Request>(
        &mut self,
        at: u32,
        purpose: Purpose,
        request: &R,
        version: i16,
        out: &mut impl Outlet,
    ) {
        let limit_ns = self.plan.request_timeout_ns;
        if let Err(error) = self.encode(at, (purpose, version), request, limit_ns, out) {
            let problem = format!("{}: {error}", self.connections[at as usize]);
            self.give_up(problem);
        }
    }

    /// A connection is ready for requests.
    pub(super) fn opened(&mut self, at: u32, out: &mut impl Outlet) {
        self.connections[at as usize].state = State::Open;
        if at != SEED {
            self.events.push_back(Event::Opened { broker: at });
        }
        self.refresh_if_due(out);
        self.close_seed(out);
    }

    /// Closes the connection to the seed once all leaders are connected.
    pub(super) fn close_seed(&mut self, out: &mut impl Outlet) {
        let seed = &mut self.connections[SEED as usize];
        if self.metadata_refresh.is_in_flight() || !seed.is_open() || !seed.pending.is_empty() {
            return;
        }
        if self.is_open() {
            let seed = &mut self.connections[SEED as usize];
            seed.wanted = false;
            seed.state = State::Closed;
            seed.reset();
            out.close(ConnId(SEED));
        }
    }

    /// A connection was closed or could not be opened.
    pub fn closed(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        let connection = &mut self.connections[at as usize];
        match connection.state {
            State::Closed => return,
            State::Negotiating => self.closed_before_versions(at, why),
            State::Login | State::Connecting { .. } | State::Open => {}
        }
        if let Closed::AddressNotAllowed(refused) = why {
            let name = &self.connections[at as usize];
            let problem = format!(
                "connecting to {name}, as it advertises itself, is not allowed: {refused}, or change its advertised.listeners"
            );
            self.give_up(problem);
        }
        let connection = &self.connections[at as usize];
        let words = format!("{connection}: {why}");
        self.ended(at, why.class(), &words, out);
    }

    /// The broker answered ApiVersions, then closed on the first Metadata request: its listener may require SASL.
    fn closed_after_versions(&mut self, at: u32, why: &str) {
        self.failed_handshakes += 1;
        let known = self.knows_brokers();
        if !known && self.failed_handshakes >= FAILED_HANDSHAKES_MAX && self.plan.login.is_none() {
            let name = &self.connections[at as usize];
            let problem = format!(
                "{name} answers ApiVersions, then closes the connection ({why}): if this listener asks for a login, give one by --sasl-user"
            );
            self.give_up(problem);
        }
    }

    /// Advice for a server that does not respond like a broker.
    pub(super) fn hint(&self) -> &'static str {
        match self.plan.security {
            ConnectionSecurity::Plain => {
                "if it is a TLS port, write kafka+tls://; if it asks for a password only, see its listeners"
            }
            ConnectionSecurity::Tls => {
                "if this is an old or a foreign broker, use one of 2.1 or newer"
            }
        }
    }

    /// ApiVersions timed out before any metadata was received: not a Kafka broker, once each seed was tried.
    pub(super) fn versions_timed_out(&mut self, at: u32, out: &mut impl Outlet) {
        let is_known = self.knows_brokers();
        if is_known || self.connections[at as usize].state != State::Negotiating {
            return;
        }
        let hint = self.hint();
        let limit_ms = self.plan.request_timeout_ns / 1_000_000;
        let name = &self.connections[at as usize];
        let problem = format!(
            "{name} gave no answer within {limit_ms} ms when asked which versions of the Kafka protocol it has: {hint}"
        );
        self.unusable(at, problem, out);
    }

    /// What was connected to is no broker that can be used. Of bootstrap addresses the next one is tried; when none is left, the
    /// reasons of all are told.
    pub(super) fn unusable(&mut self, at: u32, problem: String, out: &mut impl Outlet) {
        self.failed_handshakes += 1;
        let is_seed = at == SEED && !self.knows_brokers();
        if !self.unusable_seeds.contains(&problem) {
            out.fault(NOT_A_BROKER, &problem);
            self.unusable_seeds.push(problem.clone());
        }
        if !is_seed {
            self.give_up(problem);
        } else if self.failed_handshakes as usize >= self.plan.seeds.len() {
            let all = std::mem::take(&mut self.unusable_seeds);
            self.give_up(all.join("; "));
        }
    }

    /// The server closed the connection before it answered ApiVersions.
    fn closed_before_versions(&mut self, at: u32, why: Closed) {
        let ever = self
            .connections
            .iter()
            .any(|connection| connection.node != connection::NO_NODE || connection.answers > 0);
        self.failed_handshakes += 1;
        let tries = (self.plan.seeds.len() as u32).max(FAILED_HANDSHAKES_MAX);
        if ever || self.failed_handshakes < tries {
            return;
        }
        let hint = self.hint();
        let name = &self.connections[at as usize];
        let problem = format!(
            "{name} ended the connection when asked which versions of the Kafka protocol it has ({why}): {hint}"
        );
        self.give_up(problem);
    }

    /// Cleans up a connection that the engine has closed: its requests are lost, and it is reopened after a backoff.
    pub(super) fn ended(
        &mut self,
        at: u32,
        class: ErrorClass,
        why: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let now_ns = out.now_ns();
        let connection = &mut self.connections[at as usize];
        let words: Arc<str> = Arc::from(why.to_string());
        connection.state = State::Closed;
        if connection.answers > 0 {
            connection.backoff.succeeded();
        }
        let retry_ns = connection.backoff.failed(now_ns);
        connection.retry_at_ns = Some(retry_ns);
        let pending = std::mem::take(&mut connection.pending);
        let answers = connection.answers;
        connection.reset();
        let mut closed_after_versions = false;
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
                    self.metadata_refresh.lost();
                    closed_after_versions = answers == 1 && lost.sent_ns.is_some();
                }
                Purpose::Versions { .. } | Purpose::Handshake | Purpose::Authenticate => {}
            }
        }
        if closed_after_versions {
            self.closed_after_versions(at, &words);
        }
        self.last_disconnect = Some((class, words));
        self.retry_at(retry_ns, out);
        // Its partitions may have new leaders.
        self.refresh(out);
    }
}
