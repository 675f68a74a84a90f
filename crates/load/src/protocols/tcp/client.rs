//! The TCP client: a pool of connections, each with at most one exchange at a time.

use std::collections::VecDeque;
use std::fmt::Display;

use thiserror::Error;

use super::options::{ExchangeSpec, ResponseEnd};
use super::{PATTERN_PERIOD, PIECE_BYTES, TcpContent, TcpExchange, pattern};
use crate::client::{
    Closed, ConnId, DueExchange, ErrorClass, ExchangeOutcome, Outlet, Stamp, Status, TimerId,
    WaitCause,
};
use crate::connection_pool::{
    ConnectionPool, ConnectionState, Exchange, PoolConfig, PooledProtocol, State, TIMER_OWN,
};

/// Bytes written to one connection before the next one has its turn.
const TURN_BYTES: u64 = 4 * PIECE_BYTES as u64;

/// Goes off at once when a connection has more to write than its turn allowed. Nothing is to be done then: `write_more` follows.
const RESUME: TimerId = TIMER_OWN;

/// One connection.
#[derive(Debug, Default)]
pub struct Conn {
    /// Bytes received after the end of a block, which belong to the next one, with the timestamp of the last.
    pub surplus: Option<(u64, Stamp)>,
}

impl ConnectionState for Conn {
    fn reset(&mut self) {
        self.surplus = None;
    }
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Bytes that the kernel has not accepted yet.
    pub unsent_bytes: u64,
    pub received_bytes: u64,
    /// Offset of the first byte of the response that differs from the pattern.
    pub wrong_at: Option<u64>,
}

/// The client.
#[derive(Debug)]
pub struct Tcp {
    spec: ExchangeSpec,
    pattern: &'static [u8],
    pool: ConnectionPool<Conn, Transfer>,
    /// Connections with data to write, round robin.
    writers: VecDeque<u32>,
}

/// The exchange was not complete within the time limit.
#[derive(Debug, Error)]
#[error("not done within {limit_ms} ms: {unsent_bytes} bytes unsent, {received_bytes} received")]
struct ExchangeTimeout {
    limit_ms: u64,
    unsent_bytes: u64,
    received_bytes: u64,
}

impl Tcp {
    /// A client that has not started.
    #[must_use]
    pub fn new(exchange: TcpExchange, connections: &PoolConfig) -> Self {
        Self {
            spec: exchange.into(),
            pattern: pattern(),
            pool: ConnectionPool::new(connections, Conn::default),
            writers: VecDeque::with_capacity(connections.count),
        }
    }

    /// Writes as much as the kernel accepts, at most [`TURN_BYTES`].
    fn send(&mut self, at: u32, out: &mut impl Outlet) {
        let Some(exchange) = self.pool.slot(at).exchange() else {
            return;
        };
        let transfer = &mut exchange.own;
        let mut turn_bytes = TURN_BYTES;
        while transfer.unsent_bytes > 0 && turn_bytes > 0 {
            let start =
                ((self.spec.send_bytes - transfer.unsent_bytes) % PATTERN_PERIOD as u64) as usize;
            let length = transfer
                .unsent_bytes
                .min(turn_bytes)
                .min(PIECE_BYTES as u64) as usize;
            let at_ns = out.now_ns();
            let taken = out.try_write(ConnId(at), &self.pattern[start..start + length]);
            if taken > 0 {
                exchange.sent_ns.get_or_insert(at_ns);
            }
            transfer.unsent_bytes -= taken as u64;
            turn_bytes -= taken as u64;
            if taken < length {
                // The client is notified when the socket is writable again.
                if exchange.sent_ns.is_none() {
                    exchange.waited = exchange.waited.or(Some(WaitCause::SocketBuffer));
                }
                return;
            }
        }
        if transfer.unsent_bytes > 0 {
            self.writers.push_back(at);
            return out.set_timer(RESUME, out.now_ns());
        }
        if let ResponseEnd::UntilEof(_) = self.spec.answer {
            out.half_close(ConnId(at));
        }
        self.finish_if_complete(at, out);
    }

    /// Ends the exchange of a connection if it is complete.
    #[inline]
    fn finish_if_complete(&mut self, at: u32, out: &mut impl Outlet) {
        let State::Busy(exchange) = self.pool.slot(at).state else {
            return;
        };
        let ResponseEnd::Bytes(expected) = self.spec.answer else {
            return;
        };
        let transfer = &exchange.own;
        if transfer.unsent_bytes > 0 || transfer.received_bytes < expected {
            return;
        }
        self.pool.reset_backoff();
        let ended = exchange.last.unwrap_or_else(|| Stamp::event(out.now_ns()));
        let surplus = transfer.received_bytes - expected;
        self.record_result(at, transfer, expected, ended, out);
        let slot = self.pool.slot(at);
        slot.answers += 1;
        slot.conn.surplus = (surplus > 0).then_some((surplus, ended));
        if self.pool.is_at_exchange_limit(at) || (surplus > 0 && !self.spec.is_throughput) {
            return self.pool.reopen(at, out);
        }
        self.offer(at, out);
    }

