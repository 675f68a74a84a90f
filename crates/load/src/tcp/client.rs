//! TCP as a [`Client`]: a pool of connections, each with at most one exchange.

use std::collections::VecDeque;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use tare_schema::load::TcpExchange;

use super::conn::{Conn, State};
use super::pattern;
use super::shape::{Answer, Shape};
use crate::arrivals::NEVER;
use crate::client::{
    Bound, Client, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Stamp, TimerId,
    WaitCause,
};
use crate::http1::backoff::Backoff;
use crate::opening::Opening;

/// Attempts under way at once: more would overflow the accept queue of an ordinary server.
const OPENING_MAX: usize = 64;

/// Deadlines of exchanges and of attempts.
const DEADLINE: TimerId = TimerId(0);
/// The end of a pause after failures.
const RETRY: TimerId = TimerId(1);
/// The turn of the next connection to be opened.
const OPEN: TimerId = TimerId(2);
/// Connections with more to write than their turn allowed.
pub(super) const RESUME: TimerId = TimerId(3);

/// What a client is made of.
#[derive(Debug, Clone)]
pub struct TcpPlan {
    /// What an exchange is.
    pub exchange: TcpExchange,
    /// Where to, in turn.
    pub addresses: Arc<[SocketAddr]>,
    /// Number of the first connection among those of the whole load.
    pub first: usize,
    /// Connections.
    pub connections: usize,
    /// A connection is opened anew after so many exchanges.
    pub exchanges_max: u64,
    /// When they are opened.
    pub opening: Opening,
    /// Limit of an exchange and of an attempt to connect.
    pub timeout_ns: u64,
    /// Exchanges that may wait for a connection.
    pub waiting_max: usize,
}

/// The client. Free connections are used in turn, so that all carry the same share.
#[derive(Debug)]
pub struct Tcp {
    pub(super) shape: Shape,
    pub(super) pattern: Vec<u8>,
    addresses: Arc<[SocketAddr]>,
    first: usize,
    pub(super) timeout_ns: u64,
    pub(super) exchanges_max: u64,
    schedule: Opening,
    pub(super) conns: Vec<Conn>,
    free: VecDeque<u32>,
    waiting: VecDeque<Due>,
    to_open: VecDeque<u32>,
    /// Connections that wait for their turn to write.
    pub(super) writers: VecDeque<u32>,
    opening: usize,
    open: usize,
    pub(super) backoff: Backoff,
    deadline_ns: u64,
}

