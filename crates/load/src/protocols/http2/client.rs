//! The HTTP/2 [`Client`]: connections with many streams each; every stream is one exchange.
//!
//! Exchanges that become due between two polls of the sockets go out in one write per connection. Each counts as sent when
//! that write was given to the kernel.

mod conn;
mod control_frames;
mod output;
mod pacing;
mod receive;
mod streams;
mod teardown;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::rig;

use std::collections::VecDeque;
use std::sync::Arc;

use tare_record::agent::ErrorSource;

use super::codec::Limits;
use super::error::CodecError;
use super::stream_protocol::StreamProtocol;
use crate::client::{
    Client, Closed, ConnId, DueExchange, ErrorClass, ExchangeOutcome, Outlet, Stamp, TimerId,
    TimestampBound, WaitCause,
};
use crate::connection_pool::{ConnectScheduler, DEADLINE, Deadlines, PoolConfig, TIMER_OWN};
use crate::protocol_counters;
use conn::{Conn, State};
use pacing::Pacer;
use receive::EventContext;

/// The next part of a body that is sent at intervals.
const PACE: TimerId = TIMER_OWN;

protocol_counters! {
    /// Control frames, resent exchanges and messages of one connection slot, or of a client.
    pub struct Http2Counts {
        /// Streams begun.
        streams_opened = "streams-opened",
        /// SETTINGS received, without acknowledgements.
        settings_received = "settings-received",
        /// PINGs received; all of them were answered.
        pings_received = "pings-received",
        /// GOAWAYs received.
        goaways_received = "goaways-received",
        /// Streams that the server reset.
        resets_received = "resets-received",
        /// Streams that the client reset: timed out, malformed, or no longer needed.
        resets_sent = "resets-sent",
        /// WINDOW_UPDATEs received.
        window_updates_received = "window-updates-received",
        /// Exchanges sent again because a GOAWAY reported them as not processed.
        exchanges_resent = "exchanges-resent",
        /// gRPC messages sent completely.
        messages_sent = "messages-sent",
        /// gRPC messages received completely.
        messages_received = "messages-received",
    }
}

/// Receive windows that the client grants to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    pub stream_bytes: u32,
    /// Of each connection; not less than the 65,535 that every connection starts with.
    pub connection_bytes: u32,
}

impl Default for Windows {
    /// Large enough never to block a server; received data is consumed immediately.
    fn default() -> Self {
        Self {
            stream_bytes: (1 << 30) - 1,
            connection_bytes: (1 << 30) - 1,
        }
    }
}

/// An exchange that waits for a stream.
#[derive(Debug, Clone, Copy)]
pub struct QueuedExchange {
    due: DueExchange,
    cause: Option<WaitCause>,
    tries: u8,
}

/// Configuration of a client.
#[derive(Debug)]
pub struct Http2Plan<D: StreamProtocol> {
    pub requests: Arc<[D::Request]>,
    /// The connections. The connect timeout includes the wait for the server's SETTINGS.
    pub connections: PoolConfig,
    /// Concurrent streams per connection at most; the server may allow fewer.
    pub streams: u16,
    /// Receive windows.
    pub windows: Windows,
    /// Limits on what a server can make the client buffer or read.
    pub limits: Limits,
}

/// The client. Connections with a free stream are used in turn, so that all get the same share.
#[derive(Debug)]
pub struct Http2<D: StreamProtocol> {
    requests: Arc<[D::Request]>,
    timeout_ns: u64,
    conns: Vec<Conn<D>>,
    /// Connections with a free stream.
    ready: VecDeque<u32>,
    /// Connections to be flushed.
    dirty: Vec<u32>,
    waiting: VecDeque<QueuedExchange>,
    /// Exchanges that wait for a connection that is opened after this time.
    returned: VecDeque<(QueuedExchange, u64)>,
    scheduler: ConnectScheduler,
    deadlines: Deadlines,
    pacer: Pacer,
    /// Whether a server has sent its SETTINGS.
    is_greeted: bool,
    /// Why the load is impossible: what the server speaks is not HTTP/2.
    problem: Option<CodecError>,
}

