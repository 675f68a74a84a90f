//! Consumer group membership without I/O: a state machine of requests and responses.
//!
//! The classic protocol, eager: all partitions are revoked before a rebalance. [`Member::poll`] gives the requests to send,
//! [`Member::answer`] and [`Member::lost`] take their results, [`Member::event`] reports what happened.

mod assign;
mod member;
mod messages;
#[cfg(test)]
mod tests;

pub use assign::{Assignor, Subscriber, TopicPartitions};
pub use member::{
    Assigned, CommitOffset, GroupCounts, GroupError, GroupEvent, Member, Revocation, To,
};
pub use messages::{GroupKind, GroupRequest, GroupResponse};

/// Configuration of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlan {
    /// The group id.
    pub group: String,
    /// Topics to subscribe to.
    pub topics: Vec<String>,
    /// The group instance id (static membership): partitions are kept over a restart.
    pub instance: Option<String>,
    /// Supported assignors, the preferred one first.
    pub assignors: Vec<Assignor>,
    /// `session.timeout.ms`: without a heartbeat for this long, the coordinator removes the member.
    pub session_timeout_ms: i32,
    /// `rebalance.timeout.ms`: how long the coordinator waits for all members in a rebalance.
    pub rebalance_timeout_ms: i32,
    /// Heartbeat interval.
    pub heartbeat_every_ms: u32,
    /// Consecutive rebalances without a heartbeat in between after which the membership fails.
    pub rebalances_max: u32,
}

impl GroupPlan {
    /// A member of this group with the defaults of Kafka's own consumer.
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
