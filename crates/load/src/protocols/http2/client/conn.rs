//! One connection: state, streams, flow control and sending. Receiving is in `receive`.

use std::collections::VecDeque;

use tare_record::load::MessagePace;

use super::super::codec::frame::{
    self, END_STREAM, FRAME_BYTES_DEFAULT, Kind, PREFACE, SETTINGS_ENABLE_PUSH,
    SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES_DEFAULT,
};
use super::super::codec::{Codec, Limits};
use super::super::error::ErrorCode;
use super::super::stream_protocol::StreamProtocol;
use super::output::{Flushed, Output};
use super::streams::{FinishedStream, Resets, Sending, Streams};
use super::{Http2Counts, QueuedExchange, Windows};
use crate::client::{ConnId, Outlet, WaitCause};

/// Bytes buffered per write: a large body is framed in pieces of about this size.
const PENDING_BYTES: usize = 128 * 1024;

/// Last stream id on one connection. The connection is replaced well before ids run out.
const ID_LAST: u32 = 0x3fff_ffff;

/// Dynamic table size update to 0, at the start of a header block (RFC 7541 §6.3).
const TABLE_SIZE_ZERO: &[u8] = &[0x20];

/// Default size of the server's header table.
pub(super) const TABLE_BYTES_DEFAULT: u32 = 4096;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not connected.
    Closed,
    Connecting {
        /// When the attempt times out.
        deadline_ns: u64,
    },
    /// Connected; the server's SETTINGS have not arrived.
    AwaitingSettings {
        /// When the attempt times out; counted from its start.
        deadline_ns: u64,
    },
    Open,
}

/// Settings of the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub streams_max: u32,
    pub initial_window: i64,
    pub frame_bytes_max: usize,
    /// The server reduced its header table: the next header block must begin with a size update (RFC 7541 §4.2).
    pub announce_table: bool,
}

/// Defaults, before any SETTINGS.
const PEER_DEFAULT: Peer = Peer {
    streams_max: u32::MAX,
    initial_window: WINDOW_BYTES_DEFAULT as i64,
    frame_bytes_max: FRAME_BYTES_DEFAULT as usize,
    announce_table: false,
};

/// One connection slot.
#[derive(Debug)]
pub struct Conn<D: StreamProtocol> {
    pub state: State,
    /// Parses received frames.
    pub codec: Codec,
    /// Open streams.
    pub streams: Streams<D::Progress>,
    /// Frames to be sent.
    pub output: Output,
    /// Complete responses since it was opened.
    pub answers: u64,
    /// Whether it is in the queue of connections with a free stream; by now it may have none.
    pub offered: bool,
    /// When its latest attempt began.
    pub begun_ns: u64,
    /// Whether it is in the list of connections to be flushed.
    pub dirty: bool,
    pub(super) windows: Windows,
    pub(super) peer: Peer,
    pub(super) next_id: u32,
    /// Id of the last stream that may be opened on it.
    id_last: u32,
    pub(super) send_window: i64,
    pub(super) receive_window: i64,
    /// Streams with data to send, round robin.
    pub(super) senders: VecDeque<u16>,
    pub(super) resets: Resets,
    pub(super) goaway: Option<(u32, ErrorCode)>,
    /// New streams with paced parts, not scheduled yet: slot, stream id, interval in nanoseconds.
    pub(super) to_pace: Vec<(u16, u32, u64)>,
    /// Generation: counts the connections of this slot.
    pub(super) generation: u32,
    /// Http2Counts over all connections of this slot.
    pub counts: Http2Counts,
}

/// Why a stream is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// The server ended it.
    Ended,
    /// The client resets it with this code.
    Reset(ErrorCode),
}

/// Id of the last stream on a connection that is replaced after `exchanges_max` exchanges.
pub(super) fn id_last(exchanges_max: u64) -> u32 {
    let last = exchanges_max.max(1).saturating_mul(2) - 1;
    u32::try_from(last).map_or(ID_LAST, |last| last.min(ID_LAST))
}

impl<D: StreamProtocol> Conn<D> {
    /// A slot, not connected yet, for at most `streams` concurrent streams.
    #[must_use]
    pub fn new(streams: u16, id_last: u32, windows: Windows, limits: Limits) -> Self {
        Self {
            state: State::Closed,
            codec: Codec::new(limits),
            streams: Streams::new(streams),
            output: Output::default(),
            answers: 0,
            offered: false,
            begun_ns: 0,
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
            generation: 0,
            counts: Http2Counts::default(),
        }
    }

