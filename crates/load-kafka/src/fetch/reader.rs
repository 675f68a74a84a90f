//! Interprets fetch responses: advances positions, counts records, reports corrupt batches.

use std::fmt::Display;

use tare_kafka::fetch::{Event, PartitionHead, Scanned};
use tare_kafka::records::BatchDecompressor;
use tare_kafka::send_time::SendTimestamps;
use tare_record::agent::ErrorSource;
use tare_record::load::FetchDecode;

use super::broker_fetch::{FetchFailure, ResponseState};
use super::cursor::{EARLIEST, LATEST, PartitionCursor};
use crate::RETRY_BACKOFF_NS;
use crate::errors::{ErrorCode, RetryAction};
use tare_load::client::{AgeKind, ErrorClass, Outlet, RecordAge, RecordArrivals, Stamp};
use tare_load::protocol_counters;

/// CRC mismatch of a batch.
const CORRUPT: ErrorClass = ErrorClass::of("corrupt-batch", ErrorSource::Target);

/// A batch of an unsupported or invalid format.
const UNREADABLE: ErrorClass = ErrorClass::of("invalid-batch", ErrorSource::Target);

/// `UNKNOWN_SERVER_ERROR`.
const UNKNOWN_SERVER_ERROR: i16 = -1;

/// Limit of a decompressed batch; producers limit theirs, mostly to a megabyte.
const UNPACKED_MAX_BYTES: usize = 32 << 20;

protocol_counters! {
    /// Counters of a consumer.
    pub struct FetchCounts {
        batches = "record-batches",
        /// Records, as reported to the engine.
        records = "records",
        /// Batches with a CRC mismatch.
        corrupt = "corrupt-batches",
        /// Batches of an unsupported or invalid format.
        unreadable = "invalid-batches",
        /// Partial batches at the end of a partition's data: the next fetch returns them.
        cut = "partial-batches",
        /// Responses without a record.
        empty = "fetches-without-records",
        /// Positions that were out of range and reset.
        resets = "offset-resets",
        /// Records of another run.
        of_other_runs = "records-of-other-runs",
        /// Responses with a throttle time.
        throttled = "throttled-responses",
        /// The time that they said, in ms.
        throttled_ms = "throttle-time-ms",
        /// Error codes of partitions.
        partition_errors = "partition-errors",
    }
}

/// Interprets fetch responses; owns the partitions' positions.
#[derive(Debug)]
pub struct FetchReader {
    pub cursors: Vec<PartitionCursor>,
    pub topics: Vec<String>,
    pub counts: FetchCounts,
    stamps: Option<SendTimestamps>,
    unpacker: BatchDecompressor,
    /// Realtime − monotonic clock.
    realtime_offset_ns: i128,
    /// Whether a partition may have a new leader.
    pub needs_metadata: bool,
    /// Whether the position of a partition is to be looked up.
    pub needs_offsets: bool,
    /// Why a partition last failed permanently.
    pub broken_by: Option<String>,
}

