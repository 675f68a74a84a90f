//! The end of fetches and of the load: lost requests, end conditions, counts.

use std::sync::atomic::Ordering;

use super::cursor::PartitionCursor;
use super::{FETCH, Fetch, GROUP, OFFSETS};
use crate::errors::THROTTLED;
use crate::send_queue::NoSegments;
use tare_kafka::group::GroupKind;
use tare_load::client::{Completion, ErrorClass, ExchangeOutcome, Outlet, Stamp};
use tare_record::agent::ErrorSource;

/// A permanent failure.
const KAFKA_FATAL: ErrorClass = ErrorClass::of("kafka-fatal", ErrorSource::Client);

impl Fetch {
    /// Handles a request that was lost.
    pub(super) fn lost(
        &mut self,
        (broker, token): (u32, u32),
        sent_ns: Option<u64>,
        (class, why): (ErrorClass, &str),
        out: &mut impl Outlet,
    ) {
        let now_ns = out.now_ns();
        match token {
            FETCH => {
                self.layout_changed = true;
                let in_flight = self.broker_fetches[broker as usize].in_flight.take();
                if let Some(in_flight) = in_flight {
                    let done = Completion {
                        sent_ns,
                        waited: in_flight.waited,
                        ..Completion::unsent(
                            ExchangeOutcome::Failed(class),
                            Stamp::event(now_ns),
                            &why,
                        )
                    };
                    out.complete(in_flight.due.ticket, &done);
                }
            }
            OFFSETS => self.on_offsets_lost(broker, now_ns),
            _ => {
                let kind = GroupKind::ALL[(token - GROUP) as usize % GroupKind::ALL.len()];
                if let Some(group) = &mut self.group {
                    group.member.lost(kind, now_ns);
                }
            }
        }
    }

    /// Finishes when enough records or the backlog are read, or no partition can be read any more.
    pub(super) fn check_finished(&mut self) {
        let until = &self.plan.spec.until;
        let enough = until
            .records
            .is_some_and(|most| self.plan.arrived.load(Ordering::Relaxed) >= most);
        // During a rebalance a member has no partitions, but may be assigned unread ones.
        let has_assignment = self
            .group
            .as_ref()
            .is_none_or(|group| group.member.is_stable());
        let cursors = &self.reader.cursors;
        let readable = || cursors.iter().filter(|cursor| self.is_readable(cursor));
        // Partitions without a leader are not waited for.
        let all_read = until.backlog && has_assignment && readable().all(PartitionCursor::is_read);
        // No partition can be read any more.
        let all_broken = !cursors.is_empty() && cursors.iter().all(|cursor| cursor.broken);
        if let (true, false, Some(words)) = (all_broken, self.finished, &self.reader.broken_by) {
            self.problem
                .get_or_insert_with(|| format!("nothing more can be read: {words}"));
        }
        let unread = cursors.iter().filter(|cursor| !cursor.is_read());
        if all_read && !enough && !self.finished && unread.count() > 0 {
            let unread: Vec<String> = self.without_leader().collect();
            self.problem.get_or_insert_with(|| {
                format!(
                    "what is stored was not read to its end: {}",
                    unread.join("; ")
                )
            });
        }
        self.finished |= enough || all_broken || all_read;
    }

    /// Ends the load on a permanent failure, such as a group that rejects the member.
    pub(super) fn abort_on_problem(&mut self, out: &mut impl Outlet) {
        let problem = self.problem.as_deref().or_else(|| self.cluster.problem());
        if let (Some(problem), false) = (problem, self.finished) {
            self.finished = true;
            out.fault(KAFKA_FATAL, &problem);
        }
    }

    /// Rewinds those partitions of this broker's last fetch that are read to their end.
    pub(super) fn rewind(&mut self, broker: u32) {
        for &at in &self.broker_fetches[broker as usize].response.requested {
            if let Some(cursor) = self.reader.cursors.get_mut(at as usize) {
                cursor.rewind();
            }
        }
    }

    /// The drain is over: ends all exchanges, as unfinished unless a quota held them back, and leaves the group.
    pub(super) fn give_up(&mut self, out: &mut impl Outlet) {
        self.finished = true;
        let now_ns = out.now_ns();
        let ended = Stamp::event(now_ns);
        let since_ns = now_ns.saturating_sub(self.plan.timeout_ns);
        let example = "no answer when the drain ended";
        let (outcome, example) = match self.cluster.throttle_since(since_ns) {
            Some(why) => (
                ExchangeOutcome::Failed(THROTTLED),
                format!("{example}: {why}"),
            ),
            None => (ExchangeOutcome::Unfinished, example.to_owned()),
        };
        let done = Completion::unsent(outcome, ended, &example);
        for (due, waited) in self.waiting.drain(..) {
            out.complete(due.ticket, &Completion { waited, ..done });
        }
        let fetches = self.broker_fetches.iter_mut();
        for in_flight in fetches.filter_map(|broker_fetch| broker_fetch.in_flight.take()) {
            let done = Completion {
                sent_ns: Some(ended.seen_ns),
                waited: in_flight.waited,
                ..done
            };
            out.complete(in_flight.due.ticket, &done);
        }
        self.leave_group(out);
        self.cluster.flush(&NoSegments, out);
    }

    /// Every exchange has ended: commits what was read since the last commit. Whether nothing is left to wait for.
    pub(super) fn commit_rest(&mut self, out: &mut impl Outlet) -> bool {
        let Some(group) = &mut self.group else {
            return true;
        };
        let cursors = &self.reader.cursors;
        let is_over = group.commit_rest(cursors, &self.plan.spec.topics);
        if !is_over {
            self.poll_group(out);
            self.cluster.flush(&NoSegments, out);
        }
        is_over
    }

    pub(super) fn report_counts(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.reader.counts.report(report);
        if let Some(group) = &self.group {
            let counts = group.member.counts();
            report("group-rebalances", counts.rebalances);
            report("group-assignments", counts.assignments);
            report("group-rebalance-time-us", counts.rebalancing_ns / 1000);
            report("group-join-time-us", group.join_ns / 1000);
            report("group-heartbeats", counts.heartbeats);
            report("group-commits", counts.commits);
            report("group-commits-failed", counts.commits_failed);
        }
    }
}
