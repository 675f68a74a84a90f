//! What the parts of an answer mean: positions move, records are counted, and what is corrupt is named.

use std::fmt::Display;

use tare_kafka::fetch::{Event, FetchScanner, PartitionHead, Scanned};
use tare_kafka::records::Unpacker;
use tare_kafka::stamp::Stamps;
use tare_schema::agent::Fault;
use tare_schema::load::FetchDepth;

use super::lane::{Lane, Wrong};
use super::source::{EARLIEST, LATEST, Source};
use crate::client::{Age, Aged, ErrorClass, Outlet, RecordsIn, Stamp};
use crate::kafka::errors::{Code, Remedy};

/// The checksum of a batch does not fit.
const CORRUPT: ErrorClass = ErrorClass::of("corrupt-batch", Fault::Target);

/// A batch of a format that is not read, or what is none.
const UNREADABLE: ErrorClass = ErrorClass::of("unreadable-batch", Fault::Target);

/// `UNKNOWN_SERVER_ERROR`.
const UNKNOWN_SERVER_ERROR: i16 = -1;

/// Most that is taken out of a batch: producers bound what they put into one, and that by a megabyte mostly.
const UNPACKED_MAX_BYTES: usize = 32 << 20;

/// Pause of a partition that could not be read (`retry.backoff.ms`).
const PAUSE_NS: u64 = 100_000_000;

/// What is counted beside the records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchCounts {
    /// Batches.
    pub batches: u64,
    /// Records of the window's kind, as told to the driver.
    pub records: u64,
    /// Batches whose checksum does not fit.
    pub corrupt: u64,
    /// Batches that cannot be read.
    pub unreadable: u64,
    /// Batches cut at the end of a partition: they come again.
    pub cut: u64,
    /// Answers without a record.
    pub empty: u64,
    /// Offsets that were not there any more.
    pub resets: u64,
    /// Records of another run.
    pub foreign: u64,
    /// Time for which brokers held answers back, in ms.
    pub throttled_ms: u64,
    /// Errors of partitions.
    pub partition_errors: u64,
}

/// What reads answers.
#[derive(Debug)]
pub struct Reading {
    pub sources: Vec<Source>,
    pub topics: Vec<String>,
    pub counts: FetchCounts,
    stamps: Option<Stamps>,
    unpacker: Unpacker,
    /// What to add to the monotonic clock for that of the wall.
    realtime_offset_ns: i128,
    /// Records that the answer under way brought.
    pub brought: u64,
    /// Whether somebody else may lead a partition now.
    pub lost_leader: bool,
    /// Whether a partition's place is to be asked for.
    pub lost_place: bool,
    /// What was wrong with a partition that cannot be read any more.
    pub broken_by: Option<String>,
}

