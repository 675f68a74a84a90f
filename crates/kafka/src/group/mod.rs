//! Membership in a consumer group, without I/O: what to ask the coordinator and when, and what its answers mean.
//!
//! The classic protocol, eager: everything is given up before a rebalance. [`Member`] is asked what to send
//! ([`Member::poll`]), told what came ([`Member::answer`], [`Member::lost`]) and asked what happened ([`Member::event`]).

mod assign;
mod member;
mod messages;
#[cfg(test)]
mod tests;

pub use assign::{Assignor, Subscriber, TopicPartitions};
pub use member::{
    Assigned, CommitOffset, GroupCounts, GroupError, GroupEvent, Member, Revocation, To,
};
pub use messages::{GroupAnswer, GroupKind, GroupRequest};

/// How a member behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlan {
    /// The group's name.
    pub group: String,
    /// Topics it wants partitions of.
    pub topics: Vec<String>,
    /// A name of its own by which it keeps its partitions over a restart.
    pub instance: Option<String>,
    /// The ways to share partitions out that it can, the preferred one first.
    pub assignors: Vec<Assignor>,
    /// Without a heartbeat for so long, the coordinator takes it for dead.
    pub session_timeout_ms: i32,
    /// In a rebalance, the coordinator waits so long for all members.
    pub rebalance_timeout_ms: i32,
    /// Distance of two heartbeats.
    pub heartbeat_every_ms: u32,
    /// So many rebalances in a row without a heartbeat in between are a storm, and end the membership.
    pub rebalances_max: u32,
}

impl GroupPlan {
    /// A member of this group with the limits of Kafka's own consumer.
    #[must_use]
    pub fn new(group: &str, topics: &[String]) -> Self {
        Self {
            group: group.to_owned(),
            topics: topics.to_vec(),
            instance: None,
            assignors: vec![Assignor::Range, Assignor::Sticky],
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 60_000,
            heartbeat_every_ms: 3000,
            rebalances_max: 50,
        }
    }
}
