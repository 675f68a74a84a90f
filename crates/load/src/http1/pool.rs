//! HTTP/1.1 as a [`Client`]: a pool of connections, each with at most one exchange.

use std::collections::VecDeque;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use super::backoff::Backoff;
use super::codec::{CodecError, End, Event, HeadMemory};
use super::conn::{Busy, Conn, State};
use super::plan::PoolPlan;
use super::request::Prepared;
use super::requests::Requests;
use crate::arrivals::NEVER;
use crate::client::{
    Bound, Client, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Stamp, Status, TimerId,
    WaitCause, Written,
};
use crate::opening::Opening;

/// Attempts under way at once: more would overflow the accept queue of an ordinary server, and a SYN that is dropped
/// comes again only after a second.
const OPENING_MAX: usize = 64;

/// Deadlines of exchanges and of attempts.
const DEADLINE: TimerId = TimerId(0);
/// The end of a pause after failures.
const RETRY: TimerId = TimerId(1);
/// The turn of the next connection to be opened.
const OPEN: TimerId = TimerId(2);

/// The pool. Free connections are used in turn, so that all carry the same share.
#[derive(Debug)]
pub struct Pool<R: Requests = Arc<[Prepared]>> {
    requests: R,
    addresses: Arc<[SocketAddr]>,
    /// Number of this pool's first connection among those of the whole load: addresses are used in turn over all.
    first: usize,
    timeout_ns: u64,
    exchanges_max: u64,
    schedule: Opening,
    conns: Vec<Conn<R::Progress>>,
    free: VecDeque<u32>,
    waiting: VecDeque<Due>,
    to_open: VecDeque<u32>,
    opening: usize,
    open: usize,
    backoff: Backoff,
    deadline_ns: u64,
    heads: HeadMemory,
}

impl<R: Requests> Pool<R> {
    /// A pool that has not started.
    #[must_use]
    pub fn new(plan: PoolPlan<R>) -> Self {
        Self {
            requests: plan.requests,
            addresses: plan.addresses,
            first: plan.first,
            timeout_ns: plan.timeout_ns,
            exchanges_max: plan.exchanges_max,
            schedule: plan.opening,
            conns: (0..plan.connections).map(|_| Conn::new()).collect(),
            free: VecDeque::with_capacity(plan.connections),
            waiting: VecDeque::with_capacity(plan.waiting_max),
            to_open: (0..plan.connections as u32).collect(),
            opening: 0,
            open: 0,
            backoff: Backoff::default(),
            deadline_ns: NEVER,
            heads: HeadMemory::new(),
        }
    }

    /// What is sent.
    pub fn requests_mut(&mut self) -> &mut R {
        &mut self.requests
    }

    fn open_more(&mut self, out: &mut impl Outlet) {
        while self.opening < OPENING_MAX && !self.backoff.is_waiting() {
            let Some(&at) = self.to_open.front() else {
                return;
            };
            if let Err(until_ns) = self.schedule.pass(out.now_ns()) {
                return out.timer(OPEN, until_ns);
            }
            self.to_open.pop_front();
            let deadline_ns = out.now_ns().saturating_add(self.timeout_ns);
            let conn = &mut self.conns[at as usize];
            conn.codec.reset();
            conn.answers = 0;
            conn.state = State::Connecting { deadline_ns };
            self.opening += 1;
            let address = self.addresses[(self.first + at as usize) % self.addresses.len()];
            out.connect(ConnId(at), address);
            self.set_deadline(deadline_ns, out);
        }
    }

    /// The timer stands at the earliest deadline that was known when it was set: later ones are found when it goes off,
    /// so a load with a timeout of 10 s touches the timer once in 10 s and not once an exchange.
    #[inline]
    fn set_deadline(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.deadline_ns {
            self.deadline_ns = at_ns;
            out.timer(DEADLINE, at_ns);
        }
    }

    fn send(&mut self, at: u32, due: Due, waited: Option<WaitCause>, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        if R::READS_HEADS {
            conn.codec.keep(self.requests.keep(due));
        }
        R::restart(&mut conn.progress);
        let outgoing = self.requests.outgoing(due);
        // Cannot fail: an idle connection has nothing begun.
        let begun = conn.codec.begin(outgoing.kind);
        debug_assert!(begun.is_ok(), "an idle connection has no request begun");
        let (sent_ns, waited) = match out.write(ConnId(at), outgoing.bytes) {
            Written::Sent(at_ns) => (Some(at_ns), waited),
            Written::Queued => (None, waited.or(Some(WaitCause::SocketBuffer))),
        };
        let begun_ns = sent_ns.unwrap_or_else(|| out.now_ns());
        conn.state = State::Busy(Busy {
            due,
            begun_ns,
            sent_ns,
            waited,
            last: None,
        });
        self.set_deadline(begun_ns.saturating_add(self.timeout_ns), out);
    }

