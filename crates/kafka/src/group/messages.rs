//! Requests and responses between member and coordinator, and the embedded consumer protocol messages.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::consumer_protocol_assignment::TopicPartition as AssignedTopic;
use kafka_protocol::messages::consumer_protocol_subscription::TopicPartition as OwnedTopic;
use kafka_protocol::messages::{
    ApiKey, ConsumerProtocolAssignment, ConsumerProtocolSubscription, FindCoordinatorRequest,
    FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, OffsetCommitRequest,
    OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, SyncGroupRequest,
    SyncGroupResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::assign::{Subscriber, TopicPartitions};
use crate::frame::{self, FrameError};

/// The kind of a group request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// FindCoordinator.
    Find,
    /// JoinGroup.
    Join,
    /// SyncGroup.
    Sync,
    /// Heartbeat.
    Heartbeat,
    /// OffsetFetch.
    Offsets,
    /// OffsetCommit.
    Commit,
    /// LeaveGroup.
    Leave,
}

impl GroupKind {
    /// All kinds, by index.
    pub const ALL: [GroupKind; 7] = [
        GroupKind::Find,
        GroupKind::Join,
        GroupKind::Sync,
        GroupKind::Heartbeat,
        GroupKind::Offsets,
        GroupKind::Commit,
        GroupKind::Leave,
    ];

    /// Its API key, and the oldest and newest version that are used.
    #[must_use]
    pub const fn versions(self) -> (ApiKey, i16, i16) {
        match self {
            GroupKind::Find => (ApiKey::FindCoordinator, 1, 3),
            GroupKind::Join => (ApiKey::JoinGroup, 5, 7),
            GroupKind::Sync => (ApiKey::SyncGroup, 3, 4),
            GroupKind::Heartbeat => (ApiKey::Heartbeat, 3, 4),
            GroupKind::Offsets => (ApiKey::OffsetFetch, 3, 6),
            GroupKind::Commit => (ApiKey::OffsetCommit, 7, 8),
            GroupKind::Leave => (ApiKey::LeaveGroup, 3, 4),
        }
    }
}

/// A request to the coordinator.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "GroupKind says what each is")]
pub enum GroupRequest {
    Find(FindCoordinatorRequest),
    Join(JoinGroupRequest),
    Sync(SyncGroupRequest),
    Heartbeat(HeartbeatRequest),
    Offsets(OffsetFetchRequest),
    Commit(OffsetCommitRequest),
    Leave(LeaveGroupRequest),
}

impl GroupRequest {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> GroupKind {
        match self {
            GroupRequest::Find(_) => GroupKind::Find,
            GroupRequest::Join(_) => GroupKind::Join,
            GroupRequest::Sync(_) => GroupKind::Sync,
            GroupRequest::Heartbeat(_) => GroupKind::Heartbeat,
            GroupRequest::Offsets(_) => GroupKind::Offsets,
            GroupRequest::Commit(_) => GroupKind::Commit,
            GroupRequest::Leave(_) => GroupKind::Leave,
        }
    }
}

/// A response of the coordinator.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "GroupKind says what each is")]
pub enum GroupAnswer {
    Find(FindCoordinatorResponse),
    Join(JoinGroupResponse),
    Sync(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    Offsets(OffsetFetchResponse),
    Commit(OffsetCommitResponse),
    Leave(LeaveGroupResponse),
}

impl GroupAnswer {
    /// Decodes the response to a request of this kind: the frame after its length.
    ///
    /// # Errors
    /// If it is not a response of this version.
    pub fn read(kind: GroupKind, answer: Bytes, version: i16) -> Result<Self, FrameError> {
        Ok(match kind {
            GroupKind::Find => {
                GroupAnswer::Find(frame::read::<FindCoordinatorRequest>(answer, version)?)
            }
            GroupKind::Join => GroupAnswer::Join(frame::read::<JoinGroupRequest>(answer, version)?),
            GroupKind::Sync => GroupAnswer::Sync(frame::read::<SyncGroupRequest>(answer, version)?),
            GroupKind::Heartbeat => {
                GroupAnswer::Heartbeat(frame::read::<HeartbeatRequest>(answer, version)?)
            }
            GroupKind::Offsets => {
                GroupAnswer::Offsets(frame::read::<OffsetFetchRequest>(answer, version)?)
            }
            GroupKind::Commit => {
                GroupAnswer::Commit(frame::read::<OffsetCommitRequest>(answer, version)?)
            }
            GroupKind::Leave => {
                GroupAnswer::Leave(frame::read::<LeaveGroupRequest>(answer, version)?)
            }
        })
    }
}

/// Version of subscriptions: the first one with owned partitions.
const SUBSCRIPTION_VERSION: i16 = 1;

/// Version of assignments: later ones add nothing.
const ASSIGNMENT_VERSION: i16 = 0;

pub(super) fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

/// Encodes a subscription: a member to the leader.
pub(super) fn write_subscription(topics: &[String], owned: &[TopicPartitions]) -> Option<Bytes> {
    let owned = owned.iter().map(|one| {
        OwnedTopic::default()
            .with_topic(name(&one.topic))
            .with_partitions(one.partitions.clone())
    });
    let message = ConsumerProtocolSubscription::default()
        .with_topics(topics.iter().cloned().map(StrBytes::from_string).collect())
        .with_owned_partitions(owned.collect());
    versioned(&message, SUBSCRIPTION_VERSION)
}

/// Decodes a subscription. Members may be other clients: newer versions append fields, which are ignored.
pub(super) fn read_subscription(member: &str, bytes: &Bytes) -> Option<Subscriber> {
    let mut rest = bytes.clone();
    let version = i16::from_be_bytes(*rest.first_chunk::<2>()?).clamp(0, 3);
    let mut rest = rest.split_off(2);
    let read = ConsumerProtocolSubscription::decode(&mut rest, version).ok()?;
    let owned = read.owned_partitions.into_iter();
    Some(Subscriber {
        member: member.to_owned(),
        topics: read.topics.iter().map(ToString::to_string).collect(),
        owned: owned
            .map(|one| TopicPartitions {
                topic: one.topic.0.to_string(),
                partitions: one.partitions,
            })
            .collect(),
    })
}

/// Encodes an assignment: the leader to a member.
pub(super) fn write_assignment(share: &[TopicPartitions]) -> Option<Bytes> {
    let topics = share.iter().map(|one| {
        AssignedTopic::default()
            .with_topic(name(&one.topic))
            .with_partitions(one.partitions.clone())
    });
    let message = ConsumerProtocolAssignment::default().with_assigned_partitions(topics.collect());
    versioned(&message, ASSIGNMENT_VERSION)
}

/// Decodes an assignment. No bytes are an empty assignment.
pub(super) fn read_assignment(bytes: &Bytes) -> Option<Vec<TopicPartitions>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut rest = bytes.clone();
    let version = i16::from_be_bytes(*rest.first_chunk::<2>()?).clamp(0, 3);
    let mut rest = rest.split_off(2);
    let read = ConsumerProtocolAssignment::decode(&mut rest, version).ok()?;
    let each = read.assigned_partitions.into_iter();
    Some(
        each.map(|one| TopicPartitions {
            topic: one.topic.0.to_string(),
            partitions: one.partitions,
        })
        .collect(),
    )
}

fn versioned(message: &impl Encodable, version: i16) -> Option<Bytes> {
    let mut out = BytesMut::new();
    out.extend_from_slice(&version.to_be_bytes());
    message.encode(&mut out, version).ok()?;
    Some(out.freeze())
}
