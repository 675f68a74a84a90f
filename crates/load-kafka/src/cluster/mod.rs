//! A Kafka cluster as one worker sees it: partition leaders, a connection to each broker that is needed, requests in flight.
//!
//! A producer or consumer owns one and passes it the engine's events. API versions, SASL and metadata are handled here;
//! responses to the owner's requests, and requests that failed, are handed back to it.

mod connection;
mod login;
mod metadata_refresh;
mod opening;
mod receiving;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka::sasl::Credentials;
use tare_record::load::AddressOverride;

pub use connection::ExpectsResponse;
use connection::{BrokerConnection, NO_NODE, State};
pub use receiving::{BrokerResponse, ReceivedResponse, ResponsePiece};
pub use table::{Partition, Topic};

use super::resolver::Resolve;
use super::send_queue::Segments;
use super::versions::Api;
use tare_load::arrivals::NEVER;
use tare_load::client::{Closed, ConnId, ErrorClass, Outlet, TimerId};
use tare_load::connection_pool::{DEADLINE, Deadlines, RETRY};
use tare_load::protocols::ConnectionSecurity;

/// The first timer id of the owner; lower ones are the cluster's.
pub const TIMER_OWNER: TimerId = TimerId(3);

/// Brokers that are kept: bounds memory against implausible metadata.
const BROKERS_MAX: usize = 4096;

/// Configuration of a cluster client.
#[derive(Debug, Clone)]
pub struct ClusterPlan {
    /// Bootstrap servers.
    pub seeds: Arc<[SocketAddr]>,
    /// Index of the seed that this worker tries first.
    pub first: usize,
    /// Topics whose leaders are followed.
    pub topics: Vec<String>,
    /// `client.id`: the name in the brokers' logs and quotas.
    pub client_id: String,
    /// The requests that the owner sends.
    pub apis: &'static [Api],
    /// Limit of an attempt to connect.
    pub connect_timeout_ns: u64,
    /// Request timeout, after which the connection is closed.
    pub request_timeout_ns: u64,
    /// Resolves the host names of brokers.
    pub names: Arc<dyn Resolve>,
    /// Brokers to connect to at another address than they advertise.
    pub address_overrides: Arc<[AddressOverride]>,
    /// How connections are secured, for messages only.
    pub security: ConnectionSecurity,
    /// SASL credentials, if any.
    pub login: Option<Credentials>,
}

impl ClusterPlan {
    /// Where to connect to the broker with this advertised address.
    fn connect_to(&self, advertised: SocketAddr) -> SocketAddr {
        let mut all = self.address_overrides.iter();
        let found = all.find(|one| one.advertised == advertised);
        found.map_or(advertised, |one| one.connect_to)
    }

    /// The advertised address of the broker that is connected to at this one.
    fn advertised(&self, connect_to: SocketAddr) -> SocketAddr {
        let mut all = self.address_overrides.iter();
        let found = all.find(|one| one.connect_to == connect_to);
        found.map_or(connect_to, |one| one.advertised)
    }
}

/// Events for the owner.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A connection to a broker is ready for requests.
    Opened { broker: u32 },
    /// A request failed: its connection was closed, or it timed out.
    Lost {
        broker: u32,
        /// The owner's token of the request.
        token: u32,
        /// When its first byte was written; `None`: none was, and the broker has not seen it.
        sent_ns: Option<u64>,
        class: ErrorClass,
        /// The error message.
        why: Arc<str>,
    },
    /// A request that expects no response was written.
    Written {
        broker: u32,
        /// The owner's token of the request.
        token: u32,
        /// When its first byte was written.
        sent_ns: u64,
    },
    /// Metadata was received; leaders may have changed.
    Metadata,
}

