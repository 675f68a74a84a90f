//! The blocking interface between the conductor and whatever holds the targets.
//!
//! Nothing here says that a target is a child process of this host: an environment may as well
//! place pods on a cluster. An [`Environment`] lives as long as a run; a [`Bed`] is one arm set up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tare_schema::agent::{Acknowledged, AgentMessage};
use tare_schema::load::{Endpoint, LoadPlan};
use tare_schema::plan::{Ask, Exclusion, Limits, Placement, Preparation, TopicOf};
use tare_schema::record::{EnvironmentRecord, MachineUsage, PartUsage, ReadBackRecord};
use tare_schema::target::CounterKind;
use tare_schema::topology::{Settings, Topology};

use crate::LabError;
use crate::deed::Deed;

/// What a bed is made from: one arm with the settings of one level.
#[derive(Debug, Clone)]
pub struct BedPlan {
    /// Short unique name within the run (`b2-both-sidecars`), used for folders and logs.
    pub name: String,
    /// Pods, instances, routes.
    pub topology: Topology,
    /// Settings of the workload, seen by all templates.
    pub workload: Settings,
    /// Settings per target.
    pub targets: BTreeMap<String, Settings>,
    /// Cores.
    pub placement: Placement,
    /// Limits per instance.
    pub limits: BTreeMap<String, Limits>,
    /// Traffic that never enters a sidecar, by port or address range.
    pub excluded: Vec<Exclusion>,
}

/// Where targets live.
pub trait Environment: Send {
    /// Makes sure that every named target can be started (fetches what is missing), telling progress in words.
    ///
    /// # Errors
    /// The target that cannot be had, why, and the next step.
    fn provide(
        &mut self,
        targets: &[String],
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), LabError>;

    /// Finds what runs already and is external in a topology: resolves its names, once for the whole run, and connects to it.
    ///
    /// # Errors
    /// What cannot be found or does not answer, and the next step.
    fn resolve_external(&mut self, topology: &Topology) -> Result<(), LabError>;

    /// The machine, the versions and the limits of a measurement here.
    ///
    /// # Errors
    /// What could not be read.
    fn describe(&mut self) -> Result<EnvironmentRecord, LabError>;

    /// Gives pods their addresses, makes certificates, renders configurations; starts nothing.
    ///
    /// # Errors
    /// The template, setting or resource that is wrong.
    fn place(&mut self, plan: &BedPlan) -> Result<Box<dyn Bed>, LabError>;
}

/// What instances of a target added to the start of a test bed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartDuration {
    /// The target.
    pub target: String,
    /// Time from when what was waited for before was ready, until all of these were; those that started
    /// beside others may have added little.
    pub took: Duration,
}

