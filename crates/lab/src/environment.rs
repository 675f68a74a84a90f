//! The blocking interface between the conductor and the environment in which targets run.
//!
//! Nothing here requires that a target is a child process of this host: an environment could place pods on a cluster.
//! An [`Environment`] lives as long as a run; a [`TestBed`] is one arm set up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_record::agent::{Acknowledged, AgentMessage};
use tare_record::counter::CounterReading;
use tare_record::event::PartSample;
use tare_record::load::{Endpoint, LoadPlan};
use tare_record::plan::{Ask, Exclusion, Limits, Placement, PreparedTopic};
use tare_record::record::{EnvironmentRecord, InstanceUsage, MachineUsage, ReadBackRecord};
use tare_record::topology::{Settings, Topology};

use crate::LabError;
use crate::fault::FaultHandle;
use crate::profile::Profiler;

/// Specification of a test bed: one arm with the settings of one level.
#[derive(Debug, Clone)]
pub struct TestBedPlan {
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
    /// Most agents at once of an instance whose pod has nothing else: elsewhere, each has a pod of its own.
    pub agents: BTreeMap<String, u32>,
}

/// An environment in which targets run.
pub trait Environment: Send {
    /// The machine and this Tare, without targets: what is known before anything is fetched or called; `None`: nothing is.
    ///
    /// # Errors
    /// What could not be read.
    fn machine(&mut self) -> Result<Option<EnvironmentRecord>, LabError>;

    /// Makes every named target available, fetching what is missing; reports progress as text.
    ///
    /// # Errors
    /// The target that is not available, why, and the next step.
    fn provide(
        &mut self,
        targets: &[String],
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), LabError>;

    /// Finds the external parts of a topology: resolves their names, once for the whole run, and connects to them.
    ///
    /// # Errors
    /// What cannot be resolved or does not answer, and the next step.
    fn resolve_external(&mut self, topology: &Topology) -> Result<(), LabError>;

    /// Describes the machine, the versions and the limits of a measurement here.
    ///
    /// # Errors
    /// What could not be read.
    fn describe(&mut self) -> Result<EnvironmentRecord, LabError>;

    /// Assigns addresses to pods, creates certificates, renders configurations; starts nothing.
    ///
    /// # Errors
    /// The template, setting or resource that is wrong.
    fn place(&mut self, plan: &TestBedPlan) -> Result<Box<dyn TestBed>, LabError>;
}

/// Time that a target's instances added to the start of a test bed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartDuration {
    pub target: String,
    /// Time from when the instances waited for before were ready until these were; instances that start in parallel
    /// may add little.
    pub took: Duration,
}

/// How fast the conductor reaches the pods of a test bed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time from the start of agents until all are ready, without the opening of connections.
    pub lead: Duration,
    /// Added to it for every agent.
    pub lead_per_agent: Duration,
    /// Longest time from the end of an agent's drain to its result.
    pub report: Duration,
}

impl Pace {
    /// On this machine. An agent needs a fraction of the lead to start and connect.
    pub const HERE: Pace = Pace {
        lead: Duration::from_millis(200),
        lead_per_agent: Duration::ZERO,
        report: Duration::from_secs(10),
    };
}

