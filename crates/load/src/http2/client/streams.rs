//! The streams under way on one connection: a fixed number of places, found by stream id without a search.

use std::fmt::Display;

use super::super::codec::Section;
use crate::arrivals::NEVER;
use crate::client::{Bound, Done, Due, Outcome, Outlet, Stamp, WaitCause};

/// Stream ids of resets remembered: frames that were on the way are then no fault of the server's.
const RESETS_KEPT: usize = 256;

/// One exchange on its stream.
#[derive(Debug)]
pub struct Stream<P> {
    /// Stream id; 0 while the place is free.
    pub id: u32,
    /// The exchange.
    pub due: Due,
    /// How often it was given back unprocessed.
    pub tries: u8,
    /// What its time limit counts from; never before its bytes were given to the driver.
    pub begun_ns: u64,
    /// When its first byte went to the kernel.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// The head of the answer, once it is there.
    pub head: Option<Section>,
    /// Interim answers so far.
    pub interim: u8,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Body bytes sent.
    pub body_sent: u64,
    /// Body bytes that may go, as far as the pace of the body's parts says.
    pub body_let: u64,
    /// Parts of the body among them.
    pub parts_let: u32,
    /// Where the sending of the body stands.
    pub sending: Sending,
    /// Bytes that the server takes on this stream.
    pub send_window: i64,
    /// Bytes that we still take.
    pub receive_window: i64,
    /// How far the body was looked at.
    pub progress: P,
}

/// Where the sending of a body stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Everything is sent.
    Over,
    /// It has its turn among the senders.
    Queued,
    /// The window of its stream is used up.
    Stalled,
    /// Its next part may not go yet.
    Held,
}

/// What a stream begins with.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Stream id.
    pub id: u32,
    /// The exchange.
    pub due: Due,
    /// How often it was given back unprocessed.
    pub tries: u8,
    /// Why it was not begun at once.
    pub waited: Option<WaitCause>,
    /// Bytes that the server takes on it.
    pub send_window: i64,
    /// Bytes that we take on it.
    pub receive_window: i64,
}

/// An exchange that has left its stream.
#[derive(Debug)]
pub struct Gone<P> {
    /// Stream id it had.
    pub id: u32,
    /// The exchange.
    pub due: Due,
    /// How often it was given back unprocessed.
    pub tries: u8,
    /// When its first byte went to the kernel.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// Where the sending of the body stood.
    pub sending: Sending,
    /// How far the body was looked at.
    pub progress: P,
}

