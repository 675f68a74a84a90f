//! HTTP/2: concurrent exchanges on one connection, without I/O.
//!
//! Splits input into frames (`frames`), reads header blocks (`request`), keeps streams (`streams`), decides answers (`receive`,
//! `calls`) and sends them round-robin (`send`). Limits bound what a client can use: streams, header bytes, body bytes,
//! unproductive frames.

mod blocks;
mod calls;
mod closed;
mod frames;
mod protocol_error;
mod receive;
mod request;
mod send;
mod streams;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{
    self, FRAME_BYTES_DEFAULT, SETTINGS_INITIAL_WINDOW_SIZE, SETTINGS_MAX_CONCURRENT_STREAMS,
    SETTINGS_MAX_HEADER_LIST_SIZE, WINDOW_BYTES_DEFAULT,
};

use crate::options::Limits;
use crate::protocol::{Next, Protocol, Serve};
use crate::service::Service;
use crate::timers;
use closed::{ClosedStream, ClosedStreams};
use frames::Frames;
use protocol_error::{FloodGuard, ProtocolError};
use request::HeaderBlockReader;
use streams::Streams;

/// Receive window of a stream.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// Receive window of a connection.
const WINDOW_BYTES: u32 = 16 << 20;

/// Bytes stored or freed after which the streams' buffers are counted again.
const COUNT_BYTES: usize = 64 * 1024;

/// One connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    frames: Frames,
    header_blocks: HeaderBlockReader,
    streams: Streams,
    closed: ClosedStreams,
    /// Streams with something to send: slot and id.
    ready: VecDeque<(usize, u32)>,
    /// Those of them that wait for the connection's window.
    starved: VecDeque<(usize, u32)>,
    /// Delays: due time, stream id, slot.
    delays: BinaryHeap<Reverse<(u64, u32, usize)>>,
    /// A lower bound of all deadlines of calls.
    deadline_ns: Option<u64>,
    flood_guard: FloodGuard,
    /// A header block in several frames.
    block: Option<PartialBlock>,
    /// The highest stream id that the client used.
    last_stream: u32,
    /// Send window of the connection.
    window_bytes: i64,
    /// Send window of a new stream.
    stream_window_bytes: i64,
    /// Received bytes not yet returned by WINDOW_UPDATE of the connection.
    uncredited_bytes: u32,
    /// Bytes in the inboxes of all streams.
    stored_bytes: u64,
    /// Capacity of the streams' buffers when it was last counted.
    held_bytes: usize,
    /// What has come since.
    uncounted_bytes: usize,
    /// Capacity that buffers keep between streams.
    keep_bytes: usize,
    /// Health watches, which last as long as the connection.
    watches: usize,
    /// Slots of calls whose deadline has passed; a reused buffer.
    expired: Vec<usize>,
    /// SETTINGS are sent.
    is_greeted: bool,
    ending: Ending,
}

/// A header block that is not complete.
#[derive(Debug)]
struct PartialBlock {
    stream: u32,
    flags: u8,
    frames: u32,
    bytes: Vec<u8>,
}

/// Whether new streams are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// GOAWAY is sent; streams above this id are ignored.
    After(u32),
    /// A connection error.
    Failed,
}

