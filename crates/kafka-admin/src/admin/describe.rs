//! Summary of a cluster and its brokers.

use std::collections::BTreeMap;

use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use super::configs::Resource;
use super::error::{AdminError, Result};
use super::{Admin, topic_name};

/// A cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterDescription {
    /// Its id.
    pub id: Option<String>,
    /// The node that leads the quorum of controllers; unknown where there is none, or where this user may not ask.
    pub controller: Option<i32>,
    /// All voters of that quorum.
    pub voters: Vec<i32>,
    /// Level of the cluster's metadata, which says what it can.
    pub metadata_version: Option<i16>,
    /// Its brokers.
    pub brokers: Vec<BrokerDescription>,
    /// Topics, those of Kafka itself included.
    pub topics: usize,
    /// Partitions of all topics.
    pub partitions: usize,
    /// Replicas of all partitions.
    pub replicas: usize,
    /// Partitions without a leader.
    pub offline_partitions: usize,
    /// Partitions with replicas that are missing or behind.
    pub under_replicated_partitions: usize,
    /// Partitions that are not led by their preferred leader.
    pub preferred_replica_imbalance: usize,
}

/// A broker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokerDescription {
    /// Its number.
    pub id: i32,
    /// Host that it told this client.
    pub host: String,
    /// Port that it told this client.
    pub port: i32,
    /// Its rack.
    pub rack: Option<String>,
    /// Partitions that it leads.
    pub leaders: usize,
    /// Partitions that it should lead.
    pub preferred: usize,
    /// Replicas that it has.
    pub replicas: usize,
    /// Of them, those that are not in sync.
    pub out_of_sync_replicas: usize,
    /// Where it listens, as it is configured; unknown when it is down or this user may not ask.
    pub listeners: Option<String>,
    /// What it tells clients, as it is configured.
    pub advertised: Option<String>,
    /// Why nobody could ask the broker itself: it is down, or what it advertises leads nowhere from here.
    pub unreachable: Option<String>,
}

impl Admin {
    /// Describes the cluster and its brokers.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn describe(&mut self) -> Result<ClusterDescription> {
        let about = self.cluster.metadata(Some(Vec::new()))?;
        let topics = self.topics()?;
        let versions = self.cluster.versions()?;
        let (controller, voters) = self.quorum()?;
        let mut brokers: BTreeMap<i32, BrokerDescription> = BTreeMap::new();
        for broker in &about.brokers {
            let (listeners, advertised, unreachable) = match self.listeners(broker.node_id.0) {
                Ok((listeners, advertised)) => (listeners, advertised, None),
                Err(AdminError::Client(error)) => (None, None, Some(error.to_string())),
                // This user may not ask.
                Err(_) => (None, None, None),
            };
            let view = BrokerDescription {
                host: broker.host.to_string(),
                port: broker.port,
                rack: broker.rack.as_ref().map(|rack| rack.to_string()),
                listeners,
                advertised,
                unreachable,
                ..empty(broker.node_id.0)
            };
            brokers.insert(view.id, view);
        }
        let all: Vec<_> = topics.iter().flat_map(|topic| &topic.partitions).collect();
        for one in &all {
            let mut note = |id: i32, count: fn(&mut BrokerDescription) -> &mut usize| {
                // A broker that is down still has its replicas assigned.
                *count(brokers.entry(id).or_insert_with(|| empty(id))) += 1;
            };
            one.replicas
                .iter()
                .for_each(|id| note(*id, |broker| &mut broker.replicas));
            let out_of_sync_replicas = one.replicas.iter().filter(|id| !one.in_sync.contains(id));
            out_of_sync_replicas
                .for_each(|id| note(*id, |broker| &mut broker.out_of_sync_replicas));
            if let Some(first) = one.replicas.first() {
                note(*first, |broker| &mut broker.preferred);
            }
            if let Some(leader) = one.leader {
                note(leader, |broker| &mut broker.leaders);
            }
        }
        Ok(ClusterDescription {
            id: about.cluster_id.map(|id| id.to_string()),
            controller,
            voters,
            metadata_version: versions.features.get("metadata.version").copied(),
            brokers: brokers.into_values().collect(),
            topics: topics.len(),
            partitions: all.len(),
            replicas: all.iter().map(|one| one.replicas.len()).sum(),
            offline_partitions: all.iter().filter(|one| one.leader.is_none()).count(),
            under_replicated_partitions: all.iter().filter(|one| one.is_under_replicated()).count(),
            preferred_replica_imbalance: all.iter().filter(|one| !one.is_preferred_led()).count(),
        })
    }

    /// Leader and voters of the controller quorum. In KRaft mode, the controller id in a broker's metadata is any live
    /// broker's; with ZooKeeper it is the controller, and there is no quorum.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn quorum(&mut self) -> Result<(Option<i32>, Vec<i32>)> {
        if !self.cluster.versions()?.knows::<DescribeQuorumRequest>() {
            let controller = self.cluster.metadata(Some(Vec::new()))?.controller_id.0;
            return Ok(((controller >= 0).then_some(controller), Vec::new()));
        }
        let log = TopicData::default()
            .with_topic_name(topic_name("__cluster_metadata"))
            .with_partitions(vec![PartitionData::default()]);
        let request = DescribeQuorumRequest::default().with_topics(vec![log]);
        let answer = self.cluster.request(&request)?;
        let first = answer.topics.first().and_then(|log| log.partitions.first());
        Ok(match first {
            Some(log) if answer.error_code == 0 && log.error_code == 0 => {
                let voters = log.current_voters.iter().map(|voter| voter.replica_id.0);
                let leader = log.leader_id.0;
                ((leader >= 0).then_some(leader), voters.collect())
            }
            _ => (None, Vec::new()),
        })
    }

    /// The configured `listeners` and `advertised.listeners` of a broker.
    fn listeners(&mut self, id: i32) -> Result<(Option<String>, Option<String>)> {
        let keys = ["listeners", "advertised.listeners"];
        let mut found = self.configs(&[Resource::Broker(id)], Some(&keys))?;
        let mut value = |key: &str| {
            let configs = found.iter_mut().flat_map(|(_, configs)| configs);
            let mut named = configs.filter(|config| config.name == key);
            named.next().and_then(|config| config.value.take())
        };
        Ok((value(keys[0]), value(keys[1])))
    }
}

fn empty(id: i32) -> BrokerDescription {
    BrokerDescription {
        id,
        ..BrokerDescription::default()
    }
}
