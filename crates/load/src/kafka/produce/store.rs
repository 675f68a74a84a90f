//! The batches of a producer: a fixed number, filled, sent, and filled again.

use tare_kafka::batch::{Batch, Record};

use crate::client::{Ticket, WaitCause};
use crate::kafka::outbox::Segments;

/// Tickets and how many of each: the records of a batch, in order.
pub(super) type Pieces = Vec<(Ticket, u32)>;

/// A batch and whose records are in it.
#[derive(Debug)]
pub(super) struct Slot {
    pub batch: Batch,
    pub pieces: Pieces,
    pub partition: u32,
    /// When its first record came.
    pub opened_ns: u64,
    /// Place among the batches of its partition.
    pub order: u64,
    /// Place of its first record among all of the partition.
    pub first: u64,
    /// Number of its first record, once it has been sent.
    pub sequence: Option<i32>,
    /// When its first byte went for the first time.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub blocked: Option<WaitCause>,
    pub tries: u32,
    /// Whether it may have been written though nobody acknowledged it.
    pub in_doubt: bool,
    /// Bytes that its request has in front of it.
    pub before: usize,
    /// The topic whose form it has.
    topic: usize,
}

/// The batches.
#[derive(Debug)]
pub(super) struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    max: usize,
    forms: Vec<Record>,
    room_bytes: usize,
    size_bytes: usize,
}

impl Store {
    /// At most `max` batches of a size, with room in front of each for what a request says. Each topic has a form.
    pub fn new(max: usize, room_bytes: usize, size_bytes: usize, forms: Vec<Record>) -> Self {
        Self {
            slots: Vec::with_capacity(max.min(4096)),
            free: Vec::with_capacity(max.min(4096)),
            max,
            forms,
            room_bytes,
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
                    batch: Batch::new(self.room_bytes, self.size_bytes, self.forms[topic].clone()),
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
                    before: 0,
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

    /// A batch is over.
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
    /// Enters records of a run.
    #[inline]
    pub fn note(&mut self, ticket: Ticket, count: u32) {
        match self.pieces.last_mut() {
            Some((last, of)) if *last == ticket => *of += count,
            _ => self.pieces.push((ticket, count)),
        }
    }
}

impl Segments for Store {
    #[inline]
    fn segment(&self, id: u32) -> &[u8] {
        let slot = &self.slots[id as usize];
        slot.batch.framed(slot.before, 0)
    }
}
