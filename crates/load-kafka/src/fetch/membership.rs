//! The consumer as a group member: sends the member's requests to the coordinator, fetches the assigned partitions.

use tare_kafka::bytes::Bytes;
use tare_kafka::frame::FrameError;
use tare_kafka::group::{
    Assigned, Assignor, CommitOffset, GroupEvent, GroupKind, GroupPlan, GroupRequest,
    GroupResponse, Member, Revocation, To,
};
use tare_record::load::{FetchAssignment, FetchSpec};

use super::cursor::PartitionCursor;
use super::{Fetch, GROUP};
use crate::cluster::{BrokerResponse, Cluster};
use tare_load::client::Outlet;

const MS: u64 = 1_000_000;

/// Added to the rebalance timeout as limit of a JoinGroup response.
const GRACE_NS: u64 = 10_000 * MS;

/// A group member and its commit schedule.
#[derive(Debug)]
pub struct Membership {
    pub member: Member,
    commit_every_ns: Option<u64>,
    next_commit_ns: u64,
    rebalance_ns: u64,
    /// Whether the load has begun.
    begun: bool,
    /// Time that the first assignment took, before the load began.
    pub join_ns: u64,
    /// The failed commits when what was left was committed at the end; `None` before.
    failed_before_rest: Option<u64>,
}

impl Membership {
    /// The membership of a plan; `None` without a group.
    pub fn of(spec: &FetchSpec) -> Option<Self> {
        let FetchAssignment::Group {
            group,
            assignors,
            commit_every_ms,
            session_timeout_ms,
        } = &spec.assignment
        else {
            return None;
        };
        let mut plan = GroupPlan::new(group, &spec.topics);
        plan.assignors = Assignor::ALL
            .into_iter()
            .filter(|known| assignors.iter().any(|name| name == known.name()))
            .collect();
        let place = |of: &Assignor| assignors.iter().position(|name| name == of.name());
        plan.assignors.sort_by_key(place);
        plan.session_timeout_ms = i32::try_from(*session_timeout_ms).unwrap_or(i32::MAX);
        plan.heartbeat_every_ms = (session_timeout_ms / 3).clamp(1, 3000);
        Some(Self {
            rebalance_ns: u64::from(plan.rebalance_timeout_ms.unsigned_abs()) * MS,
            member: Member::new(plan),
            commit_every_ns: commit_every_ms.map(|every| every * MS),
            next_commit_ns: 0,
            begun: false,
            join_ns: 0,
            failed_before_rest: None,
        })
    }

    /// The load has begun: later rebalances are part of it.
    pub fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.join_ns = self.member.counts().rebalancing_ns;
        }
    }

    /// Commits the last positions once, after a commit that is in flight. Whether it is done, or cannot be.
    pub fn commit_rest(&mut self, cursors: &[PartitionCursor], topics: &[String]) -> bool {
        if self.commit_every_ns.is_none() || !self.member.is_stable() {
            return true;
        }
        if self.member.is_committing() {
            return false;
        }
        if self.failed_before_rest.is_some() {
            return true;
        }
        self.failed_before_rest = Some(self.member.counts().commits_failed);
        self.member.commit(offsets(cursors, topics));
        !self.member.is_committing()
    }

    /// Whether the last positions are committed.
    fn is_rest_committed(&self) -> bool {
        self.failed_before_rest == Some(self.member.counts().commits_failed)
            && !self.member.is_committing()
    }
}

impl Fetch {
    /// Sends the requests that the member has due.
    pub(super) fn poll_group(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        let Some(group) = &mut self.group else { return };
        for topic in self.cluster.topics() {
            if topic.is_settled() {
                group
                    .member
                    .set_partition_count(&topic.name, topic.partitions.len() as u32);
            }
        }
        // A group leader cannot assign partitions without metadata; a stable member still sends heartbeats.
        if !self.cluster.is_settled() && !group.member.is_stable() {
            return;
        }
        if let Some(every_ns) = group.commit_every_ns
            && group.member.is_stable()
            && now_ns >= group.next_commit_ns
        {
            if group.next_commit_ns > 0 {
                group
                    .member
                    .commit(offsets(&self.reader.cursors, &self.plan.spec.topics));
            }
            group.next_commit_ns = now_ns.saturating_add(every_ns);
        }
        while let Some((to, request)) = group.member.poll(now_ns) {
            let kind = request.kind();
            let broker = match to {
                To::Any => self.cluster.any_usable(),
                To::Node(node) => self.cluster.broker(node),
            };
            if let Some(broker) = broker {
                self.cluster.want(broker, out);
            }
            let usable = broker.filter(|&broker| self.cluster.is_usable(broker));
            let limit_ns = match kind {
                GroupKind::Join => group.rebalance_ns + GRACE_NS,
                _ => self.plan.timeout_ns + u64::from(self.plan.spec.max_wait_ms) * MS,
            };
            let Some(broker) = usable else {
                group.member.lost(kind, now_ns);
                continue;
            };
            if let Err(error) = send(&mut self.cluster, broker, &request, limit_ns, out) {
                self.problem.get_or_insert(error.to_string());
            }
        }
        let commit_ns = match (group.commit_every_ns, group.member.is_stable()) {
            (Some(_), true) => group.next_commit_ns,
            _ => u64::MAX,
        };
        self.wake_ns = self.wake_ns.min(group.member.next_ns()).min(commit_ns);
        self.on_group_events(out);
    }

