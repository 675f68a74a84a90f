//! HTTP/2 as the origin speaks it: many exchanges at a time on one connection, without I/O.
//!
//! Frames are cut (`frames`), header blocks read (`request`), exchanges kept (`streams`), decided (`receive`, `calls`) and sent
//! in turn (`send`). A client can make it keep no more than the limits say: streams, header bytes, body bytes, frames that
//! bring nothing.

mod blocks;
mod calls;
mod fault;
mod floods;
mod frames;
mod receive;
mod request;
mod send;
mod streams;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tare_wire::ErrorCode;
use tare_wire::frame::{
    self, FRAME_BYTES_DEFAULT, SET_LIST_BYTES, SET_STREAMS_MAX, SET_WINDOW_BYTES,
    WINDOW_BYTES_DEFAULT,
};

use crate::clock;
use crate::options::Limits;
use crate::protocol::{More, Next, Protocol, Serve, Standing};
use crate::service::{Life, Service};
use fault::Fault;
use floods::Floods;
use frames::Frames;
use request::Sections;
use streams::Streams;

/// The window of a stream that a client may fill before it waits.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// The window of a connection.
const WINDOW_BYTES: u32 = 16 << 20;

/// One connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    frames: Frames,
    sections: Sections,
    streams: Streams,
    /// Streams with something to send: slot and number.
    ready: VecDeque<(usize, u32)>,
    /// Of these, the ones that wait for the connection's window.
    starved: VecDeque<(usize, u32)>,
    /// Delays: when, the stream's number, its slot.
    delays: BinaryHeap<Reverse<(u64, u32, usize)>>,
    /// No deadline of a call is earlier.
    deadline_ns: Option<u64>,
    floods: Floods,
    /// A header block over several frames.
    block: Option<Block>,
    /// The highest stream that the client opened.
    last_stream: u32,
    /// What we may send.
    window_bytes: i64,
    /// What we may send on a new stream.
    stream_window_bytes: i64,
    /// Received and not given back to the connection's window.
    uncredited_bytes: u32,
    /// Kept in the inboxes of all streams.
    stored_bytes: u64,
    /// Streams that only watch, and last as long as the connection.
    watches: usize,
    /// Slots of calls whose deadline has passed: empty but for a moment.
    expired: Vec<usize>,
    greeting: Greeting,
    ending: Ending,
}

/// A header block that is not complete.
#[derive(Debug)]
struct Block {
    stream: u32,
    flags: u8,
    frames: u32,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    Due,
    Done,
}

/// Whether new streams are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// GOAWAY is sent; streams above this number are ignored.
    After(u32),
    /// The client broke the protocol.
    Failed,
}

impl Http2 {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            frames: Frames::default(),
            sections: Sections::new(limits),
            streams: Streams::default(),
            ready: VecDeque::new(),
            starved: VecDeque::new(),
            delays: BinaryHeap::new(),
            deadline_ns: None,
            floods: Floods::default(),
            block: None,
            last_stream: 0,
            window_bytes: i64::from(WINDOW_BYTES_DEFAULT),
            stream_window_bytes: i64::from(WINDOW_BYTES_DEFAULT),
            uncredited_bytes: 0,
            stored_bytes: 0,
            watches: 0,
            expired: Vec::new(),
            greeting: Greeting::Due,
            ending: Ending::No,
        }
    }

    fn greet(&mut self, service: &Service, out: &mut Vec<u8>) {
        if self.greeting == Greeting::Due {
            self.greeting = Greeting::Done;
            let list_bytes = u32::try_from(service.limits.head_bytes_max).unwrap_or(u32::MAX);
            frame::write_settings(
                out,
                &[
                    (SET_STREAMS_MAX, service.limits.streams_max),
                    (SET_WINDOW_BYTES, STREAM_WINDOW_BYTES),
                    (SET_LIST_BYTES, list_bytes),
                ],
            );
            frame::write_window_update(out, 0, WINDOW_BYTES - WINDOW_BYTES_DEFAULT);
        }
    }

    /// Tells the client to open no more streams here.
    fn say_goodbye(&mut self, out: &mut Vec<u8>) {
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

    /// Does what is due, and says what comes next.
    fn go_on(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        if self.ending == Ending::Failed {
            return Next::Close;
        }
        if service.life == Life::Ending {
            self.say_goodbye(out);
        }
        let more = self.pump(service, out);
        let over = self.streams.open() == self.watches && self.ready.is_empty();
        if over && more == More::Nothing && self.ending != Ending::No {
            return Next::Close;
        }
        Next::Serve(Serve {
            more,
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

    /// Ends an exchange; its slot is free.
    fn close_stream(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        self.stored_bytes -= stream.inbox.len() as u64;
        if stream.call.is_watch() {
            self.watches -= 1;
        }
        self.streams.remove(slot);
    }

    /// What is due by the clock.
    fn take_due(&mut self, service: &mut Service, out: &mut Vec<u8>) {
        if self.wake_ns().is_none() {
            return;
        }
        let now_ns = clock::monotonic_ns();
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
        self.greet(service, out);
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(input, |head, payload| {
            match self.frame(head, payload, arrived_ns, service, out) {
                Err(Fault::Stream(code)) => self.reset(head.stream, code, service, out),
                other => other,
            }
        });
        self.frames = frames;
        if let Err(Fault::Connection(code) | Fault::Stream(code)) = read {
            self.fail(code, service, out);
        }
        self.go_on(service, out)
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        self.take_due(service, out);
        self.go_on(service, out)
    }

    fn standing(&self) -> Standing {
        let open = self.streams.open() > self.watches;
        if open || !self.frames.is_between() || self.block.is_some() {
            Standing::Busy
        } else {
            Standing::Idle
        }
    }

    fn farewell(&mut self, out: &mut Vec<u8>) {
        if self.greeting == Greeting::Done {
            self.say_goodbye(out);
        }
    }
}

/// Frames are never larger than what is allowed without a setting.
const _: () = assert!(
    FRAME_BYTES_DEFAULT == 16_384,
    "SETTINGS names no frame size"
);
