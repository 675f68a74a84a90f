//! One connection to one broker: its state and its requests.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use tare_kafka::sasl::Authentication;

use crate::frame_reader::FrameReader;
use crate::send_queue::{SendQueue, WriteProgress};
use crate::versions::Versions;
use tare_load::client::TimestampBound;
use tare_load::connection_pool::Backoff;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// TCP or TLS handshake.
    Connecting {
        deadline_ns: u64,
    },
    /// Waiting for the ApiVersions response.
    Negotiating,
    /// SASL authentication.
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
    /// The owner's, with its token.
    Owner {
        token: u32,
        version: i16,
    },
}

/// Whether a request has a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectsResponse {
    Yes,
    /// It has none (`acks` 0): it is complete when it is written.
    No,
}

/// A request that is queued or in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub correlation: i32,
    pub purpose: Purpose,
    pub expects_response: ExpectsResponse,
    pub begun_ns: u64,
    pub sent_ns: Option<u64>,
    pub deadline_ns: u64,
    /// Exact if no other request was on the connection at the same time.
    pub bound: TimestampBound,
}

/// The sent request with this correlation id. Ids are guessable: a response to a request that is still queued must not match, or
/// the queue could be made to grow.
pub(super) fn sent(pending: &VecDeque<Pending>, correlation: i32) -> Option<&Pending> {
    let mut all = pending.iter();
    all.find(|one| one.correlation == correlation && one.sent_ns.is_some())
}

/// The node id of a connection to a seed.
pub(super) const NO_NODE: i32 = -1;

/// A connection to a broker or a seed.
#[derive(Debug)]
pub(super) struct BrokerConnection {
    pub node: i32,
    /// Host and port as advertised.
    pub host: String,
    pub port: u16,
    pub address: Option<SocketAddr>,
    pub state: State,
    /// Whether it should be open.
    pub wanted: bool,
    pub retry_at_ns: Option<u64>,
    pub backoff: Backoff,
    pub frame_reader: FrameReader,
    pub send_queue: SendQueue,
    pub pending: VecDeque<Pending>,
    pub versions: Versions,
    next_correlation: i32,
    /// The version of ApiVersions; 0 after the broker refused a newer one.
    pub api_versions_version: i16,
    /// Responses received since it was opened.
    pub answers: u64,
    /// Until then the broker reads nothing, because this client is beyond a quota (KIP-219).
    pub muted_until_ns: u64,
    pub login: Option<Authentication>,
}

impl BrokerConnection {
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
            frame_reader: FrameReader::default(),
            send_queue: SendQueue::default(),
            pending: VecDeque::with_capacity(16),
            versions: Versions::default(),
            next_correlation: 0,
            api_versions_version: 3,
            answers: 0,
            muted_until_ns: 0,
            login: None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Resets it for a new connection.
    pub fn reset(&mut self) {
        self.frame_reader.reset();
        self.send_queue.reset();
        self.pending.clear();
        self.answers = 0;
        self.muted_until_ns = 0;
        self.login = None;
    }

    /// The broker reads nothing for a time: every request in flight gets that time more.
    pub fn mute(&mut self, now_ns: u64, for_ns: u64) {
        let until_ns = now_ns.saturating_add(for_ns);
        let longer_ns = until_ns.saturating_sub(self.muted_until_ns.max(now_ns));
        for pending in &mut self.pending {
            pending.deadline_ns = pending.deadline_ns.saturating_add(longer_ns);
        }
        self.muted_until_ns = self.muted_until_ns.max(until_ns);
    }

    /// The next correlation id.
    pub fn correlation(&mut self) -> i32 {
        self.next_correlation = (self.next_correlation + 1) & i32::MAX;
        self.next_correlation
    }

    /// Adds a request; returns its deadline.
    pub fn expect(
        &mut self,
        (correlation, purpose, expects_response): (i32, Purpose, ExpectsResponse),
        begun_ns: u64,
        timeout_ns: u64,
    ) -> u64 {
        let bound = match self.pending.is_empty() {
            true => TimestampBound::Exact,
            false => TimestampBound::Upper,
        };
        if let Some(last) = self.pending.back_mut() {
            last.bound = TimestampBound::Upper;
        }
        let read_ns = begun_ns.max(self.muted_until_ns);
        let deadline_ns = read_ns.saturating_add(timeout_ns);
        self.pending.push_back(Pending {
            correlation,
            purpose,
            expects_response,
            begun_ns,
            sent_ns: None,
            deadline_ns,
            bound,
        });
        deadline_ns
    }

    /// Removes the request with this correlation id, if it was sent.
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

    /// Records write progress; returns a request that is complete by it.
    pub fn progress(&mut self, progress: WriteProgress) -> Option<Pending> {
        let (WriteProgress::Started(correlation, _) | WriteProgress::Written(correlation)) =
            progress;
        let of = self
            .pending
            .iter_mut()
            .find(|pending| pending.correlation == correlation)?;
        match progress {
            WriteProgress::Started(_, at_ns) => {
                of.sent_ns = Some(at_ns);
                None
            }
            WriteProgress::Written(_) if of.expects_response == ExpectsResponse::No => {
                self.take(correlation)
            }
            WriteProgress::Written(_) => None,
        }
    }
}

/// The broker as messages name it.
impl fmt::Display for BrokerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, .. } = self;
        match self.node {
            NO_NODE => write!(f, "the broker at {host}:{port}"),
            node => write!(f, "broker {node} at {host}:{port}"),
        }
    }
}

/// Index of the connection to the seeds.
pub(super) const SEED: u32 = 0;