/// Records and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl FetchReader {
    pub fn new(topics: &[String], decode: FetchDecode, realtime_offset_ns: i128) -> Self {
        Self {
            cursors: Vec::new(),
            topics: topics.to_vec(),
            counts: FetchCounts::default(),
            stamps: match decode {
                FetchDecode::Timestamps { run } => Some(SendTimestamps::of_run(run)),
                FetchDecode::Batches | FetchDecode::Records => None,
            },
            unpacker: BatchDecompressor::new(UNPACKED_MAX_BYTES),
            realtime_offset_ns,
            needs_metadata: false,
            needs_offsets: false,
            broken_by: None,
        }
    }

    /// Handles one event of a broker's response. `is_stale`: the fetch was of an earlier assignment, its records are ignored.
    pub fn take(
        &mut self,
        (response, is_stale): (&mut ResponseState, bool),
        event: Event<'_>,
        (stamp, broker): (Stamp, &dyn Display),
        out: &mut impl Outlet,
    ) {
        match event {
            Event::Answer(head) => {
                response.records = 0;
                response.throttle_ms = head.throttle_ms;
                self.counts.throttled += u64::from(head.throttle_ms > 0);
                self.counts.throttled_ms += u64::from(head.throttle_ms.max(0).unsigned_abs());
                let code = ErrorCode(head.error);
                if code.is_error() {
                    response.note_failure(code.class(), || format!("{broker}: {code}"));
                }
            }
            Event::End => self.counts.empty += u64::from(response.records == 0),
            Event::Partition(head) => {
                response.cursor = match is_stale {
                    true => None,
                    false => response.find(&head, &self.cursors, &self.topics),
                };
                if let Some(at) = response.cursor {
                    self.partition(at, &head, response, broker, out);
                }
            }
            Event::Batch(batch) => {
                if let Some(at) = response.cursor {
                    self.batch(at, &batch, response, (stamp, broker), out);
                }
            }
            Event::Invalid(error) => {
                self.counts.unreadable += 1;
                if let Some(at) = response.cursor {
                    let words = format!("{} on {broker}: {error}", self.name(at));
                    self.cursors[at as usize].broken = true;
                    self.broken_by = Some(words.clone());
                    self.needs_offsets = true;
                    out.fault(UNREADABLE, &words);
                    response.note_failure(UNREADABLE, || words);
                }
            }
            Event::Partial(_) => self.counts.cut += 1,
        }
    }

    /// A partition as messages name it.
    fn name(&self, at: u32) -> String {
        let cursor = &self.cursors[at as usize];
        format!(
            "{}-{}",
            self.topics[usize::from(cursor.topic)],
            cursor.partition
        )
    }

    fn partition(
        &mut self,
        at: u32,
        head: &PartitionHead<'_>,
        response: &mut ResponseState,
        broker: &dyn Display,
        out: &impl Outlet,
    ) {
        let code = ErrorCode(head.error);
        let cursor = &mut self.cursors[at as usize];
        if !code.is_error() {
            cursor.high_watermark = Some(head.high_watermark);
            cursor.initial_end.get_or_insert(head.high_watermark);
            return;
        }
        self.counts.partition_errors += 1;
        cursor.paused_until_ns = out.now_ns().saturating_add(RETRY_BACKOFF_NS);
        /// `OFFSET_OUT_OF_RANGE`.
        const OUT_OF_RANGE: i16 = 1;
        match code.retry_action() {
            _ if code.0 == OUT_OF_RANGE => {
                self.counts.resets += 1;
                // As `auto.offset.reset`: to the end if the load began there, else to the start.
                cursor.offset_spec = if cursor.offset_spec == LATEST {
                    LATEST
                } else {
                    EARLIEST
                };
                cursor.position = None;
                self.needs_offsets = true;
            }
            RetryAction::Refresh => self.needs_metadata = true,
            RetryAction::Retry => {}
            // Retried, as Kafka's own consumer does.
            RetryAction::GiveUp if code.0 == UNKNOWN_SERVER_ERROR => {}
            RetryAction::GiveUp => cursor.broken = true,
        }
        let words = format!("{} on {broker}: {code}", self.name(at));
        if self.cursors[at as usize].broken {
            self.broken_by = Some(words.clone());
        }
        response.note_failure(code.class(), || words);
    }

    fn batch(
        &mut self,
        at: u32,
        batch: &Scanned<'_>,
        response: &mut ResponseState,
        (stamp, broker): (Stamp, &dyn Display),
        out: &mut impl Outlet,
    ) {
        self.counts.batches += 1;
        let header = &batch.header;
        let cursor = &mut self.cursors[at as usize];
        let from = cursor.position.unwrap_or(0);
        if header.next_offset() <= from {
            return;
        }
        cursor.position = Some(header.next_offset());
        if let Err(error) = batch.checked {
            self.counts.corrupt += 1;
            let words = format!("{} on {broker}: {error}", self.name(at));
            out.fault(CORRUPT, &words);
            return response.note_failure(CORRUPT, || words);
        }
        if header.attributes.is_control() {
            return;
        }
        // A fetch from within a batch returns all of it.
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
                    return response.note_failure(UNREADABLE, || words);
                }
            },
        };
        self.counts.records += sum.count;
        response.records += sum.count;
        out.record_arrivals(&RecordArrivals {
            count: sum.count,
            bytes: sum.bytes,
            arrived_ns: stamp.arrived_ns,
        });
        if self.stamps.is_none() {
            let arrived_ns = i128::from(stamp.arrived_ns) + self.realtime_offset_ns;
            let age_ns = arrived_ns - i128::from(header.max_timestamp_ms) * 1_000_000;
            // Without a timestamp, a record has −1. Ages beyond 292 years are dropped.
            if let (Ok(age_ns), true) = (i64::try_from(age_ns), header.max_timestamp_ms > 0) {
                out.record_age(&RecordAge {
                    request: 0,
                    age: AgeKind::OfTimestamp,
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
                    self.counts.of_other_runs += 1;
                    continue;
                };
                out.record_age(&RecordAge {
                    request: 0,
                    age: AgeKind::EndToEnd,
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

impl ResponseState {
    fn note_failure(&mut self, class: ErrorClass, words: impl FnOnce() -> String) {
        if self.failure.is_none() {
            self.failure = Some(FetchFailure {
                class,
                words: words(),
            });
        }
    }

    /// Index of the partition's cursor. Brokers respond in the order of the request, so it is nearly always the next one.
    fn find(
        &mut self,
        head: &PartitionHead<'_>,
        cursors: &[PartitionCursor],
        topics: &[String],
    ) -> Option<u32> {
        let count = self.requested.len();
        let is_it = |&at: &u32| {
            cursors.get(at as usize).is_some_and(|cursor| {
                cursor.partition == head.partition
                    && topics[usize::from(cursor.topic)].as_bytes() == head.topic
            })
        };
        for step in 0..count {
            let index = (self.index + step) % count;
            if is_it(&self.requested[index]) {
                self.index = index + 1;
                return Some(self.requested[index]);
            }
        }
        None
    }
}
