//! `kafka-fetch`: a consumer. An exchange is a fetch; each broker that leads partitions of ours has one under way.

#[cfg(test)]
mod again_tests;
mod client;
mod end;
mod lane;
mod membership;
mod placing;
mod reading;
mod source;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tare_kafka::fetch::{self, Bodies, CrcCheck, FetchLimits, FetchScanner, Isolation};
use tare_kafka::group::GroupKind;
use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_schema::load::{FetchDepth, FetchEnd, FetchFrom, FetchSpec};

use self::lane::{Lane, UnderWay};
use self::membership::Membership;
use self::reading::Reading;
use self::source::{EARLIEST, LATEST, Source};
use super::cluster::{Cluster, ClusterPlan, Event, Piece, TIMER_OWNER};
use super::versions::Api;
use crate::arrivals::NEVER;
use crate::client::{Done, Due, Outcome, Outlet, Stamp, Status, TimerId, WaitCause};

/// What a consumer asks brokers for.
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
/// The token of a question for offsets.
const OFFSETS: u32 = 1;
/// The token of a message to the coordinator is this and the number of its kind.
const GROUP: u32 = 16;

/// The timer of what is held back.
const WAKE: TimerId = TIMER_OWNER;

const MS: u64 = 1_000_000;

/// What a consumer is made of.
#[derive(Debug, Clone)]
pub struct FetchPlan {
    /// The cluster.
    pub cluster: ClusterPlan,
    /// What is fetched.
    pub spec: FetchSpec,
    /// Which worker of how many.
    pub worker: (u32, u32),
    /// Records that arrived, over all workers.
    pub arrived: Arc<AtomicU64>,
    /// Limit of an answer beyond the time that a broker may wait.
    pub timeout_ns: u64,
    /// What to add to the monotonic clock for that of the wall.
    pub realtime_offset_ns: i128,
    /// What becomes of exchanges that no broker is there for.
    pub surplus: Surplus,
}

/// What becomes of exchanges beyond one for each broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surplus {
    /// They wait: a schedule wants them.
    Wait,
    /// They are given back: as many are wanted as can be under way.
    GiveBack,
}

/// The client.
#[derive(Debug)]
pub struct Fetch {
    cluster: Cluster,
    spec: FetchSpec,
    limits: FetchLimits,
    worker: (u32, u32),
    arrived: Arc<AtomicU64>,
    timeout_ns: u64,
    /// By the number of the broker.
    lanes: Vec<Lane>,
    reading: Reading,
    group: Option<Membership>,
    /// Exchanges that wait for a broker without one, and whether they did before.
    held: VecDeque<(Due, Option<WaitCause>)>,
    /// Number of the deal of partitions: with another one, answers under way are of none of ours.
    deal: u32,
    /// Whether partitions, their places or their leaders changed.
    layout_changed: bool,
    wake_ns: u64,
    problem: Option<String>,
    finished: bool,
    surplus: Surplus,
    /// The broker that had its turn first last time.
    first: u32,
}

impl Fetch {
    /// A consumer that has not started.
    #[must_use]
    pub fn new(plan: FetchPlan) -> Self {
        let FetchPlan {
            cluster,
            spec,
            worker,
            arrived,
            timeout_ns,
            realtime_offset_ns,
            surplus,
        } = plan;
        let signed = |bytes: u32| i32::try_from(bytes).unwrap_or(i32::MAX);
        Self {
            cluster: Cluster::new(cluster),
            limits: FetchLimits {
                min_bytes: signed(spec.min_bytes),
                max_wait_ms: signed(spec.max_wait_ms),
                max_bytes: signed(spec.max_bytes),
                partition_max_bytes: signed(spec.partition_max_bytes),
                isolation: Isolation::Uncommitted,
            },
            worker,
            arrived,
            timeout_ns,
            lanes: Vec::new(),
            reading: Reading::new(&spec.topics, spec.depth, realtime_offset_ns),
            group: Membership::of(&spec),
            held: VecDeque::with_capacity(usize::from(spec.at_once)),
            deal: 0,
            layout_changed: false,
            wake_ns: NEVER,
            problem: None,
            finished: false,
            surplus,
            first: 0,
            spec,
        }
    }

