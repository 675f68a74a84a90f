// Shapes of the API for Kafka. Generated from docs/schema/kafka-api.json by `npm run types`; do not edit.

/**
 * Who defines a cluster.
 */
export type ClusterOrigin = "server" | "command-line" | "test-bed";
/**
 * Kinds of problems, the gravest first.
 */
export type ProblemKind =
  | "unreachable"
  | "offline"
  | "broker-down"
  | "below-min-isr"
  | "under-replicated"
  | "disk"
  | "lag"
  | "commit-beyond-end"
  | "leader-imbalance"
  | "throttle"
  | "unreadable";
/**
 * Where a value comes from, by Kafka's names.
 */
export type ConfigSource =
  | "dynamic-topic"
  | "dynamic-broker"
  | "dynamic-default-broker"
  | "static-broker"
  | "default"
  | "dynamic-group"
  | "other";
/**
 * Where a committed offset lies in the log of its partition.
 */
export type CommitPosition = "in-log" | "before-start" | "beyond-end";
/**
 * The state of the transaction of a record.
 */
export type TransactionState = "committed" | "aborted" | "open";
/**
 * Why a partition is reset to another offset than asked for.
 */
export type ResetLimit = "no-later-record" | "start" | "end";
/**
 * State of a comparison.
 */
export type VerifyState = "running" | "done" | "stopped" | "failed";
/**
 * What was found.
 */
export type ComparisonResult = "identical" | "incomplete" | "compacted" | "different";
/**
 * An event of `GET …/events`, whose name is that of the variant.
 */
export type ClusterEvent =
  | {
      overview: ClusterOverview;
    }
  | {
      topics: TopicList;
    }
  | {
      topic: TopicLive;
    }
  | {
      groups: GroupList;
    }
  | {
      group: GroupLive;
    }
  | {
      reassignments: ReassignmentList;
    }
  | {
      metrics: MetricsLive;
    }
  | {
      problem: ClusterProblem;
    };
/**
 * Where offsets are reset to.
 */
export type ResetTarget =
  | {
      kind: "earliest";
    }
  | {
      kind: "latest";
    }
  | {
      kind: "time";
      /**
       * Milliseconds since 1970.
       */
      time_ms: number;
    }
  | {
      kind: "offset";
      offset: number;
    }
  | {
      kind: "shift";
      records: number;
    };

/**
 * Everything that the API for Kafka takes and returns.
 */
export interface KafkaApiShapes {
  cluster_list: ClusterList;
  cluster_test: ClusterTest;
  overview: ClusterOverview;
  topic_list: TopicList;
  topic_detail: TopicDetail;
  record_page: RecordPage;
  broker_detail: BrokerDetail;
  group_list: GroupList;
  group_live: GroupLive;
  reassignment_list: ReassignmentList;
  reassignment_preview: ReassignmentPreview;
  item_results: ItemResults;
  reset_reply: ResetReply;
  verify_job: VerifyJob;
  event: ClusterEvent;
  cluster_request: ClusterRequest;
  create_topic_request: CreateTopicRequest;
  configs_request: ConfigsRequest;
  grow_request: GrowRequest;
  elect_request: ElectRequest;
  reassignment_plan_request: ReassignmentPlanRequest;
  reassignment_request: ReassignmentRequest;
  partitions_request: PartitionsRequest;
  reset_request: ResetRequest;
  verify_request: VerifyRequest;
}
/**
 * `GET /api/v1/kafka/clusters`: the clusters that this server knows.
 */
export interface ClusterList {
  /**
   * By name.
   */
  clusters: ClusterEntry[];
  /**
   * Environment variables that a cluster may name for a password.
   */
  environment: string[];
}
/**
 * A cluster in the list.
 */
export interface ClusterEntry {
  origin: ClusterOrigin;
  /**
   * Its name: letters, digits, `.`, `_` and `-`.
   */
  name: string;
  cluster: ClusterDef;
  /**
   * Whether nothing can be changed in it from here.
   */
  read_only?: boolean;
  /**
   * Whether records of its topics can be shown.
   */
  show_records?: boolean;
  /**
   * Lag in records beyond which a group is reported as a problem.
   */
  lag_limit?: number | null;
}
/**
 * Connection settings of a cluster.
 */
