//! A test bed on this host: instances started in order, probed, observed, stopped in reverse order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_experiment::target::{CommandDef, StopSignal};
use tare_net::redirect::SIDECAR_GROUP;
use tare_record::load::{Endpoint, LoadPlan};
use tare_record::plan::{Ask, PreparedTopic};
use tare_record::regular::write_new;
use tare_record::topology::InstanceRole;

use super::agent::LocalAgent;
use super::collect::AGENT_PLAN;
use super::external::ExternalReader;
use super::placed::{self, PlacedTestBed, hosts_of};
use super::{AGENT, LOG, collect, isolation, lock};
use crate::LabError;
use crate::connector::Connector;
use crate::counters::CounterReader;
use crate::environment::{
    Agent, FaultAction, HttpResponse, InstanceCounters, Observation, Pace, StartDuration, TestBed,
    TopicAdministration, UnexpectedExit,
};
use crate::fault::FaultHandle;
use crate::host::Observed;
use crate::keeper::{CgroupLimits, Spawn};
use crate::observe::WithExternal;
use crate::profile::Profiler;
use crate::variables;

/// Maximum size of one process's log.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// Limit of open files for every process: the default of 1024 is too low for loads with many connections.
const FILES_MAX: u64 = 1 << 20;

/// Process id of what the mesh of a cluster has injected.
const NO_PROCESS: u32 = 0;

/// A test bed, running or not yet.
pub struct LocalTestBed {
    pub(super) placed: PlacedTestBed,
    readers: Vec<CounterReader>,
    external_readers: Vec<ExternalReader>,
    /// Topics that were created on external clusters and still exist.
    pub(super) created: Vec<PreparedTopic>,
    /// Started instances with their process ids, in start order.
    pub(super) started: Vec<(String, u32)>,
    /// Agent processes by agent instance: name in the keeper and process id; some have exited.
    pub(super) agents: BTreeMap<String, Vec<StartedAgent>>,
    agents_started: u32,
    /// Changes of configuration so far.
    pub(super) changes: u32,
    pub(super) reported_exits: BTreeSet<String>,
    /// Instances that were stopped on purpose and not restarted.
    pub(super) ended: BTreeSet<String>,
    /// Paused instances.
    pub(super) paused: BTreeSet<String>,
}

impl LocalTestBed {
    pub(crate) fn new(placed: PlacedTestBed) -> LocalTestBed {
        LocalTestBed {
            readers: placed
                .rendered
                .iter()
                .zip(&placed.layout.contexts)
                .map(|(rendered, context)| {
                    CounterReader::new(rendered, placed.pods.connector(&context.pod))
                })
                .collect(),
            external_readers: placed
                .external
                .iter()
                .filter_map(|(name, found)| {
                    found.reader(&placed.plan.topology, &placed.caller_of(name)?)
                })
                .collect(),
            created: Vec::new(),
            placed,
            started: Vec::new(),
            agents: BTreeMap::new(),
            agents_started: 0,
            changes: 0,
            reported_exits: BTreeSet::new(),
            ended: BTreeSet::new(),
            paused: BTreeSet::new(),
        }
    }

    /// Commands to start each instance by hand.
    #[must_use]
    pub fn commands(&self) -> Vec<(String, Vec<String>)> {
        let rendered = self.placed.rendered.iter();
        rendered
            .map(|r| (r.instance.clone(), placed::by_hand(r)))
            .collect()
    }

    /// Name of a process of this test bed in the keeper.
    pub(super) fn keeper_name(&self, what: &str) -> String {
        format!("{}/{what}", self.placed.name)
    }

    pub(super) fn spawn(
        &self,
        what: &str,
        pod: &str,
        argv: &[String],
        (dir, log): (&Path, &str),
    ) -> Spawn {
        Spawn {
            name: self.keeper_name(what),
            argv: argv.to_vec(),
            env: variables::of_measured(dir),
            cwd: dir.to_owned(),
            cpus: self.placed.plan.placement.target_cpus.clone(),
            output: dir.join(log),
            output_bytes_max: LOG_BYTES_MAX,
            nofile: Some(FILES_MAX),
            pod: self.placed.pods.network(pod),
            hosts: self
                .placed
                .layout
                .names
                .contains_key(pod)
                .then(|| hosts_of(&self.placed.folder, pod)),
            group: None,
            bounds: None,
            confinement: None,
        }
    }

    /// A command of an instance, with what it may do and see.
    pub(super) fn spawn_step(
        &self,
        what: &str,
        index: usize,
        step: &CommandDef,
        log: &str,
    ) -> Spawn {
        let pod = &self.placed.layout.contexts[index].pod;
        let dir = &self.placed.rendered[index].dir;
        let mut spawn = self.spawn(what, pod, &step.command, (dir, log));
        spawn.confinement = isolation::with_command(
            self.placed.confinements[index].as_ref(),
            &step.capabilities,
            &step.command,
        );
        spawn
    }

