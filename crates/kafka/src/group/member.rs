//! One member: what it asks for next, and what it has.

mod answers;
mod asking;

use std::collections::{BTreeMap, VecDeque};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::protocol::StrBytes;
use thiserror::Error;

use super::GroupPlan;
use super::assign::TopicPartitions;
use super::messages::GroupKind;

/// Pause before something that failed is asked again; it doubles with each rebalance in a row.
const PAUSE_NS: u64 = 100_000_000;

/// Longest pause: 100 ms doubled five times.
const PAUSE_DOUBLINGS_MAX: u32 = 5;

const NEVER: u64 = u64::MAX;

/// Whom to send something to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Any broker.
    Any,
    /// The broker with this number, the coordinator.
    Node(i32),
}

/// A partition that was given to the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// Where the group was; `None` if it never was there.
    pub committed: Option<i64>,
}

/// How far the member is with a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOffset {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// The next offset.
    pub offset: i64,
}

/// Why partitions were taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// Members came or went.
    Rebalance,
    /// The coordinator does not know us any more.
    Forgotten,
    /// No heartbeat was answered for as long as a session lasts.
    Silence,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupEvent {
    /// Partitions to fetch from now on.
    Assigned(Vec<Assigned>),
    /// None of them any more, until told otherwise.
    Revoked(Revocation),
    /// Offsets were committed.
    Committed,
    /// The membership ended, and cannot be had again.
    Failed(GroupError),
    /// The membership ended as it was asked to.
    Left,
}

/// Why a membership cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The coordinator refuses.
    #[error("group {group:?} is refused ({error}): {advice}")]
    Refused {
        /// The group.
        group: String,
        /// The broker's word.
        error: String,
        /// What to do.
        advice: &'static str,
    },
    /// It never comes to rest.
    #[error(
        "group {group:?} was rebalanced {count} times in a row without coming to rest: see which of its members come and go, or use another group"
    )]
    Storm {
        /// The group.
        group: String,
        /// How often.
        count: u32,
    },
    /// Nobody leads it.
    #[error(
        "group {group:?} has had no coordinator for {seconds} s: see that the brokers which hold __consumer_offsets are up and can be reached"
    )]
    NoCoordinator {
        /// The group.
        group: String,
        /// How long it was looked for.
        seconds: u64,
    },
    /// Another member, or the broker, speaks otherwise.
    #[error("group {group:?}: {what} cannot be read: are its members consumers of this protocol")]
    Unreadable {
        /// The group.
        group: String,
        /// What was to be read.
        what: &'static str,
    },
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Times that partitions were taken away.
    pub rebalances: u64,
    /// Times that partitions were given.
    pub assignments: u64,
    /// Time without partitions, from asking to be a member to having a share.
    pub rebalancing_ns: u64,
    /// Heartbeats that were answered.
    pub heartbeats: u64,
    /// Commits that were taken.
    pub commits: u64,
    /// Commits that were refused or lost.
    pub commits_failed: u64,
    /// Times that a coordinator was looked for.
    pub searches: u64,
}

/// How far a membership has come.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Join,
    Sync(Vec<SyncGroupRequestAssignment>),
    Offsets,
    Stable,
    Leave,
    Over,
}

/// The member.
#[derive(Debug)]
pub struct Member {
    plan: GroupPlan,
    /// Partitions of each topic, as the cluster says: the leader shares them out.
    partitions: BTreeMap<String, u32>,
    coordinator: Option<i32>,
    member: StrBytes,
    generation: i32,
    step: Step,
    /// What was asked and is not answered.
    asked: Vec<GroupKind>,
    /// Nothing is asked before.
    not_before_ns: u64,
    heartbeat_ns: u64,
    heard_ns: u64,
    share: Vec<TopicPartitions>,
    commit: Option<Vec<CommitOffset>>,
    leaving: bool,
    /// Rebalances without a heartbeat in between.
    streak: u32,
    /// Since when there are no partitions.
    without_since_ns: Option<u64>,
    /// Since when no coordinator has answered, while one is looked for.
    alone_since_ns: Option<u64>,
    events: VecDeque<GroupEvent>,
    counts: GroupCounts,
}