export interface ClusterDef {
  /**
   * Bootstrap brokers, `HOST:PORT` each.
   */
  bootstrap: string[];
  /**
   * TLS. Default: plaintext.
   */
  tls?: ClusterTlsDef | null;
  /**
   * SASL login. Default: no authentication.
   */
  sasl?: ClusterSaslDef | null;
  /**
   * Whether brokers may have addresses other than loopback and private ones. Default: false.
   */
  allow_public_target?: boolean;
  /**
   * Where to read metrics of the brokers, for `tare kafka metrics`.
   */
  metrics?: MetricsSourceDef | null;
}
/**
 * TLS settings for a cluster.
 */
export interface ClusterTlsDef {
  /**
   * PEM file with trusted certificate authorities. Default: those of the system.
   */
  ca?: string | null;
  /**
   * PEM file with the client certificate.
   */
  cert?: string | null;
  /**
   * PEM file with the key of the client certificate.
   */
  key?: string | null;
  /**
   * Name to verify in the brokers' certificates. Default: their host names.
   */
  server_name?: string | null;
  /**
   * Accept any certificate; for test beds only. Default: false.
   */
  insecure?: boolean;
}
/**
 * SASL credentials. The password itself is never in the file.
 */
export interface ClusterSaslDef {
  /**
   * SASL mechanism: `plain`, `scram-sha-256` or `scram-sha-512`.
   */
  mechanism: string;
  /**
   * User name.
   */
  user: string;
  /**
   * Environment variable that holds the password.
   */
  password_env?: string | null;
  /**
   * File whose first line is the password.
   */
  password_file?: string | null;
}
/**
 * Source of metrics: exactly one of `jolokia`, `prometheus` and `jmx`, with an address per instance. Passwords are never in the
 * file.
 */
export interface MetricsSourceDef {
  /**
   * Jolokia: `http://HOST:PORT/PATH`, or `HOST:PORT` for the path `/jolokia/`.
   */
  jolokia?: string[];
  /**
   * JMX exporters for Prometheus: `http://HOST:PORT/PATH`, or `HOST:PORT` for the path `/metrics`.
   */
  prometheus?: string[];
  /**
   * JMX remoting without TLS: `HOST:PORT`.
   */
  jmx?: string[];
  /**
   * User name. Default: no authentication.
   */
  user?: string | null;
  /**
   * Environment variable that holds the password.
   */
  password_env?: string | null;
  /**
   * File whose first line is the password.
   */
  password_file?: string | null;
}
/**
 * `POST /api/v1/kafka/clusters/test`: whether a cluster can be reached.
 */
export interface ClusterTest {
  /**
   * The cluster's id.
   */
  id?: string | null;
  /**
   * Its brokers, `HOST:PORT` each.
   */
  brokers: string[];
}
/**
 * An overview of a cluster; event `overview` of the stream.
 */
export interface ClusterOverview {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  /**
   * How long reading took, in milliseconds.
   */
  took_ms: number;
  /**
   * The cluster's id.
   */
  id?: string | null;
  /**
   * Broker that leads the quorum of controllers.
   */
  controller?: number | null;
  /**
   * All voters of that quorum.
   */
  voters: number[];
  /**
   * Level of the cluster's metadata.
   */
  metadata_version?: number | null;
  /**
   * Release that has this level, as far as this program knows.
   */
  release?: string | null;
  /**
   * Its brokers, those that are down and have replicas among them.
   */
  brokers: BrokerRow[];
  topics: number;
  partitions: number;
  replicas: number;
  offline_partitions: number;
  under_replicated_partitions: number;
  below_min_isr_partitions: number;
  leader_imbalance: number;
  /**
   * Records per second into all topics, from the offsets of the last two readings.
   */
  records_in_per_s?: number | null;
  /**
   * Bytes per second from producers and to consumers, where brokers tell their metrics.
   */
  bytes_in_per_s?: number | null;
  bytes_out_per_s?: number | null;
  /**
   * Partitions that are being reassigned.
   */
  reassigning: number;
  /**
   * What is wrong, the gravest first.
   */
  problems: ClusterProblem[];
}
/**
 * A broker in the overview.
 */
