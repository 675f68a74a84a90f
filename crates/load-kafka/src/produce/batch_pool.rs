//! The batches of a producer: a pool of limited size, reused.

use tare_kafka::batch::{EncodedRecord, RecordBatchBuilder};

use crate::send_queue::Segments;
use tare_load::client::{ExchangeId, WaitCause};

/// The records of a batch, in order: tickets and their counts.
pub(super) type Pieces = Vec<(ExchangeId, u32)>;

/// A batch, its records and its state.
#[derive(Debug)]
pub(super) struct Slot {
    pub batch: RecordBatchBuilder,
    pub pieces: Pieces,
    pub partition: u32,
    /// When its first record was released.
    pub opened_ns: u64,
    /// Order of opening, among the batches of all partitions.
    pub order: u64,
    /// Index of its first record among all of the partition.
    pub first: u64,
    /// Sequence of its first record, once it has been sent.
    pub sequence: Option<i32>,
    /// When its first byte was first written.
    pub sent_ns: Option<u64>,
    /// Why it was not sent immediately.
    pub blocked: Option<WaitCause>,
    pub tries: u32,
    /// Whether it may have been written without an acknowledgement.
    pub in_doubt: bool,
    /// Bytes of its request that precede it.
    pub prefix_bytes: usize,
    /// The topic whose record it repeats.
    topic: usize,
}

#[derive(Debug)]
pub(super) struct BatchPool {
    slots: Vec<Slot>,
    free: Vec<u32>,
    max: usize,
    forms: Vec<EncodedRecord>,
    prefix_bytes_max: usize,
    size_bytes: usize,
}

impl BatchPool {
    /// At most `max` batches of a size, with space before each for fields of the request. Each topic has a record to repeat.
    pub fn new(
        max: usize,
        prefix_bytes_max: usize,
        size_bytes: usize,
        forms: Vec<EncodedRecord>,
    ) -> Self {
        Self {
            slots: Vec::with_capacity(max.min(4096)),
            free: Vec::with_capacity(max.min(4096)),
            max,
            forms,
            prefix_bytes_max,
            size_bytes,
        }
    }

    /// An empty batch for a partition of a topic; `None` when all are in use.
    pub fn open(&mut self, topic: usize, partition: u32, order: u64, now_ns: u64) -> Option<u32> {
        // The one used last is still in the cache.
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.slots.len() < self.max => {
                self.slots.push(Slot {
                    batch: RecordBatchBuilder::new(
                        self.prefix_bytes_max,
                        self.size_bytes,
                        self.forms[topic].clone(),
                    ),
                    pieces: Vec::with_capacity(64),
                    partition,
                    opened_ns: 0,
                    order: 0,
                    first: 0,
                    sequence: None,
                    sent_ns: None,
                    blocked: None,
                    tries: 0,
                    in_doubt: false,
                    prefix_bytes: 0,
                    topic,
                });
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        let form = &self.forms[topic];
        let slot = &mut self.slots[at as usize];
        slot.batch.clear();
        if slot.topic != topic {
            slot.batch.take_form(form);
            slot.topic = topic;
        }
        slot.pieces.clear();
        slot.partition = partition;
        slot.opened_ns = now_ns;
        slot.order = order;
        slot.sequence = None;
        slot.sent_ns = None;
        slot.blocked = None;
        slot.tries = 0;
        slot.in_doubt = false;
        Some(at)
    }

    /// Returns a batch to the pool.
    pub fn close(&mut self, at: u32) {
        self.slots[at as usize].pieces.clear();
        self.free.push(at);
    }

    #[inline]
    pub fn slot(&self, at: u32) -> &Slot {
        &self.slots[at as usize]
    }

    #[inline]
    pub fn slot_mut(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[at as usize]
    }

    /// Every batch, whether in use or not; those that are not have no pieces.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0..).zip(&self.slots)
    }
}

impl Slot {
    /// Adds records of one ticket.
    #[inline]
    pub fn add_records(&mut self, ticket: ExchangeId, count: u32) {
        match self.pieces.last_mut() {
            Some((last, of)) if *last == ticket => *of += count,
            _ => self.pieces.push((ticket, count)),
        }
    }
}

impl Segments for BatchPool {
    #[inline]
    fn segment(&self, id: u32) -> &[u8] {
        let slot = &self.slots[id as usize];
        slot.batch.framed(slot.prefix_bytes, 0)
    }
}