    /// Whether the mesh of a cluster has put an instance into its pod.
    pub(super) fn is_injected(&self, instance: &str) -> bool {
        self.placed.plan.topology.is_injected(instance)
    }

    fn start_instance(&mut self, index: usize) -> Result<(), LabError> {
        let name = &self.placed.rendered[index].instance;
        if self.is_injected(name) {
            // Nobody of this run can signal it, so it has no process here.
            self.started.push((name.clone(), NO_PROCESS));
            return Ok(());
        }
        for step in &self.placed.rendered[index].prepare {
            self.run_step(index, step)?;
        }
        self.launch(index)
    }

    /// Starts the process of an instance on existing data.
    pub(super) fn launch(&mut self, index: usize) -> Result<(), LabError> {
        let rendered = self.placed.rendered[index].clone();
        let name = &rendered.instance;
        let pod = self.placed.layout.contexts[index].pod.clone();
        let mut spawn = self.spawn(name, &pod, &rendered.start, (&rendered.dir, LOG));
        spawn.env.extend(rendered.env.clone());
        let takes_redirected = self.placed.layout.redirected.contains(name);
        let known_by_group = self.placed.layout.contexts[index].exempt.is_none();
        spawn.group = (takes_redirected && known_by_group).then_some(SIDECAR_GROUP);
        spawn.bounds = self.bounds(name);
        spawn.confinement = isolation::with_command(
            self.placed.confinements[index].as_ref(),
            &rendered.capabilities,
            &rendered.start,
        );
        let pid = lock(&self.placed.host).spawn(&spawn)?;
        self.started.push((name.clone(), pid));
        self.readers[index] = CounterReader::new(&rendered, self.connector(index));
        Ok(())
    }

    /// Resource limits of an instance of this host; elsewhere its pod has them.
    pub(super) fn bounds(&self, instance: &str) -> Option<CgroupLimits> {
        if lock(&self.placed.host).is_elsewhere() {
            return None;
        }
        let limits = self.placed.plan.limits.get(instance);
        limits.and_then(super::bounds)
    }

    pub(super) fn connector(&self, index: usize) -> Connector {
        let pod = &self.placed.layout.contexts[index].pod;
        self.placed.pods.connector(pod)
    }

    pub(super) fn pid_of(&self, instance: &str) -> Option<u32> {
        let found = self.started.iter().find(|(name, _)| name == instance);
        found.map(|(_, pid)| *pid).filter(|pid| *pid != NO_PROCESS)
    }

    fn stop_instance(&self, name: &str) -> Result<(), LabError> {
        if self.is_injected(name) {
            // It ends with its pod.
            return Ok(());
        }
        let rendered = self.placed.rendered.iter().find(|r| r.instance == name);
        let (signal, grace) = rendered.map_or((libc::SIGTERM, Duration::ZERO), |rendered| {
            let signal = match rendered.stop.signal {
                StopSignal::Term => libc::SIGTERM,
                StopSignal::Int => libc::SIGINT,
                StopSignal::Quit => libc::SIGQUIT,
                StopSignal::Kill => libc::SIGKILL,
            };
            (signal, rendered.stop.grace.0)
        });
        if self.paused.contains(name) {
            // A paused process handles no signal but SIGKILL. It may have ended: then there is nothing to resume.
            let _ = lock(&self.placed.host).signal(&self.keeper_name(name), libc::SIGCONT);
        }
        lock(&self.placed.host).stop(&self.keeper_name(name), signal, grace)
    }
}

/// An agent that was started.
pub(super) struct StartedAgent {
    /// Name in the host.
    pub name: String,
    pub pid: u32,
    /// Pod, as named to the host; empty: it has no network of its own.
    pub pod: String,
}

/// Splits the start time by the target that was waited for.
struct StartTimer {
    since: Instant,
    took: Vec<StartDuration>,
}

impl StartTimer {
    fn begin() -> Self {
        StartTimer {
            since: Instant::now(),
            took: Vec::new(),
        }
    }

