//! What `tare kafka … --json` prints and no other program has.

use serde::Serialize;
use tare_experiment::clusters::ClusterDef;
use tare_kafka_admin::admin::reassign::{OngoingReassignment, Throttles};
use tare_kafka_admin::admin::{Config, Resource, TopicDescription};

/// A cluster with its name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamedCluster {
    /// Its name.
    pub name: String,
    /// How it is reached.
    #[serde(flatten)]
    pub cluster: ClusterDef,
}

/// A topic with what is set on it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DescribedTopic {
    /// The topic.
    #[serde(flatten)]
    pub topic: TopicDescription,
    /// Keys that are set on it; none when this user may not read them.
    pub configs: Option<Vec<Config>>,
}

/// Something with its configuration.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Configured {
    /// What it belongs to.
    pub resource: Resource,
    /// Keys by name.
    pub configs: Vec<Config>,
}

/// What is moving.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reassignments {
    /// Partitions on their way.
    pub reassignments: Vec<OngoingReassignment>,
    /// Limits on copying.
    pub throttles: Throttles,
}
