//! Open streams of one connection: a fixed number of slots, usually found by stream id without a search.

use std::fmt::Display;

use super::super::codec::FieldSection;
use super::QueuedExchange;
use crate::arrivals::NEVER;
use crate::client::{
    Completion, DueExchange, ExchangeOutcome, Outlet, Stamp, TimestampBound, WaitCause,
};

/// Stream ids of resets remembered: frames for these streams may still arrive and are no protocol error.
const RESETS_KEPT: usize = 256;

/// One exchange on its stream.
#[derive(Debug)]
pub struct Stream<P> {
    /// Stream id; 0 while the slot is free.
    pub id: u32,
    pub due: DueExchange,
    /// How often servers returned it unprocessed.
    pub tries: u8,
    /// Start of its timeout; [`NEVER`] until its first bytes were written or queued.
    pub begun_ns: u64,
    /// When the kernel accepted its first byte.
    pub sent_ns: Option<u64>,
    /// Why it was not sent immediately.
    pub waited: Option<WaitCause>,
    /// The head of the response, once it has arrived.
    pub head: Option<FieldSection>,
    /// Interim responses so far.
    pub interim: u8,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Body bytes sent.
    pub body_sent: u64,
    /// Body bytes that pacing allows to be sent.
    pub body_allowed: u64,
    /// Parts of the body that pacing allows to be sent.
    pub parts_allowed: u32,
    /// State of sending the body.
    pub sending: Sending,
    /// Bytes that the server accepts on this stream.
    pub send_window: i64,
    /// Bytes that the client still accepts on this stream.
    pub receive_window: i64,
    /// Check state of the response body.
    pub progress: P,
}

/// State of sending a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Everything is sent.
    Complete,
    /// It is in the queue of senders.
    Queued,
    /// The stream's window is exhausted.
    Stalled,
    /// Its next part is not due yet.
    Paced,
}

/// The exchange of a closed stream.
#[derive(Debug)]
pub struct FinishedStream<P> {
    /// Stream id it had.
    pub id: u32,
    pub due: DueExchange,
    /// How often servers returned it unprocessed.
    pub tries: u8,
    /// When the kernel accepted its first byte.
    pub sent_ns: Option<u64>,
    /// Why it was not sent immediately.
    pub waited: Option<WaitCause>,
    /// State of sending the body.
    pub sending: Sending,
    /// Check state of the response body.
    pub progress: P,
}

impl<P> FinishedStream<P> {
    /// Reports the end of the exchange.
    #[inline]
    pub fn done(
        &self,
        outcome: ExchangeOutcome,
        at: (Stamp, TimestampBound),
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let (ended, bound) = at;
        let &FinishedStream {
            sent_ns, waited, ..
        } = self;
        out.complete(
            self.due.ticket,
            &Completion {
                outcome,
                sent_ns,
                ended,
                bound,
                waited,
                example,
            },
        );
    }
}

#[derive(Debug)]
pub struct Streams<P> {
    slots: Vec<Stream<P>>,
    free: Vec<u16>,
    /// Probable slot by stream id. A long-lived stream may have lost its entry to a later one.
    hints: Vec<u16>,
}

impl<P: Default> Stream<P> {
    /// Of a free slot.
    fn free() -> Self {
        Self {
            id: 0,
            due: DueExchange {
                ticket: crate::client::ExchangeId(0),
                request: 0,
            },
            tries: 0,
            begun_ns: NEVER,
            sent_ns: None,
            waited: None,
            head: None,
            interim: 0,
            body_bytes: 0,
            body_sent: 0,
            body_allowed: 0,
            parts_allowed: 0,
            sending: Sending::Complete,
            send_window: 0,
            receive_window: 0,
            progress: P::default(),
        }
    }
}

impl<P: Default> Streams<P> {
    /// Slots for `max` streams.
    #[must_use]
    pub fn new(max: u16) -> Self {
        Self {
            slots: (0..max).map(|_| Stream::free()).collect(),
            free: (0..max).rev().collect(),
            hints: vec![0; (2 * usize::from(max)).next_power_of_two()],
        }
    }

    /// Number of open streams.
    #[inline]
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    #[must_use]
    pub fn max(&self) -> usize {
        self.slots.len()
    }

    /// Opens a stream; `None` when no slot is free.
    #[inline]
    pub fn open(
        &mut self,
        id: u32,
        queued: QueuedExchange,
        (send_window, receive_window): (i64, i64),
    ) -> Option<u16> {
        let at = self.free.pop()?;
        let hint = self.hint(id);
        self.hints[hint] = at;
        self.slots[usize::from(at)] = Stream {
            id,
            due: queued.due,
            tries: queued.tries,
            waited: queued.cause,
            send_window,
            receive_window,
            ..Stream::free()
        };
        Some(at)
    }

