//! Consumer groups: list, describe, lag, delete, reset offsets.

mod describe;
mod lag;
mod reset;

use kafka_protocol::messages::{DeleteGroupsRequest, FindCoordinatorRequest, ListGroupsRequest};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use super::error::{AdminError, ItemResult, Operation, Result, check};
use super::topics::TopicDescription;
use super::{Admin, group_id, str_bytes};

pub use describe::{GroupDescription, GroupMember};
pub(crate) use lag::LogBounds;
pub use lag::{CommitPosition, GroupLag, LagsFound, PartitionLag};
pub use reset::{NewGroup, Reset, ResetLimit, ResetTo, ResetsFound};

/// A group in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct GroupListing {
    /// Its name.
    pub name: String,
    /// Its state, as the broker calls it.
    pub state: String,
    /// How its members agree: `classic` or `consumer`, or something newer.
    pub group_type: String,
    /// What its members speak; `consumer` for consumers.
    pub protocol_type: String,
    /// The broker that keeps it.
    pub coordinator: i32,
}

/// The groups of a cluster, as far as its brokers answer.
#[derive(Debug)]
pub struct GroupsFound {
    /// The groups of the brokers that answered, by name.
    pub groups: Vec<GroupListing>,
    /// The brokers whose groups are missing, each with the reason.
    pub unread: Vec<(i32, AdminError)>,
    /// Groups that no broker keeps now, in words; `None` when there can be none.
    pub unkept: Option<String>,
}

/// The topic whose partitions keep the groups: the leader of one is their coordinator.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Which groups no broker keeps now, in words: those in partitions without a leader.
#[must_use]
pub fn unkept_groups(topics: &[TopicDescription]) -> Option<String> {
    let topic = topics.iter().find(|topic| topic.name == OFFSETS_TOPIC)?;
    let partitions = topic.partitions.iter();
    let leaderless = partitions.filter(|one| one.leader.is_none()).count();
    (leaderless > 0).then(|| {
        format!(
            "the groups in {leaderless} of {} partitions of {OFFSETS_TOPIC} are missing: no broker leads these; start those that have their replicas",
            topic.partitions.len()
        )
    })
}

impl Admin {
    /// All groups of the cluster. A broker that does not answer hides its own groups only.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn groups(&mut self) -> Result<GroupsFound> {
        self.cluster.refresh()?;
        let brokers: Vec<i32> = self.cluster.brokers().keys().copied().collect();
        let mut found = GroupsFound {
            groups: Vec::new(),
            unread: Vec::new(),
            unkept: None,
        };
        for &broker in &brokers {
            match self.groups_of(broker) {
                Ok(groups) => found.groups.extend(groups),
                Err(error) => found.unread.push((broker, error)),
            }
        }
        if found.unread.len() == brokers.len()
            && let Some((_, error)) = found.unread.pop()
        {
            return Err(error);
        }
        found.groups.sort();
        // A cluster without groups has no such topic yet, and this user may not be allowed to see it.
        let topics = self.topics_named(&[OFFSETS_TOPIC]);
        found.unkept = unkept_groups(&topics.unwrap_or_default());
        Ok(found)
    }

    /// The groups that a broker keeps.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn groups_of(&mut self, broker: i32) -> Result<Vec<GroupListing>> {
        let answer = self.with_retries(|admin| {
            let request = ListGroupsRequest::default();
            let answer = admin.cluster.request_to(broker, &request, i16::MAX)?;
            let what = format_args!("the groups of broker {broker}");
            check(answer.error_code, None, what)
                .map_err(|error| error.needing(Operation::Describe))
                .map(|()| answer)
        })?;
        let groups = answer.groups.iter().map(|group| GroupListing {
            name: group.group_id.to_string(),
            state: group.group_state.to_string(),
            group_type: match group.group_type.as_str() {
                "" => "classic".to_owned(),
                kind => kind.to_lowercase(),
            },
            protocol_type: group.protocol_type.to_string(),
            coordinator: broker,
        });
        Ok(groups.collect())
    }

    /// Deletes groups with their committed offsets; each succeeds or fails by itself.
    ///
    /// # Errors
    /// If no broker answers; errors of single items are in the results.
    pub fn delete_groups<S: AsRef<str>>(&mut self, names: &[S]) -> Result<Vec<ItemResult>> {
        let mut results = Vec::new();
        for name in names {
            let name = name.as_ref();
            let request = DeleteGroupsRequest::default().with_groups_names(vec![group_id(name)]);
            let done = self.with_retries(|admin| {
                let coordinator = admin.coordinator(name)?;
                let answer = admin.cluster.request_to(coordinator, &request, i16::MAX)?;
                let code = answer.results.first().map_or(0, |one| one.error_code);
                check(code, None, name).map_err(|error| error.needing(Operation::Delete))
            });
            let error = match done {
                Ok(()) => None,
                Err(AdminError::Refused { error, .. }) => Some(error),
                Err(error) => return Err(error),
            };
            let name = name.to_owned();
            results.push(ItemResult { name, error });
        }
        Ok(results)
    }

    /// The coordinator of a group. The first request makes the cluster create `__consumer_offsets`, which takes a while.
    fn coordinator(&mut self, group: &str) -> Result<i32> {
        let request = FindCoordinatorRequest::default()
            .with_key_type(0)
            .with_coordinator_keys(vec![str_bytes(group)]);
        self.with_retries(|admin| {
            let answer = admin.cluster.request(&request)?;
            let Some(one) = answer.coordinators.first() else {
                return Err(AdminError::Input(format!(
                    "no entry in the response for group {group}"
                )));
            };
            let what = format_args!("group {group}");
            check(one.error_code, one.error_message.as_ref(), what)
                .map_err(|error| error.needing(Operation::Describe))
                .map(|()| one.node_id.0)
        })
    }
}
