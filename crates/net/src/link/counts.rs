//! Counts of packets that crossed a link, or were dropped and why.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::offload::WireSize;

/// Both directions since the link started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsPerDirection {
    /// From a to b.
    pub there: DirectionCounts,
    /// From b to a.
    pub back: DirectionCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionCounts {
    /// Packets that entered, as they would be on a wire.
    pub entered_packets: u64,
    pub entered_bytes: u64,
    /// Packets handed to the other end.
    pub passed_packets: u64,
    pub passed_bytes: u64,
    /// Writes that it took: several packets of a stream cross as one piece.
    pub passed_pieces: u64,
    /// Packets lost as planned.
    pub lost_packets: u64,
    /// Packets dropped because the queue before the rate limit was full.
    pub queue_full_packets: u64,
    /// Packets dropped because the links' buffer pool was exhausted.
    pub no_buffer_packets: u64,
    /// Packets that the device at the other end rejected (it is down, or they are malformed).
    pub refused_packets: u64,
    /// Packets that the device dropped before the link read them; `None`: unknown.
    pub overflowed: Option<u64>,
    /// Pieces written more than 200 µs late: the machine was busy.
    pub late_writes: u64,
    /// Largest lateness of a piece.
    pub late_max_ns: u64,
}

impl DirectionCounts {
    /// Packets that entered and were dropped by the link.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.lost_packets + self.queue_full_packets + self.no_buffer_packets + self.refused_packets
    }
}

/// Pieces later than this are counted: the limit for a round trip is 300 µs, and it has two directions.
const LATE_NS: u64 = 200_000;

/// Counters of one direction. Each is written by one thread only.
#[derive(Debug, Default)]
pub(super) struct DirectionCounters {
    pub(super) reader: ReaderCounters,
    pub(super) writer: WriterCounters,
}

/// On a cache line of its own, apart from the other thread's.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct ReaderCounters {
    pub(super) packets: Counter,
    pub(super) bytes: Counter,
    pub(super) lost: Counter,
    pub(super) queue_full: Counter,
    pub(super) no_buffer: Counter,
}

impl ReaderCounters {
    /// Counts a piece that entered.
    pub(super) fn entered(&self, wire_size: WireSize) {
        self.packets.add(wire_size.packets);
        self.bytes.add(wire_size.bytes);
    }
}

/// On a cache line of its own, apart from the other thread's.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WriterCounters {
    pub(super) packets: Counter,
    pub(super) bytes: Counter,
    pub(super) pieces: Counter,
    pub(super) refused: Counter,
    late: Counter,
    late_max_ns: Counter,
}

impl WriterCounters {
    /// Records by how much a piece was late.
    pub(super) fn late_by(&self, late_ns: u64) {
        if late_ns > LATE_NS {
            self.late.add(1);
        }
        if late_ns > self.late_max_ns.get() {
            self.late_max_ns.0.store(late_ns, Ordering::Relaxed);
        }
    }
}

/// A counter with one writer: no locked instruction is needed.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl DirectionCounters {
    pub(super) fn read(&self) -> DirectionCounts {
        let (reader, writer) = (&self.reader, &self.writer);
        DirectionCounts {
            entered_packets: reader.packets.get(),
            entered_bytes: reader.bytes.get(),
            passed_packets: writer.packets.get(),
            passed_bytes: writer.bytes.get(),
            passed_pieces: writer.pieces.get(),
            lost_packets: reader.lost.get(),
            queue_full_packets: reader.queue_full.get(),
            no_buffer_packets: reader.no_buffer.get(),
            refused_packets: writer.refused.get(),
            overflowed: None,
            late_writes: writer.late.get(),
            late_max_ns: writer.late_max_ns.get(),
        }
    }
}