/// Records and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Reading {
    pub fn new(topics: &[String], depth: FetchDepth, realtime_offset_ns: i128) -> Self {
        Self {
            sources: Vec::new(),
            topics: topics.to_vec(),
            counts: FetchCounts::default(),
            stamps: match depth {
                FetchDepth::Stamps { run } => Some(Stamps::of_run(run)),
                FetchDepth::Batches | FetchDepth::Records => None,
            },
            unpacker: Unpacker::new(UNPACKED_MAX_BYTES),
            realtime_offset_ns,
            brought: 0,
            lost_leader: false,
            lost_place: false,
            broken_by: None,
        }
    }

    /// Takes a part of an answer on this lane; what it is of is no partition of ours any more when `is_stale`.
    pub fn take(
        &mut self,
        (lane, is_stale): (&mut LaneView<'_>, bool),
        event: Event<'_>,
        (stamp, broker): (Stamp, &dyn Display),
        out: &mut impl Outlet,
    ) {
        match event {
            Event::Answer(head) => {
                self.brought = 0;
                self.counts.throttled_ms += u64::from(head.throttle_ms.max(0).unsigned_abs());
                let code = Code(head.error);
                if code.is_error() {
                    lane.is_wrong(code.class(), || format!("{broker}: {code}"));
                }
            }
            Event::End => self.counts.empty += u64::from(self.brought == 0),
            Event::Partition(head) => {
                *lane.source = match is_stale {
                    true => None,
                    false => lane.find(&head, &self.sources, &self.topics),
                };
                if let Some(at) = *lane.source {
                    self.partition(at, &head, lane, broker, out);
                }
            }
            Event::Batch(batch) => {
                if let Some(at) = *lane.source {
                    self.batch(at, &batch, lane, (stamp, broker), out);
                }
            }
            Event::Bad(error) => {
                self.counts.unreadable += 1;
                if let Some(at) = *lane.source {
                    let words = format!("{} on {broker}: {error}", self.name(at));
                    self.sources[at as usize].broken = true;
                    self.broken_by = Some(words.clone());
                    self.lost_place = true;
                    out.fault(UNREADABLE, &words);
                    lane.is_wrong(UNREADABLE, || words);
                }
            }
            Event::Cut(_) => self.counts.cut += 1,
        }
    }

    /// A partition as messages name it.
    fn name(&self, at: u32) -> String {
        let source = &self.sources[at as usize];
        format!(
            "{}-{}",
            self.topics[usize::from(source.topic)],
            source.partition
        )
    }

    fn partition(
        &mut self,
        at: u32,
        head: &PartitionHead<'_>,
        lane: &mut LaneView<'_>,
        broker: &dyn Display,
        out: &impl Outlet,
    ) {
        let code = Code(head.error);
        let source = &mut self.sources[at as usize];
        if !code.is_error() {
            source.high = Some(head.high_watermark);
            source.goal.get_or_insert(head.high_watermark);
            return;
        }
        self.counts.partition_errors += 1;
        source.hold_until_ns = out.now_ns().saturating_add(PAUSE_NS);
        /// `OFFSET_OUT_OF_RANGE`.
        const OUT_OF_RANGE: i16 = 1;
        match code.remedy() {
            _ if code.0 == OUT_OF_RANGE => {
                self.counts.resets += 1;
                // As `auto.offset.reset` does: from where we would have begun.
                source.ask = if source.ask == LATEST {
                    LATEST
                } else {
                    EARLIEST
                };
                source.position = None;
                self.lost_place = true;
            }
            Remedy::Refresh => self.lost_leader = true,
            Remedy::Retry => {}
            // A broker that does not know what went wrong may do better next time, as Kafka's own consumer has it.
            Remedy::GiveUp if code.0 == UNKNOWN_SERVER_ERROR => {}
            Remedy::GiveUp => source.broken = true,
        }
        let words = format!("{} on {broker}: {code}", self.name(at));
        if self.sources[at as usize].broken {
            self.broken_by = Some(words.clone());
        }
        lane.is_wrong(code.class(), || words);
    }

    fn batch(
        &mut self,
        at: u32,
        batch: &Scanned<'_>,
        lane: &mut LaneView<'_>,
        (stamp, broker): (Stamp, &dyn Display),
        out: &mut impl Outlet,
    ) {
        self.counts.batches += 1;
        let header = &batch.header;
        let source = &mut self.sources[at as usize];
        let from = source.position.unwrap_or(0);
        if header.next_offset() <= from {
            return;
        }
        source.position = Some(header.next_offset());
        if let Err(error) = batch.checked {
            self.counts.corrupt += 1;
            let words = format!("{} on {broker}: {error}", self.name(at));
            out.fault(CORRUPT, &words);
            return lane.is_wrong(CORRUPT, || words);
        }
        if header.attributes.is_control() {
            return;
        }
        // A fetch from within a batch brings all of it.
        let before = (from - header.base_offset).max(0).unsigned_abs();
        let sum = match batch.body {
            None => {
                let whole = u64::from(header.records);
                let is_dense = i64::from(header.records) == i64::from(header.last_offset_delta) + 1;
                Sum {
                    count: if is_dense {
                        whole.saturating_sub(before)
                    } else {
                        whole
                    },
                    bytes: header.batch_bytes as u64,
                }
            }
            Some(body) => match self.walk(batch, body, from, stamp, out) {
                Ok(sum) => sum,
                Err(error) => {
                    self.counts.unreadable += 1;
                    let offset = header.base_offset;
                    let words = format!(
                        "{} on {broker}: the batch at offset {offset}: {error}",
                        self.name(at)
                    );
                    out.fault(UNREADABLE, &words);
                    return lane.is_wrong(UNREADABLE, || words);
                }
            },
        };
        self.counts.records += sum.count;
        self.brought += sum.count;
        out.records(&RecordsIn {
            count: sum.count,
            bytes: sum.bytes,
            arrived_ns: stamp.arrived_ns,
        });
        if self.stamps.is_none() {
            let arrived_ns = i128::from(stamp.arrived_ns) + self.realtime_offset_ns;
            let age_ns = arrived_ns - i128::from(header.max_timestamp_ms) * 1_000_000;
            // Without a time of its own, a record says −1. An age beyond 292 years is no age.
            if let (Ok(age_ns), true) = (i64::try_from(age_ns), header.max_timestamp_ms > 0) {
                out.aged(&Aged {
                    request: 0,
                    age: Age::OfTimestamp,
                    since_ns: stamp.arrived_ns,
                    age_ns,
                });
            }
        }
    }

    /// Walks the records from this offset on.
    fn walk(
        &mut self,
        batch: &Scanned<'_>,
        body: &[u8],
        from: i64,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Result<Sum, String> {
        let body = self.unpacker.unpack(&batch.header, body);
        let body = body.map_err(|error| error.to_string())?;
        let mut sum = Sum::default();
        for record in batch.header.records(body) {
            let record = record.map_err(|error| error.to_string())?;
            if record.offset < from {
                continue;
            }
            let value = record.value.unwrap_or_default();
            if let Some(stamps) = self.stamps {
                let Some(intended_ns) = stamps.of_value(value, stamp.seen_ns) else {
                    self.counts.foreign += 1;
                    continue;
                };
                out.aged(&Aged {
                    request: 0,
                    age: Age::EndToEnd,
                    since_ns: intended_ns,
                    age_ns: stamp.arrived_ns.wrapping_sub(intended_ns).cast_signed(),
                });
            }
            sum.count += 1;
            sum.bytes += (record.key.map_or(0, <[u8]>::len) + value.len()) as u64;
        }
        Ok(sum)
    }
}

/// What reading changes of a lane while its scanner is borrowed.
#[derive(Debug)]
pub struct LaneView<'a> {
    pub asked: &'a [u32],
    pub place: &'a mut usize,
    pub source: &'a mut Option<u32>,
    pub wrong: &'a mut Option<Wrong>,
}

impl LaneView<'_> {
    fn is_wrong(&mut self, class: ErrorClass, words: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            *self.wrong = Some(Wrong {
                class,
                words: words(),
            });
        }
    }

    /// Which of the sources it is: brokers answer in the order of the request, so it is the next one nearly always.
    fn find(
        &mut self,
        head: &PartitionHead<'_>,
        sources: &[Source],
        topics: &[String],
    ) -> Option<u32> {
        let count = self.asked.len();
        let is_it = |&at: &u32| {
            sources.get(at as usize).is_some_and(|source| {
                source.partition == head.partition
                    && topics[usize::from(source.topic)].as_bytes() == head.topic
            })
        };
        for step in 0..count {
            let place = (*self.place + step) % count;
            if is_it(&self.asked[place]) {
                *self.place = place + 1;
                return Some(self.asked[place]);
            }
        }
        None
    }
}

/// The parts of a lane: its scanner, and what reading changes.
pub fn parts(lane: &mut Lane) -> (&mut FetchScanner, LaneView<'_>) {
    let Lane {
        scanner,
        asked,
        place,
        source,
        wrong,
        ..
    } = lane;
    let view = LaneView {
        asked,
        place,
        source,
        wrong,
    };
    (scanner, view)
}
