//! Partition reassignment: start from a plan, throttle, show progress, cancel.

mod memory;
mod throttle;

use std::collections::BTreeMap;

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest,
};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::reassignment::{CandidateBroker, PartitionReassignment, ReplicaAssignment};

use super::error::{AdminError, ItemResult, Operation, Result, check};
use super::offsets::Key;
use super::{Admin, broker_ids, by_topic, ids};

pub use memory::ThrottleMemory;
pub use throttle::{NewThrottle, Throttles};

/// A partition on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OngoingReassignment {
    /// Topic.
    pub topic: String,
    /// Number.
    pub partition: i32,
    /// Every broker that has it or will have it.
    pub replicas: Vec<i32>,
    /// Brokers that are getting a copy.
    pub adding: Vec<i32>,
    /// Brokers that lose theirs at the end.
    pub removing: Vec<i32>,
    /// Bytes that the new copies have together; unknown when a broker does not say.
    pub copied_bytes: Option<i64>,
    /// Bytes that they will have: what the leader has now, for each of them.
    pub total_bytes: Option<i64>,
}

impl Admin {
    /// Brokers that can take replicas now.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn sites(&mut self) -> Result<Vec<CandidateBroker>> {
        let answer = self.cluster.metadata(Some(Vec::new()))?;
        let mut sites: Vec<CandidateBroker> = answer
            .brokers
            .iter()
            .map(|broker| CandidateBroker {
                broker: broker.node_id.0,
                rack: broker.rack.as_ref().map(|rack| rack.to_string()),
            })
            .collect();
        sites.sort_by_key(|site| site.broker);
        Ok(sites)
    }

    /// The cluster's own name for itself; old brokers have none.
    pub(super) fn cluster_id(&mut self) -> Result<String> {
        let answer = self.cluster.metadata(Some(Vec::new()))?;
        Ok(answer
            .cluster_id
            .map(|id| id.to_string())
            .unwrap_or_default())
    }

    /// Current replica assignments of topics: the input of a plan.
    ///
    /// # Errors
    /// If a topic does not exist, or partitions of it are being reassigned already.
    pub fn placed(&mut self, topics: &[String]) -> Result<Vec<ReplicaAssignment>> {
        let moving = self.reassignments()?;
        if let Some(one) = moving.iter().find(|one| topics.contains(&one.topic)) {
            return Err(AdminError::Input(format!(
                "{}-{} is moving already: wait for it (`tare kafka reassign watch`) or cancel it first",
                one.topic, one.partition
            )));
        }
        let mut placed = Vec::new();
        for topic in self.topics_named(topics)? {
            placed.extend(topic.partitions.into_iter().map(|one| ReplicaAssignment {
                topic: topic.name.clone(),
                partition: one.partition,
                replicas: one.replicas,
            }));
        }
        Ok(placed)
    }

    /// Starts reassignments. With a throttle on each broker, it stays until [`Admin::unthrottle_own`].
    ///
    /// # Errors
    /// If a partition is no longer where the plan says, a throttle is set already, or the cluster refuses; nothing moves then.
    pub fn reassign(
        &mut self,
        moves: &[PartitionReassignment],
        throttle: Option<NewThrottle<'_>>,
    ) -> Result<()> {
        self.refuse_if_stale(moves)?;
        let mut throttles = Throttles::of(moves, throttle.map(|throttle| throttle.bytes_per_s));
        if let Some(throttles) = &mut throttles {
            // A broker that is down copies nothing and accepts no configuration.
            let sites = self.sites()?;
            let is_alive = |id: &i32| sites.iter().any(|site| site.broker == *id);
            throttles.brokers.retain(|id, _| is_alive(id));
        }
        let set = match (throttles, throttle) {
            (Some(throttles), Some(NewThrottle { memory, .. })) => {
                self.throttle(&throttles, memory)?;
                Some(memory)
            }
            _ => None,
        };
        let targets = moves
            .iter()
            .map(|one| ((one.topic.clone(), one.partition), Some(&one.to[..])));
        let done = self
            .alter(&targets.collect())
            .and_then(|results| ItemResult::all(&results));
        if done.is_err() {
            // Partitions are accepted one by one, and an answer may be lost: what moves although the whole was refused is taken
            // back, and keeps its throttle if that fails.
            let keys: Vec<Key> = moves
                .iter()
                .map(|one| (one.topic.clone(), one.partition))
                .collect();
            let _ = self.cancel_reassignments(&keys);
            if let Some(memory) = set
                && self.ongoing()?.is_empty()
            {
                self.unthrottle_own(memory)?;
            }
        }
        done
    }

    /// Ongoing reassignments with their progress.
    ///
    /// # Errors
    /// If no broker answers, or this user is not authorized.
    pub fn reassignments(&mut self) -> Result<Vec<OngoingReassignment>> {
        let mut all = self.ongoing()?;
        self.fill_progress(&mut all)?;
        Ok(all)
    }

    /// Ongoing reassignments without their progress.
    ///
    /// # Errors
    /// As [`Admin::reassignments`].
    pub fn ongoing(&mut self) -> Result<Vec<OngoingReassignment>> {
        let request = ListPartitionReassignmentsRequest::default()
            .with_timeout_ms(self.timeout_ms())
            .with_topics(None);
        let answer = self.cluster.request(&request)?;
        check(
            answer.error_code,
            answer.error_message.as_ref(),
            "what is moving",
        )
        .map_err(|error| error.needing(Operation::Describe))?;
        let mut all = Vec::new();
        for topic in &answer.topics {
            all.extend(topic.partitions.iter().map(|one| OngoingReassignment {
                topic: topic.name.to_string(),
                partition: one.partition_index,
                replicas: ids(&one.replicas),
                adding: ids(&one.adding_replicas),
                removing: ids(&one.removing_replicas),
                copied_bytes: None,
                total_bytes: None,
            }));
        }
        all.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        Ok(all)
    }

    /// Cancels ongoing reassignments (all, or some): replicas go back to where they were.
    ///
    /// # Errors
    /// If no broker answers; errors of single items are in the results.
    pub fn cancel_reassignments(
        &mut self,
        partitions: &[(String, i32)],
    ) -> Result<Vec<ItemResult>> {
        let targets = partitions.iter().map(|key| (key.clone(), None));
        self.alter(&targets.collect())
    }

    fn alter(&mut self, targets: &BTreeMap<Key, Option<&[i32]>>) -> Result<Vec<ItemResult>> {
        let partitions = targets.iter().map(|((topic, partition), replicas)| {
            let one = ReassignablePartition::default()
                .with_partition_index(*partition)
                .with_replicas(replicas.map(broker_ids));
            (topic.as_str(), one)
        });
        let topics = by_topic(partitions, |name, partitions| {
            ReassignableTopic::default()
                .with_name(name)
                .with_partitions(partitions)
        });
        let request = AlterPartitionReassignmentsRequest::default()
            .with_timeout_ms(self.timeout_ms())
            .with_topics(topics);
        let answer = self.cluster.request_once(&request)?;
        check(
            answer.error_code,
            answer.error_message.as_ref(),
            "the reassignment",
        )
        .map_err(|error| error.needing(Operation::Alter))?;
        let mut results = Vec::new();
        for topic in &answer.responses {
            for one in &topic.partitions {
                let name = format!("{}-{}", topic.name.as_str(), one.partition_index);
                let result = ItemResult::of(name, one.error_code, one.error_message.as_ref());
                results.push(result.needing(Operation::Alter));
            }
        }
        Ok(results)
    }

    fn refuse_if_stale(&mut self, moves: &[PartitionReassignment]) -> Result<()> {
        let mut names: Vec<String> = moves.iter().map(|one| one.topic.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let placed = self.placed(&names)?;
        for one in moves {
            let now = placed
                .iter()
                .find(|now| now.topic == one.topic && now.partition == one.partition);
            let replicas = now.map(|now| &now.replicas[..]).unwrap_or_default();
            if replicas != one.from {
                return Err(AdminError::Input(format!(
                    "{}-{} is on {replicas:?} and not on {:?} as the plan says: make a new plan",
                    one.topic, one.partition, one.from
                )));
            }
        }
        Ok(())
    }

    /// Fills in copied and total bytes from the brokers' log directories.
    fn fill_progress(&mut self, all: &mut [OngoingReassignment]) -> Result<()> {
        if all.iter().all(|one| one.adding.is_empty()) {
            return Ok(());
        }
        let mut brokers: Vec<i32> = all.iter().flat_map(|one| one.replicas.clone()).collect();
        brokers.sort_unstable();
        brokers.dedup();
        let mut sizes: BTreeMap<(Key, i32), i64> = BTreeMap::new();
        for broker in brokers {
            // The sizes on a broker that is down are unknown, not 0.
            let Ok(dirs) = self.log_dirs(Some(&[broker])) else {
                continue;
            };
            for one in dirs.iter().flat_map(|dir| &dir.partitions) {
                let key = (one.topic.clone(), one.partition);
                sizes.insert((key, broker), one.size_bytes);
            }
        }
        for one in all {
            let size = |broker: i32| {
                let key = (one.topic.clone(), one.partition);
                sizes.get(&(key, broker)).copied()
            };
            let old = one.replicas.iter().filter(|id| !one.adding.contains(id));
            let Some(full_size) = old.filter_map(|id| size(*id)).max() else {
                continue;
            };
            let copies = one
                .adding
                .iter()
                .map(|id| size(*id).unwrap_or(0).min(full_size));
            one.copied_bytes = Some(copies.sum());
            one.total_bytes = i64::try_from(one.adding.len())
                .ok()
                .map(|count| full_size.saturating_mul(count));
        }
        Ok(())
    }
}