export interface BrokerRow {
  id: number;
  /**
   * Address that it told this client; none when it is down.
   */
  address?: string | null;
  rack?: string | null;
  /**
   * Partitions that it leads, and those that it should lead.
   */
  leaders: number;
  preferred: number;
  replicas: number;
  out_of_sync_replicas: number;
  /**
   * Bytes of its log directories; free and total of their file systems.
   */
  log_bytes?: number | null;
  usable_bytes?: number | null;
  total_bytes?: number | null;
  /**
   * Records per second into the partitions that it leads.
   */
  records_in_per_s?: number | null;
}
/**
 * Something that is wrong with a cluster.
 */
export interface ClusterProblem {
  kind: ProblemKind;
  /**
   * What is wrong and the next step.
   */
  text: string;
  /**
   * How many partitions, brokers or groups.
   */
  count: number;
  /**
   * The first of them: `topic-partition`, `broker 3`, `group`.
   */
  examples: string[];
}
/**
 * `GET …/topics`, and event `topics` of the stream.
 */
export interface TopicList {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  topics: TopicRow[];
}
/**
 * A topic in the list.
 */
export interface TopicRow {
  name: string;
  /**
   * The cluster's own number for it; brokers before 2.8 have none.
   */
  id?: string | null;
  is_internal: boolean;
  partitions: number;
  /**
   * Replicas of a partition: the most.
   */
  replicas: number;
  offline: number;
  under_replicated: number;
  leader_imbalance: number;
  /**
   * Bytes of all replicas.
   */
  size_bytes?: number | null;
  /**
   * Offsets between the first and the end: more than there are records when the topic is compacted or has transactions.
   */
  records?: number | null;
  records_in_per_s?: number | null;
  /**
   * `retention.ms`; −1 for ever.
   */
  retention_ms?: number | null;
  /**
   * Lags of all groups together.
   */
  lag?: number | null;
}
/**
 * `GET …/topics/{topic}`.
 */
export interface TopicDetail {
  name: string;
  id?: string | null;
  is_internal: boolean;
  /**
   * Its configuration; none when this user may not read it.
   */
  configs?: Config[] | null;
  /**
   * `min.insync.replicas`.
   */
  min_in_sync?: number | null;
  live: TopicLive;
  /**
   * What could not be read, with the reason.
   */
  problems: string[];
}
/**
 * One key.
 */
export interface Config {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its value; none when it is not set, or a secret.
   */
  value?: string | null;
  source: ConfigSource;
  /**
   * Whether it can only be changed in the broker's file.
   */
  is_read_only: boolean;
  /**
   * Whether it is a secret.
   */
  is_sensitive: boolean;
  /**
   * What applies without the value that is set on the resource itself, where it was asked for.
   */
  default?: string | null;
  /**
   * Kafka's documentation of the key, where it was asked for.
   */
  documentation?: string | null;
}
/**
 * Event `topic` of the stream `?topic=NAME`: what changes of a topic.
 */
export interface TopicLive {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  partitions: PartitionRow[];
  records_in_per_s?: number | null;
  /**
   * Groups that have committed offsets of it, or read it.
   */
  groups: TopicGroup[];
}
/**
 * A partition of a topic.
 */
export interface PartitionRow {
  /**
   * Its number in the topic.
   */
  partition: number;
  /**
   * Who leads; nobody when none can.
   */
  leader?: number | null;
  /**
   * How often the leader has changed; −1 when the broker does not say.
   */
  leader_epoch: number;
  /**
   * Brokers that have it, the preferred leader first.
   */
  replicas: number[];
  /**
   * Of them, those in sync.
   */
  in_sync: number[];
  /**
   * Of them, those that are not there.
   */
  offline: number[];
  /**
   * First offset, and the offset that the next record gets.
   */
  first?: number | null;
  end?: number | null;
  /**
   * Bytes of the largest replica.
   */
  size_bytes?: number | null;
  records_in_per_s?: number | null;
}
/**
 * A group that reads a topic.
 */