impl<D: StreamProtocol> Http2<D> {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: Http2Plan<D>) -> Self {
        let connections = plan.connections;
        let id_last = conn::id_last(connections.exchanges_max);
        let conn = |_| Conn::new(plan.streams.max(1), id_last, plan.windows, plan.limits);
        Self {
            requests: plan.requests,
            timeout_ns: connections.timeout_ns,
            conns: (0..connections.count).map(conn).collect(),
            ready: VecDeque::with_capacity(connections.count),
            dirty: Vec::with_capacity(connections.count),
            waiting: VecDeque::with_capacity(connections.waiting_max),
            returned: VecDeque::new(),
            scheduler: ConnectScheduler::new(&connections),
            deadlines: Deadlines::default(),
            pacer: Pacer::default(),
            is_greeted: false,
            problem: None,
        }
    }

    fn open_more(&mut self, out: &mut impl Outlet) {
        while let Some(attempt) = self.scheduler.attempt(out) {
            let deadline_ns = attempt.deadline_ns;
            let conn = &mut self.conns[attempt.at as usize];
            conn.reset();
            conn.begun_ns = out.now_ns();
            conn.state = State::Connecting { deadline_ns };
            self.deadlines.watch(deadline_ns, out);
        }
    }

    #[inline]
    fn begin(&mut self, at: u32, waiting: QueuedExchange) {
        let conn = &mut self.conns[at as usize];
        let request = &self.requests[waiting.due.request as usize % self.requests.len()];
        conn.begin(waiting, request);
        self.touch(at);
    }

    #[inline]
    fn touch(&mut self, at: u32) {
        let conn = &mut self.conns[at as usize];
        if !conn.dirty {
            conn.dirty = true;
            self.dirty.push(at);
        }
    }

    /// Puts a connection with a free stream at the end of the queue.
    #[inline]
    fn offer(&mut self, at: u32) {
        let conn = &mut self.conns[at as usize];
        if !conn.offered && conn.has_room() {
            conn.offered = true;
            self.ready.push_back(at);
        }
    }

    fn take_ready(&mut self) -> Option<u32> {
        while let Some(at) = self.ready.pop_front() {
            let conn = &mut self.conns[at as usize];
            conn.offered = false;
            if conn.has_room() {
                return Some(at);
            }
        }
        None
    }

    /// Starts returned exchanges on free streams of connections that were opened after their return.
    #[cold]
    fn dispatch_returned(&mut self) {
        while let Some(&(queued, after_ns)) = self.returned.front() {
            let is_new = |&at: &u32| {
                let conn = &self.conns[at as usize];
                conn.begun_ns >= after_ns && conn.has_room()
            };
            let Some(place) = self.ready.iter().position(is_new) else {
                return;
            };
            let Some(at) = self.ready.remove(place) else {
                return;
            };
            self.returned.pop_front();
            self.conns[at as usize].offered = false;
            self.begin(at, queued);
            self.offer(at);
        }
    }

    /// Starts waiting exchanges on free streams.
    #[inline]
    fn dispatch(&mut self) {
        if !self.returned.is_empty() {
            self.dispatch_returned();
        }
        while let Some(&waiting) = self.waiting.front() {
            let Some(at) = self.take_ready() else { return };
            self.waiting.pop_front();
            self.begin(at, waiting);
            self.offer(at);
        }
    }

    /// Handles received bytes, frame by frame.
    #[inline]
    fn read(
        &mut self,
        at: u32,
        bytes: &[u8],
        stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        let conn = &mut self.conns[at as usize];
        let alone = conn.streams.live() == 1;
        let mut context = EventContext {
            requests: &self.requests,
            waiting: &mut self.waiting,
            returned: &mut self.returned,
            stamp,
            bound: TimestampBound::Upper,
        };
        let mut input = bytes;
        while let Some(event) = conn.codec.next(&mut input)? {
            // The timestamp is that of the last byte: exact only if a single exchange is under way and ends with it.
            context.bound = if alone && input.is_empty() {
                TimestampBound::Exact
            } else {
                TimestampBound::Upper
            };
            conn.take(event, &mut context, out)?;
        }
        Ok(())
    }
}