    /// Reports the outcome of a complete response.
    fn record_result(
        &mut self,
        at: u32,
        transfer: &Transfer,
        expected: u64,
        ended: Stamp,
        out: &mut impl Outlet,
    ) {
        let received = transfer.received_bytes;
        let wrong = ExchangeOutcome::Failed(ErrorClass::WRONG_BODY);
        if let Some(offset) = transfer.wrong_at {
            let example = format_args!("byte {offset} of the answer is not the one expected");
            self.pool.end(at, wrong, ended, &example, out);
        } else if received != expected && !self.spec.is_throughput {
            let example = format_args!("{received} bytes came back, not {expected}");
            self.pool.end(at, wrong, ended, &example, out);
        } else {
            self.pool
                .end(at, ExchangeOutcome::Ok(Status::NONE), ended, &"", out);
        }
    }

    /// Counts and checks received bytes for the current exchange; false when there is none.
    fn count_received(&mut self, at: u32, bytes: &[u8], stamp: Stamp) -> bool {
        let Some(exchange) = self.pool.slot(at).exchange() else {
            return false;
        };
        let transfer = &mut exchange.own;
        if self.spec.content == TcpContent::Pattern && transfer.wrong_at.is_none() {
            let mut offset = transfer.received_bytes;
            for piece in bytes.chunks(PIECE_BYTES) {
                let start = (offset % PATTERN_PERIOD as u64) as usize;
                let right = &self.pattern[start..start + piece.len()];
                if piece != right {
                    let within = piece
                        .iter()
                        .zip(right)
                        .position(|(came, right)| came != right);
                    transfer.wrong_at = Some(offset + within.unwrap_or(0) as u64);
                    break;
                }
                offset += piece.len() as u64;
            }
        }
        transfer.received_bytes += bytes.len() as u64;
        exchange.last = Some(stamp);
        true
    }
}

impl PooledProtocol for Tcp {
    type Conn = Conn;
    type Own = Transfer;
    const UNFINISHED: &'static str = "not done when the drain ended";

    #[inline]
    fn pool(&self) -> &ConnectionPool<Conn, Transfer> {
        &self.pool
    }

    #[inline]
    fn pool_mut(&mut self) -> &mut ConnectionPool<Conn, Transfer> {
        &mut self.pool
    }

    fn begin(
        &mut self,
        at: u32,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) {
        let begun_ns = out.now_ns();
        let slot = self.pool.slot(at);
        let surplus = slot.conn.surplus.take();
        slot.state = State::Busy(Exchange {
            due,
            begun_ns,
            // With nothing to send it counts as sent.
            sent_ns: (self.spec.send_bytes == 0).then_some(begun_ns),
            waited,
            last: surplus.map(|(_, stamp)| stamp),
            own: Transfer {
                unsent_bytes: self.spec.send_bytes,
                received_bytes: surplus.map_or(0, |(bytes, _)| bytes),
                wrong_at: None,
            },
        });
        self.pool.watch(begun_ns, out);
        if self.spec.is_throughput || self.spec.send_bytes > PIECE_BYTES as u64 {
            self.writers.push_back(at);
        } else {
            self.send(at, out);
        }
    }

    fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        if self.count_received(at, bytes, stamp) {
            self.finish_if_complete(at, out);
        } else if !self.spec.is_throughput {
            let count = bytes.len();
            let example = format_args!("{count} unsolicited bytes");
            self.pool
                .unsolicited(at, ErrorClass::MALFORMED, &example, out);
        }
    }

    /// With [`ResponseEnd::UntilEof`] the response is complete by that.
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
                self.pool.reset_backoff();
                let expected = expected.unwrap_or(transfer.received_bytes);
                let ended = exchange.last.unwrap_or(ended);
                self.record_result(at, transfer, expected, ended, out);
            }
            _ => self
                .pool
                .end(at, ExchangeOutcome::Failed(why.class()), ended, &why, out),
        }
    }

    fn after_full(&mut self, at: u32) {
        self.writers.push_back(at);
    }

    /// Gives each connection with data to write one turn; the rest is written after the next events.
    fn write_more(&mut self, out: &mut impl Outlet) {
        for _ in 0..self.writers.len() {
            let Some(at) = self.writers.pop_front() else {
                return;
            };
            self.send(at, out);
        }
    }

    fn timeout(limit_ms: u64, exchange: Exchange<Transfer>) -> impl Display {
        ExchangeTimeout {
            limit_ms,
            unsent_bytes: exchange.own.unsent_bytes,
            received_bytes: exchange.own.received_bytes,
        }
    }
}
