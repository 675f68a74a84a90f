//! Producing to Kafka as a [`Client`]: each record is an exchange, and batches carry them.
//!
//! A record goes into the open batch of its partition. A batch is closed when it is full or has lingered, and sent when its
//! leader has room for another request. The answer ends all its records at once. What fails and may be tried again goes first, in
//! the order in which it was closed; a partition with something to repeat sends nothing else until all of it has come back.

mod answering;
pub mod contents;
mod counts;
mod filling;
mod framing;
mod identity;
mod partitions;
mod sending;
mod store;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use tare_kafka::audit::Serials;
pub use tare_kafka::compress::Compression;
use tare_kafka::compress::{CompressError, Compressor};
use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_schema::agent::Acknowledged;
pub use tare_stats::random::Random;

use contents::Chooser;
pub use contents::{Contents, Keys, Partitioner};
use counts::Counts;
use filling::Turn;
use framing::{Framing, Heads};
use identity::Identity;
use partitions::Partition;
use store::Store;

use super::cluster::{Cluster, ClusterPlan, Event, TIMER_OWNER};
use super::versions::Api;
use crate::arrivals::NEVER;
use crate::client::{
    Bound, Client, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Run, Stamp, TimerId,
    WaitCause,
};

/// The end of the linger of the oldest open batch.
const LINGER: TimerId = TIMER_OWNER;
/// The end of a pause before something is tried again.
const AGAIN: TimerId = TimerId(TIMER_OWNER.0 + 1);
/// The end of the time of what waits.
const EXPIRE: TimerId = TimerId(TIMER_OWNER.0 + 2);

/// What producers ask of brokers.
pub const APIS: &[Api] = &[
    Api::new(ApiKey::Produce, framing::VERSION_MIN, framing::VERSION_MAX),
    Api::new(ApiKey::InitProducerId, 0, 4),
];

/// Whose word is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// Nobody's: a record is done when it is written to the socket.
    None,
    /// The leader's.
    Leader,
    /// That of all replicas in sync.
    All,
}

/// Whether the broker takes each batch once, however often it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotence {
    /// It does: batches are numbered.
    On,
    /// It takes what comes.
    Off,
}

/// What a producer is made of.
#[derive(Debug)]
pub struct ProducePlan {
    /// Where to.
    pub cluster: ClusterPlan,
    /// What the records of each of the cluster's topics hold.
    pub contents: Vec<Contents>,
    /// Whose word is waited for.
    pub acks: Acks,
    /// Whether batches are numbered.
    pub idempotence: Idempotence,
    /// How long an open batch waits for more.
    pub linger_ns: u64,
    /// Size at which a batch is full, uncompressed.
    pub batch_bytes: usize,
    /// Size of all batches of one request.
    pub request_bytes_max: usize,
    /// Requests on one connection at once.
    pub in_flight_max: usize,
    /// What numbers its records, so that they can be accounted for.
    pub serials: Option<Serials>,
    /// How batches are compressed, and how hard.
    pub compression: (Compression, Option<i32>),
    /// How partitions are chosen.
    pub partitioner: Partitioner,
    /// How keys are chosen.
    pub keys: Keys,
    /// Size of all batches together.
    pub buffer_bytes: usize,
    /// Limit of a record, from its release on.
    pub timeout_ns: u64,
    /// Records that may wait for a batch.
    pub waiting_max: usize,
    /// This worker's number, and how many there are.
    pub worker: (u32, u32),
    /// Where chance comes from.
    pub random: Random,
    /// Realtime − monotonic, for timestamps.
    pub epoch_offset_ns: i128,
}

/// The producer.
#[derive(Debug)]
pub struct Produce {
    plan: ProducePlan,
    cluster: Cluster,
    store: Store,
    partitions: Vec<Partition>,
    /// Numbers of the partitions of each topic.
    topics: Vec<Vec<u32>>,
    turns: Vec<Turn>,
    chooser: Chooser,
    compressor: Compressor,
    identity: Identity,
    framing: Framing,
    heads: Heads,
    /// The batches of each request under way.
    flights: Vec<Vec<u32>>,
    free_flights: Vec<u32>,
    /// Runs for which there is no batch.
    waiting: VecDeque<(Run, WaitCause)>,
    /// Records in it.
    waiting_records: usize,
    linger_at_ns: u64,
    again_at_ns: u64,
    expire_at_ns: u64,
    /// What a broker refused last, while none has taken anything since: why records that ran out of time were not taken.
    last_refusal: Option<(ErrorClass, String)>,
    /// Whether something may be sent that could not before.
    stirred: bool,
    next_order: u64,
    counts: Counts,
    chosen: Vec<u32>,
    /// The partition that the next request begins with.
    first_to_send: usize,
}

