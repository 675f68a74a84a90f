//! `kafka-fetch`: a consumer. An exchange is a fetch; each broker that leads assigned partitions has one in flight.

mod broker_fetch;
mod client;
mod cursor;
mod end;
mod idle;
mod membership;
mod offset_lookup;
mod reader;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tare_kafka::fetch::{self, BodyMode, CrcCheck, FetchLimits, FetchScanner, Isolation};
use tare_kafka::group::GroupKind;
use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_record::load::{FetchDecode, FetchEnd, FetchFrom, FetchSpec};

use self::broker_fetch::{BrokerFetch, InFlightFetch};
use self::cursor::{EARLIEST, LATEST, PartitionCursor};
use self::idle::IdleTimer;
use self::membership::Membership;
use self::reader::FetchReader;
use super::cluster::{Cluster, ClusterPlan, Event, ResponsePiece, TIMER_OWNER};
use super::versions::Api;
use tare_load::arrivals::NEVER;
use tare_load::client::{
    Completion, DueExchange, ExchangeOutcome, Outlet, Stamp, Status, TimerId, WaitCause,
};

/// The requests of a consumer.
pub const APIS: [Api; 9] = [
    Api::new(ApiKey::Fetch, fetch::VERSION, fetch::VERSION),
    Api::new(ApiKey::ListOffsets, 1, 6),
    of_group(GroupKind::Find),
    of_group(GroupKind::Join),
    of_group(GroupKind::Sync),
    of_group(GroupKind::Heartbeat),
    of_group(GroupKind::Offsets),
    of_group(GroupKind::Commit),
    of_group(GroupKind::Leave),
];

const fn of_group(kind: GroupKind) -> Api {
    let (key, min, max) = kind.versions();
    Api::new(key, min, max)
}

/// The token of a fetch: each broker has one at a time.
const FETCH: u32 = 0;
/// The token of a ListOffsets request.
const OFFSETS: u32 = 1;
/// The token of a group request is this plus the index of its kind.
const GROUP: u32 = 16;

/// The timer for paused partitions and the group's deadlines.
const WAKE: TimerId = TIMER_OWNER;

const MS: u64 = 1_000_000;

/// Configuration of a consumer.
#[derive(Debug, Clone)]
pub struct FetchPlan {
    pub cluster: ClusterPlan,
    pub spec: FetchSpec,
    /// This worker's index, and the number of workers.
    pub worker: (u32, u32),
    /// Records that arrived, over all workers.
    pub arrived: Arc<AtomicU64>,
    /// Request timeout, in addition to the time that a broker may wait for records.
    pub timeout_ns: u64,
    /// Realtime − monotonic clock.
    pub realtime_offset_ns: i128,
    /// What happens to exchanges beyond one for each broker.
    pub surplus: ExcessFetches,
}

/// What happens to exchanges beyond one for each broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcessFetches {
    /// They wait for a broker without a fetch in flight.
    Wait,
    /// They are withdrawn: at maximum pace, only as many are wanted as can be in flight.
    Return,
}

/// The consumer.
#[derive(Debug)]
pub struct Fetch {
    plan: FetchPlan,
    cluster: Cluster,
    limits: FetchLimits,
    /// By the index of the broker.
    broker_fetches: Vec<BrokerFetch>,
    reader: FetchReader,
    group: Option<Membership>,
    /// Exchanges that wait for a broker without a fetch in flight, and why, once they have had to wait.
    waiting: VecDeque<(DueExchange, Option<WaitCause>)>,
    /// Number of the current assignment of partitions; responses to fetches of an earlier one are ignored.
    assignment: u32,
    /// Whether partitions, their positions or their leaders changed.
    layout_changed: bool,
    wake_ns: u64,
    problem: Option<String>,
    finished: bool,
    /// Ends a load that waits for records which do not come.
    idle: IdleTimer,
    /// Where the last round over the brokers began.
    first: u32,
}

