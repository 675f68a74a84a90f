//! An exchange over TCP: sending, receiving, and checking the response.

use super::client::{RESUME, Tcp};
use super::conn::Transfer;
use super::spec::ResponseEnd;
use super::{PATTERN_PERIOD, PIECE_BYTES, TcpContent};
use crate::client::{ConnId, Due, ErrorClass, Outcome, Outlet, Stamp, Status, WaitCause};
use crate::roster::{Exchange, State};

/// Bytes written to one connection before the next one has its turn.
const TURN_BYTES: u64 = 4 * PIECE_BYTES as u64;

impl Tcp {
    /// Begins an exchange on a free connection.
    pub(super) fn begin(
        &mut self,
        at: u32,
        due: Due,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) {
        let begun_ns = out.now_ns();
        let slot = self.roster.slot(at);
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
        self.roster.watch(begun_ns, out);
        if self.spec.is_throughput || self.spec.send_bytes > PIECE_BYTES as u64 {
            self.writers.push_back(at);
        } else {
            self.send(at, out);
        }
    }

    /// Writes as much as the kernel accepts, at most [`TURN_BYTES`].
    pub(super) fn send(&mut self, at: u32, out: &mut impl Outlet) {
        let Some(exchange) = self.roster.slot(at).exchange() else {
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
            let taken = out.pour(ConnId(at), &self.pattern[start..start + length]);
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
            return out.timer(RESUME, out.now_ns());
        }
        if let ResponseEnd::UntilEof(_) = self.spec.answer {
            out.half_close(ConnId(at));
        }
        self.finish_if_complete(at, out);
    }

    /// Ends the exchange of a connection if it is complete.
    #[inline]
    pub(super) fn finish_if_complete(&mut self, at: u32, out: &mut impl Outlet) {
        let State::Busy(exchange) = self.roster.slot(at).state else {
            return;
        };
        let ResponseEnd::Bytes(expected) = self.spec.answer else {
            return;
        };
        let transfer = &exchange.own;
        if transfer.unsent_bytes > 0 || transfer.received_bytes < expected {
            return;
        }
        self.roster.worked();
        let ended = exchange.last.unwrap_or_else(|| Stamp::event(out.now_ns()));
        let surplus = transfer.received_bytes - expected;
        self.record_result(at, transfer, expected, ended, out);
        let slot = self.roster.slot(at);
        slot.answers += 1;
        slot.conn.surplus = (surplus > 0).then_some((surplus, ended));
        if self.roster.is_used_up(at) || (surplus > 0 && !self.spec.is_throughput) {
            return self.roster.renew(at, out);
        }
        self.offer(at, out);
    }

    /// Reports the outcome of a complete response.
    pub(super) fn record_result(
        &mut self,
        at: u32,
        transfer: &Transfer,
        expected: u64,
        ended: Stamp,
        out: &mut impl Outlet,
    ) {
        let received = transfer.received_bytes;
        let wrong = Outcome::Wrong(ErrorClass::WRONG_BODY);
        if let Some(offset) = transfer.wrong_at {
            let example = format_args!("byte {offset} of the answer is not the one expected");
            self.roster.end(at, wrong, ended, &example, out);
        } else if received != expected && !self.spec.is_throughput {
            let example = format_args!("{received} bytes came back, not {expected}");
            self.roster.end(at, wrong, ended, &example, out);
        } else {
            self.roster
                .end(at, Outcome::Ok(Status::NONE), ended, &"", out);
        }
    }

    /// Counts and checks received bytes for the current exchange; false when there is none.
    pub(super) fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp) -> bool {
        let Some(exchange) = self.roster.slot(at).exchange() else {
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
