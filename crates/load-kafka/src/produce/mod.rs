//! A Kafka producer as a [`Client`]: each record is an exchange, and records are sent in batches.
//!
//! A record goes into the open batch of its partition. A batch is closed when it is full or has lingered, and sent when fewer
//! than `in_flight_max` requests are in flight to its leader. The response ends all its records. Batches to retry are sent first,
//! in the order in which they were opened; their partition sends nothing else until all its batches in flight have returned.

mod batch_pool;
pub mod contents;
mod expiry;
mod filling;
mod framing;
mod partitions;
mod producer_id;
mod responses;
mod sending;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

use tare_kafka::audit::Serials;
use tare_kafka::compress::{CompressError, Compression, Compressor};
use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_record::agent::Acknowledged;
use tare_record::load::{Acks, Codec, ProduceSpec};
pub use tare_stats::random::Random;

use batch_pool::BatchPool;
pub use contents::Contents;
use contents::RecordSelector;
use filling::Turn;
use framing::{Framing, Prefixes};
use partitions::Partition;
use producer_id::ProducerIdentity;

use super::cluster::{Cluster, ClusterPlan, Event, TIMER_OWNER};
use super::versions::Api;
use tare_load::arrivals::NEVER;
use tare_load::client::{
    Client, Closed, ConnId, DueExchange, ErrorClass, ExchangeBatch, Outlet, Stamp, TimerId,
    WaitCause,
};
use tare_load::protocol_counters;

/// Timer: the oldest open batch has lingered.
const LINGER: TimerId = TIMER_OWNER;
/// Timer: a backoff before a retry is over.
const BACKOFF: TimerId = TimerId(TIMER_OWNER.0 + 1);
/// Timer: the oldest waiting record or batch times out.
const EXPIRE: TimerId = TimerId(TIMER_OWNER.0 + 2);

/// The requests of a producer.
pub const APIS: &[Api] = &[
    Api::new(ApiKey::Produce, framing::VERSION_MIN, framing::VERSION_MAX),
    Api::new(ApiKey::InitProducerId, 0, 4),
];

/// Configuration of a producer.
#[derive(Debug)]
pub struct ProducePlan {
    pub cluster: ClusterPlan,
    pub spec: ProduceSpec,
    /// Contents of the records, for each of the cluster's topics.
    pub contents: Vec<Contents>,
    /// Delivery timeout of a record, from its release on.
    pub timeout_ns: u64,
    /// Records that are expected to wait for a batch: initial capacity of their queue.
    pub waiting_max: usize,
    /// This worker's index, and the number of workers.
    pub worker: (u32, u32),
    /// The random number generator.
    pub random: Random,
    /// Realtime − monotonic, for timestamps.
    pub epoch_offset_ns: i128,
}

protocol_counters! {
    /// Counters of a producer, apart from its records.
    pub(super) struct ProduceCounts {
        /// Requests that were sent.
        requests = "requests",
        /// Batches that were acknowledged.
        batches = "batches",
        /// Bytes of acknowledged batches, as they went over the wire.
        batch_bytes = "batch-bytes",
        /// Bytes of the values of acknowledged records.
        payload_bytes = "payload-bytes",
        /// Batches sent again.
        retries = "retries",
        /// Retried batches that a broker had already written.
        duplicates = "duplicates",
        /// Requests for a producer id after the first.
        renewals = "producer-id-renewals",
        /// Responses with a throttle time.
        throttled = "throttled-responses",
        /// The time that they said, in ms.
        throttled_ms = "throttle-time-ms",
    }
}

/// The producer.
#[derive(Debug)]
pub struct Produce {
    plan: ProducePlan,
    /// Writes serials into the records, for the delivery audit.
    serials: Option<Serials>,
    cluster: Cluster,
    batch_pool: BatchPool,
    partitions: Vec<Partition>,
    /// Indices in `partitions`, by topic.
    topics: Vec<Vec<u32>>,
    turns: Vec<Turn>,
    selector: RecordSelector,
    compressor: Compressor,
    producer_id: ProducerIdentity,
    framing: Framing,
    prefixes: Prefixes,
    /// The batches of each request in flight, by token.
    request_batches: Vec<Vec<u32>>,
    free_tokens: Vec<u32>,
    /// Records for which no batch is free.
    waiting: VecDeque<(ExchangeBatch, WaitCause)>,
    linger_at_ns: u64,
    backoff_at_ns: u64,
    expire_at_ns: u64,
    /// The last refusal, until a batch is acknowledged: reported for records that time out.
    last_refusal: Option<(ErrorClass, String)>,
    /// Whether something changed so that a batch may be ready to send.
    send_due: bool,
    next_order: u64,
    counts: ProduceCounts,
    chosen: Vec<u32>,
    /// The partition that the next request begins with.
    first_to_send: usize,
}

