//! The HTTP/1.1 [`Client`]: a pool of connections, each with at most one exchange at a time.

use std::sync::Arc;

use thiserror::Error;

use super::codec::{CodecError, End, Event, HeadCache};
use super::conn::Conn;
use super::request::Prepared;
use super::requests::Requests;
use crate::client::{
    Client, Closed, ConnId, Due, ErrorClass, Outcome, Outlet, Stamp, Status, TimerId, WaitCause,
    Written,
};
use crate::roster::{ConnectionPool, Connections, Exchange, State};

/// The client.
#[derive(Debug)]
pub struct Pool<R: Requests = Arc<[Prepared]>> {
    requests: R,
    roster: ConnectionPool<Conn<R::Progress>, ()>,
    heads: HeadCache,
}

/// The response was not complete within the time limit.
#[derive(Debug, Error)]
#[error("no whole answer within {limit_ms} ms")]
struct ExchangeTimeout {
    limit_ms: u64,
}

impl<R: Requests> Pool<R> {
    /// A client that has not started.
    #[must_use]
    pub fn new(requests: R, connections: &Connections) -> Self {
        Self {
            requests,
            roster: ConnectionPool::new(connections, Conn::new),
            heads: HeadCache::new(),
        }
    }

    /// The source of requests.
    pub fn requests_mut(&mut self) -> &mut R {
        &mut self.requests
    }

    fn send(&mut self, at: u32, due: Due, waited: Option<WaitCause>, out: &mut impl Outlet) {
        let slot = self.roster.slot(at);
        let conn = &mut slot.conn;
        if R::READS_HEADS {
            conn.codec.keep(self.requests.keep(due));
        }
        R::restart(&mut conn.progress);
        let outgoing = self.requests.outgoing(due);
        // Cannot fail: an idle connection has no outstanding request.
        let begun = conn.codec.begin(outgoing.kind);
        debug_assert!(begun.is_ok(), "an idle connection has no request begun");
        let (sent_ns, waited) = match out.write(ConnId(at), outgoing.bytes) {
            Written::Sent(at_ns) => (Some(at_ns), waited),
            Written::Queued => (None, waited.or(Some(WaitCause::SocketBuffer))),
        };
        let begun_ns = sent_ns.unwrap_or_else(|| out.now_ns());
        slot.state = State::Busy(Exchange {
            due,
            begun_ns,
            sent_ns,
            waited,
            last: None,
            own: (),
        });
        self.roster.watch(begun_ns, out);
    }

    /// Starts the next waiting exchange on a connection, if there is one.
    #[inline]
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.roster.next_for(at) {
            self.send(at, due, Some(WaitCause::Connection), out);
        }
    }

    /// Checks a complete response and ends its exchange.
    #[inline]
    fn on_response(&mut self, at: u32, end: End, stamp: Stamp, out: &mut impl Outlet) {
        let slot = self.roster.slot(at);
        slot.answers += 1;
        let State::Busy(exchange) = &slot.state else {
            return;
        };
        let (due, progress) = (exchange.due, &mut slot.conn.progress);
        match self
            .requests
            .judge(due, progress, end.status, stamp.seen_ns)
        {
            Ok(()) => {
                let ok = Outcome::Ok(Status::http(end.status));
                self.roster.end(at, ok, stamp, &"", out);
            }
            Err(mismatch) => {
                let outcome = Outcome::Wrong(mismatch.class());
                self.roster.end(at, outcome, stamp, &mismatch, out);
            }
        }
    }

    /// Ends the exchange, if there is one, and replaces the connection after a malformed response.
    fn on_protocol_error(
        &mut self,
        at: u32,
        error: CodecError,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if self.roster.slot(at).exchange().is_none() {
            return self.roster.unasked(at, &error, out);
        }
        let outcome = Outcome::Wrong(ErrorClass::MALFORMED);
        self.roster.end(at, outcome, stamp, &error, out);
        self.roster.renew(at, out);
    }

    /// Parses received bytes; the end of the response or the error, if either was reached.
    #[inline]
    fn read(&mut self, at: u32, bytes: &[u8]) -> Option<Result<End, CodecError>> {
        let slot = self.roster.slot(at);
        let conn = &mut slot.conn;
        let mut ended = None;
        let mut feed = conn.codec.feed_cached(bytes, &mut self.heads);
        while let Some(event) = feed.next() {
            match event {
                Ok(Event::Body(slice)) => {
                    if let State::Busy(exchange) = &slot.state {
                        self.requests.body(exchange.due, &mut conn.progress, slice);
                    }
                }
                Ok(Event::Head(_)) if R::READS_HEADS => {
                    if let State::Busy(exchange) = &slot.state {
                        self.requests.head(exchange.due, feed.watched());
                    }
                }
                Ok(Event::End(end)) => ended = Some(Ok(end)),
                Ok(Event::Head(_) | Event::Tunnel(_)) => {}
                // Also after a complete response: unsolicited bytes after it make it an error.
                Err(error) => return Some(Err(error)),
            }
        }
        ended
    }

    /// The connection was closed during an exchange. A response without a stated length is complete by that.
    fn end_by_close(&mut self, at: u32, why: Closed, last: Option<Stamp>, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        let closed = Outcome::Wrong(why.class());
        if why != Closed::Eof {
            return self.roster.end(at, closed, ended, &why, out);
        }
        match self.roster.slot(at).conn.codec.eof() {
            Ok(Some(end)) => self.on_response(at, end, last.unwrap_or(ended), out),
            Ok(None) => self.roster.end(at, closed, ended, &why, out),
            Err(
                error @ (CodecError::ClosedBeforeAnswer { .. }
                | CodecError::ClosedInHead
                | CodecError::ClosedInBody { .. }),
            ) => self.roster.end(at, closed, ended, &error, out),
            Err(error) => {
                let outcome = Outcome::Wrong(ErrorClass::MALFORMED);
                self.roster.end(at, outcome, ended, &error, out);
            }
        }
    }
}

impl<R: Requests> Client for Pool<R> {
    fn start(&mut self, out: &mut impl Outlet) {
        self.roster.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.roster.len()
    }

    fn is_open(&self) -> bool {
        self.roster.are_all_open()
    }

    #[inline]
    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        if let Some(at) = self.roster.place(due) {
            self.send(at, due, None, out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.roster.connected(conn.0, out);
        self.offer(conn.0, out);
    }

    #[inline]
    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let at = conn.0;
        match self.read(at, bytes) {
            None => {
                if let Some(exchange) = self.roster.slot(at).exchange() {
                    if exchange.last.is_none() {
                        out.first_byte(exchange.due.ticket, stamp.arrived_ns);
                    }
                    exchange.last = Some(stamp);
                }
            }
            Some(Ok(end)) => {
                self.roster.worked();
                self.on_response(at, end, stamp, out);
                if end.keep_alive && !self.roster.is_used_up(at) {
                    self.offer(at, out);
                } else {
                    self.roster.renew(at, out);
                }
            }
            Some(Err(error)) => self.on_protocol_error(at, error, stamp, out),
        }
    }

    fn wrote(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        if let Some(exchange) = self.roster.slot(conn.0).exchange() {
            exchange.sent_ns.get_or_insert(at_ns);
        }
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        if let Some(exchange) = self.roster.closed(conn.0, why, out) {
            self.end_by_close(conn.0, why, exchange.last, out);
            self.roster.lost(conn.0, out);
        }
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.roster
            .timer(timer, |limit_ms, _| ExchangeTimeout { limit_ms }, out);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let example = "no whole answer when the drain ended";
        self.roster.abandon(&example, out);
    }
}
