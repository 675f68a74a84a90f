//! How exchanges and connections of the client end other than by an answer.

use std::fmt::Display;

use tare_schema::agent::Fault;

use super::super::codec::frame;
use super::super::dialect::Dialect;
use super::super::error::{CodecError, ErrorCode};
use super::conn::{Leave, State};
use super::{Http2, Waiting};
use crate::client::{Bound, Closed, ConnId, Done, ErrorClass, Outcome, Outlet, Stamp};

impl<D: Dialect> Http2<D> {
    /// An open connection is gone, its exchanges have left.
    pub(super) fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        self.conns[at as usize].state = State::Closed;
        self.opener.lost(at);
        self.open_more(out);
    }

    /// An attempt to connect, or the greeting behind it, failed.
    pub(super) fn not_connected(
        &mut self,
        at: u32,
        class: ErrorClass,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        self.conns[at as usize].state = State::Closed;
        self.opener.failed(at, out);
        if self.opener.is_none_open() {
            // Nobody is there to carry what waits: it has failed, as a user's request would have.
            self.end_waiting(Outcome::Wrong(class), example, out);
        }
        self.open_more(out);
    }

    pub(super) fn end_waiting(
        &mut self,
        outcome: Outcome,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let ended = Stamp::event(out.now_ns());
        while let Some(Waiting {
            due, cause: waited, ..
        }) = self.waiting.pop_front()
        {
            out.done(
                due.ticket,
                &Done {
                    outcome,
                    sent_ns: None,
                    ended,
                    bound: Bound::Exact,
                    waited,
                    example,
                },
            );
        }
    }

    /// Ends all exchanges of a connection in the same way; how many there were.
    pub(super) fn end_all(
        &mut self,
        at: u32,
        outcome: Outcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) -> usize {
        let conn = &mut self.conns[at as usize];
        let mut count = 0;
        while let Some(place) = conn.streams.any(|_| true) {
            let gone = conn.leave(place, Leave::Ended);
            gone.done(outcome, (ended, Bound::Upper), example, out);
            count += 1;
        }
        count
    }

    /// What a server sent cannot be understood: the connection ends, and every exchange on it.
    #[cold]
    pub(super) fn broken(
        &mut self,
        at: u32,
        error: CodecError,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        let was_open = self.conns[at as usize].state == State::Open;
        let blamed = self.end_all(at, Outcome::Wrong(ErrorClass::RUBBISH), stamp, &error, out);
        if blamed == 0 && (was_open || self.waiting.is_empty() || !self.opener.is_none_open()) {
            out.fault(ErrorClass::RUBBISH, &error);
        }
        let output = &mut self.conns[at as usize].output;
        if !output.is_blocked() {
            // No stream of the server's was ever processed.
            frame::write_goaway(&mut output.pending, 0, error.code());
            // The connection is closed at once: whether the kernel takes it does not matter any more.
            let _ = out.write(ConnId(at), &output.pending);
        }
        out.close(ConnId(at));
        if was_open {
            if self.conns[at as usize].answers == 0 {
                self.opener.pause(out);
            }
            self.lost(at, out);
        } else {
            self.not_connected(at, ErrorClass::RUBBISH, &error, out);
        }
    }

    /// A connection that takes no more exchanges and has none left is replaced.
    #[inline]
    pub(super) fn replace_if_left(&mut self, at: u32, out: &mut impl Outlet) -> bool {
        let conn = &mut self.conns[at as usize];
        let is_left = conn.state == State::Open && conn.is_leaving() && conn.streams.live() == 0;
        if is_left {
            if conn.answers == 0 {
                // Sent away before any answer: without a pause this would go round as fast as the machine can.
                self.opener.pause(out);
            }
            out.close(ConnId(at));
            self.lost(at, out);
        }
        is_left
    }

    /// Ends what is over its limit; exchanges are cancelled on their streams, the connections live on.
    pub(super) fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.conns.len() as u32 {
            match self.conns[at as usize].state {
                State::Closed => {}
                State::Connecting { deadline_ns } | State::Greeting { deadline_ns }
                    if deadline_ns > now_ns =>
                {
                    self.deadlines.watch(deadline_ns, out);
                }
                State::Connecting { .. } => {
                    out.close(ConnId(at));
                    self.not_connected(
                        at,
                        Closed::ConnectTimeout.class(),
                        &Closed::ConnectTimeout,
                        out,
                    );
                }
                State::Greeting { .. } => {
                    out.close(ConnId(at));
                    let class = ErrorClass::of("no-settings", Fault::Target);
                    let example =
                        "the server sent no SETTINGS in time: does it speak http/2 on this port?";
                    self.not_connected(at, class, &example, out);
                }
                State::Open => self.expire_streams(at, now_ns, out),
            }
        }
    }

    /// The same among the exchanges of one connection.
    fn expire_streams(&mut self, at: u32, now_ns: u64, out: &mut impl Outlet) {
        let timeout_ns = self.timeout_ns;
        let conn = &mut self.conns[at as usize];
        let deadline_ns = |begun_ns: u64| begun_ns.saturating_add(timeout_ns);
        let mut expired = false;
        while let Some(place) = conn
            .streams
            .any(|stream| deadline_ns(stream.begun_ns) <= now_ns)
        {
            expired = true;
            let gone = conn.leave(place, Leave::Reset(ErrorCode::CANCEL));
            let example = format_args!("no whole answer within {} ms", timeout_ns / 1_000_000);
            gone.done(
                Outcome::Wrong(ErrorClass::TIMEOUT),
                (Stamp::event(now_ns), Bound::Upper),
                &example,
                out,
            );
        }
        for (_, stream) in conn.streams.each() {
            self.deadlines.watch(deadline_ns(stream.begun_ns), out);
        }
        if expired && !self.replace_if_left(at, out) {
            self.touch(at);
            self.offer(at);
        }
    }
}
