//! Ends of exchanges and connections other than by a response: closed connections, timeouts, protocol errors.

use std::fmt::Display;

use tare_record::agent::ErrorSource;

use super::super::codec::frame;
use super::super::error::{CodecError, ErrorCode};
use super::super::stream_protocol::StreamProtocol;
use super::Http2;
use super::conn::{CloseReason, State};
use crate::client::{
    Closed, Completion, ConnId, ErrorClass, ExchangeOutcome, Outlet, Stamp, TimestampBound,
};
use crate::connection_pool::AfterFailure;

impl<D: StreamProtocol> Http2<D> {
    /// An open connection was closed and has no streams left: opens another one.
    pub(super) fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        self.conns[at as usize].state = State::Closed;
        self.scheduler.lost(at);
        self.open_more(out);
    }

    /// Connecting failed, or the wait for SETTINGS after it.
    pub(super) fn on_connect_failed(
        &mut self,
        at: u32,
        class: ErrorClass,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        self.conns[at as usize].state = State::Closed;
        let next = self.scheduler.failed(at, out);
        if next == AfterFailure::Pause && self.scheduler.is_none_open() {
            // No connection is open: waiting exchanges fail, as requests of a user would.
            self.end_waiting(ExchangeOutcome::Failed(class), example, out);
        }
        self.open_more(out);
    }

    pub(super) fn end_waiting(
        &mut self,
        outcome: ExchangeOutcome,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let done = Completion::unsent(outcome, Stamp::event(out.now_ns()), example);
        let returned = self.returned.drain(..).map(|(queued, _)| queued);
        for queued in returned.chain(self.waiting.drain(..)) {
            let waited = queued.cause;
            out.complete(queued.due.ticket, &Completion { waited, ..done });
        }
    }

    /// Ends all exchanges of a connection with one outcome; returns their number.
    pub(super) fn end_all(
        &mut self,
        at: u32,
        outcome: ExchangeOutcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) -> usize {
        let conn = &mut self.conns[at as usize];
        let mut count = 0;
        while let Some(slot) = conn.streams.any(|_| true) {
            let finished = conn.close_stream(slot, CloseReason::Ended);
            finished.done(outcome, (ended, TimestampBound::Upper), example, out);
            count += 1;
        }
        count
    }

    /// Protocol error of the server: ends the connection and every exchange on it.
    #[cold]
    pub(super) fn on_protocol_error(
        &mut self,
        at: u32,
        error: CodecError,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        let is_other = matches!(error, CodecError::SpeaksHttp1 | CodecError::NoSettingsFirst);
        if is_other && !self.is_greeted {
            self.problem.get_or_insert(error);
        }
        let was_open = self.conns[at as usize].state == State::Open;
        let class = error.class();
        let blamed = self.end_all(at, ExchangeOutcome::Failed(class), stamp, &error, out);
        if blamed == 0 && (was_open || self.waiting.is_empty() || !self.scheduler.is_none_open()) {
            out.fault(class, &error);
        }
        let output = &mut self.conns[at as usize].output;
        if !output.is_blocked() {
            // The last stream id is 0: no stream of the server was processed.
            frame::write_goaway(&mut output.pending, 0, error.code());
            // The connection is closed next: it does not matter whether the kernel accepts the bytes.
            let _ = out.write(ConnId(at), &output.pending);
        }
        out.close(ConnId(at));
        if was_open {
            if self.conns[at as usize].answers == 0 {
                self.scheduler.pause(out);
            }
            self.lost(at, out);
        } else {
            self.on_connect_failed(at, class, &error, out);
        }
    }

    /// Replaces a draining connection that has no streams left; returns whether it did.
    #[inline]
    pub(super) fn replace_if_drained(&mut self, at: u32, out: &mut impl Outlet) -> bool {
        let conn = &mut self.conns[at as usize];
        let is_drained =
            conn.state == State::Open && conn.is_draining() && conn.streams.live() == 0;
        if is_drained {
            if conn.answers == 0 {
                // The server ended the connection before any response: back off, or this is a busy loop.
                self.scheduler.pause(out);
            }
            out.close(ConnId(at));
            self.lost(at, out);
        }
        is_drained
    }

    /// Ends what has timed out. Streams are cancelled; their connections stay open.
    pub(super) fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.conns.len() as u32 {
            match self.conns[at as usize].state {
                State::Closed => {}
                State::Connecting { deadline_ns } | State::AwaitingSettings { deadline_ns }
                    if deadline_ns > now_ns =>
                {
                    self.deadlines.watch(deadline_ns, out);
                }
                State::Connecting { .. } => {
                    out.close(ConnId(at));
                    self.on_connect_failed(
                        at,
                        Closed::ConnectTimeout.class(),
                        &Closed::ConnectTimeout,
                        out,
                    );
                }
                State::AwaitingSettings { .. } => {
                    out.close(ConnId(at));
                    let class = ErrorClass::of("no-settings", ErrorSource::Target);
                    let example =
                        "the server sent no SETTINGS in time: does it speak http/2 on this port?";
                    self.on_connect_failed(at, class, &example, out);
                }
                State::Open => self.expire_streams(at, now_ns, out),
            }
        }
    }

    /// Cancels the streams of one connection that have timed out.
    fn expire_streams(&mut self, at: u32, now_ns: u64, out: &mut impl Outlet) {
        let timeout_ns = self.timeout_ns;
        let conn = &mut self.conns[at as usize];
        let deadline_ns = |begun_ns: u64| begun_ns.saturating_add(timeout_ns);
        let mut expired = false;
        while let Some(slot) = conn
            .streams
            .any(|stream| deadline_ns(stream.begun_ns) <= now_ns)
        {
            expired = true;
            let finished = conn.close_stream(slot, CloseReason::Reset(ErrorCode::CANCEL));
            let example = format_args!("no complete response within {} ms", timeout_ns / 1_000_000);
            finished.done(
                ExchangeOutcome::Failed(ErrorClass::TIMEOUT),
                (Stamp::event(now_ns), TimestampBound::Upper),
                &example,
                out,
            );
        }
        for (_, stream) in conn.streams.each() {
            self.deadlines.watch(deadline_ns(stream.begun_ns), out);
        }
        if expired && !self.replace_if_drained(at, out) {
            self.touch(at);
            self.offer(at);
        }
    }
}
