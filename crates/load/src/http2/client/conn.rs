//! One connection: its streams and windows, and everything it sends. What it receives is in `receive`.

use std::collections::VecDeque;

use super::super::codec::frame::{self, END_STREAM, FRAME_BYTES_DEFAULT, Kind, PREFACE};
use super::super::codec::{Codec, Limits};
use super::super::dialect::{Dialect, Pace};
use super::super::error::ErrorCode;
use super::counts::Counts;
use super::output::{Flushed, Output};
use super::streams::{Gone, Opening, Resets, Sending, Streams};
use super::{Waiting, Windows};
use crate::client::{ConnId, Outlet, WaitCause};

/// The window that both sides start with (RFC 9113 §6.9.2).
const WINDOW_BYTES_DEFAULT: u32 = 65_535;

/// Bytes gathered before they are written: a large body is framed in pieces of about this size, not whole.
const PENDING_BYTES: usize = 128 * 1024;

/// Stream ids used on one connection; well before the numbers end it is replaced.
const ID_LAST: u32 = 0x3fff_ffff;

/// Identifiers of the settings we send.
const ENABLE_PUSH: u16 = 0x2;
const INITIAL_WINDOW_SIZE: u16 = 0x4;

/// An empty dynamic table, as the first thing in a header block (RFC 7541 §6.3).
const TABLE_SIZE_ZERO: &[u8] = &[0x20];

/// The size of the header table that a server is expected to have.
pub(super) const TABLE_BYTES_DEFAULT: u32 = 4096;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Closed,
    /// An attempt is under way.
    Connecting {
        /// Its limit.
        deadline_ns: u64,
    },
    /// It is open, and the server's SETTINGS are awaited.
    Greeting {
        /// The limit, counted from the attempt.
        deadline_ns: u64,
    },
    /// In use.
    Open,
}

/// What the server allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub streams_max: u32,
    pub initial_window: i64,
    pub frame_bytes_max: usize,
    /// Its header table became smaller than ours never was: the next block must say so (RFC 7541 §4.2).
    pub announce_table: bool,
}

/// Without any setting of the server's.
const PEER_DEFAULT: Peer = Peer {
    streams_max: u32::MAX,
    initial_window: WINDOW_BYTES_DEFAULT as i64,
    frame_bytes_max: FRAME_BYTES_DEFAULT as usize,
    announce_table: false,
};

/// One connection slot.
#[derive(Debug)]
pub struct Conn<D: Dialect> {
    /// Where it stands.
    pub state: State,
    /// Frames in.
    pub codec: Codec,
    /// Exchanges under way.
    pub streams: Streams<D::Progress>,
    /// Frames out.
    pub output: Output,
    /// Answers since it was opened.
    pub answers: u64,
    /// Whether it stands in the queue of connections with room (perhaps wrongly by now).
    pub offered: bool,
    /// Whether it is listed to be flushed.
    pub dirty: bool,
    pub(super) windows: Windows,
    pub(super) peer: Peer,
    pub(super) next_id: u32,
    /// Of the last exchange that may begin on it.
    id_last: u32,
    pub(super) send_window: i64,
    pub(super) receive_window: i64,
    /// Streams with body to send, in turn.
    pub(super) senders: VecDeque<u16>,
    pub(super) resets: Resets,
    pub(super) goaway: Option<(u32, ErrorCode)>,
    /// Streams begun whose parts go by time, with their period.
    pub(super) to_pace: Vec<(u16, u32, u64)>,
    /// Which connection of this slot it is.
    pub(super) life: u32,
    /// Over all connections of this slot.
    pub counts: Counts,
}

/// How an exchange leaves its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The server ended it.
    Ended,
    /// We end it, and tell the server why.
    Reset(ErrorCode),
}

/// The id of the last stream when so many exchanges may begin on a connection.
pub(super) fn id_last(exchanges_max: u64) -> u32 {
    let last = exchanges_max.max(1).saturating_mul(2) - 1;
    u32::try_from(last).map_or(ID_LAST, |last| last.min(ID_LAST))
}