impl<D: StreamProtocol> Client for Http2<D> {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.conns.iter().map(Conn::capacity).sum()
    }

    fn is_open(&self) -> bool {
        self.scheduler.are_all_open()
    }

    #[inline]
    fn on_due(&mut self, due: DueExchange, _out: &mut impl Outlet) {
        let ready = if self.waiting.is_empty() {
            self.take_ready()
        } else {
            None
        };
        match ready {
            Some(at) => {
                self.begin(
                    at,
                    QueuedExchange {
                        due,
                        cause: None,
                        tries: 0,
                    },
                );
                self.offer(at);
            }
            None => {
                let cause = if self.scheduler.is_none_open() {
                    WaitCause::Connection
                } else {
                    WaitCause::Stream
                };
                self.waiting.push_back(QueuedExchange {
                    due,
                    cause: Some(cause),
                    tries: 0,
                });
            }
        }
    }

    #[inline]
    fn flush(&mut self, out: &mut impl Outlet) {
        while let Some(at) = self.dirty.pop() {
            let conn = &mut self.conns[at as usize];
            conn.dirty = false;
            if conn.state == State::Closed {
                continue;
            }
            if let Some(from_ns) = conn.flush(ConnId(at), &self.requests, out) {
                let deadline_ns = from_ns.saturating_add(self.timeout_ns);
                self.deadlines.watch(deadline_ns, out);
            }
            if !self.conns[at as usize].to_pace.is_empty() {
                self.pace(at, out);
            }
        }
    }

    fn on_connected(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        let at = conn.0;
        let conn = &mut self.conns[at as usize];
        if let State::Connecting { deadline_ns } = conn.state {
            conn.state = State::AwaitingSettings { deadline_ns };
            conn.send_preface();
            self.touch(at);
        }
    }

    #[inline]
    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let at = conn.0;
        let before = (
            self.conns[at as usize].state,
            self.conns[at as usize].answers,
        );
        let read = self.read(at, bytes, stamp, out);
        let after = (
            self.conns[at as usize].state,
            self.conns[at as usize].answers,
        );
        if before.0 != after.0 {
            self.is_greeted = true;
            self.scheduler.opened(at);
            self.open_more(out);
        }
        if before.1 != after.1 {
            self.scheduler.reset_backoff();
        }
        match read {
            Err(error) => self.on_protocol_error(at, error, stamp, out),
            Ok(()) if self.replace_if_drained(at, out) => {}
            Ok(()) => {
                self.touch(at);
                self.offer(at);
            }
        }
        self.dispatch();
    }

    fn on_write_started(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        let at = conn.0;
        let conn = &mut self.conns[at as usize];
        conn.output.wrote(at_ns, &mut conn.streams);
        self.touch(at);
        self.offer(at);
        self.dispatch();
    }

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let at = conn.0;
        let conn = &self.conns[at as usize];
        match conn.state {
            State::Closed => {}
            State::Connecting { .. } | State::AwaitingSettings { .. } => {
                self.on_connect_failed(at, why.class(), &why, out)
            }
            State::Open => {
                let ended = Stamp::event(out.now_ns());
                let fruitless = conn.answers == 0;
                match conn.goaway_error() {
                    Some(code) => {
                        let class = ErrorClass::of(code.goaway_class(), ErrorSource::Target);
                        let example = format_args!("the server ended the connection: {code}");
                        if self.end_all(at, ExchangeOutcome::Failed(class), ended, &example, out)
                            == 0
                        {
                            out.fault(class, &example);
                        }
                    }
                    None => {
                        self.end_all(at, ExchangeOutcome::Failed(why.class()), ended, &why, out);
                    }
                }
                if fruitless {
                    // The server accepted and closed without any response: back off, or this is a busy loop.
                    self.scheduler.pause(out);
                }
                self.lost(at, out);
            }
        }
        self.dispatch();
    }

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            DEADLINE => self.expire(out),
            PACE => self.send_due_parts(out),
            _ => {
                self.scheduler.timer(timer);
                self.open_more(out);
            }
        }
        self.dispatch();
    }

    fn redirected_to(&self) -> Option<&[u8]> {
        self.conns
            .iter()
            .find_map(|conn| conn.codec.redirected_to())
    }

    fn problem(&self) -> Option<String> {
        self.problem.map(|error| error.to_string())
    }

    fn counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        let mut sum = Http2Counts::default();
        self.conns.iter().for_each(|conn| sum += conn.counts);
        sum.report(tell);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.conns.len() as u32 {
            let example = "no complete response when the drain ended";
            self.end_all(at, ExchangeOutcome::Unfinished, ended, &example, out);
        }
        self.end_waiting(
            ExchangeOutcome::Unfinished,
            &"still waiting for a free stream when the drain ended",
            out,
        );
    }
}