impl Http2 {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            frames: Frames::default(),
            header_blocks: HeaderBlockReader::new(limits),
            streams: Streams::default(),
            closed: ClosedStreams::default(),
            ready: VecDeque::new(),
            starved: VecDeque::new(),
            delays: BinaryHeap::new(),
            deadline_ns: None,
            flood_guard: FloodGuard::default(),
            block: None,
            last_stream: 0,
            window_bytes: i64::from(WINDOW_BYTES_DEFAULT),
            stream_window_bytes: i64::from(WINDOW_BYTES_DEFAULT),
            uncredited_bytes: 0,
            stored_bytes: 0,
            held_bytes: 0,
            uncounted_bytes: 0,
            keep_bytes: 0,
            watches: 0,
            expired: Vec::new(),
            is_greeted: false,
            ending: Ending::No,
        }
    }

    fn send_settings(&mut self, service: &Service, out: &mut Vec<u8>) {
        if !self.is_greeted {
            self.is_greeted = true;
            let list_bytes = u32::try_from(service.limits.head_bytes_max).unwrap_or(u32::MAX);
            frame::write_settings(
                out,
                &[
                    (SETTINGS_MAX_CONCURRENT_STREAMS, service.limits.streams_max),
                    (SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES),
                    (SETTINGS_MAX_HEADER_LIST_SIZE, list_bytes),
                ],
            );
            frame::write_window_update(out, 0, WINDOW_BYTES - WINDOW_BYTES_DEFAULT);
        }
    }

    /// Sends GOAWAY.
    fn send_goaway(&mut self, out: &mut Vec<u8>) {
        if self.ending == Ending::No {
            self.ending = Ending::After(self.last_stream);
            frame::write_goaway(out, self.last_stream, ErrorCode::NO_ERROR);
        }
    }

    fn fail(&mut self, code: ErrorCode, service: &Service, out: &mut Vec<u8>) {
        service.counters.malformed.add(1);
        self.ending = Ending::Failed;
        frame::write_goaway(out, self.last_stream, code);
    }

    /// Sends what is ready, and returns what is next.
    fn go_on(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        self.keep_bytes = service.kept(streams::KEEP_BYTES);
        if self.ending == Ending::Failed {
            return Next::Close;
        }
        if service.is_ending {
            self.send_goaway(out);
        }
        let has_more = self.send_streams(service, out);
        let over = self.streams.open() == self.watches && self.ready.is_empty();
        if over && !has_more && self.ending != Ending::No {
            return Next::Close;
        }
        Next::Serve(Serve {
            has_more,
            wake_ns: self.wake_ns(),
        })
    }

    fn wake_ns(&self) -> Option<u64> {
        let delay_ns = self.delays.peek().map(|&Reverse((due_ns, _, _))| due_ns);
        match (delay_ns, self.deadline_ns) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Ends an exchange and frees its slot.
    fn close_stream(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        if stream.client == streams::ClientSide::Open {
            self.closed.closes(stream.id, ClosedStream::Early);
        }
        self.stored_bytes -= stream.inbox.len() as u64;
        if stream.call.is_watch() {
            self.watches -= 1;
        }
        self.uncounted_bytes += stream.held_bytes();
        self.streams.remove(slot, self.keep_bytes);
    }

    /// Handles expired delays and deadlines.
    fn take_due(&mut self, service: &mut Service, out: &mut Vec<u8>) {
        if self.wake_ns().is_none() {
            return;
        }
        let now_ns = timers::monotonic_ns();
        while let Some(&Reverse((due_ns, id, slot))) = self.delays.peek()
            && due_ns <= now_ns
        {
            self.delays.pop();
            if self.streams.at(slot).id == id {
                self.delay_is_over(slot, service, out);
            }
        }
        if self
            .deadline_ns
            .is_some_and(|deadline_ns| deadline_ns <= now_ns)
        {
            self.expire_calls(now_ns, service);
        }
    }
}

impl Protocol for Http2 {
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        self.send_settings(service, out);
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(input, |head, payload| {
            match self.frame(head, payload, arrived_ns, service, out) {
                Err(ProtocolError::Stream(code)) => self.reset(head.stream, code, service, out),
                other => other,
            }
        });
        self.frames = frames;
        if let Err(ProtocolError::Connection(code) | ProtocolError::Stream(code)) = read {
            self.fail(code, service, out);
        }
        self.go_on(service, out)
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        self.take_due(service, out);
        self.go_on(service, out)
    }

    fn held_bytes(&mut self) -> usize {
        if self.uncounted_bytes >= COUNT_BYTES {
            self.uncounted_bytes = 0;
            self.held_bytes = self.streams.held_bytes();
        }
        self.held_bytes
    }

    fn is_idle(&self) -> bool {
        let open = self.streams.open() > self.watches;
        !open && self.frames.is_between() && self.block.is_none()
    }

    fn announce_close(&mut self, out: &mut Vec<u8>) {
        if self.is_greeted {
            self.send_goaway(out);
        }
    }
}

/// SETTINGS_MAX_FRAME_SIZE is not sent, so its default applies.
const _: () = assert!(
    FRAME_BYTES_DEFAULT == 16_384,
    "SETTINGS names no frame size"
);
