//! One connection to one broker: whose it is, how far it has come, and what is asked on it.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use tare_kafka::sasl::Login;

use crate::client::{Bound, ConnId};
use crate::kafka::inbox::Inbox;
use crate::kafka::outbox::{Outbox, Went};
use crate::kafka::versions::Versions;
use crate::roster::Backoff;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// TCP, or TLS above it.
    Connecting {
        deadline_ns: u64,
    },
    /// Asking for versions.
    Greeting,
    /// Saying who we are.
    Login,
    Open,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Versions {
        version: i16,
    },
    Handshake,
    Authenticate,
    Metadata,
    /// The owner's, with its word for it.
    Owner {
        token: u32,
        version: i16,
    },
}

/// Whether a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// By a frame.
    Yes,
    /// Not at all: it is over when it is written.
    No,
}

/// A request that is not over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub correlation: i32,
    pub purpose: Purpose,
    pub answered: Answered,
    pub begun_ns: u64,
    pub sent_ns: Option<u64>,
    pub deadline_ns: u64,
    /// Whether another one was on the connection with it.
    pub bound: Bound,
}

/// The request with this number, if it was sent: numbers can be guessed, and who answers what still waits here would have more
/// and more wait.
pub(super) fn sent(pending: &VecDeque<Pending>, correlation: i32) -> Option<&Pending> {
    let mut all = pending.iter();
    all.find(|one| one.correlation == correlation && one.sent_ns.is_some())
}

/// The node of a broker; a seed has none.
pub(super) const NO_NODE: i32 = -1;

/// The connection.
#[derive(Debug)]
pub(super) struct Link {
    pub node: i32,
    /// Host and port as the cluster gives them.
    pub host: String,
    pub port: u16,
    pub address: Option<SocketAddr>,
    pub state: State,
    /// Whether it is to be open.
    pub wanted: bool,
    pub retry_at_ns: Option<u64>,
    pub backoff: Backoff,
    pub inbox: Inbox,
    pub outbox: Outbox,
    pub pending: VecDeque<Pending>,
    pub versions: Versions,
    next_correlation: i32,
    /// The versions it was asked for last.
    pub asked_version: i16,
    /// Answers that came since it was opened.
    pub answers: u64,
    pub login: Option<Login>,
}

impl Link {
    pub fn new(node: i32, host: &str, port: u16) -> Self {
        Self {
            node,
            host: host.to_owned(),
            port,
            address: None,
            state: State::Closed,
            wanted: false,
            retry_at_ns: None,
            backoff: Backoff::default(),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            pending: VecDeque::with_capacity(16),
            versions: Versions::default(),
            next_correlation: 0,
            asked_version: 3,
            answers: 0,
            login: None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Begins a life.
    pub fn reset(&mut self) {
        self.inbox.reset();
        self.outbox.reset();
        self.pending.clear();
        self.answers = 0;
        self.login = None;
    }

    /// The number of the next request.
    pub fn correlation(&mut self) -> i32 {
        self.next_correlation = (self.next_correlation + 1) & i32::MAX;
        self.next_correlation
    }

    /// Enters a request.
    pub fn expect(
        &mut self,
        (correlation, purpose, answered): (i32, Purpose, Answered),
        begun_ns: u64,
        timeout_ns: u64,
    ) -> u64 {
        let bound = match self.pending.is_empty() {
            true => Bound::Exact,
            false => Bound::Upper,
        };
        if let Some(last) = self.pending.back_mut() {
            last.bound = Bound::Upper;
        }
        let deadline_ns = begun_ns.saturating_add(timeout_ns);
        self.pending.push_back(Pending {
            correlation,
            purpose,
            answered,
            begun_ns,
            sent_ns: None,
            deadline_ns,
            bound,
        });
        deadline_ns
    }

    /// Takes the request with this number out, if one was sent.
    pub fn take(&mut self, correlation: i32) -> Option<Pending> {
        let of =
            |pending: &Pending| pending.correlation == correlation && pending.sent_ns.is_some();
        match self.pending.front() {
            Some(first) if of(first) => self.pending.pop_front(),
            _ => {
                let at = self.pending.iter().position(of)?;
                self.pending.remove(at)
            }
        }
    }

    /// Notes how far a request has come; one that is over by that is given back.
    pub fn went(&mut self, went: Went) -> Option<Pending> {
        let (Went::First(correlation, _) | Went::Whole(correlation)) = went;
        let of = self
            .pending
            .iter_mut()
            .find(|pending| pending.correlation == correlation)?;
        match went {
            Went::First(_, at_ns) => {
                of.sent_ns = Some(at_ns);
                None
            }
            Went::Whole(_) if of.answered == Answered::No => self.take(correlation),
            Went::Whole(_) => None,
        }
    }

    /// Who is at the other end.
    pub fn name(&self) -> Name<'_> {
        Name { link: self }
    }
}

/// A broker as messages name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    link: &'a Link,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link {
            node, host, port, ..
        } = self.link;
        match *node {
            NO_NODE => write!(f, "the broker at {host}:{port}"),
            node => write!(f, "broker {node} at {host}:{port}"),
        }
    }
}

/// The slot of the connection that asks the seeds.
pub(super) const SEED: u32 = 0;

/// As the driver numbers it.
pub(super) fn conn(at: u32) -> ConnId {
    ConnId(at)
}