    /// Back to the state of a new connection. All its streams must be closed.
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
        self.generation = self.generation.wrapping_add(1);
    }

    /// Sends the connection preface, the client's SETTINGS and the connection's window (RFC 9113 §3.4).
    pub fn send_preface(&mut self) {
        let pending = &mut self.output.pending;
        pending.extend_from_slice(PREFACE);
        let settings = [
            (SETTINGS_ENABLE_PUSH, 0),
            (SETTINGS_INITIAL_WINDOW_SIZE, self.windows.stream_bytes),
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

    /// Concurrent streams that both sides allow.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.streams.max().min(self.peer.streams_max as usize)
    }

    /// Whether a stream can be opened now.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.state == State::Open
            && self.streams.live() < self.capacity()
            && !self.output.is_blocked()
            && !self.is_draining()
    }

    /// Whether no more streams may be opened: it is replaced once the last one is closed.
    #[inline]
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.goaway.is_some() || self.next_id > self.id_last
    }

    /// The error code of the server's GOAWAY, if it is not NO_ERROR.
    #[must_use]
    pub fn goaway_error(&self) -> Option<ErrorCode> {
        self.goaway
            .map(|(_, code)| code)
            .filter(|&code| code != ErrorCode::NO_ERROR)
    }

    /// Starts an exchange on a new stream. The connection must have room.
    #[inline]
    pub fn begin(&mut self, waiting: QueuedExchange, request: &D::Request) {
        let outgoing = D::outgoing(request);
        let id = self.next_id;
        let receive_window = i64::from(self.windows.stream_bytes);
        let windows = (self.peer.initial_window, receive_window);
        let slot = self.streams.open(id, waiting, windows);
        assert!(slot.is_some(), "a connection with room has a free stream");
        let Some(slot) = slot else { return };
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
        frame::write_headers(
            &mut self.output.pending,
            id,
            prefix,
            outgoing.block,
            flags,
            self.peer.frame_bytes_max,
        );
        self.output.begins(slot, id);
        self.counts.streams_opened += 1;
        if !outgoing.body.is_empty() {
            let stream = self.streams.at(slot);
            stream.parts_allowed = 1;
            stream.body_allowed = match D::pace(request) {
                MessagePace::Unpaced => outgoing.body_bytes,
                MessagePace::Every { period_ns } => {
                    self.to_pace.push((slot, id, period_ns));
                    D::end_of_part(request, 1)
                }
                MessagePace::PingPong => D::end_of_part(request, 1),
            };
            stream.sending = Sending::Queued;
            self.senders.push_back(slot);
        }
    }

    /// Allows the first `parts` parts of a body to be sent; returns whether more parts follow.
    pub(super) fn allow_parts(&mut self, slot: u16, parts: u32, request: &D::Request) -> bool {
        let stream = self.streams.at(slot);
        if parts > stream.parts_allowed {
            stream.parts_allowed = parts;
            stream.body_allowed = D::end_of_part(request, parts);
            if stream.sending == Sending::Paced && stream.body_allowed > stream.body_sent {
                stream.sending = Sending::Queued;
                self.senders.push_back(slot);
            }
        }
        stream.body_allowed < D::outgoing(request).body_bytes
    }

    /// Closes a stream and returns its exchange.
    #[inline]
    pub fn close_stream(&mut self, slot: u16, how: CloseReason) -> FinishedStream<D::Progress> {
        let finished = self.streams.close(slot);
        self.counts.messages_received += u64::from(D::parts_arrived(&finished.progress));
        if finished.sending == Sending::Queued {
            self.senders.retain(|&sender| sender != slot);
        }
        let code = match how {
            CloseReason::Reset(code) => Some(code),
            // The response is complete: the server does not need the rest of the request (RFC 9113 §8.1).
            CloseReason::Ended if finished.sending != Sending::Complete => Some(ErrorCode::CANCEL),
            CloseReason::Ended => None,
        };
        if let Some(code) = code {
            frame::write_reset(&mut self.output.pending, finished.id, code);
            self.resets.add(finished.id);
            self.counts.resets_sent += 1;
        }
        finished
    }

    /// Writes everything that can be sent; returns the earliest start of a new exchange's timeout.
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

    /// Frames bodies, round robin, as far as the windows and the buffer allow.
    fn frame_bodies(&mut self, requests: &[D::Request]) {
        while self.output.pending.len() < PENDING_BYTES {
            let Some(&slot) = self.senders.front() else {
                return;
            };
            if self.send_window <= 0 {
                for &slot in &self.senders {
                    self.streams
                        .at(slot)
                        .waited
                        .get_or_insert(WaitCause::Window);
                }
                return;
            }
            self.senders.pop_front();
            let stream = self.streams.at(slot);
            if stream.send_window <= 0 {
                stream.sending = Sending::Stalled;
                stream.waited.get_or_insert(WaitCause::Window);
                continue;
            }
            let request = &requests[stream.due.request as usize % requests.len()];
            let outgoing = D::outgoing(request);
            let window = self.send_window.min(stream.send_window).unsigned_abs();
            // Also for a server that accepts larger frames, no more is buffered at once.
            let room = window.min(self.peer.frame_bytes_max.min(PENDING_BYTES) as u64);
            let from = stream.body_sent;
            let piece_bytes = room.min(stream.body_allowed - from);
            stream.body_sent += piece_bytes;
            stream.send_window -= piece_bytes as i64;
            self.send_window -= piece_bytes as i64;
            self.counts.messages_sent += D::parts_within(request, from, stream.body_sent);
            let is_last = stream.body_sent == outgoing.body_bytes;
            let is_part_end = stream.body_sent == stream.body_allowed;
            let flags = if is_last { END_STREAM } else { 0 };
            let pending = &mut self.output.pending;
            frame::write_head(pending, piece_bytes as usize, Kind::Data, flags, stream.id);
            append_repeated(pending, outgoing.body, from, piece_bytes as usize);
            match (is_last, is_part_end) {
                (true, _) => stream.sending = Sending::Complete,
                (false, true) => stream.sending = Sending::Paced,
                (false, false) => self.senders.push_back(slot),
            }
            self.codec.progressed();
        }
    }
}

/// Appends `count` bytes of the endless repetition of `body`, from offset `from` on.
#[inline]
fn append_repeated(out: &mut Vec<u8>, body: &[u8], from: u64, mut count: usize) {
    if from == 0 && count <= body.len() {
        // The common case needs no division.
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