    /// The slot of an open stream.
    #[inline]
    #[must_use]
    pub fn find(&self, id: u32) -> Option<u16> {
        let at = self.hints[self.hint(id)];
        if self.slots.get(usize::from(at))?.id == id {
            return Some(at);
        }
        self.slots
            .iter()
            .position(|stream| stream.id == id)
            .map(|at| at as u16)
    }

    /// The stream in a slot.
    #[inline]
    #[must_use]
    pub fn at(&mut self, at: u16) -> &mut Stream<P> {
        &mut self.slots[usize::from(at)]
    }

    /// Frees a slot.
    #[inline]
    pub fn close(&mut self, at: u16) -> FinishedStream<P> {
        self.free.push(at);
        let stream = &mut self.slots[usize::from(at)];
        FinishedStream {
            id: std::mem::take(&mut stream.id),
            due: stream.due,
            tries: stream.tries,
            sent_ns: stream.sent_ns,
            waited: stream.waited,
            sending: stream.sending,
            progress: std::mem::take(&mut stream.progress),
        }
    }

    /// The slot of the highest stream above an id.
    #[must_use]
    pub fn highest_above(&self, id: u32) -> Option<u16> {
        let above = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.id > id);
        above
            .max_by_key(|(_, stream)| stream.id)
            .map(|(at, _)| at as u16)
    }

    /// The slot of any open stream that satisfies a condition.
    #[must_use]
    pub fn any(&self, mut holds: impl FnMut(&Stream<P>) -> bool) -> Option<u16> {
        let mut live = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.id != 0);
        live.find(|(_, stream)| holds(stream))
            .map(|(at, _)| at as u16)
    }

    /// All open streams.
    pub fn each(&mut self) -> impl Iterator<Item = (u16, &mut Stream<P>)> {
        let slots = self.slots.iter_mut().enumerate();
        slots
            .filter(|(_, stream)| stream.id != 0)
            .map(|(at, stream)| (at as u16, stream))
    }

    #[inline]
    fn hint(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.hints.len() - 1)
    }
}

/// The streams that the client reset last.
#[derive(Debug)]
pub struct Resets {
    ids: [u32; RESETS_KEPT],
    count: usize,
}

impl Default for Resets {
    fn default() -> Self {
        Self {
            ids: [0; RESETS_KEPT],
            count: 0,
        }
    }
}

impl Resets {
    /// Records a reset.
    pub fn add(&mut self, id: u32) {
        self.ids[self.count % RESETS_KEPT] = id;
        self.count += 1;
    }

    /// Whether the client reset this stream; always true once there were more resets than are remembered.
    #[must_use]
    pub fn may_contain(&self, id: u32) -> bool {
        self.count > RESETS_KEPT || self.ids.contains(&id)
    }

    /// Back to the state of a new connection.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ExchangeId;

    fn open(streams: &mut Streams<()>, id: u32) -> Option<u16> {
        let due = DueExchange {
            ticket: ExchangeId(id),
            request: 0,
        };
        let queued = QueuedExchange {
            due,
            cause: None,
            tries: 0,
        };
        streams.open(id, queued, (0, 0))
    }

    #[test]
    fn a_long_lived_stream_is_found_although_later_ones_took_its_hint() {
        let mut streams = Streams::<()>::new(4);
        let old = open(&mut streams, 1).unwrap();
        for id in (3..2_000).step_by(2) {
            let at = open(&mut streams, id).unwrap();
            assert_eq!(streams.find(id), Some(at));
            assert_eq!(streams.find(1), Some(old));
            streams.close(at);
            assert_eq!(streams.find(id), None);
        }
        assert_eq!(streams.live(), 1);
    }

    #[test]
    fn no_more_streams_are_opened_than_there_are_places() {
        let mut streams = Streams::<()>::new(2);
        assert!(open(&mut streams, 1).is_some() && open(&mut streams, 3).is_some());
        assert!(open(&mut streams, 5).is_none());
        assert_eq!(streams.live(), 2);
    }

    #[test]
    fn a_reset_is_remembered_and_with_too_many_nobody_is_blamed() {
        let mut resets = Resets::default();
        resets.add(7);
        assert!(resets.may_contain(7) && !resets.may_contain(9));
        for id in 0..RESETS_KEPT as u32 {
            resets.add(1001 + id);
        }
        assert!(resets.may_contain(9));
    }
}