impl Fetch {
    /// A consumer that has not started.
    #[must_use]
    pub fn new(plan: FetchPlan) -> Self {
        let spec = &plan.spec;
        let signed = |bytes: u32| i32::try_from(bytes).unwrap_or(i32::MAX);
        Self {
            cluster: Cluster::new(plan.cluster.clone()),
            limits: FetchLimits {
                min_bytes: signed(spec.min_bytes),
                max_wait_ms: signed(spec.max_wait_ms),
                max_bytes: signed(spec.max_bytes),
                partition_max_bytes: signed(spec.partition_max_bytes),
                isolation: Isolation::Uncommitted,
            },
            broker_fetches: Vec::new(),
            reader: FetchReader::new(&spec.topics, spec.decode, plan.realtime_offset_ns),
            group: Membership::of(spec),
            waiting: VecDeque::with_capacity(usize::from(spec.in_flight_max)),
            assignment: 0,
            layout_changed: false,
            wake_ns: NEVER,
            problem: None,
            finished: false,
            idle: IdleTimer::new(spec.until.idle_ns),
            first: 0,
            plan,
        }
    }

    /// The ListOffsets timestamp of a partition without a position.
    fn offset_spec(&self) -> i64 {
        match self.plan.spec.from {
            FetchFrom::Start => EARLIEST,
            FetchFrom::End => LATEST,
            FetchFrom::Time { unix_ms } => unix_ms.max(0),
        }
    }

    fn broker_fetch(&mut self, broker: u32) -> &mut BrokerFetch {
        let bodies = match self.plan.spec.decode {
            FetchDecode::Batches => BodyMode::Skip,
            FetchDecode::Records | FetchDecode::Timestamps { .. } => BodyMode::Keep,
        };
        let check = match self.plan.spec.check_crc {
            true => CrcCheck::On,
            false => CrcCheck::Off,
        };
        let at = broker as usize;
        if at >= self.broker_fetches.len() {
            let broker_fetch = || BrokerFetch::new(FetchScanner::new(check, bodies));
            self.broker_fetches.resize_with(at + 1, broker_fetch);
        }
        &mut self.broker_fetches[at]
    }

    /// Handles new metadata.
    fn metadata(&mut self, out: &mut impl Outlet) {
        self.layout_changed = true;
        let brokers = self
            .cluster
            .topics()
            .iter()
            .flat_map(|topic| &topic.partitions);
        if let Some(last) = brokers.filter_map(|one| one.leader).max() {
            self.broker_fetch(last);
        }
        if self.group.is_some() {
            if self.cluster.is_settled() {
                self.check_finished();
            }
            return;
        }
        // Partitions are assigned to the workers round-robin over all known topics; added partitions come last.
        let (worker, workers) = self.plan.worker;
        let offset_spec = self.offset_spec();
        let mut number = 0;
        let mut cursors = Vec::new();
        for (topic, known) in (0_u16..).zip(self.cluster.topics()) {
            for partition in 0..known.partitions.len() as i32 {
                if number % workers.max(1) == worker {
                    cursors.push(PartitionCursor::new(topic, partition, None, offset_spec));
                }
                number += 1;
            }
        }
        let is_settled = self.cluster.is_settled();
        if cursors.len() != self.reader.cursors.len() {
            self.assign(cursors, out);
        }
        if is_settled {
            // No partition of this worker may be left to be read.
            self.check_finished();
        }
    }

    /// Replaces the assigned partitions; without a group, the state of those that stay is kept.
    fn assign(&mut self, cursors: Vec<PartitionCursor>, _out: &mut impl Outlet) {
        let before = std::mem::replace(&mut self.reader.cursors, cursors);
        if self.group.is_none() {
            for cursor in &mut self.reader.cursors {
                let same = |known: &&PartitionCursor| {
                    (known.topic, known.partition) == (cursor.topic, cursor.partition)
                };
                if let Some(known) = before.iter().find(same) {
                    cursor.clone_from(known);
                    cursor.offset_requested = false;
                }
            }
        }
        for broker_fetch in &mut self.broker_fetches {
            broker_fetch.offset_lookup.clear();
        }
        self.assignment = self.assignment.wrapping_add(1);
        self.layout_changed = true;
        self.reader.needs_offsets = true;
    }