export interface TopicGroup {
  name: string;
  state: string;
  lag?: number | null;
  partitions: PartitionLag[];
}
/**
 * How far a group is behind on a partition.
 */
export interface PartitionLag {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  /**
   * The offset that the group has committed: the next one it wants.
   */
  committed?: number | null;
  /**
   * The first offset that can still be read; none when it is not known.
   */
  first?: number | null;
  /**
   * The offset that the next record gets; none when it is not known, or the topic is gone.
   */
  end?: number | null;
  /**
   * Offsets from the commit to the end; negative when the commit is beyond the end, as in Kafka's own tools.
   */
  lag?: number | null;
  /**
   * Those of them that can still be read: fewer than the lag when records were deleted that the group has not read.
   */
  readable?: number | null;
  /**
   * Where the commit lies; none when that is not known.
   */
  commit?: CommitPosition | null;
  /**
   * Why the end is not known.
   */
  problem?: string | null;
  /**
   * The member that reads it.
   */
  member?: string | null;
}
/**
 * `GET …/topics/{topic}/records`: the newest records.
 */
export interface RecordPage {
  /**
   * The newest first.
   */
  records: RecordRow[];
  /**
   * Partitions that could not be read, with the reason.
   */
  problems: string[];
  /**
   * Why these may not be all of the newest records.
   */
  notes: string[];
}
/**
 * A record.
 */
export interface RecordRow {
  partition: number;
  offset: number;
  timestamp_ms: number;
  key?: RecordBytes | null;
  value?: RecordBytes | null;
  headers: [string, RecordBytes | null][];
  /**
   * How its transaction ended; none when it was written without one, or its end was not read.
   */
  transaction?: TransactionState | null;
}
/**
 * Bytes of a record, as far as they are shown.
 */
export interface RecordBytes {
  /**
   * The bytes as text, if they are UTF-8.
   */
  text?: string | null;
  /**
   * The bytes in hexadecimal.
   */
  hex: string;
  /**
   * How many there are; more than are shown when it was cut.
   */
  size_bytes: number;
}
/**
 * `GET …/brokers/{id}`.
 */
export interface BrokerDetail {
  broker: BrokerRow;
  /**
   * Its configuration; none when it is down or this user may not read it.
   */
  configs?: Config[] | null;
  log_dirs: LogDir[];
  /**
   * Partitions of which it has a replica.
   */
  partitions: BrokerPartition[];
  /**
   * What could not be read, with the reason.
   */
  problems: string[];
}
/**
 * A folder of a broker.
 */
export interface LogDir {
  /**
   * Whose.
   */
  broker: number;
  /**
   * Its path there.
   */
  path: string;
  /**
   * Why it cannot be used.
   */
  error?: ApiError | null;
  /**
   * Size of the file system; unknown to brokers before 3.3.
   */
  total_bytes?: number | null;
  /**
   * What is free of it.
   */
  usable_bytes?: number | null;
  /**
   * The partitions in it, by topic and number.
   */
  partitions: ReplicaSize[];
}
/**
 * An error of the protocol, with the broker's words and the next step.
 */
export interface ApiError {
  /**
   * Its number in the protocol.
   */
  code: number;
  /**
   * Its name.
   */
  name: string;
  /**
   * The broker's message.
   */
  message?: string | null;
  /**
   * The permission that this user lacks, such as `DescribeConfigs on the topic`.
   */
  permission?: string | null;
}
/**
 * A replica on a disk.
 */
export interface ReplicaSize {
  /**
   * Its topic.
   */
  topic: string;
  /**
   * Its number.
   */
  partition: number;
  /**
   * Its files together.
   */
  size_bytes: number;
  /**
   * Records that it is behind the end of the partition.
   */
  lag: number;
  /**
   * Whether it is on its way to this folder from another one of the same broker.
   */
  is_future: boolean;
}
/**
 * A replica of a broker.
 */
export interface BrokerPartition {
  topic: string;
  partition: number;
  is_leader: boolean;
  is_preferred: boolean;
  is_in_sync: boolean;
  size_bytes?: number | null;
}
/**
 * `GET …/groups`, and event `groups` of the stream.
 */
