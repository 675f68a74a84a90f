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

/// One line for each kind of request: its request and response, its API key, the oldest and newest version that are used.
macro_rules! group_apis {
    ($($kind:ident: $request:ident, $response:ident, $key:ident $oldest:literal to $newest:literal;)*) => {
        /// The kind of a group request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum GroupKind { $($kind,)* }

        impl GroupKind {
            /// All kinds, by index.
            pub const ALL: [GroupKind; 7] = [$(GroupKind::$kind,)*];

            /// Its API key, and the oldest and newest version that are used.
            #[must_use]
            pub const fn versions(self) -> (ApiKey, i16, i16) {
                match self { $(GroupKind::$kind => (ApiKey::$key, $oldest, $newest),)* }
            }
        }

        /// A request to the coordinator.
        #[derive(Debug, Clone, PartialEq)]
        pub enum GroupRequest { $($kind($request),)* }

        impl GroupRequest {
            #[must_use]
            pub fn kind(&self) -> GroupKind {
                match self { $(GroupRequest::$kind(_) => GroupKind::$kind,)* }
            }
        }

        /// A response of the coordinator.
        #[derive(Debug, Clone, PartialEq)]
        pub enum GroupResponse { $($kind($response),)* }

        impl GroupResponse {
            /// Decodes the response to a request of this kind: the frame after its length.
            ///
            /// # Errors
            /// If it is not a response of this version.
            pub fn read(kind: GroupKind, bytes: Bytes, version: i16) -> Result<Self, FrameError> {
                Ok(match kind {
                    $(GroupKind::$kind => GroupResponse::$kind(frame::read::<$request>(bytes, version)?),)*
                })
            }

            /// The kind of its request.
            #[must_use]
            pub fn kind(&self) -> GroupKind {
                match self { $(GroupResponse::$kind(_) => GroupKind::$kind,)* }
            }
        }
    };
}

group_apis! {
    Find: FindCoordinatorRequest, FindCoordinatorResponse, FindCoordinator 1 to 3;
    Join: JoinGroupRequest, JoinGroupResponse, JoinGroup 5 to 7;
    Sync: SyncGroupRequest, SyncGroupResponse, SyncGroup 3 to 4;
    Heartbeat: HeartbeatRequest, HeartbeatResponse, Heartbeat 3 to 4;
    Offsets: OffsetFetchRequest, OffsetFetchResponse, OffsetFetch 3 to 6;
    Commit: OffsetCommitRequest, OffsetCommitResponse, OffsetCommit 7 to 8;
    Leave: LeaveGroupRequest, LeaveGroupResponse, LeaveGroup 3 to 4;
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

/// Decodes a subscription. Members may be other clients.
pub(super) fn read_subscription(member: &str, bytes: &Bytes) -> Option<Subscriber> {
    let read: ConsumerProtocolSubscription = read_versioned(bytes)?;
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
    let read: ConsumerProtocolAssignment = read_versioned(bytes)?;
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

/// Newer versions append fields, which are ignored.
fn read_versioned<M: Decodable>(bytes: &Bytes) -> Option<M> {
    let version = i16::from_be_bytes(*bytes.first_chunk::<2>()?).clamp(0, 3);
    M::decode(&mut bytes.slice(2..), version).ok()
}