    /// Distributes the partitions to the brokers that lead them.
    fn lay_out(&mut self, now_ns: u64) {
        self.layout_changed = false;
        for broker_fetch in &mut self.broker_fetches {
            broker_fetch.wanted.clear();
        }
        for (at, cursor) in (0_u32..).zip(&self.reader.cursors) {
            if cursor.position.is_none() || cursor.broken {
                continue;
            }
            if cursor.paused_until_ns > now_ns {
                self.layout_changed = true;
                self.wake_ns = self.wake_ns.min(cursor.paused_until_ns);
                continue;
            }
            let topic = &self.cluster.topics()[usize::from(cursor.topic)];
            let known = topic.partitions.get(cursor.partition as usize);
            let leader = known.and_then(|known| known.leader);
            if let Some(broker_fetch) =
                leader.and_then(|leader| self.broker_fetches.get_mut(leader as usize))
            {
                broker_fetch.wanted.push(at);
            }
        }
    }

    /// Sends a fetch to each broker that has none in flight.
    fn send_fetches(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        if self.layout_changed {
            self.lay_out(now_ns);
        }
        let brokers = (self.broker_fetches.len() as u32).saturating_sub(1);
        // Round-robin: with fewer exchanges than brokers, each gets its share of them.
        self.first = self.first.wrapping_add(1);
        let mut cause = WaitCause::Connection;
        for step in 0..brokers {
            let broker = 1 + (self.first.wrapping_add(step)) % brokers;
            let broker_fetch = &mut self.broker_fetches[broker as usize];
            let is_free = broker_fetch.in_flight.is_none() && !broker_fetch.wanted.is_empty();
            if !is_free || self.finished || !self.cluster.is_usable(broker) {
                continue;
            }
            let muted_until_ns = self.cluster.muted_until_ns(broker);
            if muted_until_ns > now_ns {
                self.wake_ns = self.wake_ns.min(muted_until_ns);
                cause = WaitCause::Quota;
                continue;
            }
            let Some((due, waited)) = self.waiting.pop_front() else {
                break;
            };
            broker_fetch.in_flight = Some(InFlightFetch {
                due,
                waited,
                assignment: self.assignment,
            });
            broker_fetch.response.index = 0;
            broker_fetch.response.cursor = None;
            broker_fetch.response.failure = None;
            let FetchReader {
                topics, cursors, ..
            } = &self.reader;
            let request = broker_fetch.request(
                &self.plan.spec.client_id,
                &self.limits,
                (topics, cursors, self.assignment),
            );
            let limit_ns = self.plan.timeout_ns + u64::from(self.plan.spec.max_wait_ms) * MS;
            self.cluster.send_with(
                broker,
                FETCH,
                fetch::VERSION,
                limit_ns,
                |buffer, correlation| buffer.extend_from_slice(request.bytes(correlation)),
                out,
            );
        }
        let in_flight = self
            .broker_fetches
            .iter()
            .filter(|broker_fetch| broker_fetch.in_flight.is_some());
        let most = (brokers as usize).max(1).saturating_sub(in_flight.count());
        while self.plan.surplus == ExcessFetches::Return && brokers > 0 && self.waiting.len() > most
        {
            let Some((due, _)) = self.waiting.pop_back() else {
                break;
            };
            out.withdraw(due.ticket);
        }
        for (_, waited) in &mut self.waiting {
            waited.get_or_insert(cause);
        }
    }