impl<D: Dialect> Conn<D> {
    /// A slot for a connection of so many streams.
    #[must_use]
    pub fn new(streams: u16, id_last: u32, windows: Windows, limits: Limits) -> Self {
        Self {
            state: State::Closed,
            codec: Codec::new(limits),
            streams: Streams::new(streams),
            output: Output::default(),
            answers: 0,
            offered: false,
            dirty: false,
            windows,
            peer: PEER_DEFAULT,
            next_id: 1,
            id_last,
            send_window: i64::from(WINDOW_BYTES_DEFAULT),
            receive_window: 0,
            senders: VecDeque::with_capacity(usize::from(streams)),
            resets: Resets::default(),
            goaway: None,
            to_pace: Vec::new(),
            life: 0,
            counts: Counts::default(),
        }
    }

    /// Back to a fresh connection. Its exchanges must have left.
    pub fn reset(&mut self) {
        self.codec.reset();
        self.output.reset();
        self.answers = 0;
        self.peer = PEER_DEFAULT;
        self.next_id = 1;
        self.send_window = i64::from(WINDOW_BYTES_DEFAULT);
        self.receive_window = i64::from(self.windows.connection_bytes);
        self.senders.clear();
        self.resets.clear();
        self.goaway = None;
        self.to_pace.clear();
        self.life = self.life.wrapping_add(1);
    }

    /// Begins to speak: the preface, our settings and the connection's window (RFC 9113 §3.4).
    pub fn greet(&mut self) {
        let pending = &mut self.output.pending;
        pending.extend_from_slice(PREFACE);
        let settings = [
            (ENABLE_PUSH, 0),
            (INITIAL_WINDOW_SIZE, self.windows.stream_bytes),
        ];
        frame::write_settings(pending, &settings);
        let more = self
            .windows
            .connection_bytes
            .saturating_sub(WINDOW_BYTES_DEFAULT);
        if more > 0 {
            frame::write_window_update(pending, 0, more);
        }
    }

