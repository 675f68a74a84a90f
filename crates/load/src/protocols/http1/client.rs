//! The HTTP/1.1 client: a pool of connections, each with at most one exchange at a time.

use std::sync::Arc;

use super::codec::{Codec, CodecError, End, Event, HeadCache, Limits};
use super::request::Prepared;
use super::requests::RequestSource;
use crate::client::{Closed, DueExchange, ExchangeOutcome, Outlet, Stamp, Status, WaitCause};
use crate::connection_pool::{
    ConnectionPool, ConnectionState, Exchange, PoolConfig, PooledProtocol, State,
};

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn<P> {
    /// Parses the responses.
    codec: Codec,
    /// Check state of the current response.
    progress: P,
}

impl<P: Default> Conn<P> {
    fn new() -> Self {
        let limits = Limits {
            pipeline_max: 1,
            ..Limits::default()
        };
        Self {
            codec: Codec::new(limits),
            progress: P::default(),
        }
    }
}

impl<P> ConnectionState for Conn<P> {
    fn reset(&mut self) {
        self.codec.reset();
    }
}

#[derive(Debug)]
pub struct Http1Client<R: RequestSource = Arc<[Prepared]>> {
    requests: R,
    pool: ConnectionPool<Conn<R::Progress>, ()>,
    heads: HeadCache,
    has_answered: bool,
    /// Why the load is impossible.
    problem: Option<CodecError>,
}

impl<R: RequestSource> Http1Client<R> {
    /// A client that has not started.
    #[must_use]
    pub fn new(requests: R, connections: &PoolConfig) -> Self {
        Self {
            requests,
            pool: ConnectionPool::new(connections, Conn::new),
            heads: HeadCache::new(),
            has_answered: false,
            problem: None,
        }
    }

    /// The source of requests.
    pub fn requests_mut(&mut self) -> &mut R {
        &mut self.requests
    }

    /// Checks a complete response and ends its exchange.
    #[inline]
    fn on_response(&mut self, at: u32, end: End, stamp: Stamp, out: &mut impl Outlet) {
        let slot = self.pool.slot(at);
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
                let ok = ExchangeOutcome::Ok(Status::http(end.status));
                self.pool.end(at, ok, stamp, &"", out);
            }
            Err(mismatch) => {
                let outcome = ExchangeOutcome::Failed(mismatch.class());
                self.pool.end(at, outcome, stamp, &mismatch, out);
            }
        }
    }

    /// The server speaks HTTP/2: the load is impossible, unless another one has answered.
    #[cold]
    fn notice_http2(&mut self) -> CodecError {
        let error = CodecError::SpeaksHttp2;
        if !self.has_answered {
            self.problem = Some(error);
        }
        error
    }

    /// Ends the exchange, if there is one, and replaces the connection after a malformed response.
    fn on_protocol_error(
        &mut self,
        at: u32,
        error: CodecError,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if self.pool.slot(at).exchange().is_none() {
            return self.pool.unsolicited(at, error.class(), &error, out);
        }
        let outcome = ExchangeOutcome::Failed(error.class());
        self.pool.end(at, outcome, stamp, &error, out);
        self.pool.reopen(at, out);
    }

    /// Parses received bytes; the end of the response or the error, if either was reached.
    #[inline]
    fn read(&mut self, at: u32, bytes: &[u8]) -> Option<Result<End, CodecError>> {
        let slot = self.pool.slot(at);
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
                Ok(Event::Head(head)) if R::READS_HEADS => {
                    if let State::Busy(exchange) = &slot.state {
                        let progress = &mut conn.progress;
                        self.requests
                            .head(exchange.due, progress, &head, feed.watched());
                    }
                }
                Ok(Event::End(end)) => ended = Some(Ok(end)),
                Ok(Event::Head(_) | Event::Tunnel(_)) => {}
                // It says nothing about the response before it: only the connection is over.
                Err(CodecError::IdleTimeout) if ended.is_some() => {
                    return ended.map(|ended| {
                        ended.map(|end: End| End {
                            keep_alive: false,
                            ..end
                        })
                    });
                }
                // Also after a complete response: unsolicited bytes after it make it an error.
                Err(error) => return Some(Err(error)),
            }
        }
        ended
    }
}

/// Whether bytes begin with a SETTINGS frame, the first one of every HTTP/2 server.
fn begins_http2(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, length, 4, 0, 0, 0, 0, 0, ..] if length % 6 == 0)
}

impl<R: RequestSource> PooledProtocol for Http1Client<R> {
    type Conn = Conn<R::Progress>;
    type Own = ();

    #[inline]
    fn pool(&self) -> &ConnectionPool<Self::Conn, ()> {
        &self.pool
    }

    #[inline]
    fn pool_mut(&mut self) -> &mut ConnectionPool<Self::Conn, ()> {
        &mut self.pool
    }

    fn redirected_to(&self) -> Option<&[u8]> {
        self.pool
            .conns()
            .find_map(|conn| conn.codec.redirected_to())
    }

    #[inline]
    fn begin(
        &mut self,
        at: u32,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) {
        let slot = self.pool.slot(at);
        let conn = &mut slot.conn;
        if R::READS_HEADS {
            conn.codec.keep(self.requests.keep(due));
        }
        R::restart(&mut conn.progress);
        let outgoing = self.requests.outgoing(due);
        // Cannot fail: an idle connection has no outstanding request.
        let begun = conn.codec.begin(outgoing.kind);
        debug_assert!(begun.is_ok(), "an idle connection has no request begun");
        self.pool.send(at, (due, waited), outgoing.bytes, (), out);
    }

    #[inline]
    fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        match self.read(at, bytes) {
            // A line end behind the response before it is no part of this one.
            None if self.pool.slot(at).conn.codec.is_between() => {}
            None => self.pool.partial(at, stamp, out),
            Some(Ok(end)) => {
                self.pool.reset_backoff();
                self.has_answered = true;
                self.on_response(at, end, stamp, out);
                if end.keep_alive && !self.pool.is_at_exchange_limit(at) {
                    self.offer(at, out);
                } else {
                    self.pool.reopen(at, out);
                }
            }
            Some(Err(error)) => {
                let error = if begins_http2(bytes) {
                    self.notice_http2()
                } else {
                    error
                };
                self.on_protocol_error(at, error, stamp, out);
            }
        }
    }

    fn problem(&self) -> Option<String> {
        self.problem.map(|error| error.to_string())
    }

    /// A response without a stated length is complete by that.
    fn end_by_close(
        &mut self,
        at: u32,
        why: Closed,
        exchange: &Exchange<()>,
        out: &mut impl Outlet,
    ) {
        let ended = Stamp::event(out.now_ns());
        let closed = ExchangeOutcome::Failed(why.class());
        if why != Closed::Eof {
            return self.pool.end(at, closed, ended, &why, out);
        }
        match self.pool.slot(at).conn.codec.eof() {
            Ok(Some(end)) => self.on_response(at, end, exchange.last.unwrap_or(ended), out),
            Ok(None) => self.pool.end(at, closed, ended, &why, out),
            Err(
                error @ (CodecError::ClosedBeforeAnswer { .. }
                | CodecError::ClosedInHead
                | CodecError::ClosedInBody { .. }),
            ) => self.pool.end(at, closed, ended, &error, out),
            Err(error) => {
                let outcome = ExchangeOutcome::Failed(error.class());
                self.pool.end(at, outcome, ended, &error, out);
            }
        }
    }
}