impl Produce {
    /// A producer that has not started.
    ///
    /// # Errors
    /// When its codec has no memory.
    pub fn new(plan: ProducePlan) -> Result<Self, CompressError> {
        let (codec, level) = plan.compression;
        let forms = plan.contents.iter().map(Contents::form).collect();
        let batches_max = (plan.buffer_bytes / plan.batch_bytes.max(1)).max(BATCHES_MIN);
        let topics = plan.contents.len();
        let random = plan.random.clone();
        Ok(Self {
            cluster: Cluster::new(plan.cluster.clone()),
            store: Store::new(batches_max, framing::ROOM_BYTES, plan.batch_bytes, forms),
            partitions: Vec::new(),
            topics: vec![Vec::new(); topics],
            turns: vec![Turn::default(); topics],
            chooser: Chooser::new(plan.keys, random, plan.worker),
            compressor: Compressor::new(codec, level)?,
            identity: Identity::new(plan.idempotence),
            framing: Framing {
                client_id: plan.cluster.client_id.clone(),
                acks: match plan.acks {
                    Acks::None => 0,
                    Acks::Leader => 1,
                    Acks::All => -1,
                },
                timeout_ms: i32::try_from(plan.cluster.request_timeout_ns / 1_000_000)
                    .unwrap_or(i32::MAX),
            },
            heads: Heads::default(),
            flights: Vec::with_capacity(64),
            free_flights: Vec::with_capacity(64),
            waiting: VecDeque::with_capacity(plan.waiting_max.min(WAITING_RESERVED)),
            waiting_records: 0,
            linger_at_ns: NEVER,
            again_at_ns: NEVER,
            expire_at_ns: NEVER,
            last_refusal: None,
            stirred: false,
            next_order: 0,
            counts: Counts::default(),
            chosen: Vec::with_capacity(64),
            first_to_send: 0,
            plan,
        })
    }

    /// Takes note of what the cluster layer tells.
    fn hear(&mut self, out: &mut impl Outlet) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Opened { .. } => self.stirred = true,
                Event::Metadata => self.learn_leaders(out),
                Event::Written { token, sent_ns, .. } => self.written(token, sent_ns, out),
                Event::Lost {
                    broker,
                    token,
                    sent_ns,
                    class,
                    why,
                } => self.lost(broker, token, sent_ns, (class, &why), out),
            }
            self.identify(out);
        }
    }

    /// Has a timer go off at a time at the latest.
    fn timer_by(known_ns: &mut u64, timer: TimerId, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < *known_ns {
            *known_ns = at_ns;
            out.timer(timer, at_ns);
        }
    }
}

/// Fewer batches than this would hold a producer up, whatever the size of its buffer.
const BATCHES_MIN: usize = 8;

/// Runs for which room is kept from the start.
const WAITING_RESERVED: usize = 1 << 16;

impl Client for Produce {
    const RUN_MAX: u32 = 1 << 20;
    const START_EVERY_NS: u64 = 50_000;

    fn start(&mut self, out: &mut impl Outlet) {
        self.cluster.start(out);
        self.hear(out);
    }

    /// What fills the requests that may be under way, and as much again for the next ones: for two brokers, since how many there
    /// are is not known here, within the buffer.
    fn capacity(&self) -> usize {
        let contents = self.plan.contents.iter().map(Contents::record_bytes);
        let record_bytes = contents.max().unwrap_or(1).max(1);
        let wanted = self.plan.batch_bytes * (self.plan.in_flight_max + 1) * 2;
        let bytes = wanted.min(self.plan.buffer_bytes * 3 / 4);
        (bytes / record_bytes).clamp(1, CAPACITY_MAX)
    }

    fn is_open(&self) -> bool {
        self.cluster.is_open() && self.identity.is_known() && !self.partitions.is_empty()
    }

    fn problem(&self) -> Option<String> {
        self.cluster
            .problem()
            .or(self.identity.problem())
            .map(str::to_owned)
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        let run = Run {
            due,
            count: 1,
            intended_ns: now_ns,
            released_ns: now_ns,
        };
        self.run(run, out);
    }

    #[inline]
    fn run(&mut self, run: Run, out: &mut impl Outlet) {
        if self.waiting.is_empty() {
            self.fill(run, out);
        } else {
            self.wait(run, WaitCause::Window, out);
        }
    }

    #[inline]
    fn flush(&mut self, out: &mut impl Outlet) {
        if self.stirred {
            self.stirred = false;
            self.send_ready(out);
        }
        self.cluster.flush(&self.store, out);
        if self.plan.acks == Acks::None {
            self.hear(out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.cluster.connected(conn.0, out);
        self.hear(out);
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut input = bytes;
        while let Some(answer) = self.cluster.take(conn.0, &mut input, stamp, out) {
            self.answered(answer, stamp, out);
        }
        self.hear(out);
    }

    fn wrote(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}

    fn room(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.cluster.room(conn.0);
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.cluster.closed(conn.0, why, out);
        self.hear(out);
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            LINGER => self.lingered(out),
            AGAIN => {
                self.again_at_ns = NEVER;
                self.stirred = true;
            }
            EXPIRE => self.expire(out),
            other => {
                self.cluster.timer(other, out);
                self.hear(out);
            }
        }
    }

    fn counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        for (name, count) in self.counts.named() {
            tell(name, count);
        }
    }

    fn acknowledged(&self, tell: &mut dyn FnMut(Acknowledged)) {
        self.tell_acknowledged(tell);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.store.all().count() as u32 {
            let slot = self.store.slot_mut(at);
            let pieces = std::mem::take(&mut slot.pieces);
            let done = Done {
                outcome: Outcome::Unfinished,
                sent_ns: slot.sent_ns,
                ended,
                bound: Bound::Upper,
                waited: slot.blocked,
                example: &"not acknowledged when the drain ended",
            };
            for (ticket, count) in pieces {
                out.done_some(ticket, count, &done);
            }
        }
        for (run, cause) in std::mem::take(&mut self.waiting) {
            let done = Done {
                outcome: Outcome::Unfinished,
                sent_ns: None,
                ended,
                bound: Bound::Upper,
                waited: Some(cause),
                example: &"still waiting for room in a batch when the drain ended",
            };
            out.done_some(run.due.ticket, run.count, &done);
        }
    }
}

/// Records under way at once at most, as fast as possible: more would be a queue of our own.
const CAPACITY_MAX: usize = 1 << 19;
