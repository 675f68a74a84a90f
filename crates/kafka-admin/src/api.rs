//! Shapes of the server's API for Kafka, `/api/v1/kafka` of `tare serve`: what it takes and what it returns.

use serde::Serialize;
use tare_record::schemas::JsonSchema;

use crate::admin::reassign::{OngoingReassignment, Throttles};
use crate::admin::{
    Config, GroupLag, ItemResult, LogDir, PartitionInfo, PartitionLag, ReplicaComparison, Reset,
};
use crate::metrics::BrokerMetrics;
use crate::reassignment::ReassignmentPlan;

mod request;

pub use request::{
    ClusterRequest, ConfigsRequest, CreateTopicRequest, ElectRequest, GrowRequest,
    PartitionsRequest, ReassignmentPlanRequest, ReassignmentRequest, ResetRequest, ResetTarget,
    VerifyRequest,
};

/// `GET /api/v1/kafka/clusters`: the clusters that this server knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterList {
    /// By name.
    pub clusters: Vec<ClusterEntry>,
    /// Environment variables that a cluster may name for a password.
    pub environment: Vec<String>,
}

/// A cluster in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterEntry {
    /// Who defines it.
    pub origin: ClusterOrigin,
    /// Its settings. Passwords are not among them, only where they are.
    #[serde(flatten)]
    pub definition: ClusterRequest,
}

/// Who defines a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterOrigin {
    /// This server; it can be edited and removed here.
    Server,
    /// `tare kafka clusters add`.
    CommandLine,
    /// A test bed of a run or of `tare lab` that is up now.
    TestBed,
}

/// `POST /api/v1/kafka/clusters/test`: whether a cluster can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterTest {
    /// The cluster's id.
    pub id: Option<String>,
    /// Its brokers, `HOST:PORT` each.
    pub brokers: Vec<String>,
}

/// Something that is wrong with a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterProblem {
    /// What kind.
    pub kind: ProblemKind,
    /// What is wrong and the next step.
    pub text: String,
    /// How many partitions, brokers or groups.
    pub count: u64,
    /// The first of them: `topic-partition`, `broker 3`, `group`.
    pub examples: Vec<String>,
}

/// Kinds of problems, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// No broker answers.
    Unreachable,
    /// Partitions without a leader.
    Offline,
    /// A broker that has replicas is down.
    BrokerDown,
    /// Partitions with fewer replicas in sync than producers with `acks=all` need.
    BelowMinIsr,
    /// Partitions with replicas that are down or behind.
    UnderReplicated,
    /// A file system with less than 15 % free, or a log directory that failed.
    Disk,
    /// Groups beyond the lag limit.
    Lag,
    /// Groups with committed offsets beyond the end of a partition.
    CommitBeyondEnd,
    /// Partitions not led by their preferred leader.
    LeaderImbalance,
    /// Replication throttles although nothing moves.
    Throttle,
    /// Something could not be read: not authorised, or not there in this version.
    Unreadable,
}

/// An overview of a cluster; event `overview` of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClusterOverview {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long reading took, in milliseconds.
    pub took_ms: u64,
    /// The cluster's id.
    pub id: Option<String>,
    /// Broker that leads the quorum of controllers.
    pub controller: Option<i32>,
    /// All voters of that quorum.
    pub voters: Vec<i32>,
    /// Level of the cluster's metadata.
    pub metadata_version: Option<i16>,
    /// Release that has this level, as far as this program knows.
    pub release: Option<String>,
    /// Its brokers, those that are down and have replicas among them.
    pub brokers: Vec<BrokerRow>,
    pub topics: u64,
    pub partitions: u64,
    pub replicas: u64,
    pub offline_partitions: u64,
    pub under_replicated_partitions: u64,
    pub below_min_isr_partitions: u64,
    pub leader_imbalance: u64,
    /// Records per second into all topics, from the offsets of the last two readings.
    pub records_in_per_s: Option<f64>,
    /// Bytes per second from producers and to consumers, where brokers tell their metrics.
    pub bytes_in_per_s: Option<f64>,
    pub bytes_out_per_s: Option<f64>,
    /// Partitions that are being reassigned.
    pub reassigning: u64,
    /// What is wrong, the gravest first.
    pub problems: Vec<ClusterProblem>,
}