    fn wait_ready(
        &mut self,
        test_bed: &LocalTestBed,
        index: usize,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<(), LabError> {
        test_bed.wait_ready(index, waiting)?;
        let name = &test_bed.placed.rendered[index].instance;
        let found = test_bed
            .placed
            .plan
            .topology
            .parts()
            .find(|part| part.name == *name);
        let target = found.map(|part| part.target.clone()).unwrap_or_default();
        let now = Instant::now();
        self.took.push(StartDuration {
            target,
            took: now - self.since,
        });
        self.since = now;
        Ok(())
    }
}

impl TestBed for LocalTestBed {
    fn start(
        &mut self,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<Vec<StartDuration>, LabError> {
        let mut unready: Vec<usize> = Vec::new();
        let mut timer = StartTimer::begin();
        for index in 0..self.placed.rendered.len() {
            // An application may send requests as soon as it starts: all proxies on the way must be ready. Proxies do
            // not wait for each other.
            let context = &self.placed.layout.contexts[index];
            let is_app = context.role == InstanceRole::App;
            // Proxies get their configuration from the control plane at their start.
            if context.role.is_mesh() {
                self.start_instance(index)?;
                timer.wait_ready(self, index, waiting)?;
                continue;
            }
            let clustered = self.placed.layout.clustered.contains(&context.name);
            if is_app {
                // Members of a cluster become ready together: none waits for another.
                let mates: BTreeSet<String> = match clustered {
                    true => context.peers.iter().map(|peer| peer.name.clone()).collect(),
                    false => BTreeSet::new(),
                };
                let (together, before): (Vec<usize>, Vec<usize>) = unready
                    .into_iter()
                    .partition(|other| mates.contains(&self.placed.rendered[*other].instance));
                for index in before {
                    timer.wait_ready(self, index, waiting)?;
                }
                unready = together;
            }
            self.start_instance(index)?;
            if is_app && !clustered {
                timer.wait_ready(self, index, waiting)?;
            } else {
                unready.push(index);
            }
        }
        for index in unready {
            timer.wait_ready(self, index, waiting)?;
        }
        Ok(timer.took)
    }

    fn ask(&mut self, ask: &Ask) -> Result<HttpResponse, LabError> {
        self.placed.ask(ask)
    }

    fn inject_fault(
        &mut self,
        instance: &str,
        action: FaultAction,
    ) -> Result<FaultHandle, LabError> {
        if self.is_injected(instance) {
            return Err(LabError::Unsupported {
                what: format!("a fault of {instance}"),
                environment: String::from("the mesh of a cluster"),
                next: String::from("use a control plane of the run's own (--mesh own)"),
            });
        }
        match action {
            FaultAction::Kill => self.end(instance, libc::SIGKILL),
            FaultAction::Stop => self.end(instance, libc::SIGTERM),
            FaultAction::Start => self.restart(instance),
            FaultAction::Pause => self.pause(instance),
            FaultAction::Resume => self.resume(instance),
            FaultAction::Change => self.change(instance),
        }
    }

    fn pause(&mut self) -> Result<(), LabError> {
        self.pause_all()
    }

    fn resume(&mut self, waiting: &mut dyn FnMut(&str, Duration)) -> Result<(), LabError> {
        self.resume_all(waiting)
    }

    fn recover(&mut self) -> Result<(), LabError> {
        self.recover_all()
    }

    fn topics(&mut self) -> Result<&mut dyn TopicAdministration, LabError> {
        Ok(self)
    }

    fn endpoint(&self, edge: &str, from: &str) -> Result<Endpoint, LabError> {
        self.placed.endpoint(edge, from).cloned()
    }

    fn pace(&mut self) -> Pace {
        lock(&self.placed.host).pace()
    }

    fn start_agent(&mut self, instance: &str, plan: &LoadPlan) -> Result<Box<dyn Agent>, LabError> {
        let mut agents = self.placed.plan.topology.instances.iter();
        let agent = agents.find(|i| i.name == instance && i.target == AGENT);
        let pod = agent.map(|agent| agent.pod.clone()).ok_or_else(|| {
            LabError::Plan(format!("there is no agent `{instance}` in the topology"))
        })?;
        self.agents_started += 1;
        let number = self.agents_started;
        let dir = self.placed.folder.clone();
        let file = dir.join(format!("{instance}-{number}{AGENT_PLAN}"));
        let mut plan = self.placed.with_own_security(instance, plan);
        let pod = self.pod_for_agent(instance, pod);
        let kept_pod = self.placed.pods.network(&pod).unwrap_or_default();
        let clock = lock(&self.placed.host).clock(&kept_pod)?;
        if let Some(clock) = clock {
            plan.start_at_unix_us = plan.start_at_unix_us.map(|at| clock.there_us(at));
        }
        let text = serde_json::to_vec_pretty(&plan)
            .map_err(|error| LabError::Plan(format!("the load of {instance}: {error}")))?;
        // It may have credentials.
        write_new(&file, 0o600, &text)
            .map_err(LabError::io(format!("write {}", file.display())))?;
        lock(&self.placed.host).send(&kept_pod, std::slice::from_ref(&file))?;
        let name = self.keeper_name(&format!("{instance}#{number}"));
        // A socket's path has at most 107 bytes: use the keeper's folder and a short name.
        let place = dir
            .parent()
            .unwrap_or(&dir)
            .join(format!("{}.{number}", self.test_bed_number()));
        let host = Arc::clone(&self.placed.host);
        let from = (instance, kept_pod.as_str());
        let agent = LocalAgent::new(host, from, name.clone(), place.clone(), clock)?;
        let argv = [
            self.placed.tare.display().to_string(),
            AGENT.to_owned(),
            String::from("--plan"),
            file.display().to_string(),
            String::from("--connect"),
            format!("unix:{}", place.display()),
        ];
        let log = format!("{instance}-{number}.log");
        let mut spawn = self.spawn("", &pod, &argv, (&dir, &log));
        spawn.name.clone_from(&name);
        spawn.cpus = self.placed.plan.placement.agent_cpus.clone();
        spawn.bounds = self.bounds(instance);
        spawn.confinement.clone_from(&self.placed.of_agents);
        let pid = lock(&self.placed.host).spawn(&spawn)?;
        let all = self.agents.entry(instance.to_owned()).or_default();
        let mut host = lock(&self.placed.host);
        all.retain(|agent| host.is_running(&agent.name, agent.pid));
        all.push(StartedAgent {
            name,
            pid,
            pod: kept_pod,
        });
        Ok(Box::new(agent))
    }

    fn counters(&mut self) -> Result<Vec<InstanceCounters>, LabError> {
        let started: BTreeSet<&str> = self.started.iter().map(|(name, _)| name.as_str()).collect();
        let mut all = Vec::new();
        for (reader, rendered) in self.readers.iter_mut().zip(&self.placed.rendered) {
            if started.contains(rendered.instance.as_str()) && !rendered.counters.is_empty() {
                all.push(reader.read()?);
            }
        }
        for reader in &mut self.external_readers {
            all.push(reader.read()?);
        }
        Ok(all)
    }

    fn observe(&mut self) -> Result<Box<dyn Observation>, LabError> {
        let observed = Observed {
            instances: self.observed(),
            pods: self.observed_pods(),
            links: self.placed.pods.links(),
            test_bed: self.keeper_name(""),
        };
        let begin = lock(&self.placed.host).observe(observed);
        let observation = begin()?;
        let mut external = self.observed_external();
        external.extend(self.observed_control_plane());
        let observation: Box<dyn Observation> = match external.is_empty() {
            true => observation,
            false => Box::new(WithExternal::start(observation, external)),
        };
        Ok(observation)
    }

    fn profiler(&mut self, instance: &str) -> Result<Profiler, LabError> {
        let refused = |why: String| LabError::Unsupported {
            what: format!("a profile of {instance}"),
            environment: String::from("the environment local here"),
            next: why,
        };
        if lock(&self.placed.host).is_elsewhere() {
            return Err(refused(String::from("leave --profile out")));
        }
        let observed = self.observed();
        let Some((_, observed)) = observed.iter().find(|(_, one)| one.is(instance)) else {
            return Err(refused(String::from("it does not run")));
        };
        Profiler::of(observed.pids(), observed.software()).map_err(refused)
    }

    fn check_external(&mut self) -> Result<(), LabError> {
        let mut external = self.placed.external.iter();
        external.try_for_each(|(name, found)| {
            let caller = self.placed.caller_of(name);
            caller.map_or(Ok(()), |caller| found.check_connection(&caller))
        })
    }

    fn unexpected_exits(&mut self) -> Vec<UnexpectedExit> {
        self.new_exits()
    }

    fn collect(&mut self, into: &Path) -> Result<Vec<PathBuf>, LabError> {
        self.bring_logs()?;
        // Those of injected proxies are no files of their pods.
        self.follow_logs()?;
        collect::collect(&self.placed.folder, &self.placed.rendered, into)
    }

    fn stop(&mut self) -> Result<(), LabError> {
        let mut first = self.delete_created_topics();
        while let Some((name, _)) = self.started.pop() {
            let stopped = self.stop_instance(&name);
            if first.is_ok() {
                first = stopped;
            }
        }
        first
    }
}

impl Drop for LocalTestBed {
    fn drop(&mut self) {
        // A process that does not stop dies with the keeper at the latest.
        let _ = self.stop();
        let _ = std::fs::remove_dir_all(&self.placed.folder);
        if let Some(memory) = &self.placed.memory {
            let _ = std::fs::remove_dir_all(memory);
        }
    }
}

impl LocalTestBed {
    /// Of a pod and those like it, the one with the fewest agents of an instance.
    fn pod_for_agent(&self, instance: &str, pod: String) -> String {
        let living = self.living_agents(instance);
        let agents_in = |pod: &String| {
            let kept = self.placed.pods.network(pod).unwrap_or_default();
            living.iter().filter(|agent| agent.pod == kept).count()
        };
        let alike = self.placed.pods.alike(&pod).into_iter();
        alike.min_by_key(agents_in).unwrap_or(pod)
    }

    fn test_bed_number(&self) -> &str {
        self.placed.name.split('-').next().unwrap_or_default()
    }
}