/// A cluster client.
#[derive(Debug)]
pub struct Cluster {
    plan: ClusterPlan,
    client_id: StrBytes,
    connections: Vec<BrokerConnection>,
    topics: Vec<Topic>,
    events: VecDeque<Event>,
    deadlines: Deadlines,
    retry_ns: u64,
    next_seed: usize,
    metadata_refresh: metadata_refresh::MetadataRefresh,
    problem: Option<String>,
    /// Connections with something to write.
    dirty: Vec<u32>,
    /// The broker that throttled this client last, and until when.
    last_throttle: Option<(u32, u64)>,
    /// Whether a partition ever had a leader.
    was_led: bool,
    /// Connections that failed during or right after the ApiVersions exchange.
    failed_handshakes: u32,
    /// Why bootstrap addresses cannot be used, of each once.
    unusable_seeds: Vec<String>,
    /// Why a connection was closed last.
    last_disconnect: Option<(ErrorClass, Arc<str>)>,
}

impl Cluster {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: ClusterPlan) -> Self {
        let seed = BrokerConnection::new(NO_NODE, "", 0);
        Self {
            client_id: StrBytes::from_string(plan.client_id.clone()),
            connections: vec![seed],
            topics: plan.topics.iter().map(|name| Topic::named(name)).collect(),
            events: VecDeque::with_capacity(64),
            deadlines: Deadlines::default(),
            retry_ns: NEVER,
            next_seed: plan.first,
            metadata_refresh: metadata_refresh::MetadataRefresh::default(),
            problem: None,
            dirty: Vec::with_capacity(16),
            last_throttle: None,
            was_led: false,
            failed_handshakes: 0,
            unusable_seeds: Vec::new(),
            last_disconnect: None,
            plan,
        }
    }

    /// Starts with a metadata request.
    pub fn start(&mut self, out: &mut impl Outlet) {
        self.refresh(out);
    }

    /// Whether a connection to the leader of each partition is open. Partitions that will have none are not waited for.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_open = |at: u32| self.connections[at as usize].is_open();
        self.is_settled()
            && self.connections[1..].iter().any(BrokerConnection::is_open)
            && self.topics.iter().all(|topic| {
                let mut leaders = topic.partitions.iter().filter_map(|one| one.leader);
                leaders.all(is_open)
            })
    }

    /// Whether each partition has a leader, or will have none.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.topics.iter().all(Topic::is_settled)
    }

    /// A permanent failure, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The topics of the plan, in its order.
    #[must_use]
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// Whether a broker's connection is ready for requests.
    #[inline]
    #[must_use]
    pub fn is_usable(&self, broker: u32) -> bool {
        self.connections
            .get(broker as usize)
            .is_some_and(BrokerConnection::is_open)
    }

    /// A broker whose connection is ready for requests.
    #[must_use]
    pub fn any_usable(&self) -> Option<u32> {
        let mut all = 1..self.connections.len() as u32;
        all.find(|&at| self.is_usable(at))
    }

    /// The broker with this node id, for a coordinator; known from metadata.
    #[must_use]
    pub fn broker(&self, node: i32) -> Option<u32> {
        if node < 0 {
            return None;
        }
        let at = self
            .connections
            .iter()
            .position(|connection| connection.node == node)?;
        Some(at as u32)
    }

    /// A broker's node id.
    #[must_use]
    pub fn node(&self, broker: u32) -> i32 {
        self.connections[broker as usize].node
    }

    /// A broker as messages name it.
    pub fn name(&self, broker: u32) -> impl Display + '_ {
        &self.connections[broker as usize]
    }

    /// The version of a request that is used with a broker.
    #[must_use]
    pub fn version(&self, broker: u32, key: ApiKey) -> i16 {
        self.connections[broker as usize].versions.of(key)
    }

    /// Why a connection was closed last: the reason for requests that could not be sent.
    #[must_use]
    pub fn last_disconnect(&self) -> Option<(ErrorClass, Arc<str>)> {
        self.last_disconnect.clone()
    }

    /// Requests on a broker's connection that are queued or in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(&self, broker: u32) -> usize {
        self.connections[broker as usize].pending.len()
    }

    /// A broker said in a response that it reads nothing from this client for a time, because of a quota.
    pub fn throttled(&mut self, broker: u32, throttle_ms: i32, out: &impl Outlet) {
        if let Ok(ms @ 1..) = u64::try_from(throttle_ms) {
            let now_ns = out.now_ns();
            self.connections[broker as usize].mute(now_ns, ms * 1_000_000);
            self.last_throttle = Some((broker, self.muted_until_ns(broker)));
        }
    }

    /// Until when a broker reads nothing from this client; in the past where it does.
    #[inline]
    #[must_use]
    pub fn muted_until_ns(&self, broker: u32) -> u64 {
        self.connections[broker as usize].muted_until_ns
    }

    /// What a quota that was in effect since then means, for messages; `None` if none was.
    #[must_use]
    pub fn throttle_since(&self, since_ns: u64) -> Option<String> {
        let (broker, until_ns) = self.last_throttle?;
        (until_ns >= since_ns).then(|| {
            format!(
                "{} throttles this client, whose quota (producer_byte_rate, consumer_byte_rate or request_percentage) is \
                 used up: raise the quota of its user or client ID, or ask for less",
                self.name(broker)
            )
        })
    }

    /// Keeps a connection to a broker open, even if it leads no partition.
    pub fn want(&mut self, broker: u32, out: &mut impl Outlet) {
        self.connections[broker as usize].wanted = true;
        self.open_more(out);
    }

    /// The next event. To be called until `None` after each call that takes an outlet.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Writes queued requests, as far as the kernel takes them.
    #[inline]
    pub fn flush(&mut self, segments: &impl Segments, out: &mut impl Outlet) {
        while let Some(at) = self.dirty.pop() {
            let connection = &mut self.connections[at as usize];
            if connection.state == State::Closed || !connection.send_queue.is_ready() {
                continue;
            }
            let mut send_queue = std::mem::take(&mut connection.send_queue);
            let events = &mut self.events;
            send_queue.flush(ConnId(at), segments, out, |progress| {
                let over = connection.progress(progress);
                if let Some(connection::Pending {
                    purpose: connection::Purpose::Owner { token, .. },
                    sent_ns: Some(sent_ns),
                    ..
                }) = over
                {
                    events.push_back(Event::Written {
                        broker: at,
                        token,
                        sent_ns,
                    });
                }
            });
            connection.send_queue = send_queue;
        }
    }

    /// A connection is writable again: the next [`Cluster::flush`] writes on.
    pub fn on_writable(&mut self, at: u32) {
        self.connections[at as usize].send_queue.on_writable();
        self.dirty.push(at);
    }

    /// A timer fired, one of the cluster's or another.
    pub fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            DEADLINE => self.expire(out),
            RETRY => {
                self.retry_ns = NEVER;
                self.open_more(out);
                self.refresh_if_due(out);
            }
            _ => {}
        }
    }

    /// Sets the retry timer, unless it is set to an earlier time.
    fn retry_at(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.retry_ns {
            self.retry_ns = at_ns;
            out.set_timer(RETRY, at_ns);
        }
    }

    /// Closes connections whose attempt, or whose request with the earliest deadline, timed out.
    fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.connections.len() as u32 {
            let connection = &self.connections[at as usize];
            let request = connection.pending.iter().min_by_key(|one| one.deadline_ns);
            let limits_ns = request.map(|one| (one.deadline_ns, one.begun_ns));
            let (deadline_ns, connecting) = match connection.state {
                State::Closed => continue,
                State::Connecting { deadline_ns } => (deadline_ns, true),
                _ => (
                    limits_ns.map_or(NEVER, |(deadline_ns, _)| deadline_ns),
                    false,
                ),
            };
            if deadline_ns == NEVER {
                continue;
            }
            if deadline_ns > now_ns {
                self.deadlines.watch(deadline_ns, out);
                continue;
            }
            out.close(ConnId(at));
            if connecting {
                self.ended(
                    at,
                    Closed::ConnectTimeout.class(),
                    &Closed::ConnectTimeout,
                    out,
                );
            } else {
                self.versions_timed_out(at, out);
                let connection = &self.connections[at as usize];
                let begun_ns = limits_ns.map_or(deadline_ns, |(_, begun_ns)| begun_ns);
                let limit_ms = deadline_ns.saturating_sub(begun_ns) / 1_000_000;
                let why = format!("{connection} gave no answer within {limit_ms} ms");
                self.ended(at, ErrorClass::TIMEOUT, &why, out);
            }
        }
    }

    /// Records a permanent failure; the first one is kept.
    fn give_up(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}
