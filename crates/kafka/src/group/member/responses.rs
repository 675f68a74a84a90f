//! Handling of the coordinator's responses.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    JoinGroupResponse, OffsetCommitResponse, OffsetFetchResponse, SyncGroupResponse,
};

use super::{Assigned, GroupError, GroupEvent, Member, Step};
use crate::group::assign::{Assignor, Subscriber};
use crate::group::messages::{
    GroupKind, GroupResponse, read_assignment, read_subscription, write_assignment,
};

impl Member {
    /// Handles a response. One without a request in flight is ignored.
    pub fn answer(&mut self, answer: GroupResponse, now_ns: u64) {
        let kind = answer.kind();
        if !self.in_flight.contains(&kind) || self.step == Step::Over {
            return;
        }
        self.answered(kind);
        match answer {
            GroupResponse::Find(found) if found.error_code == 0 => {
                self.coordinator = Some(found.node_id.0);
            }
            GroupResponse::Find(found) => self.refuse(found.error_code, now_ns),
            GroupResponse::Join(joined) => self.joined(&joined, now_ns),
            GroupResponse::Sync(synced) => self.synced(&synced, now_ns),
            GroupResponse::Offsets(fetched) => self.fetched(fetched, now_ns),
            GroupResponse::Heartbeat(heartbeat) => self.heartbeat(heartbeat.error_code, now_ns),
            GroupResponse::Commit(committed) => self.committed(&committed, now_ns),
            // Whatever the result: the membership is over.
            GroupResponse::Leave(_) => self.end(GroupEvent::Left),
        }
        // Finding a coordinator is not enough: it has to answer this member.
        if kind != GroupKind::Find && self.coordinator.is_some() {
            self.no_coordinator_since_ns = None;
        }
    }

    fn joined(&mut self, joined: &JoinGroupResponse, now_ns: u64) {
        if self.step != Step::Join {
            return;
        }
        if joined.error_code == ResponseError::MemberIdRequired.code() {
            // JoinGroup is repeated at once with the member id that was assigned.
            self.member = joined.member_id.clone();
            return;
        }
        if joined.error_code != 0 {
            return self.refuse(joined.error_code, now_ns);
        }
        self.member = joined.member_id.clone();
        self.generation = joined.generation_id;
        let assignments = match joined.leader == joined.member_id {
            true => self.assign_partitions(joined),
            false => Some(Vec::new()),
        };
        match assignments {
            Some(assignments) => self.step = Step::Sync(assignments),
            None => self.fail_unreadable("a member's subscription"),
        }
    }

    /// As the leader, assigns partitions to all members.
    fn assign_partitions(
        &self,
        joined: &JoinGroupResponse,
    ) -> Option<Vec<SyncGroupRequestAssignment>> {
        let members: Vec<Subscriber> = joined
            .members
            .iter()
            .map(|member| read_subscription(&member.member_id, &member.metadata))
            .collect::<Option<_>>()?;
        let chosen = joined.protocol_name.as_ref();
        let assignor = Assignor::ALL
            .into_iter()
            .find(|assignor| chosen.is_some_and(|name| **name == *assignor.name()))?;
        let assignments = assignor.assign(&members, &self.partitions);
        let each = joined.members.iter().zip(assignments);
        each.map(|(member, assignment)| {
            Some(
                SyncGroupRequestAssignment::default()
                    .with_member_id(member.member_id.clone())
                    .with_assignment(write_assignment(&assignment)?),
            )
        })
        .collect()
    }

    fn synced(&mut self, synced: &SyncGroupResponse, now_ns: u64) {
        if !matches!(self.step, Step::Sync(_)) {
            return;
        }
        if synced.error_code != 0 {
            return self.refuse(synced.error_code, now_ns);
        }
        match read_assignment(&synced.assignment) {
            Some(assignment) => {
                self.assignment = assignment;
                self.step = Step::Offsets;
            }
            None => self.fail_unreadable("our assignment"),
        }
    }

    fn fetched(&mut self, fetched: OffsetFetchResponse, now_ns: u64) {
        if self.step != Step::Offsets {
            return;
        }
        let partitions = fetched.topics.iter().flat_map(|topic| &topic.partitions);
        let mut codes = partitions.map(|one| one.error_code);
        let failed = (fetched.error_code != 0).then_some(fetched.error_code);
        if let Some(code) = failed.or_else(|| codes.find(|&code| code != 0)) {
            return self.refuse(code, now_ns);
        }
        let committed = |topic: &str, partition: i32| {
            let of = fetched.topics.iter().find(|one| *one.name.0 == *topic)?;
            let of = of
                .partitions
                .iter()
                .find(|one| one.partition_index == partition)?;
            (of.committed_offset >= 0).then_some(of.committed_offset)
        };
        let assigned = self
            .assignment
            .iter()
            .flat_map(|one| {
                one.partitions
                    .iter()
                    .map(move |&partition| (&one.topic, partition))
            })
            .map(|(topic, partition)| Assigned {
                topic: topic.clone(),
                partition,
                committed: committed(topic, partition),
            })
            .collect();
        self.step = Step::Stable;
        self.last_heartbeat_ns = now_ns;
        self.heartbeat_ns = now_ns + u64::from(self.plan.heartbeat_every_ms) * 1_000_000;
        self.counts.assignments += 1;
        if let Some(since_ns) = self.unassigned_since_ns.take() {
            self.counts.rebalancing_ns += now_ns.saturating_sub(since_ns);
        }
        self.events.push_back(GroupEvent::Assigned(assigned));
    }

    fn heartbeat(&mut self, code: i16, now_ns: u64) {
        if self.step != Step::Stable {
            return;
        }
        if code != 0 {
            return self.refuse(code, now_ns);
        }
        self.counts.heartbeats += 1;
        self.last_heartbeat_ns = now_ns;
        self.consecutive_rebalances = 0;
    }

    fn committed(&mut self, committed: &OffsetCommitResponse, now_ns: u64) {
        let partitions = committed.topics.iter().flat_map(|topic| &topic.partitions);
        let failed = partitions.map(|one| one.error_code).find(|&code| code != 0);
        match failed {
            None => {
                self.counts.commits += 1;
                self.events.push_back(GroupEvent::Committed);
            }
            Some(code) => {
                self.counts.commits_failed += 1;
                if self.step == Step::Stable {
                    self.refuse(code, now_ns);
                }
            }
        }
    }

    fn fail_unreadable(&mut self, what: &'static str) {
        let error = GroupError::Unreadable(self.plan.group.clone(), what);
        self.end(GroupEvent::Failed(error));
    }
}
