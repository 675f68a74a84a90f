//! Description of a group and its members, for the classic and the consumer protocol.

use bytes::{Buf, Bytes};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerProtocolAssignment, DescribeGroupsRequest,
    ShareGroupDescribeRequest, consumer_group_describe_response, describe_groups_response,
    share_group_describe_response,
};
use kafka_protocol::protocol::{Decodable, Message};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::error::{AdminError, Operation, Result, check};
use crate::admin::{Admin, group_id};

use super::GroupListing;

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupDescription {
    /// Its name.
    pub name: String,
    /// Its state, as the broker calls it.
    pub state: String,
    /// `classic`, `consumer`, `share`, `streams` or something newer.
    pub group_type: String,
    /// How partitions are given to members.
    pub assignor: Option<String>,
    /// The broker that keeps it.
    pub coordinator: i32,
    /// Who is in it.
    pub members: Vec<GroupMember>,
    /// What of it is not shown, and what shows it.
    pub not_shown: Option<String>,
}

/// Who is in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupMember {
    /// Its number.
    pub id: String,
    /// Its own name, when it stays the same over restarts.
    pub group_instance_id: Option<String>,
    /// How the client calls itself.
    pub client_id: String,
    /// Where it connects from.
    pub host: String,
    /// What it reads: topic and partitions.
    pub assignment: Vec<(String, Vec<i32>)>,
}

impl Admin {
    /// Describes a group.
    ///
    /// # Errors
    /// If the group does not exist.
    pub fn group(&mut self, name: &str) -> Result<GroupDescription> {
        self.with_retries(|admin| admin.group_once(name))
            .map_err(|error| error.needing(Operation::Describe))
    }

    fn group_once(&mut self, name: &str) -> Result<GroupDescription> {
        let what = &format!("group {name}");
        let coordinator = self.coordinator(name)?;
        if self
            .cluster
            .versions()?
            .knows::<ConsumerGroupDescribeRequest>()
        {
            let request =
                ConsumerGroupDescribeRequest::default().with_group_ids(vec![group_id(name)]);
            let answer = self.cluster.request_to(coordinator, &request, i16::MAX)?;
            for group in &answer.groups {
                match ResponseError::try_from_code(group.error_code) {
                    None => return Ok(consumer_group(group, coordinator)),
                    // A classic group, or none.
                    Some(ResponseError::GroupIdNotFound | ResponseError::UnsupportedVersion) => {}
                    Some(_) => check(group.error_code, group.error_message.as_ref(), what)?,
                }
            }
        }
        let request = DescribeGroupsRequest::default().with_groups(vec![group_id(name)]);
        let answer = self.cluster.request_to(coordinator, &request, i16::MAX)?;
        let Some(group) = answer.groups.first() else {
            return Err(AdminError::Input(format!(
                "no entry in the response for {what}"
            )));
        };
        if group.error_code == ResponseError::GroupIdNotFound.code()
            && let Some(newer) = self.newer_group(name, coordinator)?
        {
            return Ok(newer);
        }
        check(group.error_code, group.error_message.as_ref(), what)?;
        if group.group_state.as_str() == "Dead" {
            // Before version 6, an unknown group is reported as state Dead.
            check(ResponseError::GroupIdNotFound.code(), None, what)?;
        }
        Ok(classic_group(group, coordinator))
    }

    /// A group that is neither classic nor of the consumer protocol, as far as it can be described; `None` when there is none.
    fn newer_group(&mut self, name: &str, coordinator: i32) -> Result<Option<GroupDescription>> {
        let mut listed = self.groups_of(coordinator)?.into_iter();
        let newer =
            |one: &GroupListing| !["classic", "consumer"].contains(&one.group_type.as_str());
        let Some(listed) = listed.find(|one| one.name == name && newer(one)) else {
            return Ok(None);
        };
        let versions = self.cluster.versions()?;
        if listed.is_share() && versions.knows::<ShareGroupDescribeRequest>() {
            let request = ShareGroupDescribeRequest::default().with_group_ids(vec![group_id(name)]);
            let answer = self.cluster.request_to(coordinator, &request, i16::MAX)?;
            if let Some(group) = answer.groups.first() {
                let what = format_args!("group {name}");
                check(group.error_code, group.error_message.as_ref(), what)?;
                return Ok(Some(share_group(group, coordinator)));
            }
        }
        Ok(Some(undescribed(listed)))
    }
}

impl GroupListing {
    /// Whether its members share partitions record by record (KIP-932): it has no committed offsets.
    #[must_use]
    pub fn is_share(&self) -> bool {
        self.group_type == SHARE
    }
}