impl<P> Gone<P> {
    /// Enters its end.
    #[inline]
    pub fn done(
        &self,
        outcome: Outcome,
        at: (Stamp, Bound),
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let (ended, bound) = at;
        let &Gone {
            sent_ns, waited, ..
        } = self;
        out.done(
            self.due.ticket,
            &Done {
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

/// The places.
#[derive(Debug)]
pub struct Streams<P> {
    places: Vec<Stream<P>>,
    free: Vec<u16>,
    /// The place that a stream id most probably has; a long-lived stream may have lost its entry to a later one.
    hints: Vec<u16>,
}

impl<P: Default> Streams<P> {
    /// Places for so many streams.
    #[must_use]
    pub fn new(max: u16) -> Self {
        let place = |_| Stream {
            id: 0,
            due: Due {
                ticket: crate::client::Ticket(0),
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
            body_let: 0,
            parts_let: 0,
            sending: Sending::Over,
            send_window: 0,
            receive_window: 0,
            progress: P::default(),
        };
        Self {
            places: (0..max).map(place).collect(),
            free: (0..max).rev().collect(),
            hints: vec![0; (2 * usize::from(max)).next_power_of_two()],
        }
    }

    /// Streams under way.
    #[inline]
    #[must_use]
    pub fn live(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Places.
    #[inline]
    #[must_use]
    pub fn max(&self) -> usize {
        self.places.len()
    }

    /// Opens a stream; `None` when all places are taken.
    #[inline]
    pub fn open(&mut self, opening: Opening) -> Option<u16> {
        let at = self.free.pop()?;
        let hint = self.hint(opening.id);
        self.hints[hint] = at;
        let stream = &mut self.places[usize::from(at)];
        stream.id = opening.id;
        stream.due = opening.due;
        stream.tries = opening.tries;
        stream.waited = opening.waited;
        stream.send_window = opening.send_window;
        stream.receive_window = opening.receive_window;
        stream.begun_ns = NEVER;
        stream.sent_ns = None;
        stream.head = None;
        stream.interim = 0;
        stream.body_bytes = 0;
        stream.body_sent = 0;
        stream.body_let = 0;
        stream.parts_let = 0;
        stream.sending = Sending::Over;
        stream.progress = P::default();
        Some(at)
    }

    /// The place of a stream under way.
    #[inline]
    #[must_use]
    pub fn find(&self, id: u32) -> Option<u16> {
        let at = self.hints[self.hint(id)];
        if self.places.get(usize::from(at))?.id == id {
            return Some(at);
        }
        self.places
            .iter()
            .position(|stream| stream.id == id)
            .map(|at| at as u16)
    }

    /// The stream at a place.
    #[inline]
    #[must_use]
    pub fn at(&mut self, at: u16) -> &mut Stream<P> {
        &mut self.places[usize::from(at)]
    }

    /// Frees a place.
    #[inline]
    pub fn close(&mut self, at: u16) -> Gone<P> {
        self.free.push(at);
        let stream = &mut self.places[usize::from(at)];
        Gone {
            id: std::mem::take(&mut stream.id),
            due: stream.due,
            tries: stream.tries,
            sent_ns: stream.sent_ns,
            waited: stream.waited,
            sending: stream.sending,
            progress: std::mem::take(&mut stream.progress),
        }
    }

    /// The place of the highest stream above an id.
    #[must_use]
    pub fn highest_above(&self, id: u32) -> Option<u16> {
        let above = self
            .places
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.id > id);
        above
            .max_by_key(|(_, stream)| stream.id)
            .map(|(at, _)| at as u16)
    }

    /// The place of any stream under way for which something holds.
    #[must_use]
    pub fn any(&self, mut holds: impl FnMut(&Stream<P>) -> bool) -> Option<u16> {
        let mut live = self
            .places
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.id != 0);
        live.find(|(_, stream)| holds(stream))
            .map(|(at, _)| at as u16)
    }

    /// All streams under way.
    pub fn each(&mut self) -> impl Iterator<Item = (u16, &mut Stream<P>)> {
        let places = self.places.iter_mut().enumerate();
        places
            .filter(|(_, stream)| stream.id != 0)
            .map(|(at, stream)| (at as u16, stream))
    }

    #[inline]
    fn hint(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.hints.len() - 1)
    }
}

/// The streams that we reset lately.
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
    /// Notes one.
    pub fn add(&mut self, id: u32) {
        self.ids[self.count % RESETS_KEPT] = id;
        self.count += 1;
    }

    /// Whether we reset it, or may have: with more resets than are remembered nobody can be blamed.
    #[must_use]
    pub fn may_contain(&self, id: u32) -> bool {
        self.count > RESETS_KEPT || self.ids.contains(&id)
    }

    /// Of a fresh connection.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Ticket;

    fn opening(id: u32) -> Opening {
        let due = Due {
            ticket: Ticket(id),
            request: 0,
        };
        Opening {
            id,
            due,
            tries: 0,
            waited: None,
            send_window: 0,
            receive_window: 0,
        }
    }

    #[test]
    fn a_long_lived_stream_is_found_although_later_ones_took_its_hint() {
        let mut streams = Streams::<()>::new(4);
        let old = streams.open(opening(1)).unwrap();
        for id in (3..2_000).step_by(2) {
            let at = streams.open(opening(id)).unwrap();
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
        assert!(streams.open(opening(1)).is_some() && streams.open(opening(3)).is_some());
        assert!(streams.open(opening(5)).is_none());
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
