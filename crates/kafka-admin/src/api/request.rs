//! Bodies of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_experiment::clusters::ClusterDef;
use tare_record::schemas::JsonSchema;

use crate::reassignment::{PartitionReassignment, ReplicaAssignment};

/// Body of `POST /api/v1/kafka/clusters`, which adds or replaces a cluster, and of `POST /api/v1/kafka/clusters/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterRequest {
    /// Its name: letters, digits, `.`, `_` and `-`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"))]
    pub name: String,
    /// How it is reached. Files lie in directories of the server's `--files`, variables are named by its `--env`.
    pub cluster: ClusterDef,
    /// Whether nothing can be changed in it from here.
    #[serde(default)]
    pub read_only: bool,
    /// Whether records of its topics can be shown.
    #[serde(default)]
    pub show_records: bool,
    /// Lag in records beyond which a group is reported as a problem.
    #[serde(default)]
    pub lag_limit: Option<u64>,
}

/// Body of `POST …/topics`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTopicRequest {
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]{1,249}$"))]
    pub name: String,
    /// Default: the brokers' `num.partitions`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub partitions: Option<i32>,
    /// Default: the brokers' `default.replication.factor`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub replicas: Option<i16>,
    /// Brokers of each partition, the preferred leader first, instead of the two numbers.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub assignment: Option<Vec<Vec<i32>>>,
    #[serde(default)]
    pub configs: BTreeMap<String, String>,
    /// Only check whether it could be created.
    #[serde(default)]
    pub validate_only: bool,
}

/// Body of `POST …/topics/{topic}/partitions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowRequest {
    /// The new number of partitions.
    #[schemars(range(min = 1))]
    pub partitions: i32,
    /// Also if it is a topic of Kafka itself.
    #[serde(default)]
    pub internal: bool,
    #[serde(default)]
    pub validate_only: bool,
}

/// Body of `POST …/topics/{topic}/configs`, `POST …/brokers/{id}/configs` and `POST …/configs` (all brokers).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigsRequest {
    /// Values to set, by key.
    pub set: BTreeMap<String, String>,
    /// Keys whose default applies again.
    pub delete: Vec<String>,
    pub validate_only: bool,
}

/// Body of `POST …/elect`: preferred leaders of these partitions, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ElectRequest {
    /// Partitions by topic; an empty list is all of them. Default: all topics.
    pub topics: Option<BTreeMap<String, Vec<i32>>>,
}

/// Body of `POST …/reassignments/plan`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReassignmentPlanRequest {
    /// Topics. Default: all that are not internal.
    pub topics: Option<Vec<String>>,
    /// Brokers that may have replicas. Default: all.
    pub brokers: Option<Vec<i32>>,
    /// Brokers that are to have none.
    pub drain: Vec<i32>,
    /// Replicas of each partition. Default: as many as it has.
    #[schemars(range(min = 1))]
    pub replicas: Option<u32>,
    /// Assignments by hand, instead of all the above.
    pub by_hand: Vec<ReplicaAssignment>,
}

/// Body of `POST …/reassignments`: begins a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReassignmentRequest {
    /// Reassignments of a plan.
    pub reassignments: Vec<PartitionReassignment>,
    /// Most bytes per second that each broker copies.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub throttle_bytes_per_s: Option<u64>,
}

/// Body of `POST …/reassignments/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PartitionsRequest {
    /// Partitions by topic. Default: all that are moving.
    pub topics: Option<BTreeMap<String, Vec<i32>>>,
}

/// Body of `POST …/groups/{group}/reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetRequest {
    /// Topics. Default: all of which it has committed offsets.
    #[serde(default)]
    pub topics: Vec<String>,
    pub to: ResetTarget,
    /// Make the group if there is none of this name.
    #[serde(default)]
    pub new_group: bool,
    /// Only show what would be committed.
    #[serde(default)]
    pub validate_only: bool,
}

/// Where offsets are reset to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ResetTarget {
    /// The first offset that exists.
    Earliest,
    /// The end.
    Latest,
    /// The first record at or after a time.
    Time {
        /// Milliseconds since 1970.
        #[schemars(range(min = 0))]
        time_ms: i64,
    },
    /// An offset.
    Offset {
        #[schemars(range(min = 0))]
        offset: i64,
    },
    /// The committed offset and this many records.
    Shift { records: i64 },
}

/// Body of `POST …/verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    pub topic: String,
    /// Default: all.
    #[serde(default)]
    pub partitions: Option<Vec<i32>>,
}
