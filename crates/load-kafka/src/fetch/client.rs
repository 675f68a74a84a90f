//! The consumer as a [`Client`].

use super::cursor::PartitionCursor;
use super::{FETCH, Fetch, OFFSETS, WAKE};
use crate::cluster::ReceivedResponse;
use crate::send_queue::NoSegments;
use tare_load::arrivals::NEVER;
use tare_load::client::{Client, Closed, ConnId, DueExchange, Outlet, Stamp, TimerId};

impl Client for Fetch {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.cluster.start(out);
        self.process_events(out);
    }

    fn capacity(&self) -> usize {
        usize::from(self.plan.spec.in_flight_max)
    }

    fn is_open(&self) -> bool {
        let joined = self
            .group
            .as_ref()
            .is_none_or(|group| group.member.is_stable());
        let mut cursors = self.reader.cursors.iter();
        let is_known =
            |cursor: &PartitionCursor| cursor.position.is_some() || !self.is_readable(cursor);
        self.cluster.is_open() && joined && cursors.all(is_known)
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        self.idle.begin(out.now_ns());
        if let Some(group) = &mut self.group {
            group.begin();
        }
        self.waiting.push_back((due, None));
    }

    fn flush(&mut self, out: &mut impl Outlet) {
        self.process_events(out);
        self.send_fetches(out);
        self.cluster.flush(&NoSegments, out);
        if self.finished {
            for (due, _) in self.waiting.drain(..) {
                out.withdraw(due.ticket);
            }
        }
        if self.wake_ns != NEVER {
            out.set_timer(WAKE, self.wake_ns);
        }
    }

    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.cluster.connected(conn.0, out);
    }

    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut input = bytes;
        let streams = |token| token == FETCH;
        while let Some(taken) = self.cluster.take_streamed(conn.0, &mut input, out, streams) {
            match taken {
                ReceivedResponse::Piece(piece) => self.piece(&piece, stamp, out),
                ReceivedResponse::BrokerResponse(answer) => {
                    match answer.token {
                        OFFSETS => self.on_offsets(&answer, out),
                        _ => self.on_group_response(&answer, out),
                    }
                    self.cluster.recycle(answer.broker, answer.frame);
                }
            }
        }
    }

    fn on_writable(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.cluster.on_writable(conn.0);
    }

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.cluster.closed(conn.0, why, out);
    }

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        if timer == WAKE {
            self.wake_ns = NEVER;
            self.layout_changed = true;
        }
        self.cluster.timer(timer, out);
    }

    fn backlog(&self) -> Option<u64> {
        let each = self.reader.cursors.iter().map(PartitionCursor::backlog);
        each.sum()
    }

    fn problem(&self) -> Option<String> {
        let ours = self.problem.as_deref();
        ours.or_else(|| self.cluster.problem()).map(str::to_owned)
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn counts(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.report_counts(report);
    }

    fn settle(&mut self, out: &mut impl Outlet) -> bool {
        self.commit_rest(out)
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.give_up(out);
    }
}