impl Tcp {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: TcpPlan) -> Self {
        Self {
            shape: plan.exchange.into(),
            pattern: pattern(),
            addresses: plan.addresses,
            first: plan.first,
            timeout_ns: plan.timeout_ns,
            exchanges_max: plan.exchanges_max,
            schedule: plan.opening,
            conns: (0..plan.connections).map(|_| Conn::new()).collect(),
            free: VecDeque::with_capacity(plan.connections),
            waiting: VecDeque::with_capacity(plan.waiting_max),
            to_open: (0..plan.connections as u32).collect(),
            writers: VecDeque::with_capacity(plan.connections),
            opening: 0,
            open: 0,
            backoff: Backoff::default(),
            deadline_ns: NEVER,
        }
    }

    fn open_more(&mut self, out: &mut impl Outlet) {
        while self.opening < OPENING_MAX && !self.backoff.is_waiting() && !self.to_open.is_empty() {
            if let Err(until_ns) = self.schedule.pass(out.now_ns()) {
                return out.timer(OPEN, until_ns);
            }
            let Some(at) = self.to_open.pop_front() else {
                return;
            };
            let deadline_ns = out.now_ns().saturating_add(self.timeout_ns);
            let conn = &mut self.conns[at as usize];
            conn.ended = 0;
            conn.surplus = None;
            conn.state = State::Connecting { deadline_ns };
            self.opening += 1;
            let address = self.addresses[(self.first + at as usize) % self.addresses.len()];
            out.connect(ConnId(at), address);
            self.set_deadline(deadline_ns, out);
        }
    }

    /// The timer stands at the earliest deadline known when it was set; later ones are found when it goes off.
    #[inline]
    pub(super) fn set_deadline(&mut self, at_ns: u64, out: &mut impl Outlet) {
        if at_ns < self.deadline_ns {
            self.deadline_ns = at_ns;
            out.timer(DEADLINE, at_ns);
        }
    }

    /// Gives a connection its next exchange, or keeps it free.
    #[inline]
    pub(super) fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.waiting.pop_front() {
            return self.begin(at, due, Some(WaitCause::Connection), out);
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
    pub(super) fn renew(&mut self, at: u32, out: &mut impl Outlet) {
        out.close(ConnId(at));
        self.lost(at, out);
    }

    fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        self.conns[at as usize].state = State::Closed;
        self.open -= 1;
        self.to_open.push_back(at);
        self.open_more(out);
    }

    fn not_connected(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        self.conns[at as usize].state = State::Closed;
        self.opening -= 1;
        self.to_open.push_back(at);
        self.pause(out);
        if self.open == 0 {
            // Nobody is there to carry what waits: it has failed, as a user's exchange would have.
            self.end_waiting(Outcome::Wrong(why.class()), &why, out);
        }
        self.open_more(out);
    }

    fn pause(&mut self, out: &mut impl Outlet) {
        let until_ns = self.backoff.failed(out.now_ns());
        out.timer(RETRY, until_ns);
    }

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
    pub(super) fn end(
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
        let done = Done {
            outcome,
            sent_ns: busy.sent_ns,
            ended,
            bound: Bound::Exact,
            waited: busy.waited,
            example,
        };
        out.done(busy.due.ticket, &done);
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
            } else if let State::Busy(busy) = self.conns[at as usize].state {
                let limit_ms = self.timeout_ns / 1_000_000;
                let example = format_args!(
                    "not done within {limit_ms} ms: {} bytes unsent, {} received",
                    busy.unsent_bytes, busy.received_bytes
                );
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

impl Client for Tcp {
    fn start(&mut self, out: &mut impl Outlet) {
        self.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.conns.len()
    }

    fn is_open(&self) -> bool {
        self.open == self.conns.len()
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        match self.take_free() {
            Some(at) => self.begin(at, due, None, out),
            None => self.waiting.push_back(due),
        }
    }

    /// One turn for each connection that has something to write: what they leave has its turn after the next events.
    fn flush(&mut self, out: &mut impl Outlet) {
        for _ in 0..self.writers.len() {
            let Some(at) = self.writers.pop_front() else {
                return;
            };
            self.send(at, out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.conns[conn.0 as usize].state = State::Idle;
        self.opening -= 1;
        self.open += 1;
        self.open_more(out);
        self.offer(conn.0, out);
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        if self.receive(conn.0, bytes, stamp) {
            self.settle(conn.0, out);
        } else if !self.shape.flows {
            let count = bytes.len();
            out.fault(
                ErrorClass::RUBBISH,
                &format_args!("{count} bytes came that no exchange had asked for"),
            );
            if self.conns[conn.0 as usize].ended == 0 {
                self.pause(out);
            }
            self.renew(conn.0, out);
        }
    }

    fn wrote(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}

    fn room(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.writers.push_back(conn.0);
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let at = conn.0;
        let now_ns = out.now_ns();
        match self.conns[at as usize].state {
            State::Closed => {}
            State::Connecting { .. } => self.not_connected(at, why, out),
            State::Idle => {
                if self.conns[at as usize].ended == 0 {
                    // Accepted and dropped: without a pause this would go round as fast as the machine can.
                    self.pause(out);
                }
                self.lost(at, out);
            }
            State::Busy(busy) => {
                let ended = Stamp::event(now_ns);
                match (self.shape.answer, why) {
                    (Answer::ToEnd(expected), Closed::Eof) if busy.unsent_bytes == 0 => {
                        self.backoff.succeeded();
                        let expected = expected.unwrap_or(busy.received_bytes);
                        let ended = busy.last.unwrap_or(ended);
                        self.conclude(at, &busy, expected, ended, out);
                    }
                    _ => self.end(at, Outcome::Wrong(why.class()), ended, &why, out),
                }
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
            OPEN => self.open_more(out),
            // Those that wait for their turn have it in `flush`.
            _ => {}
        }
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.conns.len() as u32 {
            let example = "not done when the drain ended";
            self.end(at, Outcome::Unfinished, ended, &example, out);
        }
        let example = "still waiting for a free connection when the drain ended";
        self.end_waiting(Outcome::Unfinished, &example, out);
    }
}
