//! Cluster administration: describe, configure, reassign partitions, consumer groups, compare replicas.

mod change;
mod configs;
mod describe;
mod elect;
mod error;
mod groups;
mod log_dirs;
mod offsets;
mod read_back;
pub mod reassign;
mod topics;
mod verify;

use std::time::Duration;

use kafka_protocol::messages::{BrokerId, GroupId, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::link::{Address, Cluster, LinkError, Settings};

pub use change::{Mode, NewTopic, Shape};
pub use configs::{Change, Config, ConfigSource, Resource};
pub use describe::{BrokerView, ClusterView};
pub use error::{AdminError, Outcome, Refusal};
pub use groups::{GroupLag, GroupMember, GroupSummary, GroupView, PartitionLag, Reset, ResetTo};
pub use log_dirs::{LogDir, PartitionSize};
pub use offsets::When;
pub use topics::{PartitionView, TopicView};
pub use verify::{Progress, Replica, Verdict, VerifyView};

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
    pub fn connect(bootstrap: Vec<Address>, settings: Settings) -> Result<Admin, LinkError> {
        let cluster = Cluster::connect(bootstrap, settings)?;
        Ok(Admin { cluster })
    }

    /// The underlying connections.
    pub fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// The request timeout, as sent in `timeout_ms`.
    fn timeout_ms(&self) -> i32 {
        millis(self.cluster.settings().answer_within)
    }
}

fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
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

fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.0).collect()
}

fn broker_ids(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}