    /// What to ask for where nothing is known of a place.
    fn ask(&self) -> i64 {
        match self.spec.from {
            FetchFrom::Start => EARLIEST,
            FetchFrom::End => LATEST,
            FetchFrom::Time { unix_ms } => unix_ms.max(0),
        }
    }

    fn lane(&mut self, broker: u32) -> &mut Lane {
        let bodies = match self.spec.depth {
            FetchDepth::Batches => Bodies::Pass,
            FetchDepth::Records | FetchDepth::Stamps { .. } => Bodies::Keep,
        };
        let check = match self.spec.check_crc {
            true => CrcCheck::On,
            false => CrcCheck::Off,
        };
        let at = broker as usize;
        if at >= self.lanes.len() {
            let lane = || Lane::new(FetchScanner::new(check, bodies));
            self.lanes.resize_with(at + 1, lane);
        }
        &mut self.lanes[at]
    }

    /// The cluster told who leads what.
    fn metadata(&mut self, out: &mut impl Outlet) {
        self.layout_changed = true;
        let brokers = self
            .cluster
            .topics()
            .iter()
            .flat_map(|topic| &topic.partitions);
        if let Some(last) = brokers.filter_map(|one| one.leader).max() {
            self.lane(last);
        }
        if self.group.is_some() {
            return;
        }
        // Dealt out in turn over all topics, as far as they are known; partitions that are added come behind.
        let (worker, workers) = self.worker;
        let ask = self.ask();
        let mut number = 0;
        let mut sources = Vec::new();
        for (topic, known) in (0_u16..).zip(self.cluster.topics()) {
            for partition in 0..known.partitions.len() as i32 {
                if number % workers.max(1) == worker {
                    sources.push(Source::new(topic, partition, None, ask));
                }
                number += 1;
            }
        }
        let are_known = self.cluster.topics().iter().all(|topic| topic.is_led());
        let has_none = are_known && sources.is_empty();
        if sources.len() != self.reading.sources.len() {
            self.deal(sources, out);
        }
        if has_none {
            // Nothing is dealt to us: with everything there read, there is nothing to wait for.
            self.judge_end();
        }
    }

    /// Takes these partitions in place of those before; what is known of one that stays is kept.
    fn deal(&mut self, sources: Vec<Source>, _out: &mut impl Outlet) {
        let before = std::mem::replace(&mut self.reading.sources, sources);
        if self.group.is_none() {
            for source in &mut self.reading.sources {
                let same = |known: &&Source| {
                    (known.topic, known.partition) == (source.topic, source.partition)
                };
                if let Some(known) = before.iter().find(same) {
                    source.clone_from(known);
                    source.asked = false;
                }
            }
        }
        for lane in &mut self.lanes {
            lane.placing.clear();
        }
        self.deal = self.deal.wrapping_add(1);
        self.layout_changed = true;
        self.reading.lost_place = true;
    }

    /// Says for each broker which partitions it is to be asked for.
    fn lay_out(&mut self, now_ns: u64) {
        self.layout_changed = false;
        for lane in &mut self.lanes {
            lane.wanted.clear();
        }
        for (at, source) in (0_u32..).zip(&self.reading.sources) {
            if source.position.is_none() || source.broken {
                continue;
            }
            if source.hold_until_ns > now_ns {
                self.layout_changed = true;
                self.wake_ns = self.wake_ns.min(source.hold_until_ns);
                continue;
            }
            let topic = &self.cluster.topics()[usize::from(source.topic)];
            let known = topic.partitions.get(source.partition as usize);
            let leader = known.and_then(|known| known.leader);
            if let Some(lane) = leader.and_then(|leader| self.lanes.get_mut(leader as usize)) {
                lane.wanted.push(at);
            }
        }
    }