export interface GroupList {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  groups: GroupRow[];
}
/**
 * A group in the list.
 */
export interface GroupRow {
  name: string;
  /**
   * As the broker calls it.
   */
  state: string;
  /**
   * `classic`, `consumer` or something newer.
   */
  group_type: string;
  protocol_type: string;
  coordinator: number;
  /**
   * Topics of which it has committed offsets.
   */
  topics: string[];
  /**
   * Offsets from its commits to the ends; a commit beyond the end counts as 0.
   */
  lag?: number | null;
  /**
   * Partitions whose commit is beyond the end: the topic was made again or has lost records.
   */
  beyond_end: number;
  /**
   * Partitions whose commit is before the first offset: records were deleted that the group has not read.
   */
  before_start: number;
  /**
   * Offsets committed per second.
   */
  consumed_per_s?: number | null;
}
/**
 * Event `group` of the stream `?group=NAME`, and `GET …/groups/{group}`.
 */
export interface GroupLive {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  group: GroupDescription;
  /**
   * Its partitions, by topic and number.
   */
  partitions: PartitionLag[];
  /**
   * Lags of all partitions together, where one beyond the end counts as 0; none when no partition has one.
   */
  lag?: number | null;
}
/**
 * A group.
 */
export interface GroupDescription {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its state, as the broker calls it.
   */
  state: string;
  /**
   * `classic`, `consumer`, `share`, `streams` or something newer.
   */
  group_type: string;
  /**
   * How partitions are given to members.
   */
  assignor?: string | null;
  /**
   * The broker that keeps it.
   */
  coordinator: number;
  /**
   * Who is in it.
   */
  members: GroupMember[];
  /**
   * What of it is not shown, and what shows it.
   */
  not_shown?: string | null;
}
/**
 * Who is in a group.
 */
export interface GroupMember {
  /**
   * Its number.
   */
  id: string;
  /**
   * Its own name, when it stays the same over restarts.
   */
  group_instance_id?: string | null;
  /**
   * How the client calls itself.
   */
  client_id: string;
  /**
   * Where it connects from.
   */
  host: string;
  /**
   * What it reads: topic and partitions.
   */
  assignment: [string, number[]][];
}
/**
 * `GET …/reassignments`, and event `reassignments` of the stream.
 */
export interface ReassignmentList {
  /**
   * When it was read, in milliseconds since 1970.
   */
  at_ms: number;
  reassignments: OngoingReassignment[];
  throttles: Throttles;
}
/**
 * A partition on its way.
 */
export interface OngoingReassignment {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  /**
   * Every broker that has it or will have it.
   */
  replicas: number[];
  /**
   * Brokers that are getting a copy.
   */
  adding: number[];
  /**
   * Brokers that lose theirs at the end.
   */
  removing: number[];
  /**
   * Bytes that the new copies have together; unknown when a broker does not say.
   */
  copied_bytes?: number | null;
  /**
   * Bytes that they will have: what the leader has now, for each of them.
   */
  total_bytes?: number | null;
}
/**
 * Limits that are set, or to be.
 */
export interface Throttles {
  /**
   * Bytes a second, by broker.
   */
  brokers: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^-?\d+$".
     */
    [k: string]: number;
  };
  /**
   * By topic, the replicas that the limit counts for.
   */
  topics: {
    [k: string]: Throttled;
  };
}
/**
 * Replicas of a topic that a limit counts for: `partition:broker`, or `*`.
 */
export interface Throttled {
  /**
   * Those copied from.
   */
  leader_replicas: string[];
  /**
   * Those copied to.
   */
  follower_replicas: string[];
}
/**
 * `POST …/reassignments/plan`: what would be reassigned.
 */
export interface ReassignmentPreview {
  plan: ReassignmentPlan;
  /**
   * Bytes to copy, in the order of the plan's reassignments.
   */
  copy_bytes: (number | null)[];
  /**
   * All of them together.
   */
  total_bytes?: number | null;
}
/**
 * What is to be done.
 */
