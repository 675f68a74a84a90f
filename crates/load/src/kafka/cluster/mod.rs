//! A cluster as one worker sees it: who leads what, a connection to each broker that is needed, and what is asked on them.
//!
//! A protocol owns one and passes it the events of the driver. What concerns the cluster itself (versions, who we are,
//! metadata) is dealt with here; answers to the owner's requests, and what became of requests without an answer, go back to it.

mod asking;
mod link;
mod login;
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
use tare_schema::load::AddressOverride;

pub use link::Answered;
use link::{Link, NO_NODE, SEED, State};
pub use receiving::{Answer, Piece, Taken};
pub use table::{Partition, Topic};

use super::names::Resolve;
use super::outbox::Segments;
use super::versions::Api;
use crate::arrivals::NEVER;
use crate::client::{Closed, ErrorClass, Outlet, TimerId};
use crate::roster::{DEADLINE, Deadlines, RETRY};

/// The first timer that is not one of the cluster's but the owner's.
pub const TIMER_OWNER: TimerId = TimerId(3);

/// Brokers that are kept: no cluster has more, and what claims so is no cluster.
const BROKERS_MAX: usize = 4096;

/// What a cluster is made of.
#[derive(Debug, Clone)]
pub struct ClusterPlan {
    /// Where to ask first.
    pub seeds: Arc<[SocketAddr]>,
    /// The seed that this worker begins with.
    pub first: usize,
    /// Topics whose leaders are followed.
    pub topics: Vec<String>,
    /// What we are called in the brokers' logs and quotas.
    pub client_id: String,
    /// The requests that the owner sends.
    pub apis: &'static [Api],
    /// Limit of an attempt to connect.
    pub connect_timeout_ns: u64,
    /// Limit of a request: beyond it the connection is given up.
    pub request_timeout_ns: u64,
    /// Finds the addresses of brokers.
    pub names: Arc<dyn Resolve>,
    /// Brokers that are called at another address than they advertise.
    pub address_overrides: Arc<[AddressOverride]>,
    /// How connections are secured, for messages only.
    pub security: Security,
    /// Who we are, where brokers ask.
    pub login: Option<Credentials>,
}

impl ClusterPlan {
    /// Where to connect to the broker with this advertised address.
    fn connect_to(&self, advertised: SocketAddr) -> SocketAddr {
        let mut all = self.address_overrides.iter();
        let found = all.find(|one| one.advertised == advertised);
        found.map_or(advertised, |one| one.connect_to)
    }

    /// The advertised address of the broker that is called here.
    fn advertised(&self, connect_to: SocketAddr) -> SocketAddr {
        let mut all = self.address_overrides.iter();
        let found = all.find(|one| one.connect_to == connect_to);
        found.map_or(connect_to, |one| one.advertised)
    }
}

/// How connections are secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Not at all.
    Plain,
    /// By TLS.
    Tls,
}

/// What the owner is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A connection to a broker can be used.
    Opened {
        /// Which broker.
        broker: u32,
    },
    /// A request will not be answered: its connection ended, or its time was over.
    Lost {
        /// Which broker.
        broker: u32,
        /// The owner's word for it.
        token: u32,
        /// When its first byte went; `None`: none did, and the broker does not know of it.
        sent_ns: Option<u64>,
        /// Why, as a class of errors.
        class: ErrorClass,
        /// Why, in words.
        why: Arc<str>,
    },
    /// A request without answer was written.
    Written {
        /// Which broker.
        broker: u32,
        /// The owner's word for it.
        token: u32,
        /// When its first byte went.
        sent_ns: u64,
    },
    /// The cluster has told who leads what; much or nothing may have changed.
    Metadata,
}

/// The cluster.
#[derive(Debug)]
pub struct Cluster {
    plan: ClusterPlan,
    client_id: StrBytes,
    links: Vec<Link>,
    topics: Vec<Topic>,
    events: VecDeque<Event>,
    deadlines: Deadlines,
    retry_ns: u64,
    next_seed: usize,
    asking: asking::Asking,
    problem: Option<String>,
    /// Connections with something to write.
    dirty: Vec<u32>,
    /// Connections that ended while they were asked for versions.
    strangers: u32,
    /// Why a connection ended last.
    last_end: Option<(ErrorClass, Arc<str>)>,
}

impl Cluster {
    /// One that has not been asked for anything.
    #[must_use]
    pub fn new(plan: ClusterPlan) -> Self {
        let seed = Link::new(NO_NODE, "", 0);
        Self {
            client_id: StrBytes::from_string(plan.client_id.clone()),
            links: vec![seed],
            topics: plan.topics.iter().map(|name| Topic::named(name)).collect(),
            events: VecDeque::with_capacity(64),
            deadlines: Deadlines::new(),
            retry_ns: NEVER,
            next_seed: plan.first,
            asking: asking::Asking::default(),
            problem: None,
            dirty: Vec::with_capacity(16),
            strangers: 0,
            last_end: None,
            plan,
        }
    }