    /// Gives a connection its next exchange, or keeps it free.
    #[inline]
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.waiting.pop_front() {
            self.send(at, due, Some(WaitCause::Connection), out);
            return;
        }
        let conn = &mut self.conns[at as usize];
        if !conn.queued {
            conn.queued = true;
            self.free.push_back(at);
        }
    }

    fn take_free(&mut self) -> Option<u32> {
        while let Some(at) = self.free.pop_front() {
            let conn = &mut self.conns[at as usize];
            conn.queued = false;
            if matches!(conn.state, State::Idle) {
                return Some(at);
            }
        }
        None
    }

    /// Closes an open connection of ours and opens it anew.
    fn renew(&mut self, at: u32, out: &mut impl Outlet) {
        out.close(ConnId(at));
        self.lost(at, out);
    }

    /// An open connection is gone.
    fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        conn.state = State::Closed;
        self.open -= 1;
        self.to_open.push_back(at);
        self.open_more(out);
    }

    /// An attempt to connect failed.
    fn not_connected(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        self.conns[at as usize].state = State::Closed;
        self.opening -= 1;
        self.to_open.push_back(at);
        self.pause(out);
        if self.open == 0 {
            // Nobody is there to carry what waits: it has failed, as a user's request would have.
            self.end_waiting(Outcome::Wrong(why.class()), &why, out);
        }
        self.open_more(out);
    }

    fn pause(&mut self, out: &mut impl Outlet) {
        let until_ns = self.backoff.failed(out.now_ns());
        out.timer(RETRY, until_ns);
    }

    /// Ends everything that waits for a connection.
    fn end_waiting(&mut self, outcome: Outcome, example: &dyn Display, out: &mut impl Outlet) {
        while let Some(due) = self.waiting.pop_front() {
            let done = Done {
                outcome,
                sent_ns: None,
                ended: Stamp::event(out.now_ns()),
                bound: Bound::Exact,
                waited: Some(WaitCause::Connection),
                example,
            };
            out.done(due.ticket, &done);
        }
    }

    /// Ends the exchange of a busy connection; the caller decides what becomes of the connection.
    #[inline]
    fn end(
        &mut self,
        at: u32,
        outcome: Outcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let conn = &mut self.conns[at as usize];
        let State::Busy(busy) = conn.state else {
            return;
        };
        conn.state = State::Idle;
        let Busy {
            due,
            sent_ns,
            waited,
            ..
        } = busy;
        let done = Done {
            outcome,
            sent_ns,
            ended,
            bound: Bound::Exact,
            waited,
            example,
        };
        out.done(due.ticket, &done);
    }

    /// A whole answer: is it right?
    #[inline]
    fn answered(&mut self, at: u32, end: End, stamp: Stamp, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        conn.answers += 1;
        let State::Busy(busy) = conn.state else {
            return;
        };
        let judged = self
            .requests
            .judge(busy.due, &mut conn.progress, end.status, stamp.seen_ns);
        match judged {
            Ok(()) => {
                let right = Outcome::Right(Status::http(end.status));
                self.end(at, right, stamp, &"", out);
            }
            Err(wrong) => self.end(at, Outcome::Wrong(wrong.class()), stamp, &wrong, out),
        }
    }

    /// What cannot be read as an answer.
    fn broken(&mut self, at: u32, error: CodecError, stamp: Stamp, out: &mut impl Outlet) {
        let busy = matches!(self.conns[at as usize].state, State::Busy(_));
        if busy {
            self.end(at, Outcome::Wrong(ErrorClass::RUBBISH), stamp, &error, out);
        } else {
            out.fault(ErrorClass::RUBBISH, &error);
            if self.conns[at as usize].answers == 0 {
                self.pause(out);
            }
        }
        self.renew(at, out);
    }

    /// Reads an answer's events; what ended it, if anything did.
    #[inline]
    fn read(&mut self, at: u32, bytes: &[u8]) -> Option<Result<End, CodecError>> {
        let conn = &mut self.conns[at as usize];
        let mut ended = None;
        let mut feed = conn.codec.feed_remembering(bytes, &mut self.heads);
        while let Some(event) = feed.next() {
            match event {
                Ok(Event::Body(slice)) => {
                    if let State::Busy(busy) = &conn.state {
                        self.requests.body(busy.due, &mut conn.progress, slice);
                    }
                }
                Ok(Event::Head(_)) if R::READS_HEADS => {
                    if let State::Busy(busy) = &conn.state {
                        self.requests.head(busy.due, feed.watched());
                    }
                }
                Ok(Event::End(end)) => ended = Some(Ok(end)),
                Ok(Event::Head(_) | Event::Tunnel(_)) => {}
                // Also behind a whole answer: bytes nobody asked for spoil it.
                Err(error) => return Some(Err(error)),
            }
        }
        ended
    }

    fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        let mut next_ns = NEVER;
        self.deadline_ns = NEVER;
        for at in 0..self.conns.len() as u32 {
            let deadline_ns = match self.conns[at as usize].state {
                State::Busy(busy) => busy.begun_ns.saturating_add(self.timeout_ns),
                State::Connecting { deadline_ns } => deadline_ns,
                State::Idle | State::Closed => continue,
            };
            if deadline_ns > now_ns {
                next_ns = next_ns.min(deadline_ns);
                continue;
            }
            if let State::Busy(_) = self.conns[at as usize].state {
                let example =
                    format_args!("no whole answer within {} ms", self.timeout_ns / 1_000_000);
                let outcome = Outcome::Wrong(ErrorClass::TIMEOUT);
                self.end(at, outcome, Stamp::event(now_ns), &example, out);
                self.renew(at, out);
            } else {
                out.close(ConnId(at));
                self.not_connected(at, Closed::ConnectTimeout, out);
            }
        }
        if next_ns != NEVER {
            self.set_deadline(next_ns, out);
        }
    }
}

