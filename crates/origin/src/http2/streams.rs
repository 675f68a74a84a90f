//! The streams of one connection: found by id, kept in slots whose buffers are reused.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::request::Request;
use crate::behaviour::After;
use crate::grpc::{CallState, Code};

/// Capacity that a slot keeps between streams.
pub(super) const KEEP_BYTES: usize = 16 * 1024;

/// One exchange.
#[derive(Debug)]
pub(super) struct Stream {
    pub id: u32,
    pub request: Request,
    pub client: ClientSide,
    pub stage: Stage,
    pub arrived_ns: Option<u64>,
    pub received_bytes: u64,
    /// Received bytes not yet returned by WINDOW_UPDATE of the stream.
    pub uncredited_bytes: u32,
    pub window_bytes: i64,
    pub deadline_ns: Option<u64>,
    /// Received and unprocessed: a body to echo, messages of a call.
    pub inbox: Vec<u8>,
    pub inbox_taken: usize,
    pub call: CallState,
    /// The size that a behaviour gives to the messages of a call.
    pub pattern_bytes: u64,
    pub answer: Answer,
    /// It is in the queue of those that have something to send.
    pub is_queued: bool,
}

/// Whether the client may send more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientSide {
    Open,
    Ended,
}

/// The stage of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request is incomplete, or a call is in progress.
    Open,
    /// Delayed by a timer.
    Delayed,
    /// The answer is decided.
    Answering,
}

/// The answer to be sent.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub head: Option<Head>,
    pub after: After,
    /// Bytes to send before those of the body pattern.
    pub outbox: Vec<u8>,
    pub outbox_sent: usize,
    pub pattern_bytes: u64,
    pub pattern_bytes_sent: u64,
    pub end: End,
}

/// Headers that are not yet sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub status: u16,
    pub content_type: &'static str,
    pub length: Option<u64>,
    pub timestamps: bool,
}

impl Head {
    /// Status 200.
    pub(super) fn of(content_type: &'static str) -> Self {
        Self {
            status: 200,
            content_type,
            length: None,
            timestamps: false,
        }
    }
}

/// What follows the data of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum End {
    /// More data.
    #[default]
    Open,
    /// The end of the stream.
    Stream,
    /// Trailers with the status of a call.
    Trailers(Code),
}

impl Answer {
    pub(super) fn left_bytes(&self) -> u64 {
        (self.outbox.len() - self.outbox_sent) as u64
            + (self.pattern_bytes - self.pattern_bytes_sent)
    }

    /// Drops unsent data.
    pub(super) fn cut(&mut self) {
        self.outbox.clear();
        self.outbox_sent = 0;
        self.pattern_bytes = self.pattern_bytes_sent;
    }
}

impl Stream {
    /// Capacity of its buffers.
    pub(super) fn held_bytes(&self) -> usize {
        self.inbox.capacity() + self.answer.outbox.capacity()
    }

    /// Whether a behaviour replaces a call's answer by one that is not gRPC, or by a reset.
    pub(super) fn is_cut_short(&self) -> bool {
        let plain = self.answer.head.is_some_and(|head| head.status != 200);
        plain || self.answer.after == After::Reset
    }

    /// A new stream in a slot: the buffers stay.
    fn begin(&mut self, id: u32, request: Request, window_bytes: i64) {
        let mut buffers = [&mut self.inbox, &mut self.answer.outbox].map(std::mem::take);
        buffers.iter_mut().for_each(Vec::clear);
        *self = Self::new(id, request, window_bytes);
        [self.inbox, self.answer.outbox] = buffers;
    }

    fn new(id: u32, request: Request, window_bytes: i64) -> Self {
        Self {
            id,
            request,
            client: ClientSide::Open,
            stage: Stage::Open,
            arrived_ns: None,
            received_bytes: 0,
            uncredited_bytes: 0,
            window_bytes,
            deadline_ns: None,
            inbox: Vec::new(),
            inbox_taken: 0,
            call: CallState::default(),
            pattern_bytes: 0,
            answer: Answer::default(),
            is_queued: false,
        }
    }
}

/// Ids are sequential per client, so a cheap hash matters more than a good one.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// All streams of a connection. An id of 0 marks a free slot.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    free: Vec<usize>,
    by_id: HashMap<u32, usize, BuildHasherDefault<IdHasher>>,
}

impl Streams {
    pub(super) fn open(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn add(&mut self, id: u32, request: Request, window_bytes: i64) -> usize {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot].begin(id, request, window_bytes);
                slot
            }
            None => {
                self.slots.push(Stream::new(id, request, window_bytes));
                self.slots.len() - 1
            }
        };
        self.by_id.insert(id, slot);
        slot
    }

    pub(super) fn find(&self, id: u32) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Capacity of the buffers of all slots, also of those that are free.
    pub(super) fn held_bytes(&self) -> usize {
        self.slots.iter().map(Stream::held_bytes).sum()
    }

    /// Frees a slot, whose buffers keep this capacity.
    pub(super) fn remove(&mut self, slot: usize, keep_bytes: usize) {
        let stream = &mut self.slots[slot];
        if self.by_id.remove(&stream.id).is_some() {
            stream.id = 0;
            for buffer in [&mut stream.inbox, &mut stream.answer.outbox] {
                buffer.clear();
                buffer.shrink_to(keep_bytes);
            }
            self.free.push(slot);
        }
    }

    /// The slot's stream; its id is 0 if there is none.
    pub(super) fn at(&mut self, slot: usize) -> &mut Stream {
        &mut self.slots[slot]
    }

    /// The slots in use.
    pub(super) fn each(&mut self) -> impl Iterator<Item = (usize, &mut Stream)> {
        let numbered = self.slots.iter_mut().enumerate();
        numbered.filter(|(_, stream)| stream.id != 0)
    }
}
