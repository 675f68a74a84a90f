//! The TCP [`Client`]: a pool of connections, each with at most one exchange at a time.

use std::collections::VecDeque;

use thiserror::Error;

use super::conn::{Conn, Transfer};
use super::spec::{ExchangeSpec, ResponseEnd};
use super::{TcpExchange, pattern};
use crate::client::{Client, Closed, ConnId, Due, Outcome, Outlet, Stamp, TimerId, WaitCause};
use crate::roster::{ConnectionPool, Connections, Exchange, TIMER_OWN};

/// Goes off at once when a connection has more to write than its turn allowed.
pub(super) const RESUME: TimerId = TIMER_OWN;

/// The client.
#[derive(Debug)]
pub struct Tcp {
    pub(super) spec: ExchangeSpec,
    pub(super) pattern: Vec<u8>,
    pub(super) roster: ConnectionPool<Conn, Transfer>,
    /// Connections with data to write, round robin.
    pub(super) writers: VecDeque<u32>,
}

/// The exchange was not complete within the time limit.
#[derive(Debug, Error)]
#[error("not done within {limit_ms} ms: {unsent_bytes} bytes unsent, {received_bytes} received")]
struct ExchangeTimeout {
    limit_ms: u64,
    unsent_bytes: u64,
    received_bytes: u64,
}

impl ExchangeTimeout {
    fn of(limit_ms: u64, exchange: &Exchange<Transfer>) -> Self {
        Self {
            limit_ms,
            unsent_bytes: exchange.own.unsent_bytes,
            received_bytes: exchange.own.received_bytes,
        }
    }
}

impl Tcp {
    /// A client that has not started.
    #[must_use]
    pub fn new(exchange: TcpExchange, connections: &Connections) -> Self {
        Self {
            spec: exchange.into(),
            pattern: pattern(),
            roster: ConnectionPool::new(connections, Conn::default),
            writers: VecDeque::with_capacity(connections.count),
        }
    }

    /// Starts the next waiting exchange on a connection, if there is one.
    #[inline]
    pub(super) fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.roster.next_for(at) {
            self.begin(at, due, Some(WaitCause::Connection), out);
        }
    }

    /// The connection was closed during an exchange. With [`ResponseEnd::UntilEof`] the response is complete by that.
    fn end_by_close(
        &mut self,
        at: u32,
        why: Closed,
        exchange: &Exchange<Transfer>,
        out: &mut impl Outlet,
    ) {
        let ended = Stamp::event(out.now_ns());
        let transfer = &exchange.own;
        match (self.spec.answer, why) {
            (ResponseEnd::UntilEof(expected), Closed::Eof) if transfer.unsent_bytes == 0 => {
                self.roster.worked();
                let expected = expected.unwrap_or(transfer.received_bytes);
                let ended = exchange.last.unwrap_or(ended);
                self.record_result(at, transfer, expected, ended, out);
            }
            _ => self
                .roster
                .end(at, Outcome::Wrong(why.class()), ended, &why, out),
        }
    }
}

impl Client for Tcp {
    fn start(&mut self, out: &mut impl Outlet) {
        self.roster.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.roster.len()
    }

    fn is_open(&self) -> bool {
        self.roster.are_all_open()
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        if let Some(at) = self.roster.place(due) {
            self.begin(at, due, None, out);
        }
    }

    /// Gives each connection with data to write one turn; the rest is written after the next events.
    fn flush(&mut self, out: &mut impl Outlet) {
        for _ in 0..self.writers.len() {
            let Some(at) = self.writers.pop_front() else {
                return;
            };
            self.send(at, out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.roster.connected(conn.0, out);
        self.offer(conn.0, out);
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        if self.receive(conn.0, bytes, stamp) {
            self.finish_if_complete(conn.0, out);
        } else if !self.spec.is_throughput {
            let count = bytes.len();
            let example = format_args!("{count} bytes came that no exchange had asked for");
            self.roster.unasked(conn.0, &example, out);
        }
    }

    fn wrote(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}

    fn room(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.writers.push_back(conn.0);
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        if let Some(exchange) = self.roster.closed(conn.0, why, out) {
            self.end_by_close(conn.0, why, &exchange, out);
            self.roster.lost(conn.0, out);
        }
    }

    /// For `RESUME` nothing is to be done: waiting connections are served in `flush`.
    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.roster.timer(timer, ExchangeTimeout::of, out);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.roster.abandon(&"not done when the drain ended", out);
    }
}
