//! Topics made, grown and deleted.

use std::collections::BTreeMap;

use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest};

use super::error::{AdminError, Outcome};
use super::{Admin, broker_ids, topic_name, words};

/// Whether to do it or only to ask whether it could be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Do it.
    Do,
    /// Ask only.
    Validate,
}

/// A topic to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// Its partitions.
    pub shape: Shape,
    /// Its own configuration.
    pub configs: BTreeMap<String, String>,
}

/// How many partitions and replicas, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Placed by the cluster; what is left out is the brokers' default.
    Even {
        /// Partitions.
        partitions: Option<i32>,
        /// Replicas of each.
        replicas: Option<i16>,
    },
    /// For each partition the brokers that have it, the preferred leader first.
    Placed(Vec<Vec<i32>>),
}

impl Admin {
    /// Makes topics, each by itself.
    ///
    /// # Errors
    /// When nobody answers; what the cluster refuses is in the outcomes.
    pub fn create_topics(
        &mut self,
        topics: &[NewTopic],
        mode: Mode,
    ) -> Result<Vec<Outcome>, AdminError> {
        let request = CreateTopicsRequest::default()
            .with_topics(topics.iter().map(creatable).collect())
            .with_timeout_ms(self.timeout_ms())
            .with_validate_only(mode == Mode::Validate);
        let answer = self.cluster.tell(&request)?;
        let topics = answer.topics.iter();
        Ok(topics
            .map(|one| {
                let name = one.name.to_string();
                Outcome::of(name, one.error_code, one.error_message.as_ref())
            })
            .collect())
    }

    /// Gives a topic more partitions, placed by the cluster or as said (one list of brokers for each new one).
    ///
    /// # Errors
    /// When the cluster refuses.
    pub fn grow_topic(
        &mut self,
        name: &str,
        partitions: i32,
        placed: Option<&[Vec<i32>]>,
        mode: Mode,
    ) -> Result<(), AdminError> {
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
            .with_validate_only(mode == Mode::Validate);
        let answer = self.cluster.tell(&request)?;
        let results = answer.results.iter();
        let outcomes: Vec<Outcome> = results
            .map(|one| {
                let name = format!("topic {}", one.name.as_str());
                Outcome::of(name, one.error_code, one.error_message.as_ref())
            })
            .collect();
        Outcome::all(&outcomes)
    }

    /// Deletes topics with everything in them, each by itself.
    ///
    /// # Errors
    /// When nobody answers; what the cluster refuses is in the outcomes.
    pub fn delete_topics<S: AsRef<str>>(
        &mut self,
        names: &[S],
    ) -> Result<Vec<Outcome>, AdminError> {
        let states = names
            .iter()
            .map(|name| DeleteTopicState::default().with_name(Some(topic_name(name.as_ref()))));
        let request = DeleteTopicsRequest::default()
            .with_topics(states.collect())
            .with_timeout_ms(self.timeout_ms());
        let answer = self.cluster.tell(&request)?;
        let responses = answer.responses.iter();
        Ok(responses
            .map(|one| {
                let name = one.name.as_ref().map(|name| name.to_string());
                let said = one.error_message.as_ref();
                Outcome::of(name.unwrap_or_default(), one.error_code, said)
            })
            .collect())
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic.configs.iter().map(|(name, value)| {
        CreatableTopicConfig::default()
            .with_name(words(name))
            .with_value(Some(words(value)))
    });
    let made = CreatableTopic::default()
        .with_name(topic_name(&topic.name))
        .with_configs(configs.collect());
    match &topic.shape {
        // −1 is "as the brokers have it by default" (KIP-464).
        Shape::Even {
            partitions,
            replicas,
        } => made
            .with_num_partitions(partitions.unwrap_or(-1))
            .with_replication_factor(replicas.unwrap_or(-1)),
        Shape::Placed(lists) => {
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
