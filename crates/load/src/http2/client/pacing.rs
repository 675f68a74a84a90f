//! Bodies whose parts go by time: when the next part of each stream is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::dialect::Dialect;
use super::{Http2, PACE};
use crate::arrivals::NEVER;
use crate::client::Outlet;

/// Entries of dead streams that are borne however few live.
const DEAD_MAX: usize = 64;

/// The next part of a stream, if the stream still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    at_ns: u64,
    conn: u32,
    /// Of the connection slot: stream ids begin anew with each.
    life: u32,
    place: u16,
    id: u32,
    period_ns: u64,
}

/// When parts are due. A stream that ends early leaves its entry behind.
#[derive(Debug)]
pub struct Pacer {
    nexts: BinaryHeap<Reverse<Next>>,
    bury_at: usize,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            nexts: BinaryHeap::new(),
            bury_at: DEAD_MAX,
        }
    }
}

impl<D: Dialect> Http2<D> {
    /// Schedules the second parts of the streams that a connection has begun, counted from when their first bytes were given
    /// to the driver.
    pub(super) fn pace(&mut self, at: u32, out: &mut impl Outlet) {
        let conn = &mut self.conns[at as usize];
        let (life, streams) = (conn.life, &mut conn.streams);
        let nexts = &mut self.pacer.nexts;
        conn.to_pace.retain(|&(place, id, period_ns)| {
            let stream = streams.at(place);
            if stream.id != id {
                return false;
            }
            if stream.begun_ns == NEVER {
                return true;
            }
            let at_ns = stream.begun_ns.saturating_add(period_ns);
            nexts.push(Reverse(Next {
                at_ns,
                conn: at,
                life,
                place,
                id,
                period_ns,
            }));
            false
        });
        self.bury();
        self.set_pace(out);
    }

    /// Lets the parts go that are due, and as many of a stream as the loop is behind.
    pub(super) fn release_parts(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        while let Some(&Reverse(next)) = self.pacer.nexts.peek()
            && next.at_ns <= now_ns
        {
            self.pacer.nexts.pop();
            let conn = &mut self.conns[next.conn as usize];
            let stream = conn.streams.at(next.place);
            if conn.life != next.life || stream.id != next.id {
                continue;
            }
            let parts = stream.parts_let.saturating_add(1);
            let request = &self.requests[usize::from(stream.due.request) % self.requests.len()];
            if conn.let_parts(next.place, parts, request) {
                let at_ns = next.at_ns.saturating_add(next.period_ns);
                self.pacer.nexts.push(Reverse(Next { at_ns, ..next }));
            }
            self.touch(next.conn);
        }
        self.set_pace(out);
    }

    /// Parts that are noted, of living streams and of dead ones.
    #[cfg(test)]
    pub(crate) fn parts_due(&self) -> usize {
        self.pacer.nexts.len()
    }

    fn set_pace(&mut self, out: &mut impl Outlet) {
        if let Some(Reverse(next)) = self.pacer.nexts.peek() {
            out.timer(PACE, next.at_ns);
        }
    }

    /// Throws out entries of dead streams when there are twice as many entries as last time.
    fn bury(&mut self) {
        let Pacer { nexts, bury_at } = &mut self.pacer;
        if nexts.len() < *bury_at {
            return;
        }
        let conns = &mut self.conns;
        nexts.retain(|Reverse(next)| {
            let conn = &mut conns[next.conn as usize];
            conn.life == next.life && conn.streams.at(next.place).id == next.id
        });
        *bury_at = 2 * nexts.len() + DEAD_MAX;
    }
}