export interface ReassignmentPlan {
  /**
   * Partitions that change, by topic and number.
   */
  reassignments: PartitionReassignment[];
  /**
   * Replicas that are copied to another broker.
   */
  replicas_to_copy: number;
  /**
   * What each broker has of these topics now.
   */
  before: {
    [k: string]: BrokerShare;
  };
  /**
   * What each has afterwards.
   */
  after: {
    [k: string]: BrokerShare;
  };
}
/**
 * A change of one partition.
 */
export interface PartitionReassignment {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  /**
   * Its brokers before, the preferred leader first.
   */
  from: number[];
  /**
   * Its brokers after.
   */
  to: number[];
}
/**
 * What a broker has.
 *
 * This interface was referenced by `undefined`'s JSON-Schema definition
 * via the `patternProperty` "^-?\d+$".
 *
 * This interface was referenced by `undefined`'s JSON-Schema definition
 * via the `patternProperty` "^-?\d+$".
 */
export interface BrokerShare {
  /**
   * Replicas.
   */
  replicas: number;
  /**
   * Partitions that it should lead.
   */
  leaders: number;
}
/**
 * Results of single items.
 */
export interface ItemResults {
  results: ItemResult[];
}
/**
 * How one of several things went.
 */
export interface ItemResult {
  /**
   * What it was about: a topic, a partition, a group.
   */
  name: string;
  /**
   * Why not; nothing when it is done.
   */
  error?: ApiError | null;
}
/**
 * `POST …/groups/{group}/reset`: offsets before and after.
 */
export interface ResetReply {
  resets: Reset[];
  /**
   * Partitions whose offsets are not known, with the reason; nothing is changed then.
   */
  problems: string[];
  applied: boolean;
}
/**
 * A partition's move.
 */
export interface Reset {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  /**
   * What was committed.
   */
  from?: number | null;
  /**
   * What is now, or would be.
   */
  to: number;
  /**
   * Why that is not the offset that was asked for.
   */
  limit?: ResetLimit | null;
}
/**
 * `GET …/verify/{id}`: a comparison of replicas.
 */
export interface VerifyJob {
  id: number;
  topic: string;
  state: VerifyState;
  /**
   * Partitions to compare, and those that were.
   */
  partitions: number;
  done: number;
  /**
   * Bytes compared of one replica, and those that there are.
   */
  compared_bytes: number;
  total_bytes?: number | null;
  results: ReplicaComparison[];
  /**
   * Why it ended early.
   */
  problem?: string | null;
}
/**
 * What was found about a partition.
 */
export interface ReplicaComparison {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  result: ComparisonResult;
  /**
   * What was read of each replica.
   */
  replicas: Replica[];
  /**
   * First offset compared.
   */
  from: number;
  /**
   * The offset after the last one compared: what every replica has.
   */
  to: number;
  /**
   * Batches that are the same everywhere.
   */
  batches: number;
  /**
   * Records in them.
   */
  records: number;
  /**
   * Transaction markers in them, which no consumer sees.
   */
  markers: number;
  /**
   * Their bytes, of one replica.
   */
  size_bytes: number;
  /**
   * Where replicas differ, the first few places.
   */
  differences: Difference[];
  /**
   * What has to be known to judge this: a compacted topic, a replica that could not be read.
   */
  notes: string[];
}
/**
 * A replica as it was read.
 */
export interface Replica {
  /**
   * The broker that has it.
   */
  broker: number;
  /**
   * Whether it leads.
   */
  is_leader: boolean;
  /**
   * First offset that is still there.
   */
  first: number;
  /**
   * Its high watermark: up to here it may be read.
   */
  end: number;
  /**
   * Batches whose checksum is wrong.
   */
  corrupt: number;
}
/**
 * A place where replicas do not have the same.
 */
export interface Difference {
  /**
   * The first offset that is not the same.
   */
  offset: number;
  /**
   * What each broker has there; nothing where it has no batch that begins there.
   */
  batches: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^-?\d+$".
     */
    [k: string]: BatchMark | null;
  };
}
/**
 * What is compared of a batch: all of its bytes are under the checksum but these.
 */