impl Member {
    /// One that has not asked for anything.
    #[must_use]
    pub fn new(plan: GroupPlan) -> Self {
        Self {
            plan,
            partitions: BTreeMap::new(),
            coordinator: None,
            member: StrBytes::default(),
            generation: -1,
            step: Step::Join,
            asked: Vec::new(),
            not_before_ns: 0,
            heartbeat_ns: NEVER,
            heard_ns: 0,
            share: Vec::new(),
            commit: None,
            leaving: false,
            streak: 0,
            without_since_ns: None,
            alone_since_ns: None,
            events: VecDeque::new(),
            counts: GroupCounts::default(),
        }
    }

    /// How many partitions a topic has. Without it, a leader shares none of it out.
    pub fn know(&mut self, topic: &str, partitions: u32) {
        self.partitions.insert(topic.to_owned(), partitions);
    }

    /// What happened, until there is nothing.
    pub fn event(&mut self) -> Option<GroupEvent> {
        self.events.pop_front()
    }

    /// What is counted.
    #[must_use]
    pub fn counts(&self) -> GroupCounts {
        self.counts
    }

    /// Whether it has its share.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.step == Step::Stable
    }

    /// Whether it ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    /// Whether a commit waits or is under way.
    #[must_use]
    pub fn is_committing(&self) -> bool {
        self.commit.is_some() || self.asked.contains(&GroupKind::Commit)
    }

    /// Offsets to commit; later ones take the place of those that still wait. Ignored without a share.
    pub fn commit(&mut self, offsets: Vec<CommitOffset>) {
        if self.is_stable() && !offsets.is_empty() {
            self.commit = Some(offsets);
        }
    }

    /// Offsets to commit before joining again, after partitions were taken away for a rebalance: the coordinator takes them from
    /// members of the generation that ends. Ignored at any other time.
    pub fn commit_before_joining(&mut self, offsets: Vec<CommitOffset>) {
        let is_asked = self.asked.contains(&GroupKind::Join);
        if self.step == Step::Join && self.generation >= 0 && !is_asked && !offsets.is_empty() {
            self.commit = Some(offsets);
        }
    }

    /// Ends the membership: behind a commit that waits.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// The request of this kind will not be answered: its connection ended, or could not be had.
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
        self.asked.retain(|&asked| asked != kind);
    }

    fn pause(&mut self, now_ns: u64) {
        let doublings = self.streak.min(PAUSE_DOUBLINGS_MAX);
        self.not_before_ns = now_ns.saturating_add(PAUSE_NS << doublings);
    }

    /// Gives everything up and asks to be a member again.
    fn rejoin(&mut self, why: Revocation, now_ns: u64) {
        if self.step == Step::Stable {
            self.counts.rebalances += 1;
            self.events.push_back(GroupEvent::Revoked(why));
        }
        if why != Revocation::Rebalance {
            self.member = StrBytes::default();
            self.generation = -1;
            // Nobody takes it any more; in a rebalance it goes before the next joining.
            self.counts.commits_failed += u64::from(self.commit.take().is_some());
        }
        self.without_since_ns.get_or_insert(now_ns);
        self.heartbeat_ns = NEVER;
        self.step = Step::Join;
        self.streak += 1;
        if self.streak > self.plan.rebalances_max {
            let error = GroupError::Storm {
                group: self.plan.group.clone(),
                count: self.streak - 1,
            };
            return self.end(GroupEvent::Failed(error));
        }
        // The first one is the ordinary case; what goes on is slowed down.
        if self.streak > 1 {
            self.pause(now_ns);
        }
    }

    fn end(&mut self, event: GroupEvent) {
        self.step = Step::Over;
        self.commit = None;
        self.events.push_back(event);
    }

    /// Ends with the broker's word, or tries again where that helps.
    fn refuse(&mut self, code: i16, now_ns: u64) {
        use ResponseError as E;
        let error = ResponseError::try_from_code(code);
        match error {
            Some(E::NotCoordinator | E::CoordinatorNotAvailable) => {
                self.coordinator = None;
                return self.pause(now_ns);
            }
            // The number is kept: under another one, the coordinator would wait for the old one in vain.
            Some(E::RebalanceInProgress | E::IllegalGeneration) => {
                return self.rejoin(Revocation::Rebalance, now_ns);
            }
            Some(E::UnknownMemberId) => {
                return self.rejoin(Revocation::Forgotten, now_ns);
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
        self.end(GroupEvent::Failed(GroupError::Refused {
            group: self.plan.group.clone(),
            error: error.map_or_else(|| format!("error {code}"), |error| error.to_string()),
            advice,
        }));
    }
}