    /// Streams it can carry at once, as far as is known.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.streams.max().min(self.peer.streams_max as usize)
    }

    /// Whether another exchange can begin on it now.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.state == State::Open
            && self.streams.live() < self.capacity()
            && !self.output.is_blocked()
            && !self.is_leaving()
    }

    /// Whether no more exchanges may begin on it: it is replaced once the last one has left.
    #[inline]
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.goaway.is_some() || self.next_id > self.id_last
    }

    /// The error that the server ended it with, if it did by one.
    #[must_use]
    pub fn goaway_error(&self) -> Option<ErrorCode> {
        self.goaway
            .map(|(_, code)| code)
            .filter(|&code| code != ErrorCode::NO_ERROR)
    }

    /// Begins an exchange. Only with room.
    #[inline]
    pub fn begin(&mut self, waiting: Waiting, request: &D::Request) {
        let outgoing = D::outgoing(request);
        let id = self.next_id;
        let opening = Opening {
            id,
            due: waiting.due,
            tries: waiting.tries,
            waited: waiting.cause,
            send_window: self.peer.initial_window,
            receive_window: i64::from(self.windows.stream_bytes),
        };
        let place = self.streams.open(opening);
        assert!(place.is_some(), "a connection with room has a free stream");
        let Some(place) = place else { return };
        self.next_id += 2;
        let prefix = match std::mem::take(&mut self.peer.announce_table) {
            true => TABLE_SIZE_ZERO,
            false => &[],
        };
        let flags = if outgoing.body.is_empty() {
            END_STREAM
        } else {
            0
        };
        frame::write_block(
            &mut self.output.pending,
            id,
            prefix,
            outgoing.block,
            flags,
            self.peer.frame_bytes_max,
        );
        self.output.begins(place, id);
        self.counts.streams_opened += 1;
        if !outgoing.body.is_empty() {
            let stream = self.streams.at(place);
            stream.parts_let = 1;
            stream.body_let = match D::pace(request) {
                Pace::Free => outgoing.body_bytes,
                Pace::Every(period_ns) => {
                    self.to_pace.push((place, id, period_ns));
                    D::end_of_part(request, 1)
                }
                Pace::Answers => D::end_of_part(request, 1),
            };
            stream.sending = Sending::Queued;
            self.senders.push_back(place);
        }
    }

    /// Lets the parts of a body go up to one; whether more are to come.
    pub(super) fn let_parts(&mut self, place: u16, parts: u32, request: &D::Request) -> bool {
        let stream = self.streams.at(place);
        if parts > stream.parts_let {
            stream.parts_let = parts;
            stream.body_let = D::end_of_part(request, parts);
            if stream.sending == Sending::Held && stream.body_let > stream.body_sent {
                stream.sending = Sending::Queued;
                self.senders.push_back(place);
            }
        }
        stream.body_let < D::outgoing(request).body_bytes
    }

    /// Takes an exchange off its stream.
    #[inline]
    pub fn leave(&mut self, place: u16, how: Leave) -> Gone<D::Progress> {
        let gone = self.streams.close(place);
        self.counts.messages_received += u64::from(D::parts_arrived(&gone.progress));
        if gone.sending == Sending::Queued {
            self.senders.retain(|&sender| sender != place);
        }
        let code = match how {
            Leave::Reset(code) => Some(code),
            // The answer is whole: the rest of the request is wanted no more (RFC 9113 §8.1).
            Leave::Ended if gone.sending != Sending::Over => Some(ErrorCode::CANCEL),
            Leave::Ended => None,
        };
        if let Some(code) = code {
            frame::write_reset(&mut self.output.pending, gone.id, code);
            self.resets.add(gone.id);
            self.counts.resets_sent += 1;
        }
        gone
    }

    /// Gives everything that can be sent to the driver; the earliest time that a new exchange's limit counts from.
    #[inline]
    pub fn flush(
        &mut self,
        conn: ConnId,
        requests: &[D::Request],
        out: &mut impl Outlet,
    ) -> Option<u64> {
        let mut first_ns = None;
        while !self.output.is_blocked() {
            if !self.senders.is_empty() {
                self.frame_bodies(requests);
            }
            match self.output.flush(conn, &mut self.streams, out) {
                Flushed::Nothing => break,
                Flushed::Sent(at_ns) | Flushed::Queued(at_ns) => {
                    first_ns = first_ns.or(Some(at_ns))
                }
            }
        }
        first_ns
    }

    /// Frames bodies in turn, as far as the windows and the buffer allow.
    fn frame_bodies(&mut self, requests: &[D::Request]) {
        while self.output.pending.len() < PENDING_BYTES {
            let Some(&place) = self.senders.front() else {
                return;
            };
            if self.send_window <= 0 {
                for &place in &self.senders {
                    self.streams
                        .at(place)
                        .waited
                        .get_or_insert(WaitCause::Window);
                }
                return;
            }
            self.senders.pop_front();
            let stream = self.streams.at(place);
            if stream.send_window <= 0 {
                stream.sending = Sending::Stalled;
                stream.waited.get_or_insert(WaitCause::Window);
                continue;
            }
            let request = &requests[usize::from(stream.due.request) % requests.len()];
            let outgoing = D::outgoing(request);
            let window = self.send_window.min(stream.send_window).unsigned_abs();
            // A server that takes larger frames has no more gathered for it.
            let room = window.min(self.peer.frame_bytes_max.min(PENDING_BYTES) as u64);
            let from = stream.body_sent;
            let piece_bytes = room.min(stream.body_let - from);
            stream.body_sent += piece_bytes;
            stream.send_window -= piece_bytes as i64;
            self.send_window -= piece_bytes as i64;
            self.counts.messages_sent += D::parts_within(request, from, stream.body_sent);
            let is_last = stream.body_sent == outgoing.body_bytes;
            let is_let = stream.body_sent == stream.body_let;
            let flags = if is_last { END_STREAM } else { 0 };
            let pending = &mut self.output.pending;
            frame::write_head(pending, piece_bytes as usize, Kind::Data, flags, stream.id);
            append_repeated(pending, outgoing.body, from, piece_bytes as usize);
            match (is_last, is_let) {
                (true, _) => stream.sending = Sending::Over,
                (false, true) => stream.sending = Sending::Held,
                (false, false) => self.senders.push_back(place),
            }
            self.codec.progressed();
        }
    }
}

/// Appends so many bytes of a body that repeats these, from one of them on.
#[inline]
fn append_repeated(out: &mut Vec<u8>, body: &[u8], from: u64, mut count: usize) {
    if from == 0 && count <= body.len() {
        // Nearly every body: no division.
        return out.extend_from_slice(&body[..count]);
    }
    let mut at = (from % body.len().max(1) as u64) as usize;
    while count > 0 {
        let piece = &body[at..body.len().min(at + count)];
        out.extend_from_slice(piece);
        count -= piece.len();
        at = 0;
    }
}
