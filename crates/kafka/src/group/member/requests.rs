//! The requests that a member sends.

use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::{
    FindCoordinatorRequest, GroupId, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::{CommitOffset, GroupError, GroupEvent, Member, NEVER, Revocation, Step, To};
use crate::group::messages::{GroupKind, GroupRequest, name, write_subscription};

impl Member {
    /// The next request and its destination; to be called until it returns `None`.
    pub fn poll(&mut self, now_ns: u64) -> Option<(To, GroupRequest)> {
        if self.step == Step::Over || now_ns < self.not_before_ns {
            return None;
        }
        if self.leaving
            && self.step != Step::Leave
            && self.commit.is_none()
            && self.in_flight.is_empty()
        {
            if self.member.is_empty() || self.coordinator.is_none() {
                self.end(GroupEvent::Left);
                return None;
            }
            self.step = Step::Leave;
        }
        self.unassigned_since_ns = match self.step {
            Step::Stable | Step::Leave | Step::Over => None,
            _ => self.unassigned_since_ns.or(Some(now_ns)),
        };
        let Some(coordinator) = self.coordinator else {
            let searching_ns =
                now_ns.saturating_sub(*self.no_coordinator_since_ns.get_or_insert(now_ns));
            // A coordinator would not wait longer for a member.
            let limit_ms = u64::from(self.plan.rebalance_timeout_ms.max(0).unsigned_abs());
            if searching_ns > limit_ms * 1_000_000 {
                let seconds = searching_ns / 1_000_000_000;
                let error = GroupError::NoCoordinator(self.plan.group.clone(), seconds);
                self.end(GroupEvent::Failed(error));
                return None;
            }
            if self.in_flight.contains(&GroupKind::Find) {
                return None;
            }
            self.counts.searches += 1;
            return Some((
                To::Any,
                self.mark_in_flight(GroupRequest::Find(self.find())),
            ));
        };
        let request = self.next(now_ns)?;
        Some((To::Node(coordinator), self.mark_in_flight(request)))
    }

    /// Final OffsetCommit (if there are offsets) and LeaveGroup, sent without waiting for responses. The membership is over.
    pub fn leave_now(&mut self, offsets: Vec<CommitOffset>) -> Option<(To, Vec<GroupRequest>)> {
        let coordinator = self.coordinator?;
        if self.member.is_empty() || self.step == Step::Over {
            return None;
        }
        let mut requests = Vec::new();
        let offsets = match self.step {
            Step::Stable => offsets,
            _ => self.commit.take().unwrap_or_default(),
        };
        if !offsets.is_empty() {
            requests.push(self.commit_request(offsets));
        }
        requests.push(self.leave_request());
        self.end(GroupEvent::Left);
        Some((To::Node(coordinator), requests))
    }

    /// When to call [`Member::poll`] again, if no response comes before.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        let wanted_ns = match self.step {
            Step::Over => return NEVER,
            Step::Stable if self.coordinator.is_some() => {
                let waits = self.commit.is_some() && !self.in_flight.contains(&GroupKind::Commit);
                let leaves = self.leaving && self.in_flight.is_empty();
                match waits || leaves {
                    true => 0,
                    false => self.heartbeat_ns,
                }
            }
            _ if self.coordinator.is_none() && !self.in_flight.contains(&GroupKind::Find) => 0,
            _ if self.in_flight.is_empty() => 0,
            _ => NEVER,
        };
        match wanted_ns {
            NEVER => NEVER,
            wanted_ns => wanted_ns.max(self.not_before_ns),
        }
    }

    fn mark_in_flight(&mut self, request: GroupRequest) -> GroupRequest {
        self.in_flight.push(request.kind());
        request
    }

    fn next(&mut self, now_ns: u64) -> Option<GroupRequest> {
        let is_in_flight = |kind| self.in_flight.contains(&kind);
        match &self.step {
            Step::Over => None,
            Step::Join if is_in_flight(GroupKind::Join) => None,
            // With the next generation, the coordinator would refuse offsets of this one.
            Step::Join if is_in_flight(GroupKind::Commit) => None,
            Step::Join => match self.commit.take() {
                Some(offsets) => Some(self.commit_request(offsets)),
                None => self.join(),
            },
            Step::Sync(assignments) => (!is_in_flight(GroupKind::Sync)).then(|| {
                GroupRequest::Sync(
                    SyncGroupRequest::default()
                        .with_group_id(self.group())
                        .with_generation_id(self.generation)
                        .with_member_id(self.member.clone())
                        .with_group_instance_id(self.instance())
                        .with_assignments(assignments.clone()),
                )
            }),
            Step::Offsets => (!is_in_flight(GroupKind::Offsets)).then(|| self.offsets()),
            Step::Leave => (!is_in_flight(GroupKind::Leave)).then(|| self.leave_request()),
            Step::Stable => {
                let session_ns = self.plan.session_timeout_ms.max(0).unsigned_abs();
                let session_ns = u64::from(session_ns) * 1_000_000;
                if now_ns.saturating_sub(self.last_heartbeat_ns) > session_ns {
                    self.rejoin(Revocation::SessionTimeout, now_ns);
                    return None;
                }
                if !self.in_flight.contains(&GroupKind::Commit)
                    && let Some(offsets) = self.commit.take()
                {
                    return Some(self.commit_request(offsets));
                }
                if now_ns < self.heartbeat_ns {
                    return None;
                }
                self.heartbeat_ns = now_ns + u64::from(self.plan.heartbeat_every_ms) * 1_000_000;
                (!self.in_flight.contains(&GroupKind::Heartbeat)).then(|| {
                    GroupRequest::Heartbeat(
                        HeartbeatRequest::default()
                            .with_group_id(self.group())
                            .with_generation_id(self.generation)
                            .with_member_id(self.member.clone())
                            .with_group_instance_id(self.instance()),
                    )
                })
            }
        }
    }

    fn group(&self) -> GroupId {
        GroupId(StrBytes::from_string(self.plan.group.clone()))
    }

    fn instance(&self) -> Option<StrBytes> {
        self.plan.instance.clone().map(StrBytes::from_string)
    }

    fn find(&self) -> FindCoordinatorRequest {
        // Key type 0: group.
        FindCoordinatorRequest::default()
            .with_key(StrBytes::from_string(self.plan.group.clone()))
            .with_key_type(0)
    }

    fn join(&self) -> Option<GroupRequest> {
        let metadata: Bytes = write_subscription(&self.plan.topics, &self.assignment)?;
        let protocols = self.plan.assignors.iter().map(|assignor| {
            JoinGroupRequestProtocol::default()
                .with_name(StrBytes::from_static_str(assignor.name()))
                .with_metadata(metadata.clone())
        });
        Some(GroupRequest::Join(
            JoinGroupRequest::default()
                .with_group_id(self.group())
                .with_session_timeout_ms(self.plan.session_timeout_ms)
                .with_rebalance_timeout_ms(self.plan.rebalance_timeout_ms)
                .with_member_id(self.member.clone())
                .with_group_instance_id(self.instance())
                .with_protocol_type(StrBytes::from_static_str("consumer"))
                .with_protocols(protocols.collect()),
        ))
    }

    fn offsets(&self) -> GroupRequest {
        let topics = self.assignment.iter().map(|one| {
            OffsetFetchRequestTopic::default()
                .with_name(name(&one.topic))
                .with_partition_indexes(one.partitions.clone())
        });
        GroupRequest::Offsets(
            OffsetFetchRequest::default()
                .with_group_id(self.group())
                .with_topics(Some(topics.collect())),
        )
    }

    fn commit_request(&self, offsets: Vec<CommitOffset>) -> GroupRequest {
        let mut topics: Vec<OffsetCommitRequestTopic> = Vec::new();
        for one in offsets {
            let partition = OffsetCommitRequestPartition::default()
                .with_partition_index(one.partition)
                .with_committed_offset(one.offset)
                .with_committed_leader_epoch(-1)
                .with_committed_metadata(Some(StrBytes::default()));
            let known = topics.iter_mut().find(|topic| *topic.name.0 == *one.topic);
            match known {
                Some(topic) => topic.partitions.push(partition),
                None => topics.push(
                    OffsetCommitRequestTopic::default()
                        .with_name(name(&one.topic))
                        .with_partitions(vec![partition]),
                ),
            }
        }
        GroupRequest::Commit(
            OffsetCommitRequest::default()
                .with_group_id(self.group())
                .with_generation_id_or_member_epoch(self.generation)
                .with_member_id(self.member.clone())
                .with_group_instance_id(self.instance())
                .with_topics(topics),
        )
    }

    fn leave_request(&self) -> GroupRequest {
        let identity = MemberIdentity::default()
            .with_member_id(self.member.clone())
            .with_group_instance_id(self.instance());
        GroupRequest::Leave(
            LeaveGroupRequest::default()
                .with_group_id(self.group())
                .with_members(vec![identity]),
        )
    }
}