/// A broker in the overview.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BrokerRow {
    pub id: i32,
    /// Address that it told this client; none when it is down.
    pub address: Option<String>,
    pub rack: Option<String>,
    /// Partitions that it leads, and those that it should lead.
    pub leaders: u64,
    pub preferred: u64,
    pub replicas: u64,
    pub out_of_sync_replicas: u64,
    /// Bytes of its log directories; free and total of their file systems.
    pub log_bytes: Option<u64>,
    pub usable_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
    /// Records per second into the partitions that it leads.
    pub records_in_per_s: Option<f64>,
}

/// `GET …/topics`, and event `topics` of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopicList {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    pub topics: Vec<TopicRow>,
}

/// A topic in the list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopicRow {
    pub name: String,
    /// The cluster's own number for it; brokers before 2.8 have none.
    pub id: Option<String>,
    pub is_internal: bool,
    pub partitions: u32,
    /// Replicas of a partition: the most.
    pub replicas: u32,
    pub offline: u32,
    pub under_replicated: u32,
    pub leader_imbalance: u32,
    /// Bytes of all replicas.
    pub size_bytes: Option<u64>,
    /// Offsets between the first and the end: more than there are records when the topic is compacted or has transactions.
    pub records: Option<u64>,
    pub records_in_per_s: Option<f64>,
    /// `retention.ms`; −1 for ever.
    pub retention_ms: Option<i64>,
    /// Lags of all groups together.
    pub lag: Option<u64>,
}

/// `GET …/topics/{topic}`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopicDetail {
    pub name: String,
    pub id: Option<String>,
    pub is_internal: bool,
    /// Its configuration; none when this user may not read it.
    pub configs: Option<Vec<Config>>,
    /// `min.insync.replicas`.
    pub min_in_sync: Option<u32>,
    pub live: TopicLive,
    /// What could not be read, with the reason.
    pub problems: Vec<String>,
}

/// Event `topic` of the stream `?topic=NAME`: what changes of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopicLive {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    pub partitions: Vec<PartitionRow>,
    pub records_in_per_s: Option<f64>,
    /// Groups that have committed offsets of it, or read it.
    pub groups: Vec<TopicGroup>,
}

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PartitionRow {
    #[serde(flatten)]
    pub partition: PartitionInfo,
    /// First offset, and the offset that the next record gets.
    pub first: Option<i64>,
    pub end: Option<i64>,
    /// Bytes of the largest replica.
    pub size_bytes: Option<u64>,
    pub records_in_per_s: Option<f64>,
}

/// A group that reads a topic.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopicGroup {
    pub name: String,
    pub state: String,
    pub lag: Option<u64>,
    pub partitions: Vec<PartitionLag>,
}

/// `GET …/topics/{topic}/records`: the newest records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordPage {
    /// The newest first.
    pub records: Vec<RecordRow>,
    /// Partitions that could not be read, with the reason.
    pub problems: Vec<String>,
    /// Why these may not be all of the newest records.
    pub notes: Vec<String>,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordRow {
    pub partition: i32,
    pub offset: i64,
    pub timestamp_ms: i64,
    pub key: Option<RecordBytes>,
    pub value: Option<RecordBytes>,
    pub headers: Vec<(String, Option<RecordBytes>)>,
    /// How its transaction ended; none when it was written without one, or its end was not read.
    pub transaction: Option<TransactionState>,
}

/// The state of the transaction of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionState {
    Committed,
    /// Consumers with `isolation.level=read_committed` do not see the record.
    Aborted,
    /// Not ended yet.
    Open,
}

/// Bytes of a record, as far as they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordBytes {
    /// The bytes as text, if they are UTF-8.
    pub text: Option<String>,
    /// The bytes in hexadecimal.
    pub hex: String,
    /// How many there are; more than are shown when it was cut.
    pub size_bytes: u64,
}

/// `GET …/brokers/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BrokerDetail {
    pub broker: BrokerRow,
    /// Its configuration; none when it is down or this user may not read it.
    pub configs: Option<Vec<Config>>,
    pub log_dirs: Vec<LogDir>,
    /// Partitions of which it has a replica.
    pub partitions: Vec<BrokerPartition>,
    /// What could not be read, with the reason.
    pub problems: Vec<String>,
}

