//! Cluster administration: describe, configure, reassign partitions, consumer groups, compare replicas.

mod change;
mod configs;
mod describe;
mod error;
mod groups;
mod log_dirs;
mod newest;
mod offsets;
mod read_back;
pub mod reassign;
mod topics;
mod verify;

use std::collections::BTreeMap;

use kafka_protocol::messages::{BrokerId, GroupId, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::client::{Address, ClientError, ClientSettings, Cluster, RetryBackoff};

pub use change::{Mode, NewTopic, PartitionLayout};
pub use configs::{Config, ConfigOp, ConfigSource, Resource};
pub use describe::{BrokerDescription, ClusterDescription};
pub use error::{AdminError, ApiError, ItemResult, Result};
pub(crate) use groups::LogBounds;
pub use groups::{
    CommitPosition, GroupDescription, GroupLag, GroupListing, GroupMember, GroupsFound, LagsFound,
    NewGroup, PartitionLag, Reset, ResetLimit, ResetTo, ResetsFound, unkept_groups,
};
pub use log_dirs::{LogDir, ReplicaSize};
pub use newest::NewestRecords;
pub(crate) use offsets::NO_LEADER;
pub use offsets::{OffsetSpec, OffsetsFound};
pub use topics::{InternalTopics, PartitionInfo, TopicDescription, TopicIdentity};
pub use verify::{ComparisonProgress, ComparisonResult, Replica, ReplicaComparison};

/// An admin client of one cluster.
#[derive(Debug)]
pub struct Admin {
    cluster: Cluster,
}

impl Admin {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// If no broker can be reached.
    pub fn connect(
        bootstrap: Vec<Address>,
        settings: ClientSettings,
    ) -> Result<Admin, ClientError> {
        let cluster = Cluster::connect(bootstrap, settings)?;
        Ok(Admin { cluster })
    }

    /// The underlying connections.
    pub fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// The request timeout, as sent in `timeout_ms`.
    fn timeout_ms(&self) -> i32 {
        let within = self.cluster.settings().request_timeout;
        i32::try_from(within.as_millis()).unwrap_or(i32::MAX)
    }

    /// Retries on transient errors: a coordinator or a leader that moves, is loading or was just created.
    fn with_retries<T>(&mut self, mut act: impl FnMut(&mut Admin) -> Result<T>) -> Result<T> {
        let mut patience = RetryBackoff::of(self.cluster.settings().request_timeout);
        loop {
            match act(self) {
                Err(AdminError::Refused { error, .. })
                    if error.is_retriable() && patience.wait() => {}
                done => return done,
            }
        }
    }
}

fn str_bytes(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic_name(text: &str) -> TopicName {
    TopicName(str_bytes(text))
}

fn group_id(text: &str) -> GroupId {
    GroupId(str_bytes(text))
}

/// Partitions by topic, as requests list them.
fn by_topic<'a, P, T>(
    partitions: impl Iterator<Item = (&'a str, P)>,
    topic: impl Fn(TopicName, Vec<P>) -> T,
) -> Vec<T> {
    let mut topics: BTreeMap<&str, Vec<P>> = BTreeMap::new();
    for (name, partition) in partitions {
        topics.entry(name).or_default().push(partition);
    }
    let topics = topics.into_iter();
    topics
        .map(|(name, partitions)| topic(topic_name(name), partitions))
        .collect()
}

fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.0).collect()
}

fn broker_ids(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}
