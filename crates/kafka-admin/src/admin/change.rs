//! Creating topics, adding partitions, deleting topics; electing preferred leaders.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, ElectLeadersRequest,
};

use super::error::{ItemResult, Operation, Result, check};
use super::{Admin, TopicIdentity, broker_ids, str_bytes, topic_name};

/// Whether a change is applied or only validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Apply,
    /// Validate only (`validate_only` of the request).
    ValidateOnly,
}

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    pub name: String,
    /// Its partitions and replicas.
    pub shape: PartitionLayout,
    /// Its topic-level configuration.
    pub configs: BTreeMap<String, String>,
}

/// How many partitions and replicas, and their placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionLayout {
    /// Placed by the cluster; `None` is the brokers' default.
    ByCluster {
        partitions: Option<i32>,
        replicas: Option<i16>,
    },
    /// For each partition the brokers of its replicas, the preferred leader first.
    Explicit(Vec<Vec<i32>>),
}

impl Admin {
    /// Creates topics; each succeeds or fails by itself.
    ///
    /// # Errors
    /// If no broker answers; errors of single items are in the results.
    pub fn create_topics(&mut self, topics: &[NewTopic], mode: Mode) -> Result<Vec<ItemResult>> {
        let request = CreateTopicsRequest::default()
            .with_topics(topics.iter().map(creatable).collect())
            .with_timeout_ms(self.timeout_ms())
            .with_validate_only(mode == Mode::ValidateOnly);
        let answer = self.cluster.request_once(&request)?;
        let topics = answer.topics.iter();
        Ok(topics
            .map(|one| {
                let name = one.name.to_string();
                ItemResult::of(name, one.error_code, one.error_message.as_ref())
                    .needing(Operation::Create)
            })
            .collect())
    }

    /// Adds partitions to a topic (CreatePartitions), placed by the cluster or explicitly (one list of brokers per new
    /// partition).
    ///
    /// # Errors
    /// If the cluster refuses.
    pub fn create_partitions(
        &mut self,
        name: &str,
        partitions: i32,
        placed: Option<&[Vec<i32>]>,
        mode: Mode,
    ) -> Result<()> {
        let assignments = placed.map(|placed| {
            let lists = placed.iter();
            lists
                .map(|one| CreatePartitionsAssignment::default().with_broker_ids(broker_ids(one)))
                .collect()
        });
        let topic = CreatePartitionsTopic::default()
            .with_name(topic_name(name))
            .with_count(partitions)
            .with_assignments(assignments);
        let request = CreatePartitionsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(self.timeout_ms())
            .with_validate_only(mode == Mode::ValidateOnly);
        let answer = self.cluster.request_once(&request)?;
        let mut results = answer.results.iter();
        results.try_for_each(|one| {
            let name = format_args!("topic {}", one.name.as_str());
            check(one.error_code, one.error_message.as_ref(), name)
                .map_err(|error| error.needing(Operation::Alter))
        })
    }

    /// Deletes topics with their records; each succeeds or fails by itself. One of which the id is known is deleted by that: a topic
    /// that was made again with its name stays.
    ///
    /// # Errors
    /// If no broker answers; errors of single items are in the results.
    pub fn delete_topics(&mut self, topics: &[TopicIdentity]) -> Result<Vec<ItemResult>> {
        let by_id = |topic: &TopicIdentity| topic.id.as_ref()?.parse().ok();
        let states = topics.iter().map(|topic| match by_id(topic) {
            Some(id) => DeleteTopicState::default()
                .with_name(None)
                .with_topic_id(id),
            None => DeleteTopicState::default().with_name(Some(topic_name(&topic.name))),
        });
        let request = DeleteTopicsRequest::default()
            .with_topics(states.collect())
            .with_timeout_ms(self.timeout_ms());
        let answer = self.cluster.request_once(&request)?;
        let responses = answer.responses.iter();
        Ok(responses
            .map(|one| {
                // Of an id that is gone the broker knows no name.
                let name = one.name.as_ref().map(|name| name.to_string());
                let id = one.topic_id.to_string();
                let mut asked = topics.iter();
                let asked = asked.find(|topic| topic.id.as_ref() == Some(&id));
                let name = name.or_else(|| Some(asked?.name.clone()));
                let message = one.error_message.as_ref();
                ItemResult::of(name.unwrap_or_default(), one.error_code, message)
                    .needing(Operation::Delete)
            })
            .collect())
    }

    /// Elects the preferred leaders of these partitions, or of all. Outcomes are given for partitions that changed or failed.
    ///
    /// # Errors
    /// If no broker answers or the whole election is refused.
    pub fn elect_preferred(
        &mut self,
        partitions: Option<&BTreeMap<String, Vec<i32>>>,
    ) -> Result<Vec<ItemResult>> {
        let topic = |(topic, partitions): (&String, &Vec<i32>)| {
            TopicPartitions::default()
                .with_topic(topic_name(topic))
                .with_partitions(partitions.clone())
        };
        let named = partitions.map(|topics| topics.iter().map(topic).collect());
        let request = ElectLeadersRequest::default()
            .with_election_type(0)
            .with_topic_partitions(named)
            .with_timeout_ms(self.timeout_ms());
        // Safe to repeat: a second election finds nothing to do.
        let answer = self.cluster.request(&request)?;
        check(answer.error_code, None, "the election")
            .map_err(|error| error.needing(Operation::Alter))?;
        let mut results = Vec::new();
        for topic in &answer.replica_election_results {
            for one in &topic.partition_result {
                if one.error_code != ResponseError::ElectionNotNeeded.code() {
                    let name = format!("{}-{}", topic.topic.as_str(), one.partition_id);
                    let message = one.error_message.as_ref();
                    let result = ItemResult::of(name, one.error_code, message);
                    results.push(result.needing(Operation::Alter));
                }
            }
        }
        Ok(results)
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic.configs.iter().map(|(name, value)| {
        CreatableTopicConfig::default()
            .with_name(str_bytes(name))
            .with_value(Some(str_bytes(value)))
    });
    let made = CreatableTopic::default()
        .with_name(topic_name(&topic.name))
        .with_configs(configs.collect());
    match &topic.shape {
        // −1 is the broker's default (KIP-464).
        PartitionLayout::ByCluster {
            partitions,
            replicas,
        } => made
            .with_num_partitions(partitions.unwrap_or(-1))
            .with_replication_factor(replicas.unwrap_or(-1)),
        PartitionLayout::Explicit(lists) => {
            let numbered = (0..).zip(lists);
            let assignments = numbered.map(|(partition, brokers)| {
                CreatableReplicaAssignment::default()
                    .with_partition_index(partition)
                    .with_broker_ids(broker_ids(brokers))
            });
            made.with_num_partitions(-1)
                .with_replication_factor(-1)
                .with_assignments(assignments.collect())
        }
    }
}