impl Produce {
    /// A producer that has not started.
    ///
    /// # Errors
    /// When the compression codec cannot be set up.
    pub fn new(plan: ProducePlan) -> Result<Self, CompressError> {
        let spec = &plan.spec;
        let (worker, _) = plan.worker;
        let serials = spec
            .serials
            .map(|of| Serials::of(of.run, of.first_writer + worker));
        let forms = plan.contents.iter().map(Contents::form).collect();
        let batch_bytes = spec.batch_bytes as usize;
        let batches_max = (buffer_bytes(spec) / batch_bytes.max(1)).max(BATCHES_MIN);
        let topics = plan.contents.len();
        let random = plan.random.clone();
        Ok(Self {
            cluster: Cluster::new(plan.cluster.clone()),
            batch_pool: BatchPool::new(batches_max, framing::PREFIX_BYTES_MAX, batch_bytes, forms),
            partitions: Vec::new(),
            topics: vec![Vec::new(); topics],
            turns: vec![Turn::default(); topics],
            selector: RecordSelector::new(spec.keys, random, plan.worker),
            compressor: Compressor::new(compression(spec.compression), spec.compression_level)?,
            producer_id: ProducerIdentity::new(spec.idempotence),
            framing: Framing {
                client_id: plan.cluster.client_id.clone(),
                acks: match spec.acks {
                    Acks::None => 0,
                    Acks::Leader => 1,
                    Acks::All => -1,
                },
                timeout_ms: i32::try_from(plan.cluster.request_timeout_ns / 1_000_000)
                    .unwrap_or(i32::MAX),
            },
            prefixes: Prefixes::default(),
            request_batches: Vec::with_capacity(64),
            free_tokens: Vec::with_capacity(64),
            waiting: VecDeque::with_capacity(plan.waiting_max.min(WAITING_RESERVED)),
            linger_at_ns: NEVER,
            backoff_at_ns: NEVER,
            expire_at_ns: NEVER,
            last_refusal: None,
            send_due: false,
            next_order: 0,
            counts: ProduceCounts::default(),
            chosen: Vec::with_capacity(64),
            first_to_send: 0,
            serials,
            plan,
        })
    }

    /// Handles the cluster layer's events.
    fn process_events(&mut self, out: &mut impl Outlet) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Opened { .. } => self.send_due = true,
                Event::Metadata => self.update_leaders(out),
                Event::Written { token, sent_ns, .. } => self.written(token, sent_ns, out),
                Event::Lost {
                    token,
                    sent_ns,
                    class,
                    why,
                    ..
                } => self.lost(token, sent_ns, (class, &why), out),
            }
            self.request_producer_id(out);
        }
    }

    /// Sets a timer, unless it is set to an earlier time.
    fn timer_by(known_ns: &mut u64, timer: TimerId, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < *known_ns {
            *known_ns = at_ns;
            out.set_timer(timer, at_ns);
        }
    }
}

/// Size of all batches together.
fn buffer_bytes(spec: &ProduceSpec) -> usize {
    usize::try_from(spec.buffer_bytes).unwrap_or(usize::MAX)
}

fn compression(codec: Codec) -> Compression {
    match codec {
        Codec::None => Compression::None,
        Codec::Gzip => Compression::Gzip,
        Codec::Snappy => Compression::Snappy,
        Codec::Lz4 => Compression::Lz4,
        Codec::Zstd => Compression::Zstd,
    }
}

/// Least number of batches, however small the buffer.
const BATCHES_MIN: usize = 8;

/// Limit of the initial capacity of `waiting`.
const WAITING_RESERVED: usize = 1 << 16;

impl Client for Produce {
    const BATCH_MAX: u32 = 1 << 20;
    const START_EVERY_NS: u64 = 50_000;

    fn on_start(&mut self, out: &mut impl Outlet) {
        self.cluster.start(out);
        self.process_events(out);
    }

    /// Records of `in_flight_max` batches and a next one, for each of two brokers (their number is not known here), within three
    /// quarters of the buffer.
    fn capacity(&self) -> usize {
        let contents = self.plan.contents.iter().map(Contents::record_bytes);
        let record_bytes = contents.max().unwrap_or(1).max(1);
        let spec = &self.plan.spec;
        let wanted = spec.batch_bytes as usize * (usize::from(spec.in_flight_max) + 1) * 2;
        let bytes = wanted.min(buffer_bytes(spec) * 3 / 4);
        (bytes / record_bytes).clamp(1, CAPACITY_MAX)
    }

    fn is_open(&self) -> bool {
        self.cluster.is_open() && self.producer_id.is_known() && !self.partitions.is_empty()
    }

    fn problem(&self) -> Option<String> {
        self.cluster
            .problem()
            .or(self.producer_id.problem())
            .map(str::to_owned)
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        let exchanges = ExchangeBatch {
            due,
            count: 1,
            intended_ns: now_ns,
            released_ns: now_ns,
        };
        self.on_batch(exchanges, out);
    }

    #[inline]
    fn on_batch(&mut self, exchanges: ExchangeBatch, out: &mut impl Outlet) {
        if self.waiting.is_empty() {
            self.fill(exchanges, out);
        } else {
            self.wait(exchanges, WaitCause::Window, out);
        }
    }

    #[inline]
    fn flush(&mut self, out: &mut impl Outlet) {
        if self.send_due {
            self.send_due = false;
            self.send_ready(out);
        }
        self.cluster.flush(&self.batch_pool, out);
        if self.plan.spec.acks == Acks::None {
            self.process_events(out);
        }
    }

    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.cluster.connected(conn.0, out);
        self.process_events(out);
    }

    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut input = bytes;
        while let Some(answer) = self.cluster.take(conn.0, &mut input, out) {
            self.on_response(answer, stamp, out);
        }
        self.process_events(out);
    }

    fn on_writable(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.cluster.on_writable(conn.0);
    }

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.cluster.closed(conn.0, why, out);
        self.process_events(out);
    }

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            LINGER => self.lingered(out),
            BACKOFF => {
                self.backoff_at_ns = NEVER;
                self.send_due = true;
            }
            EXPIRE => self.expire(out),
            other => {
                self.cluster.timer(other, out);
                self.process_events(out);
            }
        }
    }

    fn counts(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.counts.report(report);
    }

    fn acknowledged(&self, report: &mut dyn FnMut(Acknowledged)) {
        self.report_acknowledged(report);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.end_all(out);
    }
}

/// Limit of records in flight in a closed loop: more would only wait here.
const CAPACITY_MAX: usize = 1 << 19;