impl<R: Requests> Client for Pool<R> {
    fn start(&mut self, out: &mut impl Outlet) {
        self.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.conns.len()
    }

    fn is_open(&self) -> bool {
        self.open == self.conns.len()
    }

    #[inline]
    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        match self.take_free() {
            Some(at) => self.send(at, due, None, out),
            None => self.waiting.push_back(due),
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.conns[conn.0 as usize].state = State::Idle;
        self.opening -= 1;
        self.open += 1;
        self.open_more(out);
        self.offer(conn.0, out);
    }

    #[inline]
    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        match self.read(conn.0, bytes) {
            None => {
                if let State::Busy(busy) = &mut self.conns[conn.0 as usize].state {
                    if busy.last.is_none() {
                        out.first_byte(busy.due.ticket, stamp.arrived_ns);
                    }
                    busy.last = Some(stamp);
                }
            }
            Some(Ok(end)) => {
                self.backoff.succeeded();
                self.answered(conn.0, end, stamp, out);
                let used_up = self.conns[conn.0 as usize].answers >= self.exchanges_max;
                if end.keep_alive && !used_up {
                    self.offer(conn.0, out);
                } else {
                    self.renew(conn.0, out);
                }
            }
            Some(Err(error)) => self.broken(conn.0, error, stamp, out),
        }
    }

    fn wrote(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        if let State::Busy(busy) = &mut self.conns[conn.0 as usize].state {
            busy.sent_ns.get_or_insert(at_ns);
        }
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let at = conn.0;
        let now_ns = out.now_ns();
        match self.conns[at as usize].state {
            State::Closed => {}
            State::Connecting { .. } => self.not_connected(at, why, out),
            State::Idle => {
                if self.conns[at as usize].answers == 0 {
                    // Accepted and dropped: without a pause this would go round as fast as the machine can.
                    self.pause(out);
                }
                self.lost(at, out);
            }
            State::Busy(_) => {
                self.end_by_close(at, why, Stamp::event(now_ns), out);
                self.lost(at, out);
            }
        }
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        match timer {
            DEADLINE => self.expire(out),
            RETRY => {
                self.backoff.elapsed();
                self.open_more(out);
            }
            _ => self.open_more(out),
        }
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.conns.len() as u32 {
            self.end(
                at,
                Outcome::Unfinished,
                ended,
                &"no whole answer when the drain ended",
                out,
            );
        }
        let example = "still waiting for a free connection when the drain ended";
        self.end_waiting(Outcome::Unfinished, &example, out);
    }
}

impl<R: Requests> Pool<R> {
    /// The connection ended under an exchange: an answer without stated length is whole by that.
    fn end_by_close(&mut self, at: u32, why: Closed, ended: Stamp, out: &mut impl Outlet) {
        if why != Closed::Eof {
            self.end(at, Outcome::Wrong(why.class()), ended, &why, out);
            return;
        }
        match self.conns[at as usize].codec.eof() {
            Ok(Some(end)) => {
                let last = match self.conns[at as usize].state {
                    State::Busy(busy) => busy.last,
                    _ => None,
                };
                self.answered(at, end, last.unwrap_or(ended), out);
            }
            Ok(None) => self.end(at, Outcome::Wrong(why.class()), ended, &why, out),
            Err(
                error @ (CodecError::ClosedBeforeAnswer { .. }
                | CodecError::ClosedInHead
                | CodecError::ClosedInBody { .. }),
            ) => self.end(at, Outcome::Wrong(why.class()), ended, &error, out),
            Err(error) => self.end(at, Outcome::Wrong(ErrorClass::RUBBISH), ended, &error, out),
        }
    }
}
