//! How fetches and the load end: lost answers, an end that is reached, what is counted.

use std::sync::atomic::Ordering;

use super::source::Source;
use super::{FETCH, Fetch, GROUP, OFFSETS};
use crate::client::{Bound, Done, Due, ErrorClass, Outcome, Outlet, Stamp};
use crate::kafka::outbox::NoSegments;
use tare_kafka::group::GroupKind;
use tare_schema::agent::Fault;

/// Something that will be refused for ever.
const REFUSED: ErrorClass = ErrorClass::of("refused", Fault::Client);

impl Fetch {
    /// A request will not be answered.
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
                let under_way = self.lanes[broker as usize].under_way.take();
                if let Some(under_way) = under_way {
                    out.done(
                        under_way.due.ticket,
                        &Done {
                            outcome: Outcome::Wrong(class),
                            sent_ns,
                            ended: Stamp::event(now_ns),
                            bound: Bound::Exact,
                            waited: under_way.waited,
                            example: &why,
                        },
                    );
                }
            }
            OFFSETS => self.unplaced(broker, now_ns),
            _ => {
                let kind = GroupKind::ALL[(token - GROUP) as usize % GroupKind::ALL.len()];
                if let Some(group) = &mut self.group {
                    group.member.lost(kind, now_ns);
                }
            }
        }
    }

    /// Whether the load is over, by what has arrived.
    pub(super) fn judge_end(&mut self) {
        let until = &self.spec.until;
        let enough = until
            .records
            .is_some_and(|most| self.arrived.load(Ordering::Relaxed) >= most);
        // In a rebalance a member has no partitions, and has not read what it will be given.
        let has_share = self
            .group
            .as_ref()
            .is_none_or(|group| group.member.is_stable());
        let sources = &self.reading.sources;
        let all_read = || sources.iter().all(Source::is_read);
        // From nobody will anything come.
        let hopeless = !sources.is_empty() && sources.iter().all(|source| source.broken);
        if let (true, false, Some(words)) = (hopeless, self.finished, &self.reading.broken_by) {
            self.problem
                .get_or_insert_with(|| format!("nothing more can be read: {words}"));
        }
        self.finished |= enough || hopeless || (until.backlog && has_share && all_read());
    }

    /// Ends a load that can never go on, as with a group that will not have us any more.
    pub(super) fn heed_problem(&mut self, out: &mut impl Outlet) {
        let problem = self.problem.as_deref().or_else(|| self.cluster.problem());
        if let (Some(problem), false) = (problem, self.finished) {
            self.finished = true;
            out.fault(REFUSED, &problem);
        }
    }

    /// The partitions that this broker was asked for are begun again, where everything was read.
    pub(super) fn begin_again(&mut self, broker: u32) {
        for &at in &self.lanes[broker as usize].asked {
            if let Some(source) = self.reading.sources.get_mut(at as usize) {
                source.begin_again();
            }
        }
    }

    /// The drain is over: ends what is held.
    pub(super) fn give_up(&mut self, out: &mut impl Outlet) {
        self.finished = true;
        let held = self.held.drain(..).map(|(due, waited)| (due, None, waited));
        let under_way = self
            .lanes
            .iter_mut()
            .filter_map(|lane| lane.under_way.take());
        let under_way = under_way.map(|one| (one.due, Some(()), one.waited));
        let all: Vec<(Due, Option<()>, _)> = held.chain(under_way).collect();
        let ended = Stamp::event(out.now_ns());
        for (due, sent, waited) in all {
            out.done(
                due.ticket,
                &Done {
                    outcome: Outcome::Unfinished,
                    sent_ns: sent.map(|()| ended.seen_ns),
                    ended,
                    bound: Bound::Exact,
                    waited,
                    example: &"no answer when the drain ended",
                },
            );
        }
        self.leave_group(out);
        self.cluster.flush(&NoSegments, out);
    }

    pub(super) fn tell_counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        let counts = &self.reading.counts;
        tell("record-batches", counts.batches);
        tell("records", counts.records);
        tell("fetches-without-records", counts.empty);
        tell("corrupt-batches", counts.corrupt);
        tell("unreadable-batches", counts.unreadable);
        tell("cut-batches", counts.cut);
        tell("offset-resets", counts.resets);
        tell("records-of-others", counts.foreign);
        tell("partition-errors", counts.partition_errors);
        tell("throttled-ms", counts.throttled_ms);
        if let Some(group) = &self.group {
            let counts = group.member.counts();
            tell("group-rebalances", counts.rebalances);
            tell("group-assignments", counts.assignments);
            tell("group-rebalancing-us", counts.rebalancing_ns / 1000);
            tell("group-heartbeats", counts.heartbeats);
            tell("group-commits", counts.commits);
            tell("group-commits-failed", counts.commits_failed);
        }
    }
}
