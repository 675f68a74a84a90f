//! JSON Schema of what `tare kafka … --json` prints: one property for each command.

use schemars::JsonSchema;
use serde::Serialize;
use tare_experiment::clusters::ClusterDef;
use tare_kafka_admin::admin::reassign::{OngoingReassignment, Throttles};
use tare_kafka_admin::admin::{Config, Resource, TopicDescription};

/// A cluster with its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NamedCluster {
    /// Its name.
    pub name: String,
    /// How it is reached.
    #[serde(flatten)]
    pub cluster: ClusterDef,
}

/// A topic with what is set on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DescribedTopic {
    /// The topic.
    #[serde(flatten)]
    pub topic: TopicDescription,
    /// Keys that are set on it.
    pub configs: Vec<Config>,
}

/// Something with its configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Configured {
    /// What it belongs to.
    pub resource: Resource,
    /// Keys by name.
    pub configs: Vec<Config>,
}

/// What is moving.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reassignments {
    /// Partitions on their way.
    pub reassignments: Vec<OngoingReassignment>,
    /// Limits on copying.
    pub throttles: Throttles,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tare_kafka_admin::admin::{
        BrokerDescription, ClusterDescription, GroupDescription, GroupLag, GroupListing,
        ItemResult, LogDir, ReplicaComparison, Reset,
    };
    use tare_kafka_admin::api::KafkaApiShapes;
    use tare_kafka_admin::metrics::MetricsView;
    use tare_kafka_admin::reassignment::ReassignmentPlan;
    use tare_record::schemas::Shape;

    use super::*;

    /// Outputs by command.
    #[derive(Debug, JsonSchema)]
    #[schemars(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Outputs {
        /// `clusters list`
        clusters_list: Vec<NamedCluster>,
        /// `cluster`
        cluster: ClusterDescription,
        /// `brokers`
        brokers: Vec<BrokerDescription>,
        /// `topics list`
        topics_list: Vec<TopicDescription>,
        /// `topics describe`
        topics_describe: Vec<DescribedTopic>,
        /// `topics create`
        topics_create: Vec<ItemResult>,
        /// `topics delete`
        topics_delete: Vec<ItemResult>,
        /// `topics add-partitions`
        topics_grow: Vec<ItemResult>,
        /// `configs get` and `topics config`; `configs set` prints the same after the change
        configs: Vec<Configured>,
        /// `elect`: partitions whose leader changed, or could not
        elect: Vec<ItemResult>,
        /// `reassign plan`, and the file that `reassign run` reads
        reassign_plan: ReassignmentPlan,
        /// `reassign show`, and a line of `reassign watch`
        reassign_show: Reassignments,
        /// `reassign run`: the plan that was begun
        reassign_run: ReassignmentPlan,
        /// `reassign cancel`
        reassign_cancel: Vec<ItemResult>,
        /// `reassign unthrottle`: the limits that were taken away
        reassign_unthrottle: Throttles,
        /// `groups list`
        groups_list: Vec<GroupListing>,
        /// `groups describe`
        groups_describe: Vec<GroupDescription>,
        /// `groups lag`
        groups_lag: Vec<GroupLag>,
        /// `groups delete`
        groups_delete: Vec<ItemResult>,
        /// `groups reset`
        groups_reset: Vec<Reset>,
        /// `log-dirs`
        log_dirs: Vec<LogDir>,
        /// `verify`
        verify: Vec<ReplicaComparison>,
        /// `metrics`
        metrics: MetricsView,
    }

    #[test]
    fn the_schemas_that_are_written_down_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        for shape in [
            Shape::of::<Outputs>("kafka", ""),
            Shape::of::<KafkaApiShapes>("kafka-api", ""),
        ] {
            let path = folder.join(format!("{}.json", shape.name));
            if std::env::var_os("TARE_UPDATE_GOLDEN").is_some() {
                std::fs::write(&path, shape.text()).unwrap();
            }
            let written = std::fs::read_to_string(&path).unwrap();
            assert_eq!(written, shape.text(), "{}", path.display());
        }
    }
}
