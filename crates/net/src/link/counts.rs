//! What crossed a link, and what was dropped and why.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::offload::OnWire;

/// Both ways since the link started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// From a to b.
    pub there: WayCounts,
    /// From b to a.
    pub back: WayCounts,
}

/// One way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayCounts {
    /// Packets taken in, as they would be on a wire.
    pub entered_packets: u64,
    /// Bytes of them.
    pub entered_bytes: u64,
    /// Packets handed to the other end.
    pub passed_packets: u64,
    /// Bytes of them.
    pub passed_bytes: u64,
    /// Reads and writes that it took: several packets of a stream cross as one piece.
    pub passed_pieces: u64,
    /// Packets lost as planned.
    pub lost_packets: u64,
    /// Packets that found the queue before the rate limit full.
    pub queue_full_packets: u64,
    /// Packets that found no buffer: more was under way than the pool of the links holds.
    pub no_buffer_packets: u64,
    /// Packets that the device at the other end refused (it is down, or they are malformed).
    pub refused_packets: u64,
    /// Packets that the device dropped before the link read them; `None`: the kernel does not say.
    pub overflowed: Option<u64>,
    /// Pieces written over 200 µs after they were due: the machine was busy.
    pub late_pieces: u64,
    /// The latest of all.
    pub late_max_ns: u64,
}

impl WayCounts {
    /// Packets that entered and will never arrive.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.lost_packets + self.queue_full_packets + self.no_buffer_packets + self.refused_packets
    }
}

/// Later than this is worth a count: the bar for a round trip is 300 µs, and it has two ways.
const LATE_NS: u64 = 200_000;

/// The counters as the threads keep them. Each is written by one thread only.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) reader: ReaderTally,
    pub(super) writer: WriterTally,
}

/// On a cache line apart from the other thread's.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct ReaderTally {
    pub(super) packets: Count,
    pub(super) bytes: Count,
    pub(super) lost: Count,
    pub(super) queue_full: Count,
    pub(super) no_buffer: Count,
}

impl ReaderTally {
    /// Notes a piece that came.
    pub(super) fn entered(&self, on_wire: OnWire) {
        self.packets.add(on_wire.packets);
        self.bytes.add(on_wire.bytes);
    }
}

/// On a cache line apart from the other thread's.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WriterTally {
    pub(super) packets: Count,
    pub(super) bytes: Count,
    pub(super) pieces: Count,
    pub(super) refused: Count,
    late: Count,
    late_max_ns: Count,
}

impl WriterTally {
    /// Notes by how much a piece was late.
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
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    pub(super) fn read(&self) -> WayCounts {
        let (reader, writer) = (&self.reader, &self.writer);
        WayCounts {
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
            late_pieces: writer.late.get(),
            late_max_ns: writer.late_max_ns.get(),
        }
    }
}