/// A replica of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokerPartition {
    pub topic: String,
    pub partition: i32,
    pub is_leader: bool,
    pub is_preferred: bool,
    pub is_in_sync: bool,
    pub size_bytes: Option<u64>,
}

/// Event `metrics` of the stream `?metrics=true`: metrics of all brokers, by Jolokia, Prometheus exporter or JMX.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricsLive {
    /// When they were read, in milliseconds since 1970.
    pub at_ms: u64,
    pub brokers: Vec<BrokerMetrics>,
    /// Why none are read, with the next step.
    pub problem: Option<String>,
}

/// `GET …/groups`, and event `groups` of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupList {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    pub groups: Vec<GroupRow>,
}

/// A group in the list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupRow {
    pub name: String,
    /// As the broker calls it.
    pub state: String,
    /// `classic`, `consumer` or something newer.
    pub group_type: String,
    pub protocol_type: String,
    pub coordinator: i32,
    /// Topics of which it has committed offsets.
    pub topics: Vec<String>,
    /// Offsets from its commits to the ends; a commit beyond the end counts as 0.
    pub lag: Option<u64>,
    /// Partitions whose commit is beyond the end: the topic was made again or has lost records.
    pub beyond_end: u64,
    /// Partitions whose commit is before the first offset: records were deleted that the group has not read.
    pub before_start: u64,
    /// Offsets committed per second.
    pub consumed_per_s: Option<f64>,
}

/// Event `group` of the stream `?group=NAME`, and `GET …/groups/{group}`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupLive {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    #[serde(flatten)]
    pub lag: GroupLag,
}

/// `GET …/reassignments`, and event `reassignments` of the stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReassignmentList {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    pub reassignments: Vec<OngoingReassignment>,
    pub throttles: Throttles,
}

/// `POST …/reassignments/plan`: what would be reassigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReassignmentPreview {
    pub plan: ReassignmentPlan,
    /// Bytes to copy, in the order of the plan's reassignments.
    pub copy_bytes: Vec<Option<u64>>,
    /// All of them together.
    pub total_bytes: Option<u64>,
}

/// Results of single items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemResults {
    pub results: Vec<ItemResult>,
}

/// `POST …/groups/{group}/reset`: offsets before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResetReply {
    pub resets: Vec<Reset>,
    /// Partitions whose offsets are not known, with the reason; nothing is changed then.
    pub problems: Vec<String>,
    pub applied: bool,
}

/// `GET …/verify/{id}`: a comparison of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyJob {
    pub id: u64,
    pub topic: String,
    pub state: VerifyState,
    /// Partitions to compare, and those that were.
    pub partitions: u32,
    pub done: u32,
    /// Bytes compared of one replica, and those that there are.
    pub compared_bytes: u64,
    pub total_bytes: Option<u64>,
    pub results: Vec<ReplicaComparison>,
    /// Why it ended early.
    pub problem: Option<String>,
}

/// State of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyState {
    Running,
    Done,
    Stopped,
    Failed,
}

/// An event of `GET …/events`, whose name is that of the variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterEvent {
    Overview(ClusterOverview),
    Topics(TopicList),
    Topic(TopicLive),
    Groups(GroupList),
    Group(GroupLive),
    Reassignments(ReassignmentList),
    Metrics(MetricsLive),
    /// Why the last reading failed; the page shows the one before.
    Problem(ClusterProblem),
}

/// Everything that the API for Kafka takes and returns.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct KafkaApiShapes {
    cluster_list: ClusterList,
    cluster_test: ClusterTest,
    overview: ClusterOverview,
    topic_list: TopicList,
    topic_detail: TopicDetail,
    record_page: RecordPage,
    broker_detail: BrokerDetail,
    group_list: GroupList,
    group_live: GroupLive,
    reassignment_list: ReassignmentList,
    reassignment_preview: ReassignmentPreview,
    item_results: ItemResults,
    reset_reply: ResetReply,
    verify_job: VerifyJob,
    event: ClusterEvent,
    cluster_request: ClusterRequest,
    create_topic_request: CreateTopicRequest,
    configs_request: ConfigsRequest,
    grow_request: GrowRequest,
    elect_request: ElectRequest,
    reassignment_plan_request: ReassignmentPlanRequest,
    reassignment_request: ReassignmentRequest,
    partitions_request: PartitionsRequest,
    reset_request: ResetRequest,
    verify_request: VerifyRequest,
}