/// One arm, set up. Dropping it stops everything it started.
pub trait Bed: Send {
    /// Starts all instances but agents and waits until each is ready, telling now and then for which one, and how long
    /// already.
    ///
    /// # Errors
    /// The instance that did not become ready, its probe, how long, its log tail.
    fn start(
        &mut self,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<Vec<StartDuration>, LabError>;

    /// Takes a step before a trial.
    ///
    /// # Errors
    /// Why it could not be taken, and the next step.
    fn prepare(&mut self, step: &Preparation) -> Result<(), LabError>;

    /// Takes back what a step before a trial has made.
    ///
    /// # Errors
    /// Why it is still there.
    fn undo(&mut self, step: &Preparation) -> Result<(), LabError>;

    /// Sends one request the way an agent's would go, and waits for its answer, whatever that is.
    ///
    /// # Errors
    /// When there was no whole answer in time, with the reason.
    fn ask(&mut self, ask: &Ask) -> Result<Answer, LabError>;

    /// Does something to it while it runs, or begins to. What it cannot do it says by the deed.
    ///
    /// # Errors
    /// When the laboratory itself cannot.
    fn disturb(&mut self, what: &Disturbance) -> Result<Deed, LabError>;

    /// Brings back what was ended or held, and waits until it is ready.
    ///
    /// # Errors
    /// The instance that does not come back.
    fn mend(&mut self) -> Result<(), LabError>;

    /// Reads back the topic that a step made, and holds it against what the writers of a run had acknowledged.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read_back(
        &mut self,
        topic: &TopicOf,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, LabError>;

    /// Where an instance that calls over an edge sends its first bytes: an address for each instance that it calls.
    ///
    /// # Errors
    /// When the instance does not call over such an edge.
    fn endpoint(&self, edge: &str, from: &str) -> Result<Endpoint, LabError>;

    /// Starts one agent process with these orders.
    ///
    /// # Errors
    /// When it cannot be started.
    fn start_agent(&mut self, instance: &str, plan: &LoadPlan) -> Result<Box<dyn Agent>, LabError>;

    /// Reads the counters of every proxy and app that has some.
    ///
    /// # Errors
    /// The instance that did not answer.
    fn counters(&mut self) -> Result<Vec<InstanceCounters>, LabError>;

    /// Starts an observation: resets high-water marks and takes the first reading.
    ///
    /// # Errors
    /// What could not be read.
    fn observe(&mut self) -> Result<Box<dyn Observation>, LabError>;

    /// What is in it. A pod in which nothing runs yet gets a process that waits, so that it can be entered.
    ///
    /// # Errors
    /// When such a process cannot be started.
    fn inhabitants(&mut self) -> Result<Vec<Inhabitant>, LabError>;

    /// Connects to everything external, to see whether it is still there.
    ///
    /// # Errors
    /// What takes no connection.
    fn check_external(&mut self) -> Result<(), LabError>;

    /// Instances that have died since the start.
    fn deaths(&mut self) -> Vec<Death>;

    /// Copies logs and rendered configurations (never keys) into a folder, each up to a limit.
    ///
    /// # Errors
    /// The file that could not be written.
    fn collect(&mut self, into: &Path) -> Result<Vec<PathBuf>, LabError>;

    /// Commands with which each instance can be started by hand.
    fn commands(&self) -> Vec<(String, Vec<String>)>;

    /// Stops everything, in the reverse order of starting, and says when it is gone.
    ///
    /// # Errors
    /// What would not stop.
    fn stop(&mut self) -> Result<(), LabError>;
}

/// Something that is done to a bed while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disturbance {
    /// This instance is ended at once.
    Kill(String),
    /// This instance is asked to end.
    Stop(String),
    /// This instance, which was ended, is started on what it left; done when it is ready.
    Start(String),
    /// This instance is held where it is.
    Pause(String),
    /// This instance goes on.
    Resume(String),
    /// The preferred leaders of the topic that a step made lead again.
    Elect(TopicOf),
    /// The partitions of the topic that a step made move to the next brokers; done when they are there.
    Reassign(TopicOf),
}

/// A running agent.
pub trait Agent: Send {
    /// The next message, or `None` when the agent has ended or the limit passed with nothing to read.
    ///
    /// # Errors
    /// When the agent died without a result or wrote what is no message.
    fn next(&mut self, limit: Duration) -> Result<Option<AgentMessage>, LabError>;

    /// Asks the agent to end its window now and report.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn interrupt(&mut self) -> Result<(), LabError>;
}

/// Readings between two moments.
pub trait Observation: Send {
    /// Takes a reading in between (mean memory is the mean of these).
    fn tick(&mut self);

    /// Takes the last reading and says what was consumed since the first.
    ///
    /// # Errors
    /// What could not be read.
    fn finish(self: Box<Self>) -> Result<(Vec<PartUsage>, MachineUsage), LabError>;
}

/// The answer to a single request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// Body; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// An instance in its pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inhabitant {
    /// Pod.
    pub pod: String,
    /// Address of the pod.
    pub address: String,
    /// Instance.
    pub instance: String,
    /// `app`, `sidecar`, `agent` …
    pub role: String,
    /// What it is, with its version; none for an agent that has not started.
    pub software: Option<String>,
    /// A process that is in the pod.
    pub pid: Option<u32>,
    /// Where its output goes.
    pub log: Option<PathBuf>,
}

/// Counters of one instance at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceCounters {
    /// Instance.
    pub instance: String,
    /// What is checked with them.
    pub readings: Vec<Reading>,
}

/// One counter, cumulative since the instance started.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Name given in the target folder: `requests`, `connections`, `tls-handshakes`, `tls-version`, ….
    pub name: String,
    /// Edge it belongs to, when the target tells its edges apart.
    pub edge: Option<String>,
    /// Label value, for counters per version, cipher or group: `TLSv1.3`.
    pub label: Option<String>,
    /// Value.
    pub value: f64,
    /// Whether it is a sum since the start or the state of things.
    pub kind: CounterKind,
}

/// An instance that ended without being asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Instance.
    pub instance: String,
    /// How it ended: exit code or signal, in words.
    pub how: String,
    /// End of its log.
    pub log_tail: Vec<String>,
}