    /// Begins to ask.
    pub fn start(&mut self, out: &mut impl Outlet) {
        self.refresh(out);
    }

    /// Whether each partition has a leader, and a connection to it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_open = |at: u32| self.links[at as usize].is_open();
        self.topics.iter().all(Topic::is_led)
            && self.links[1..].iter().any(Link::is_open)
            && self.topics.iter().all(|topic| {
                let mut leaders = topic.partitions.iter().map(|one| one.leader);
                leaders.all(|leader| leader.is_some_and(is_open))
            })
    }

    /// Why nothing can be done with this cluster, ever.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The topics of the plan, in its order.
    #[must_use]
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// Whether a broker's connection can be used.
    #[inline]
    #[must_use]
    pub fn is_usable(&self, broker: u32) -> bool {
        self.links.get(broker as usize).is_some_and(Link::is_open)
    }

    /// Some broker whose connection can be used.
    #[must_use]
    pub fn any_usable(&self) -> Option<u32> {
        let mut all = 1..self.links.len() as u32;
        all.find(|&at| self.is_usable(at))
    }

    /// The broker with this number in the cluster, for a coordinator; it is told by metadata.
    #[must_use]
    pub fn broker(&self, node: i32) -> Option<u32> {
        if node < 0 {
            return None;
        }
        let at = self.links.iter().position(|link| link.node == node)?;
        Some(at as u32)
    }

    /// A broker's number in the cluster.
    #[must_use]
    pub fn node(&self, broker: u32) -> i32 {
        self.links[broker as usize].node
    }

    /// A broker in words.
    pub fn name(&self, broker: u32) -> impl Display + '_ {
        self.links[broker as usize].name()
    }

    /// The version of a request that is spoken with a broker.
    #[must_use]
    pub fn version(&self, broker: u32, key: ApiKey) -> i16 {
        self.links[broker as usize].versions.of(key)
    }

    /// Why a connection ended last, for what could not be sent because of it.
    #[must_use]
    pub fn last_end(&self) -> Option<(ErrorClass, Arc<str>)> {
        self.last_end.clone()
    }

    /// Requests on a broker's connection that are not over.
    #[inline]
    #[must_use]
    pub fn in_flight(&self, broker: u32) -> usize {
        self.links[broker as usize].pending.len()
    }

    /// Keeps a connection to a broker open, though it may lead nothing.
    pub fn want(&mut self, broker: u32, out: &mut impl Outlet) {
        self.links[broker as usize].wanted = true;
        self.open_more(out);
    }

    /// What happened; to be asked until there is nothing, after each call that was given an outlet.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Writes what waits, as far as the kernel takes it.
    #[inline]
    pub fn flush(&mut self, segments: &impl Segments, out: &mut impl Outlet) {
        while let Some(at) = self.dirty.pop() {
            let link = &mut self.links[at as usize];
            if link.state == State::Closed || !link.outbox.is_ready() {
                continue;
            }
            let mut outbox = std::mem::take(&mut link.outbox);
            let events = &mut self.events;
            outbox.flush(link::conn(at), segments, out, |went| {
                let over = link.went(went);
                if let Some(link::Pending {
                    purpose: link::Purpose::Owner { token, .. },
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
            link.outbox = outbox;
        }
    }

    /// A connection takes more bytes: they go with the next [`Cluster::flush`].
    pub fn room(&mut self, at: u32) {
        self.links[at as usize].outbox.room();
        self.dirty.push(at);
    }

    /// A timer went off, one of the cluster's or another.
    pub fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            DEADLINE => self.expire(out),
            RETRY => {
                self.retry_ns = NEVER;
                self.open_more(out);
                self.ask_if_due(out);
            }
            _ => {}
        }
    }

    /// Has the retry timer go off at this time at the latest.
    fn retry_at(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.retry_ns {
            self.retry_ns = at_ns;
            out.timer(RETRY, at_ns);
        }
    }

    /// Ends what took too long.
    fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.links.len() as u32 {
            let link = &self.links[at as usize];
            let request = link.pending.iter().min_by_key(|one| one.deadline_ns);
            let limits_ns = request.map(|one| (one.deadline_ns, one.begun_ns));
            let (deadline_ns, connecting) = match link.state {
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
            out.close(link::conn(at));
            if connecting {
                self.ended(
                    at,
                    Closed::ConnectTimeout.class(),
                    &Closed::ConnectTimeout,
                    out,
                );
            } else {
                self.mute(at);
                let link = &self.links[at as usize];
                let begun_ns = limits_ns.map_or(deadline_ns, |(_, begun_ns)| begun_ns);
                let limit_ms = deadline_ns.saturating_sub(begun_ns) / 1_000_000;
                let why = format!("{} gave no answer within {limit_ms} ms", link.name());
                self.ended(at, ErrorClass::TIMEOUT, &why, out);
            }
        }
    }

    /// Nothing can be done with this cluster.
    fn give_up(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    fn touch(&mut self, at: u32) {
        self.dirty.push(at);
    }

    fn is_seed(at: u32) -> bool {
        at == SEED
    }
}