export interface BatchMark {
  /**
   * Offset of its first record.
   */
  offset: number;
  /**
   * The offset after it.
   */
  next_offset: number;
  /**
   * Epoch of the leader that appended it.
   */
  leader_epoch: number;
  /**
   * Its checksum.
   */
  crc: number;
  /**
   * Its length.
   */
  size_bytes: number;
  /**
   * Its records.
   */
  records: number;
  /**
   * Whether it holds a transaction marker, which no consumer sees, instead of records.
   */
  is_marker: boolean;
}
/**
 * Event `metrics` of the stream `?metrics=true`: metrics of all brokers, by Jolokia, Prometheus exporter or JMX.
 */
export interface MetricsLive {
  /**
   * When they were read, in milliseconds since 1970.
   */
  at_ms: number;
  brokers: BrokerMetrics[];
  /**
   * Why none are read, with the next step.
   */
  problem?: string | null;
}
/**
 * Metrics of one broker.
 */
export interface BrokerMetrics {
  /**
   * Where they were read.
   */
  at: string;
  /**
   * Why they could not be read, with the next step.
   */
  error?: string | null;
  /**
   * What it told; none when it could not be read.
   */
  metrics?: Figures | null;
}
/**
 * What one broker told. What it does not tell is null, and its name is in `missing`.
 */
export interface Figures {
  /**
   * Seconds between the two readings.
   */
  seconds: number;
  /**
   * It was started again between them: there are no rates.
   */
  restarted: boolean;
  /**
   * Records from producers.
   */
  messages_in?: Rate | null;
  /**
   * Bytes from producers.
   */
  bytes_in?: Rate | null;
  /**
   * Bytes to consumers.
   */
  bytes_out?: Rate | null;
  /**
   * Bytes of batches that were refused.
   */
  bytes_rejected?: Rate | null;
  /**
   * Bytes copied from other brokers.
   */
  replication_bytes_in?: Rate | null;
  /**
   * Bytes that other brokers copied.
   */
  replication_bytes_out?: Rate | null;
  /**
   * Writes that failed.
   */
  failed_produce_requests?: Rate | null;
  /**
   * Requests by kind: `produce`, `fetch-consumer`, `fetch-follower`.
   */
  requests: {
    [k: string]: Requests;
  };
  /**
   * Partitions it leads that are short of copies, at the second reading.
   */
  under_replicated_partitions?: number | null;
  /**
   * Copies that fell out of sync.
   */
  isr_shrinks?: Rate | null;
  /**
   * Copies that came back.
   */
  isr_expands?: Rate | null;
  /**
   * Flushes of the log.
   */
  log_flushes?: Rate | null;
  /**
   * Mean time of those between the readings, in milliseconds.
   */
  log_flush_mean_ms?: number | null;
  /**
   * Heap in use at the second reading, in bytes.
   */
  heap_bytes?: number | null;
  /**
   * Garbage collections, of all collectors.
   */
  gc_pauses?: Rate | null;
  /**
   * Milliseconds they took.
   */
  gc_ms?: Rate | null;
  /**
   * Topics it has to do with.
   */
  topics: {
    [k: string]: Traffic;
  };
  /**
   * What it does not tell, by the names that reports of runs have.
   */
  missing: string[];
}
/**
 * A counter.
 */
export interface Rate {
  /**
   * Per second between the readings; null when that cannot be known.
   */
  per_s?: number | null;
  /**
   * Since the start of the broker, at the second reading.
   */
  total: number;
}
/**
 * Requests of one kind.
 */
export interface Requests {
  /**
   * How many.
   */
  rate?: Rate | null;
  /**
   * Mean milliseconds of those between the readings, by phase as Kafka calls it: `Total`, `RequestQueue`, `Local`, `Remote`,
   * `ResponseQueue`, `ResponseSend`, `Throttle`. Empty when there were none.
   */
  mean_ms: {
    [k: string]: number;
  };
}
/**
 * What passed through a topic.
 */