impl GroupDescription {
    /// Whether it has a committed offset for each partition. Share groups keep the state of each record instead.
    pub(super) fn commits_offsets(&self) -> bool {
        self.group_type != SHARE
    }

    /// Whether nobody is in it, also where its members are not shown.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && ["Empty", "Dead", ""].contains(&self.state.as_str())
    }
}

/// The type of share groups.
const SHARE: &str = "share";

fn share_group(
    group: &share_group_describe_response::DescribedGroup,
    coordinator: i32,
) -> GroupDescription {
    let member = |member: &share_group_describe_response::Member| GroupMember {
        id: member.member_id.to_string(),
        group_instance_id: None,
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        assignment: sorted(
            member
                .assignment
                .topic_partitions
                .iter()
                .map(|topic| (topic.topic_name.to_string(), topic.partitions.clone())),
        ),
    };
    GroupDescription {
        name: group.group_id.to_string(),
        state: group.group_state.to_string(),
        group_type: SHARE.to_owned(),
        assignor: Some(group.assignor_name.to_string()).filter(|name| !name.is_empty()),
        coordinator,
        members: group.members.iter().map(member).collect(),
        not_shown: Some(
            "a share group commits no offsets: its lag is not shown; kafka-share-groups.sh of Kafka shows it"
                .to_owned(),
        ),
    }
}

/// A group of which no more is known than the list tells.
fn undescribed(listed: GroupListing) -> GroupDescription {
    let kind = &listed.group_type;
    GroupDescription {
        not_shown: Some(format!(
            "the members of a {kind} group are not shown; kafka-{kind}-groups.sh of Kafka shows them"
        )),
        name: listed.name,
        state: listed.state,
        group_type: listed.group_type,
        assignor: None,
        coordinator: listed.coordinator,
        members: Vec::new(),
    }
}

fn consumer_group(
    group: &consumer_group_describe_response::DescribedGroup,
    coordinator: i32,
) -> GroupDescription {
    let member = |member: &consumer_group_describe_response::Member| GroupMember {
        id: member.member_id.to_string(),
        group_instance_id: member.instance_id.as_ref().map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        assignment: sorted(
            member
                .assignment
                .topic_partitions
                .iter()
                .map(|topic| (topic.topic_name.to_string(), topic.partitions.clone())),
        ),
    };
    GroupDescription {
        name: group.group_id.to_string(),
        state: group.group_state.to_string(),
        group_type: "consumer".to_owned(),
        assignor: Some(group.assignor_name.to_string()).filter(|name| !name.is_empty()),
        coordinator,
        members: group.members.iter().map(member).collect(),
        not_shown: None,
    }
}

fn classic_group(
    group: &describe_groups_response::DescribedGroup,
    coordinator: i32,
) -> GroupDescription {
    let is_consumers = group.protocol_type.as_str() == "consumer";
    let member = |member: &describe_groups_response::DescribedGroupMember| GroupMember {
        id: member.member_id.to_string(),
        group_instance_id: member.group_instance_id.as_ref().map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        // Other protocol types (Kafka Connect) have another format there.
        assignment: match is_consumers {
            true => assigned(&member.member_assignment),
            false => Vec::new(),
        },
    };
    GroupDescription {
        name: group.group_id.to_string(),
        state: group.group_state.to_string(),
        group_type: "classic".to_owned(),
        assignor: Some(group.protocol_data.to_string()).filter(|name| !name.is_empty()),
        coordinator,
        members: group.members.iter().map(member).collect(),
        not_shown: None,
    }
}

/// Decodes a member's assignment in a classic group: a version, then the assignment. Empty if it cannot be decoded.
fn assigned(bytes: &Bytes) -> Vec<(String, Vec<i32>)> {
    let mut rest = bytes.clone();
    if rest.remaining() < 2 {
        return Vec::new();
    }
    let version = rest
        .get_i16()
        .clamp(0, ConsumerProtocolAssignment::VERSIONS.max);
    let Ok(assignment) = ConsumerProtocolAssignment::decode(&mut rest, version) else {
        return Vec::new();
    };
    sorted(
        assignment
            .assigned_partitions
            .iter()
            .map(|topic| (topic.topic.to_string(), topic.partitions.clone())),
    )
}

fn sorted(topics: impl Iterator<Item = (String, Vec<i32>)>) -> Vec<(String, Vec<i32>)> {
    let mut topics: Vec<(String, Vec<i32>)> = topics.collect();
    topics
        .iter_mut()
        .for_each(|(_, partitions)| partitions.sort_unstable());
    topics.sort();
    topics
}