    /// Sends what can be sent: a fetch to each broker that has none under way.
    fn pump(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        if self.layout_changed {
            self.lay_out(now_ns);
        }
        let brokers = (self.lanes.len() as u32).saturating_sub(1);
        // In turn: with fewer exchanges than brokers, each has its share of them.
        self.first = self.first.wrapping_add(1);
        for step in 0..brokers {
            let broker = 1 + (self.first.wrapping_add(step)) % brokers;
            let lane = &mut self.lanes[broker as usize];
            let is_free = lane.under_way.is_none() && !lane.wanted.is_empty();
            if !is_free || self.finished || !self.cluster.is_usable(broker) {
                continue;
            }
            let Some((due, waited)) = self.held.pop_front() else {
                break;
            };
            lane.under_way = Some(UnderWay {
                due,
                waited,
                deal: self.deal,
            });
            lane.place = 0;
            lane.source = None;
            lane.wrong = None;
            let Reading {
                topics, sources, ..
            } = &self.reading;
            let request = lane.request(
                &self.spec.client_id,
                &self.limits,
                (topics, sources, self.deal),
            );
            let limit_ns = self.timeout_ns + u64::from(self.spec.max_wait_ms) * MS;
            self.cluster.send_with(
                broker,
                FETCH,
                fetch::VERSION,
                limit_ns,
                |buffer, correlation| buffer.extend_from_slice(request.bytes(correlation)),
                out,
            );
        }
        let under_way = self.lanes.iter().filter(|lane| lane.under_way.is_some());
        let most = (brokers as usize).max(1).saturating_sub(under_way.count());
        while self.surplus == Surplus::GiveBack && brokers > 0 && self.held.len() > most {
            let Some((due, _)) = self.held.pop_back() else {
                break;
            };
            out.withdraw(due.ticket);
        }
        for (_, waited) in &mut self.held {
            waited.get_or_insert(WaitCause::Connection);
        }
    }

    /// A piece of an answer to a fetch.
    fn piece(&mut self, piece: &Piece<'_>, stamp: Stamp, out: &mut impl Outlet) {
        let Self {
            lanes,
            reading,
            cluster,
            deal,
            ..
        } = self;
        let lane = &mut lanes[piece.broker as usize];
        let Some(under_way) = lane.under_way else {
            return;
        };
        if let Some(frame_bytes) = piece.begins {
            lane.scanner.begin(frame_bytes);
            if piece.left > 0 {
                out.first_byte(under_way.due.ticket, stamp.arrived_ns);
            }
        }
        let is_stale = under_way.deal != *deal;
        let (scanner, mut view) = reading::parts(lane);
        let mut rest = piece.bytes;
        let brought = reading.counts.records;
        let refused = loop {
            match scanner.next(&mut rest) {
                Ok(Some(event)) => {
                    let broker = cluster.name(piece.broker);
                    reading.take((&mut view, is_stale), event, (stamp, &broker), out);
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let is_over = scanner.is_over();
        let brought = reading.counts.records - brought;
        if brought > 0 {
            self.arrived.fetch_add(brought, Ordering::Relaxed);
        }
        if let Some(error) = refused {
            // Not whole: the request is still known to the cluster, and told as lost.
            return self.cluster.distrust(piece.broker, &error, out);
        }
        if piece.left == 0 && is_over {
            self.answered(piece, stamp, out);
        }
    }

    /// The answer to a fetch is whole.
    fn answered(&mut self, piece: &Piece<'_>, stamp: Stamp, out: &mut impl Outlet) {
        let lane = &mut self.lanes[piece.broker as usize];
        let wrong = lane.wrong.take();
        let Some(under_way) = lane.under_way.take() else {
            return;
        };
        let words = wrong.as_ref().map_or("", |wrong| wrong.words.as_str());
        out.done(
            under_way.due.ticket,
            &Done {
                outcome: wrong
                    .as_ref()
                    .map_or(Outcome::Right(Status::NONE), |wrong| {
                        Outcome::Wrong(wrong.class)
                    }),
                sent_ns: Some(piece.sent_ns),
                ended: stamp,
                bound: piece.bound,
                waited: under_way.waited,
                example: &words,
            },
        );
        self.layout_changed |= wrong.is_some();
        if self.spec.at_end == FetchEnd::Again {
            self.begin_again(piece.broker);
        }
        if std::mem::take(&mut self.reading.lost_leader) {
            self.cluster.refresh(out);
        }
        self.judge_end();
    }
}

impl Fetch {
    /// What follows from what happened: news of the cluster, places to ask for, the group's affairs.
    fn after(&mut self, out: &mut impl Outlet) {
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
            self.reading.lost_place |= self.has_unplaced();
        }
        if self.group.is_some() {
            self.ask_group(out);
        }
        if self.reading.lost_place {
            self.place_all(out);
        }
        self.heed_problem(out);
    }

    fn has_unplaced(&self) -> bool {
        let mut sources = self.reading.sources.iter();
        sources.any(|source| source.position.is_none() && !source.broken)
    }
}