    /// Handles a piece of a fetch response.
    fn piece(&mut self, piece: &ResponsePiece<'_>, stamp: Stamp, out: &mut impl Outlet) {
        let Self {
            broker_fetches,
            reader,
            cluster,
            assignment,
            ..
        } = self;
        let broker_fetch = &mut broker_fetches[piece.broker as usize];
        let Some(in_flight) = broker_fetch.in_flight else {
            return;
        };
        if let Some(frame_bytes) = piece.total_bytes {
            broker_fetch.scanner.begin(frame_bytes);
            if piece.left > 0 {
                out.record_first_byte(in_flight.due.ticket, stamp.arrived_ns);
            }
        }
        let is_stale = in_flight.assignment != *assignment;
        let BrokerFetch {
            scanner, response, ..
        } = broker_fetch;
        let mut rest = piece.bytes;
        let new_records = reader.counts.records;
        let refused = loop {
            match scanner.next(&mut rest) {
                Ok(Some(event)) => {
                    let broker = cluster.name(piece.broker);
                    reader.take((&mut *response, is_stale), event, (stamp, &broker), out);
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let is_over = scanner.is_over();
        let new_records = reader.counts.records - new_records;
        if new_records > 0 {
            self.plan.arrived.fetch_add(new_records, Ordering::Relaxed);
        }
        if let Some(error) = refused {
            // Incomplete: the cluster still has the request, and reports it as lost.
            return self.cluster.reject(piece.broker, &error, out);
        }
        if piece.left == 0 && is_over {
            self.on_response(piece, stamp, out);
        }
    }

    /// A fetch response is complete.
    fn on_response(&mut self, piece: &ResponsePiece<'_>, stamp: Stamp, out: &mut impl Outlet) {
        let broker_fetch = &mut self.broker_fetches[piece.broker as usize];
        let throttle_ms = broker_fetch.response.throttle_ms;
        self.cluster.throttled(piece.broker, throttle_ms, out);
        let failure = broker_fetch.response.failure.take();
        let Some(in_flight) = broker_fetch.in_flight.take() else {
            return;
        };
        let words = failure
            .as_ref()
            .map_or("", |failure| failure.words.as_str());
        out.complete(
            in_flight.due.ticket,
            &Completion {
                outcome: failure
                    .as_ref()
                    .map_or(ExchangeOutcome::Ok(Status::NONE), |failure| {
                        ExchangeOutcome::Failed(failure.class)
                    }),
                sent_ns: Some(piece.sent_ns),
                ended: stamp,
                bound: piece.bound,
                waited: in_flight.waited,
                example: &words,
            },
        );
        self.layout_changed |= failure.is_some();
        if self.plan.spec.at_end == FetchEnd::Repeat {
            self.rewind(piece.broker);
        }
        if std::mem::take(&mut self.reader.needs_metadata) {
            self.cluster.refresh(out);
        }
        self.check_finished();
    }
}

impl Fetch {
    /// Handles the cluster's events, then sends group requests and ListOffsets as needed.
    fn process_events(&mut self, out: &mut impl Outlet) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Opened { .. } => self.layout_changed = true,
                Event::Metadata => self.metadata(out),
                Event::Written { .. } => {}
                Event::Lost {
                    broker,
                    token,
                    sent_ns,
                    class,
                    why,
                } => self.lost((broker, token), sent_ns, (class, &why), out),
            }
            self.reader.needs_offsets |= self.has_unknown_position();
        }
        if self.group.is_some() {
            self.poll_group(out);
        }
        if self.reader.needs_offsets {
            self.request_offsets(out);
        }
        self.abort_on_problem(out);
        self.end_if_idle(out.now_ns());
    }

    fn has_unknown_position(&self) -> bool {
        let mut cursors = self.reader.cursors.iter();
        cursors.any(|cursor| cursor.position.is_none() && !cursor.broken)
    }

    /// Whether a partition can be read: it has a leader, or will get one.
    fn is_readable(&self, cursor: &PartitionCursor) -> bool {
        let topic = &self.cluster.topics()[usize::from(cursor.topic)];
        !cursor.broken && !topic.lacks_leader(cursor.partition)
    }
}
