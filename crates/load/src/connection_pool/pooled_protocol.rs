//! Clients of protocols with one exchange at a time on a connection: the pool does what they have in common.

use std::fmt::Display;

use thiserror::Error;

use super::{ConnectionPool, ConnectionState, Exchange};
use crate::client::{
    Client, Closed, ConnId, DueExchange, ExchangeOutcome, Outlet, Stamp, TimerId, WaitCause,
};

/// A protocol with one exchange at a time on a connection. Such a type is a [`Client`].
pub(crate) trait PooledProtocol {
    type Conn: ConnectionState;
    /// Its state of an exchange.
    type Own: Copy;
    /// What is wrong with exchanges that are in flight when the drain ends.
    const UNFINISHED: &'static str = "no complete response when the drain ended";

    fn pool(&self) -> &ConnectionPool<Self::Conn, Self::Own>;
    fn pool_mut(&mut self) -> &mut ConnectionPool<Self::Conn, Self::Own>;
    /// Begins an exchange on a free connection.
    fn begin(
        &mut self,
        at: u32,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    );
    /// Bytes arrived on a connection.
    fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet);

    /// Whether exchanges can begin once all connections are open.
    fn is_prepared(&self) -> bool {
        true
    }
    /// Where the server sent the client with its first redirect.
    fn redirected_to(&self) -> Option<&[u8]> {
        None
    }
    /// Why the load is impossible; see [`Client::problem`].
    fn problem(&self) -> Option<String> {
        None
    }
    /// A connection is open and free.
    fn after_open(&mut self, at: u32, out: &mut impl Outlet) {
        self.offer(at, out);
    }
    /// A connection is closed, with or without an exchange.
    fn before_close(&mut self, _at: u32) {}
    /// Ends the exchange on a connection that was closed.
    fn end_by_close(
        &mut self,
        at: u32,
        why: Closed,
        _exchange: &Exchange<Self::Own>,
        out: &mut impl Outlet,
    ) {
        let ended = Stamp::event(out.now_ns());
        let outcome = ExchangeOutcome::Failed(why.class());
        self.pool_mut().end(at, outcome, ended, &why, out);
    }
    /// A connection takes bytes again, after [`Outlet::try_write`] took fewer than all.
    fn after_full(&mut self, _at: u32) {}
    /// Writes what was gathered.
    fn write_more(&mut self, _out: &mut impl Outlet) {}
    /// What is wrong with an exchange whose timeout has passed.
    fn timeout(limit_ms: u64, _exchange: Exchange<Self::Own>) -> impl Display {
        ResponseTimeout { limit_ms }
    }

    /// Begins the next waiting exchange on a connection, if there is one.
    #[inline]
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.pool_mut().next_waiting(at) {
            self.begin(at, due, Some(WaitCause::Connection), out);
        }
    }
}

/// The response was not complete within the time limit.
#[derive(Debug, Error)]
#[error("no complete response within {limit_ms} ms")]
struct ResponseTimeout {
    limit_ms: u64,
}

impl<P: PooledProtocol> Client for P {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.pool_mut().open_more(out);
    }

    fn capacity(&self) -> usize {
        self.pool().len()
    }

    fn is_open(&self) -> bool {
        self.is_prepared() && self.pool().are_all_open()
    }

    fn problem(&self) -> Option<String> {
        PooledProtocol::problem(self)
    }

    #[inline]
    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        if let Some(at) = self.pool_mut().acquire(due) {
            self.begin(at, due, None, out);
        }
    }

    #[inline]
    fn flush(&mut self, out: &mut impl Outlet) {
        self.write_more(out);
    }

    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.pool_mut().connected(conn.0, out);
        self.after_open(conn.0, out);
    }

    #[inline]
    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        self.receive(conn.0, bytes, stamp, out);
    }

    fn on_write_started(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        if let Some(exchange) = self.pool_mut().slot(conn.0).exchange() {
            exchange.sent_ns.get_or_insert(at_ns);
        }
    }

    fn on_writable(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.after_full(conn.0);
    }

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.before_close(conn.0);
        if let Some(exchange) = self.pool_mut().closed(conn.0, why, out) {
            self.end_by_close(conn.0, why, &exchange, out);
            self.pool_mut().lost(conn.0, out);
        }
    }

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.pool_mut().timer(timer, P::timeout, out);
    }

    fn redirected_to(&self) -> Option<&[u8]> {
        PooledProtocol::redirected_to(self)
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.pool_mut().abandon(&P::UNFINISHED, out);
    }
}
