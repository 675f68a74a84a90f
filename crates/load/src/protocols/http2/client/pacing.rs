//! Schedules the parts of bodies that are sent at intervals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::stream_protocol::StreamProtocol;
use super::{Http2, PACE};
use crate::arrivals::NEVER;
use crate::client::Outlet;

/// Entries of closed streams that are always tolerated.
const STALE_MAX: usize = 64;

/// When the next part of a stream is due. Ignored if the stream is closed by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextPart {
    at_ns: u64,
    conn: u32,
    /// Generation of the connection slot: stream ids start again with each connection.
    generation: u32,
    slot: u16,
    id: u32,
    period_ns: u64,
}

/// Due times of parts. The entry of a stream that ends early stays until it is due or evicted.
#[derive(Debug)]
pub struct Pacer {
    due_parts: BinaryHeap<Reverse<NextPart>>,
    evict_at: usize,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            due_parts: BinaryHeap::new(),
            evict_at: STALE_MAX,
        }
    }
}

impl<D: StreamProtocol> Http2<D> {
    /// Schedules the second parts of the new streams of a connection, one interval after their first bytes were written.
    pub(super) fn pace(&mut self, at: u32, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        let (generation, streams) = (conn.generation, &mut conn.streams);
        let due_parts = &mut self.pacer.due_parts;
        conn.to_pace.retain(|&(slot, id, period_ns)| {
            let stream = streams.at(slot);
            if stream.id != id {
                return false;
            }
            if stream.begun_ns == NEVER {
                return true;
            }
            let at_ns = stream.begun_ns.saturating_add(period_ns);
            due_parts.push(Reverse(NextPart {
                at_ns,
                conn: at,
                generation,
                slot,
                id,
                period_ns,
            }));
            false
        });
        self.evict_stale();
        self.set_pace_timer(out);
    }

    /// Allows all due parts to be sent; several per stream if the loop is late.
    pub(super) fn send_due_parts(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        while let Some(&Reverse(next)) = self.pacer.due_parts.peek()
            && next.at_ns <= now_ns
        {
            self.pacer.due_parts.pop();
            let conn = &mut self.conns[next.conn as usize];
            let stream = conn.streams.at(next.slot);
            if conn.generation != next.generation || stream.id != next.id {
                continue;
            }
            let parts = stream.parts_allowed.saturating_add(1);
            let request = &self.requests[stream.due.request as usize % self.requests.len()];
            if conn.allow_parts(next.slot, parts, request) {
                let at_ns = next.at_ns.saturating_add(next.period_ns);
                self.pacer
                    .due_parts
                    .push(Reverse(NextPart { at_ns, ..next }));
            }
            self.touch(next.conn);
        }
        self.set_pace_timer(out);
    }

    /// Entries, of open and of closed streams.
    #[cfg(test)]
    pub(crate) fn parts_due(&self) -> usize {
        self.pacer.due_parts.len()
    }

    fn set_pace_timer(&mut self, out: &mut impl Outlet) {
        if let Some(Reverse(next)) = self.pacer.due_parts.peek() {
            out.set_timer(PACE, next.at_ns);
        }
    }

    /// Removes entries of closed streams once the number of entries has doubled since the last time.
    fn evict_stale(&mut self) {
        let Pacer {
            due_parts,
            evict_at,
        } = &mut self.pacer;
        if due_parts.len() < *evict_at {
            return;
        }
        let conns = &mut self.conns;
        due_parts.retain(|Reverse(next)| {
            let conn = &mut conns[next.conn as usize];
            conn.generation == next.generation && conn.streams.at(next.slot).id == next.id
        });
        *evict_at = 2 * due_parts.len() + STALE_MAX;
    }
}
