//! Topics and partitions, from Metadata.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponsePartition, MetadataResponseTopic,
};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::client::RetryBackoff;

use super::error::{AdminError, Operation, Result, check};
use super::{Admin, ids, topic_name};

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// The cluster's own number for it; brokers before 2.8 have none.
    pub id: Option<String>,
    /// Whether it belongs to Kafka itself.
    pub is_internal: bool,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionInfo>,
}

/// Whether topics of Kafka itself are meant, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalTopics {
    Refused,
    Allowed,
}

impl InternalTopics {
    /// By an option of its own.
    #[must_use]
    pub fn allowed_if(is_allowed: bool) -> InternalTopics {
        match is_allowed {
            true => InternalTopics::Allowed,
            false => InternalTopics::Refused,
        }
    }
}

/// Which topic is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicIdentity {
    pub name: String,
    /// The cluster's own number for it; `None`: whichever has the name.
    pub id: Option<String>,
}

impl TopicIdentity {
    /// Whichever topic has this name.
    #[must_use]
    pub fn named(name: &str) -> TopicIdentity {
        TopicIdentity {
            name: name.to_owned(),
            id: None,
        }
    }
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartitionInfo {
    /// Its number in the topic.
    pub partition: i32,
    /// Who leads; nobody when none can.
    pub leader: Option<i32>,
    /// How often the leader has changed; −1 when the broker does not say.
    pub leader_epoch: i32,
    /// Brokers that have it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Of them, those in sync.
    pub in_sync: Vec<i32>,
    /// Of them, those that are not there.
    pub offline: Vec<i32>,
}

impl PartitionInfo {
    /// Whether a replica is not in sync.
    #[must_use]
    pub fn is_under_replicated(&self) -> bool {
        self.in_sync.len() < self.replicas.len()
    }

    /// Whether the preferred leader (the first replica) leads.
    #[must_use]
    pub fn is_preferred_led(&self) -> bool {
        self.leader.is_some() && self.leader == self.replicas.first().copied()
    }
}

impl TopicDescription {
    /// This topic, and no later one of its name.
    #[must_use]
    pub fn identity(&self) -> TopicIdentity {
        TopicIdentity {
            name: self.name.clone(),
            id: self.id.clone(),
        }
    }

    /// An error if it belongs to Kafka itself, unless that is meant. `option` says it.
    ///
    /// # Errors
    /// What it is, and the option.
    pub fn check_internal(&self, internal: InternalTopics, option: &str) -> Result<()> {
        let is_internal = self.is_internal || self.name.starts_with("__");
        match (is_internal, internal) {
            (true, InternalTopics::Refused) => Err(AdminError::Input(format!(
                "{} is a topic of Kafka itself, without which groups or transactions fail: {option} if it is meant",
                self.name
            ))),
            _ => Ok(()),
        }
    }

    /// The largest number of replicas of a partition.
    #[must_use]
    pub fn replication(&self) -> usize {
        let counts = self.partitions.iter().map(|one| one.replicas.len());
        counts.max().unwrap_or_default()
    }
}

impl Admin {
    /// All topics, by name.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn topics(&mut self) -> Result<Vec<TopicDescription>> {
        let answer = self.cluster.metadata(None)?;
        // A topic that is being deleted has another error code and is left out.
        let topics = answer.topics.into_iter();
        let mut topics: Vec<TopicDescription> = topics
            .filter(|topic| topic.error_code == 0 || is_leaderless(topic.error_code))
            .map(view)
            .collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(topics)
    }

    /// Topics by name, in the order requested.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn topics_named<S: AsRef<str>>(&mut self, names: &[S]) -> Result<Vec<TopicDescription>> {
        let requested = names
            .iter()
            .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name.as_ref()))));
        let answer = self.cluster.metadata(Some(requested.collect()))?;
        let mut found = BTreeMap::new();
        for topic in answer.topics {
            let name = topic.name.as_ref().map(|name| name.to_string());
            let name = name.unwrap_or_default();
            if !is_leaderless(topic.error_code) {
                check(topic.error_code, None, format_args!("topic {name}"))
                    .map_err(|error| error.needing(Operation::Describe))?;
            }
            found.insert(name, view(topic));
        }
        names
            .iter()
            .map(|name| {
                found.get(name.as_ref()).cloned().ok_or_else(|| {
                    AdminError::Input(format!("no entry in the response for {}", name.as_ref()))
                })
            })
            .collect()
    }

    /// Waits until these topics exist, every partition has a leader, and all replicas are in sync.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub fn wait_until_in_sync<S: AsRef<str>>(
        &mut self,
        names: &[S],
        within: Duration,
    ) -> Result<Vec<TopicDescription>> {
        let mut patience = RetryBackoff::of(within);
        loop {
            let what = match self.topics_named(names) {
                Ok(topics) => {
                    let all = topics.iter().flat_map(|topic| &topic.partitions);
                    let behind = all
                        .filter(|one| one.leader.is_none() || one.is_under_replicated())
                        .count();
                    let is_empty = topics.iter().any(|topic| topic.partitions.is_empty());
                    if behind == 0 && !is_empty {
                        return Ok(topics);
                    }
                    format!("{behind} partitions did not come in sync")
                }
                // A topic that was just created is not known to every broker yet.
                Err(AdminError::Refused { error, .. }) if error.is_retriable() => {
                    "the topics did not appear".to_owned()
                }
                Err(error) => return Err(error),
            };
            if !patience.wait() {
                let seconds = within.as_secs();
                return Err(AdminError::Late { what, seconds });
            }
        }
    }
}

fn is_leaderless(code: i16) -> bool {
    code == ResponseError::LeaderNotAvailable.code()
}

fn view(topic: MetadataResponseTopic) -> TopicDescription {
    let mut partitions: Vec<PartitionInfo> = topic.partitions.iter().map(partition).collect();
    partitions.sort_by_key(|one| one.partition);
    TopicDescription {
        name: topic.name.map(|name| name.to_string()).unwrap_or_default(),
        id: (!topic.topic_id.is_nil()).then(|| topic.topic_id.to_string()),
        is_internal: topic.is_internal,
        partitions,
    }
}

fn partition(one: &MetadataResponsePartition) -> PartitionInfo {
    PartitionInfo {
        partition: one.partition_index,
        leader: (one.leader_id.0 >= 0).then_some(one.leader_id.0),
        leader_epoch: one.leader_epoch,
        replicas: ids(&one.replica_nodes),
        in_sync: ids(&one.isr_nodes),
        offline: ids(&one.offline_replicas),
    }
}
