//! The state machine of one group member.

mod requests;
mod responses;

use std::collections::{BTreeMap, VecDeque};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::protocol::StrBytes;
use thiserror::Error;

use super::GroupPlan;
use super::assign::TopicPartitions;
use super::messages::GroupKind;

/// Pause before a retry; it doubles with each consecutive rebalance.
const PAUSE_NS: u64 = 100_000_000;

/// Longest pause: 100 ms doubled five times.
const PAUSE_DOUBLINGS_MAX: u32 = 5;

const NEVER: u64 = u64::MAX;

/// The destination of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Any broker.
    Any,
    /// This broker, the coordinator.
    Node(i32),
}

/// An assigned partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    pub topic: String,
    pub partition: i32,
    /// The group's committed offset; `None` if there is none.
    pub committed: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOffset {
    pub topic: String,
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
}

/// Why partitions were revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    Rebalance,
    /// The coordinator does not know this member any more.
    UnknownMember,
    /// No heartbeat was answered within the session timeout.
    SessionTimeout,
}

/// An event of a membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupEvent {
    /// Partitions to fetch from now on.
    Assigned(Vec<Assigned>),
    /// All partitions were revoked.
    Revoked(Revocation),
    /// Offsets were committed.
    Committed,
    /// The membership failed for good.
    Failed(GroupError),
    /// The membership ended on request.
    Left,
}

/// Why the membership of a group failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The coordinator refuses, with an error of the broker; what to do.
    #[error("group {0:?} is refused ({1}): {2}")]
    Refused(String, String, &'static str),
    /// The group does not stabilize after so many consecutive rebalances.
    #[error(
        "group {0:?} was rebalanced {1} times in a row without stabilizing: see which of its members come and go, or use another group"
    )]
    RebalanceLoop(String, u32),
    /// No coordinator was found for so many seconds.
    #[error(
        "group {0:?} has had no coordinator for {1} s: see that the brokers which hold __consumer_offsets are up and can be reached"
    )]
    NoCoordinator(String, u64),
    /// A message of another member or of the broker cannot be decoded.
    #[error("group {0:?}: {1} cannot be decoded: are its members consumers of this protocol")]
    Unreadable(String, &'static str),
}

/// Counters of a membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Revocations.
    pub rebalances: u64,
    pub assignments: u64,
    /// Time without partitions, from the first request to join until the assignment.
    pub rebalancing_ns: u64,
    /// Heartbeats that were answered.
    pub heartbeats: u64,
    /// Successful commits.
    pub commits: u64,
    /// Commits that were refused or lost.
    pub commits_failed: u64,
    /// FindCoordinator requests.
    pub searches: u64,
}

/// The state of a membership.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Join,
    Sync(Vec<SyncGroupRequestAssignment>),
    Offsets,
    Stable,
    Leave,
    Over,
}

/// A group member.
#[derive(Debug)]
pub struct Member {
    plan: GroupPlan,
    /// Number of partitions of each topic, from metadata: the leader assigns them.
    partitions: BTreeMap<String, u32>,
    coordinator: Option<i32>,
    member: StrBytes,
    generation: i32,
    step: Step,
    /// Requests without a response.
    in_flight: Vec<GroupKind>,
    /// No request is sent before this time.
    not_before_ns: u64,
    heartbeat_ns: u64,
    last_heartbeat_ns: u64,
    assignment: Vec<TopicPartitions>,
    commit: Option<Vec<CommitOffset>>,
    leaving: bool,
    /// Consecutive rebalances without a heartbeat in between.
    consecutive_rebalances: u32,
    /// Since when no partitions are assigned.
    unassigned_since_ns: Option<u64>,
    /// Since when no coordinator has answered, while one is searched for.
    no_coordinator_since_ns: Option<u64>,
    events: VecDeque<GroupEvent>,
    counts: GroupCounts,
}

impl Member {
    /// A member that has not joined yet.
    #[must_use]
    pub fn new(plan: GroupPlan) -> Self {
        Self {
            plan,
            partitions: BTreeMap::new(),
            coordinator: None,
            member: StrBytes::default(),
            generation: -1,
            step: Step::Join,
            in_flight: Vec::new(),
            not_before_ns: 0,
            heartbeat_ns: NEVER,
            last_heartbeat_ns: 0,
            assignment: Vec::new(),
            commit: None,
            leaving: false,
            consecutive_rebalances: 0,
            unassigned_since_ns: None,
            no_coordinator_since_ns: None,
            events: VecDeque::new(),
            counts: GroupCounts::default(),
        }
    }

    /// Sets the number of partitions of a topic. Without it, the leader assigns none of the topic.
    pub fn set_partition_count(&mut self, topic: &str, partitions: u32) {
        self.partitions.insert(topic.to_owned(), partitions);
    }

    /// The next event; `None` if there is none.
    pub fn event(&mut self) -> Option<GroupEvent> {
        self.events.pop_front()
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> GroupCounts {
        self.counts
    }

    /// Whether it has its assignment.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.step == Step::Stable
    }

