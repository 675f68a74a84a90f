//! Preferred leader election.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::ElectLeadersRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;

use super::error::{AdminError, Outcome, Refusal};
use super::{Admin, topic_name};

impl Admin {
    /// Elects the preferred leaders of these partitions, or of all. Outcomes are given for partitions that changed or failed.
    ///
    /// # Errors
    /// If no broker answers or the whole election is refused.
    pub fn elect_preferred(
        &mut self,
        partitions: Option<&BTreeMap<String, Vec<i32>>>,
    ) -> Result<Vec<Outcome>, AdminError> {
        let named = partitions.map(|topics| {
            let topics = topics.iter();
            topics
                .map(|(topic, partitions)| {
                    TopicPartitions::default()
                        .with_topic(topic_name(topic))
                        .with_partitions(partitions.clone())
                })
                .collect()
        });
        let request = ElectLeadersRequest::default()
            .with_election_type(0)
            .with_topic_partitions(named)
            .with_timeout_ms(self.timeout_ms());
        // Safe to repeat: a second election finds nothing to do.
        let answer = self.cluster.ask(&request)?;
        if let Some(refusal) = Refusal::of(answer.error_code, None) {
            return Err(refusal.about("the election"));
        }
        let mut outcomes = Vec::new();
        for topic in &answer.replica_election_results {
            for one in &topic.partition_result {
                if one.error_code != ResponseError::ElectionNotNeeded.code() {
                    let name = format!("{}-{}", topic.topic.as_str(), one.partition_id);
                    let message = one.error_message.as_ref();
                    outcomes.push(Outcome::of(name, one.error_code, message));
                }
            }
        }
        Ok(outcomes)
    }
}
