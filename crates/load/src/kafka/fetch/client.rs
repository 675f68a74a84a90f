//! What the driver tells a consumer, and what it wants to know of it.

use super::source::Source;
use super::{FETCH, Fetch, OFFSETS, WAKE};
use crate::arrivals::NEVER;
use crate::client::{Client, Closed, ConnId, Due, Outlet, Stamp, TimerId};
use crate::kafka::cluster::Taken;
use crate::kafka::outbox::NoSegments;

impl Client for Fetch {
    fn start(&mut self, out: &mut impl Outlet) {
        self.cluster.start(out);
        self.after(out);
    }

    fn capacity(&self) -> usize {
        usize::from(self.spec.at_once)
    }

    fn is_open(&self) -> bool {
        let joined = self
            .group
            .as_ref()
            .is_none_or(|group| group.member.is_stable());
        let mut sources = self.reading.sources.iter();
        self.cluster.is_open() && joined && sources.all(|source| source.position.is_some())
    }

    fn due(&mut self, due: Due, _out: &mut impl Outlet) {
        self.held.push_back((due, None));
    }

    fn flush(&mut self, out: &mut impl Outlet) {
        self.after(out);
        self.pump(out);
        self.cluster.flush(&NoSegments, out);
        if self.finished {
            for (due, _) in self.held.drain(..) {
                out.withdraw(due.ticket);
            }
        }
        if self.wake_ns != NEVER {
            out.timer(WAKE, self.wake_ns);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.cluster.connected(conn.0, out);
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut input = bytes;
        let streams = |token| token == FETCH;
        while let Some(taken) = self
            .cluster
            .take_part(conn.0, &mut input, stamp, out, streams)
        {
            match taken {
                Taken::Piece(piece) => self.piece(&piece, stamp, out),
                Taken::Answer(answer) => {
                    match answer.token {
                        OFFSETS => self.placed(&answer, out),
                        _ => self.group_answer(&answer, out),
                    }
                    self.cluster.give_back(answer.broker, answer.frame);
                }
            }
        }
    }

    fn wrote(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}

    fn room(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.cluster.room(conn.0);
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.cluster.closed(conn.0, why, out);
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        if timer == WAKE {
            self.wake_ns = NEVER;
            self.layout_changed = true;
        }
        self.cluster.timer(timer, out);
    }

    fn backlog(&self) -> Option<u64> {
        let each = self.reading.sources.iter().map(Source::backlog);
        each.sum()
    }

    fn problem(&self) -> Option<String> {
        let ours = self.problem.as_deref();
        ours.or_else(|| self.cluster.problem()).map(str::to_owned)
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        self.tell_counts(tell);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.give_up(out);
    }
}