    /// Whether the membership ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    /// Whether a commit is waiting or in flight.
    #[must_use]
    pub fn is_committing(&self) -> bool {
        self.commit.is_some() || self.in_flight.contains(&GroupKind::Commit)
    }

    /// Offsets to commit; they replace offsets that are still waiting. Ignored unless the member is stable.
    pub fn commit(&mut self, offsets: Vec<CommitOffset>) {
        if self.is_stable() && !offsets.is_empty() {
            self.commit = Some(offsets);
        }
    }

    /// Offsets to commit before rejoining, after a revocation for a rebalance: the coordinator accepts them from members of the
    /// ending generation. Ignored at any other time.
    pub fn commit_before_joining(&mut self, offsets: Vec<CommitOffset>) {
        let is_in_flight = self.in_flight.contains(&GroupKind::Join);
        if self.step == Step::Join && self.generation >= 0 && !is_in_flight && !offsets.is_empty() {
            self.commit = Some(offsets);
        }
    }

    /// Ends the membership, after a waiting commit.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// The request of this kind gets no response: its connection ended, or could not be opened.
    pub fn lost(&mut self, kind: GroupKind, now_ns: u64) {
        self.answered(kind);
        self.coordinator = None;
        self.pause(now_ns);
        match kind {
            GroupKind::Commit => self.counts.commits_failed += 1,
            GroupKind::Leave => self.end(GroupEvent::Left),
            _ => {}
        }
    }

    fn answered(&mut self, kind: GroupKind) {
        self.in_flight.retain(|&in_flight| in_flight != kind);
    }

    fn pause(&mut self, now_ns: u64) {
        let doublings = self.consecutive_rebalances.min(PAUSE_DOUBLINGS_MAX);
        self.not_before_ns = now_ns.saturating_add(PAUSE_NS << doublings);
    }

    /// Revokes all partitions and joins again.
    fn rejoin(&mut self, why: Revocation, now_ns: u64) {
        if self.step == Step::Stable {
            self.counts.rebalances += 1;
            self.events.push_back(GroupEvent::Revoked(why));
        }
        if why != Revocation::Rebalance {
            self.member = StrBytes::default();
            self.generation = -1;
            // Nobody accepts this commit any more; in a rebalance it is sent before the next JoinGroup.
            self.counts.commits_failed += u64::from(self.commit.take().is_some());
        }
        self.unassigned_since_ns.get_or_insert(now_ns);
        self.heartbeat_ns = NEVER;
        self.step = Step::Join;
        self.consecutive_rebalances += 1;
        if self.consecutive_rebalances > self.plan.rebalances_max {
            let count = self.consecutive_rebalances - 1;
            let error = GroupError::RebalanceLoop(self.plan.group.clone(), count);
            return self.end(GroupEvent::Failed(error));
        }
        // A single rebalance is normal; repeated ones are slowed down.
        if self.consecutive_rebalances > 1 {
            self.pause(now_ns);
        }
    }

    fn end(&mut self, event: GroupEvent) {
        self.step = Step::Over;
        self.commit = None;
        self.events.push_back(event);
    }

    /// Handles an error code: retries or rejoins where that helps, else ends the membership.
    fn refuse(&mut self, code: i16, now_ns: u64) {
        use ResponseError as E;
        let error = ResponseError::try_from_code(code);
        match error {
            Some(E::NotCoordinator | E::CoordinatorNotAvailable) => {
                self.coordinator = None;
                return self.pause(now_ns);
            }
            // Keeps the member id: under a new one, the coordinator would wait for the old member in vain.
            Some(E::RebalanceInProgress | E::IllegalGeneration) => {
                return self.rejoin(Revocation::Rebalance, now_ns);
            }
            Some(E::UnknownMemberId) => {
                return self.rejoin(Revocation::UnknownMember, now_ns);
            }
            Some(error) if error.is_retriable() => return self.pause(now_ns),
            _ => {}
        }
        let advice = match error {
            Some(E::GroupAuthorizationFailed) => {
                "give this user READ on the group in the broker's ACLs, or use another user"
            }
            Some(E::TopicAuthorizationFailed) => {
                "give this user READ on the topic in the broker's ACLs, or use another user"
            }
            Some(E::InconsistentGroupProtocol) => {
                "its members share partitions out in another way: use another group, or --assignor"
            }
            Some(E::InvalidSessionTimeout) => {
                "choose a session timeout within the broker's group.min. and group.max.session.timeout.ms"
            }
            Some(E::GroupMaxSizeReached) => {
                "raise the broker's group.max.size, or use fewer members"
            }
            Some(E::FencedInstanceId) => {
                "another member has the same instance name: give each its own"
            }
            Some(E::InvalidGroupId) => "a group needs a name",
            _ => "see the broker's log",
        };
        let name = error.map_or_else(|| format!("error {code}"), |error| error.to_string());
        let error = GroupError::Refused(self.plan.group.clone(), name, advice);
        self.end(GroupEvent::Failed(error));
    }
}