export interface Traffic {
  /**
   * Records from producers.
   */
  messages_in?: Rate | null;
  /**
   * Bytes from producers.
   */
  bytes_in?: Rate | null;
  /**
   * Bytes to consumers.
   */
  bytes_out?: Rate | null;
}
/**
 * Body of `POST /api/v1/kafka/clusters`, which adds or replaces a cluster, and of `POST /api/v1/kafka/clusters/test`.
 */
export interface ClusterRequest {
  /**
   * Its name: letters, digits, `.`, `_` and `-`.
   */
  name: string;
  cluster: ClusterDef;
  /**
   * Whether nothing can be changed in it from here.
   */
  read_only?: boolean;
  /**
   * Whether records of its topics can be shown.
   */
  show_records?: boolean;
  /**
   * Lag in records beyond which a group is reported as a problem.
   */
  lag_limit?: number | null;
}
/**
 * Body of `POST …/topics`.
 */
export interface CreateTopicRequest {
  name: string;
  /**
   * Default: the brokers' `num.partitions`.
   */
  partitions?: number | null;
  /**
   * Default: the brokers' `default.replication.factor`.
   */
  replicas?: number | null;
  /**
   * Brokers of each partition, the preferred leader first, instead of the two numbers.
   */
  assignment?: number[][] | null;
  configs?: {
    [k: string]: string;
  };
  /**
   * Only check whether it could be created.
   */
  validate_only?: boolean;
}
/**
 * Body of `POST …/topics/{topic}/configs`, `POST …/brokers/{id}/configs` and `POST …/configs` (all brokers).
 */
export interface ConfigsRequest {
  /**
   * Values to set, by key.
   */
  set?: {
    [k: string]: string;
  };
  /**
   * Keys whose default applies again.
   */
  delete?: string[];
  validate_only?: boolean;
}
/**
 * Body of `POST …/topics/{topic}/partitions`.
 */
export interface GrowRequest {
  /**
   * The new number of partitions.
   */
  partitions: number;
  /**
   * Also if it is a topic of Kafka itself.
   */
  internal?: boolean;
  validate_only?: boolean;
}
/**
 * Body of `POST …/elect`: preferred leaders of these partitions, or of all.
 */
export interface ElectRequest {
  /**
   * Partitions by topic; an empty list is all of them. Default: all topics.
   */
  topics?: {
    [k: string]: number[];
  } | null;
}
/**
 * Body of `POST …/reassignments/plan`.
 */
export interface ReassignmentPlanRequest {
  /**
   * Topics. Default: all that are not internal.
   */
  topics?: string[] | null;
  /**
   * Brokers that may have replicas. Default: all.
   */
  brokers?: number[] | null;
  /**
   * Brokers that are to have none.
   */
  drain?: number[];
  /**
   * Replicas of each partition. Default: as many as it has.
   */
  replicas?: number | null;
  /**
   * Assignments by hand, instead of all the above.
   */
  by_hand?: ReplicaAssignment[];
}
/**
 * The replica assignment of a partition; no replicas if it is new.
 */
export interface ReplicaAssignment {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Number.
   */
  partition: number;
  /**
   * Brokers of its replicas, the preferred leader first.
   */
  replicas: number[];
}
/**
 * Body of `POST …/reassignments`: begins a plan.
 */
export interface ReassignmentRequest {
  /**
   * Reassignments of a plan.
   */
  reassignments: PartitionReassignment[];
  /**
   * Most bytes per second that each broker copies.
   */
  throttle_bytes_per_s?: number | null;
}
/**
 * Body of `POST …/reassignments/cancel`.
 */
export interface PartitionsRequest {
  /**
   * Partitions by topic. Default: all that are moving.
   */
  topics?: {
    [k: string]: number[];
  } | null;
}
/**
 * Body of `POST …/groups/{group}/reset`.
 */
export interface ResetRequest {
  /**
   * Topics. Default: all of which it has committed offsets.
   */
  topics?: string[];
  to: ResetTarget;
  /**
   * Make the group if there is none of this name.
   */
  new_group?: boolean;
  /**
   * Only show what would be committed.
   */
  validate_only?: boolean;
}
/**
 * Body of `POST …/verify`.
 */
export interface VerifyRequest {
  topic: string;
  /**
   * Default: all.
   */
  partitions?: number[] | null;
}