/// One arm, set up. Dropping it stops everything it started.
pub trait TestBed: Send {
    /// Starts all instances but agents and waits until each is ready; reports at intervals which one it waits for and
    /// for how long.
    ///
    /// # Errors
    /// The instance that did not become ready, its probe, the time waited, its log tail.
    fn start(
        &mut self,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<Vec<StartDuration>, LabError>;

    /// Sends one request on the route of an agent's requests and waits for the response, whatever its status.
    ///
    /// # Errors
    /// When there was no complete response in time, with the reason.
    fn ask(&mut self, ask: &Ask) -> Result<HttpResponse, LabError>;

    /// Injects a fault into an instance, or begins to. A fault that fails is reported by the handle.
    ///
    /// # Errors
    /// When the environment itself fails.
    fn inject_fault(
        &mut self,
        instance: &str,
        action: FaultAction,
    ) -> Result<FaultHandle, LabError>;

    /// Pauses all instances: a test bed without load takes no CPU time from the one under load.
    ///
    /// # Errors
    /// The instance that cannot be paused.
    fn pause(&mut self) -> Result<(), LabError>;

    /// Resumes all paused instances and waits until each is ready; reports as [`TestBed::start`] does.
    ///
    /// # Errors
    /// The instance that did not become ready again.
    fn resume(&mut self, waiting: &mut dyn FnMut(&str, Duration)) -> Result<(), LabError>;

    /// Restarts stopped instances, resumes paused ones, and waits until they are ready.
    ///
    /// # Errors
    /// The instance that did not recover.
    fn recover(&mut self) -> Result<(), LabError>;

    /// Prepares to sample the stacks of an instance's processes.
    ///
    /// # Errors
    /// When this environment or this machine cannot.
    fn profiler(&mut self, _instance: &str) -> Result<Profiler, LabError> {
        Err(LabError::Unsupported {
            what: String::from("profiles"),
            environment: String::from("this environment"),
            next: String::from("leave --profile out"),
        })
    }

    /// Administration of the topics of its brokers.
    ///
    /// # Errors
    /// When this environment cannot administer brokers.
    fn topics(&mut self) -> Result<&mut dyn TopicAdministration, LabError> {
        Err(LabError::Unsupported {
            what: String::from("topics and their partitions"),
            environment: String::from("this environment"),
            next: String::from("leave steps and faults of topics out"),
        })
    }

    /// Address for the first connection of a calling instance on an edge, one for each called instance.
    ///
    /// # Errors
    /// When the instance does not call over this edge.
    fn endpoint(&self, edge: &str, from: &str) -> Result<Endpoint, LabError>;

    /// How fast its pods are reached.
    fn pace(&mut self) -> Pace {
        Pace::HERE
    }

    /// Starts one agent with this load plan.
    ///
    /// # Errors
    /// When it cannot be started.
    fn start_agent(&mut self, instance: &str, plan: &LoadPlan) -> Result<Box<dyn Agent>, LabError>;

    /// Reads the counters of every proxy and application that has some.
    ///
    /// # Errors
    /// The instance that did not answer.
    fn counters(&mut self) -> Result<Vec<InstanceCounters>, LabError>;

    /// Starts an observation: resets high-water marks and takes the first reading.
    ///
    /// # Errors
    /// What could not be read.
    fn observe(&mut self) -> Result<Box<dyn Observation>, LabError>;

    /// Checks that all external parts still accept connections.
    ///
    /// # Errors
    /// The part that does not.
    fn check_external(&mut self) -> Result<(), LabError>;

    /// Instances that have exited unexpectedly since the start.
    fn unexpected_exits(&mut self) -> Vec<UnexpectedExit>;

    /// Copies logs and rendered configurations (never keys) into a folder here, each up to a limit; the files written.
    ///
    /// # Errors
    /// The file that could not be written.
    fn collect(&mut self, into: &Path) -> Result<Vec<PathBuf>, LabError>;

    /// Stops everything in reverse order of starting, and returns when it is gone.
    ///
    /// # Errors
    /// What did not stop.
    fn stop(&mut self) -> Result<(), LabError>;
}

/// Administration of the topics of a test bed's brokers, external ones included.
pub trait TopicAdministration {
    /// Creates a topic; done when every broker knows the leader and all replicas of each partition.
    ///
    /// # Errors
    /// Why it failed, and the next step.
    fn create(
        &mut self,
        topic: &PreparedTopic,
        partitions: u32,
        replicas: u16,
    ) -> Result<(), LabError>;

    /// Deletes a topic; on external brokers only one that was created here.
    ///
    /// # Errors
    /// Why it could not be deleted.
    fn delete(&mut self, topic: &PreparedTopic) -> Result<(), LabError>;

    /// Begins to elect the preferred leaders of a topic.
    ///
    /// # Errors
    /// When the environment itself fails.
    fn elect_preferred_leaders(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError>;

    /// Begins to move the partitions of a topic to the next brokers; done when they are in sync there.
    ///
    /// # Errors
    /// When the environment itself fails.
    fn reassign(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError>;

    /// Reads a topic back and compares it with what the writers of a run had acknowledged.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read_back(
        &mut self,
        topic: &PreparedTopic,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, LabError>;
}

/// A fault of an instance, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// Ends it without notice.
    Kill,
    /// Asks it to end.
    Stop,
    /// Restarts the stopped instance on the data it left; done when it is ready.
    Start,
    Pause,
    Resume,
    /// Changes what a control plane hands out; done when all of its proxies have it.
    Change,
}

/// A running agent.
pub trait Agent: Send {
    /// The next message; `None` when the agent has ended or nothing came within the limit.
    ///
    /// # Errors
    /// When the agent exited without a result or sent an invalid message.
    fn next(&mut self, limit: Duration) -> Result<Option<AgentMessage>, LabError>;

    /// Asks the agent to end its window now and report.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn interrupt(&mut self) -> Result<(), LabError>;
}

/// A measurement of resource usage between two moments.
pub trait Observation: Send {
    /// Takes an intermediate reading (mean memory is the mean of these).
    fn tick(&mut self);

    /// Says when the last reading is due: who observes elsewhere takes it then, even if nobody can ask for it.
    ///
    /// # Errors
    /// When nobody can be told.
    fn ends_in(&mut self, _time: Duration) -> Result<(), LabError> {
        Ok(())
    }

    /// Resource usage since the last call, for those who watch; `None`: the first call, or unknown.
    fn sample(&mut self) -> Option<UsageSample> {
        None
    }

    /// Takes the last reading and returns the usage since the first.
    ///
    /// # Errors
    /// What could not be read.
    fn finish(self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError>;
}

/// Resource usage within a window, as shown while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSample {
    pub length: Duration,
    pub parts: Vec<PartSample>,
    /// CPU time that programs outside of the run used; `None`: unknown.
    pub background_cpu_ns: Option<u64>,
}

/// Response to a single request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Body; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Counters of one instance at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceCounters {
    pub instance: String,
    /// The counters.
    pub readings: Vec<CounterReading>,
}

/// An instance that exited without being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnexpectedExit {
    pub instance: String,
    /// How it ended, as text.
    pub how: String,
    /// End of its log.
    pub log_tail: Vec<String>,
}