    /// Handles a response to a group request.
    pub(super) fn on_group_response(&mut self, answer: &BrokerResponse<'_>, out: &mut impl Outlet) {
        let Some(group) = &mut self.group else { return };
        let kind = GroupKind::ALL[(answer.token - GROUP) as usize % GroupKind::ALL.len()];
        let bytes = Bytes::copy_from_slice(&answer.frame);
        match GroupResponse::read(kind, bytes, answer.version) {
            Ok(read) => group.member.answer(read, out.now_ns()),
            Err(error) => {
                group.member.lost(kind, out.now_ns());
                self.cluster.reject(answer.broker, &error, out);
            }
        }
        self.on_group_events(out);
    }

    /// Handles the member's events: assignments, revocations, failures.
    pub(super) fn on_group_events(&mut self, out: &mut impl Outlet) {
        let Some(group) = &mut self.group else { return };
        let mut given: Option<Vec<Assigned>> = None;
        while let Some(event) = group.member.event() {
            match event {
                GroupEvent::Assigned(partitions) => given = Some(partitions),
                GroupEvent::Revoked(why) => {
                    if why == Revocation::Rebalance && group.commit_every_ns.is_some() {
                        // Otherwise the next owner would read again what was read since the last commit.
                        let offsets = offsets(&self.reader.cursors, &self.plan.spec.topics);
                        group.member.commit_before_joining(offsets);
                    }
                    given = Some(Vec::new());
                }
                GroupEvent::Committed | GroupEvent::Left => {}
                GroupEvent::Failed(error) => {
                    given = Some(Vec::new());
                    self.problem.get_or_insert(error.to_string());
                }
            }
        }
        let Some(given) = given else { return };
        let offset_spec = self.offset_spec();
        let topic = |name: &str| self.plan.spec.topics.iter().position(|known| known == name);
        let cursors = given.iter().filter_map(|one| {
            let topic = u16::try_from(topic(&one.topic)?).ok()?;
            Some(PartitionCursor::new(
                topic,
                one.partition,
                one.committed,
                offset_spec,
            ))
        });
        let cursors: Vec<PartitionCursor> = cursors.collect();
        let has_none = cursors.is_empty();
        self.assign(cursors, out);
        if has_none {
            // A member without partitions has nothing to wait for.
            self.check_finished();
        }
    }

    /// At the end: commits and leaves the group without waiting for a response.
    pub(super) fn leave_group(&mut self, out: &mut impl Outlet) {
        let Some(group) = &mut self.group else { return };
        let commits = group.commit_every_ns.is_some() && !group.is_rest_committed();
        let offsets = match commits {
            true => offsets(&self.reader.cursors, &self.plan.spec.topics),
            false => Vec::new(),
        };
        let Some((To::Node(node), words)) = group.member.leave_now(offsets) else {
            return;
        };
        let broker = self.cluster.broker(node);
        let Some(broker) = broker.filter(|&broker| self.cluster.is_usable(broker)) else {
            return;
        };
        for request in words {
            // If a request cannot be sent, the session timeout removes the member.
            let _ = send(
                &mut self.cluster,
                broker,
                &request,
                self.plan.timeout_ns,
                out,
            );
        }
    }
}

/// The position of each partition.
fn offsets(cursors: &[PartitionCursor], topics: &[String]) -> Vec<CommitOffset> {
    let each = cursors.iter().filter_map(|cursor| {
        Some(CommitOffset {
            topic: topics[usize::from(cursor.topic)].clone(),
            partition: cursor.partition,
            offset: cursor.position?,
        })
    });
    each.collect()
}

fn send(
    cluster: &mut Cluster,
    broker: u32,
    request: &GroupRequest,
    limit_ns: u64,
    out: &mut impl Outlet,
) -> Result<(), FrameError> {
    let kind = request.kind();
    let number = GroupKind::ALL.iter().position(|known| *known == kind);
    let token = GROUP + number.unwrap_or(0) as u32;
    match request {
        GroupRequest::Find(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Join(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Sync(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Heartbeat(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Offsets(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Commit(request) => cluster.send(broker, token, request, limit_ns, out),
        GroupRequest::Leave(request) => cluster.send(broker, token, request, limit_ns, out),
    }
}
