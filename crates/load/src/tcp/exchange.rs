//! How an exchange over TCP goes: bytes out, bytes in, and whether they are the right ones.

use tare_schema::load::TcpContent;

use super::client::{RESUME, Tcp};
use super::conn::{Busy, State};
use super::shape::Answer;
use super::{LETTERS, PIECE_BYTES};
use crate::client::{ConnId, Due, ErrorClass, Outcome, Outlet, Stamp, Status, WaitCause};

/// Written to one connection before others have their turn.
const SLICE_BYTES: u64 = 4 * PIECE_BYTES as u64;

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
        let conn = &mut self.conns[at as usize];
        let surplus = conn.surplus.take();
        conn.state = State::Busy(Busy {
            due,
            begun_ns,
            // Without anything to send it has begun all the same.
            sent_ns: (self.shape.send_bytes == 0).then_some(begun_ns),
            waited,
            unsent_bytes: self.shape.send_bytes,
            received_bytes: surplus.map_or(0, |(bytes, _)| bytes),
            last: surplus.map(|(_, stamp)| stamp),
            wrong_at: None,
        });
        self.set_deadline(begun_ns.saturating_add(self.timeout_ns), out);
        if self.shape.flows || self.shape.send_bytes > PIECE_BYTES as u64 {
            self.writers.push_back(at);
        } else {
            self.send(at, out);
        }
    }

    /// Gives the kernel what it takes, up to a slice.
    pub(super) fn send(&mut self, at: u32, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        let State::Busy(busy) = &mut conn.state else {
            return;
        };
        let mut slice_bytes = SLICE_BYTES;
        while busy.unsent_bytes > 0 && slice_bytes > 0 {
            let start = ((self.shape.send_bytes - busy.unsent_bytes) % LETTERS as u64) as usize;
            let length = busy.unsent_bytes.min(slice_bytes).min(PIECE_BYTES as u64) as usize;
            let at_ns = out.now_ns();
            let taken = out.pour(ConnId(at), &self.pattern[start..start + length]);
            if taken > 0 {
                busy.sent_ns.get_or_insert(at_ns);
            }
            busy.unsent_bytes -= taken as u64;
            slice_bytes -= taken as u64;
            if taken < length {
                // `room` will tell.
                if busy.sent_ns.is_none() {
                    busy.waited = busy.waited.or(Some(WaitCause::SocketBuffer));
                }
                return;
            }
        }
        if busy.unsent_bytes > 0 {
            self.writers.push_back(at);
            return out.timer(RESUME, out.now_ns());
        }
        if let Answer::ToEnd(_) = self.shape.answer {
            out.half_close(ConnId(at));
        }
        self.settle(at, out);
    }

    /// Ends the exchange of a connection if nothing is missing.
    #[inline]
    pub(super) fn settle(&mut self, at: u32, out: &mut impl Outlet) {
        let State::Busy(busy) = self.conns[at as usize].state else {
            return;
        };
        let Answer::Bytes(expected) = self.shape.answer else {
            return;
        };
        if busy.unsent_bytes > 0 || busy.received_bytes < expected {
            return;
        }
        self.backoff.succeeded();
        let ended = busy.last.unwrap_or_else(|| Stamp::event(out.now_ns()));
        let surplus = busy.received_bytes - expected;
        self.conclude(at, &busy, expected, ended, out);
        let conn = &mut self.conns[at as usize];
        conn.ended += 1;
        if conn.ended >= self.exchanges_max || (surplus > 0 && !self.shape.flows) {
            self.renew(at, out);
            return;
        }
        conn.surplus = (surplus > 0).then_some((surplus, ended));
        self.offer(at, out);
    }

    /// Says whether a whole answer was right.
    pub(super) fn conclude(
        &mut self,
        at: u32,
        busy: &Busy,
        expected: u64,
        ended: Stamp,
        out: &mut impl Outlet,
    ) {
        let received = busy.received_bytes;
        let wrong = Outcome::Wrong(ErrorClass::WRONG_BODY);
        if let Some(offset) = busy.wrong_at {
            let example = format_args!("byte {offset} of the answer is not the one expected");
            self.end(at, wrong, ended, &example, out);
        } else if received != expected && !self.shape.flows {
            let example = format_args!("{received} bytes came back, not {expected}");
            self.end(at, wrong, ended, &example, out);
        } else {
            self.end(at, Outcome::Right(Status::NONE), ended, &"", out);
        }
    }

    /// Takes what arrived for the exchange under way; false when there is none.
    pub(super) fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp) -> bool {
        let State::Busy(busy) = &mut self.conns[at as usize].state else {
            return false;
        };
        if self.shape.content == TcpContent::Pattern && busy.wrong_at.is_none() {
            let mut offset = busy.received_bytes;
            for piece in bytes.chunks(PIECE_BYTES) {
                let start = (offset % LETTERS as u64) as usize;
                let right = &self.pattern[start..start + piece.len()];
                if piece != right {
                    let within = piece
                        .iter()
                        .zip(right)
                        .position(|(came, right)| came != right);
                    busy.wrong_at = Some(offset + within.unwrap_or(0) as u64);
                    break;
                }
                offset += piece.len() as u64;
            }
        }
        busy.received_bytes += bytes.len() as u64;
        busy.last = Some(stamp);
        true
    }
}
