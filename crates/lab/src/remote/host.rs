//! The conductor's side: pods elsewhere as the place of a test bed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tare_net::redirect::RedirectRules;
use tare_record::clock::ClockOffset;
use tare_record::record::{EnvironmentRecord, TargetVersion};

use super::connection::{Caller, Peer};
use super::exchange::{ANSWER_LIMIT, Exchange, LOOK, NotDone, millis};
use super::greeting::{SERVER_NAME, client_config};
use super::message::{CONDUCTOR, PodOrder};
use super::observation::RemoteObservation;
use super::pod_keeper::PodKeeperConfig;
use super::pod_provider::{
    ControlPlanePod, PodAddress, PodInMesh, PodProvider, PodPurpose, PodRequest,
};
use super::run_keeper::RunKeeperConfig;
use crate::LabError;
use crate::certificates::Authority;
use crate::environment::{Observation, Pace};
use crate::host::{AgentSocket, Beginning, Host, Observed, Opener};
use crate::keeper::{ProcessExit, Spawn, lock};
use crate::observe::{LocalObservation, ObservedInstance};
use crate::render::Login;

/// Port of the run keeper.
const PORT: u16 = 7077;
/// Time for all pods of a test bed to be there.
const JOINED_WITHIN: Duration = Duration::from_secs(120);
/// Time for agents to be ready once they are started.
const LEAD: Duration = Duration::from_millis(500);
/// Time to send one of them its plan and to start it, beside round trips.
const LEAD_PER_AGENT: Duration = Duration::from_millis(100);
/// Round trips until it is started: those that measure its clock, its orders, and whether the agents before it run.
const ROUND_TRIPS_PER_AGENT: u32 = 32;
/// Most of a log that is brought here.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// Pods elsewhere, by way of their run keeper. Dropping it ends them.
pub(crate) struct RemoteHost {
    exchange: Arc<Exchange>,
    provider: Arc<Mutex<Box<dyn PodProvider>>>,
    address: SocketAddr,
    token: String,
    authority: String,
    folder: PathBuf,
    pods: BTreeSet<String>,
    /// Pods with a proxy that the cluster's mesh has injected.
    injected: BTreeSet<String>,
    /// Process → pod.
    processes: BTreeMap<String, String>,
    /// Exits that are known: they do not change.
    exits: BTreeMap<String, ProcessExit>,
    silence: Duration,
    /// Calls the run keeper.
    caller: Option<JoinHandle<()>>,
}

impl RemoteHost {
    /// Starts the run keeper. `folder` is that of the run's files, here and in every pod.
    pub(crate) fn start(
        mut provider: Box<dyn PodProvider>,
        authority: &Authority,
        folder: &Path,
        silence: Duration,
    ) -> Result<RemoteHost, LabError> {
        let token = format!("{}{}", Login::random()?.password, Login::random()?.password);
        let (certificate, key) = authority.sign(SERVER_NAME, &[], &[])?;
        let config = RunKeeperConfig {
            port: PORT,
            certificate,
            key,
            token: token.clone(),
            silence_ms: millis(silence),
            namespace: None,
        };
        let (address, dial) = provider.start_run_keeper(&config)?;
        let peer = Peer::new().map_err(LabError::io("make a session"))?;
        let authority = authority.root_pem();
        let caller = Caller {
            dial,
            config: client_config(&authority).map_err(LabError::Keeper)?,
            token: token.clone(),
            name: String::from(CONDUCTOR),
            silence,
        };
        let exchange = Exchange::new(peer, silence);
        let calling = Arc::clone(&exchange);
        let caller_thread = std::thread::Builder::new()
            .name(String::from("run-keeper"))
            .spawn(move || {
                let peer = Arc::clone(&calling.peer);
                caller.run(&peer, |message| calling.take(&message));
                calling.close();
            });
        let caller = caller_thread.map_err(LabError::io("call the run keeper"))?;
        let provider = Arc::new(Mutex::new(provider));
        watch(&exchange, &provider)?;
        Ok(RemoteHost {
            exchange,
            provider,
            address,
            token,
            authority,
            folder: folder.to_owned(),
            pods: BTreeSet::new(),
            injected: BTreeSet::new(),
            processes: BTreeMap::new(),
            exits: BTreeMap::new(),
            silence,
            caller: Some(caller),
        })
    }

    pub(crate) fn environment(&self) -> &'static str {
        lock(&self.provider).environment()
    }

    /// Where the pods are, in words.
    pub(crate) fn location(&self) -> String {
        lock(&self.provider).location()
    }

    /// The run keeper, as pods reach it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Redirects a pod's traffic to its sidecar.
    pub(crate) fn redirect(&self, pod: &str, rules: &RedirectRules) -> Result<(), LabError> {
        let rules = rules.clone();
        self.done(pod, PodOrder::Redirect { rules }, ANSWER_LIMIT)
    }

    /// Has host names resolve in a pod.
    pub(crate) fn name_hosts(&self, pod: &str, hosts: &str) -> Result<(), LabError> {
        self.exchange
            .ask::<()>(pod, PodOrder::NameHosts, hosts.as_bytes(), ANSWER_LIMIT)?;
        Ok(())
    }

    /// Describes where the pods are; `None`: it is this machine.
    pub(crate) fn describe(
        &self,
        targets: &BTreeMap<String, TargetVersion>,
    ) -> Result<Option<EnvironmentRecord>, LabError> {
        lock(&self.provider).describe(targets)
    }

    /// Host name of a Service of the run; `None`: there are none.
    pub(crate) fn service_host(&self, name: &str) -> Option<String> {
        lock(&self.provider).service_host(name)
    }

    /// Words that begin a command in a pod; none: it cannot be entered.
    pub(crate) fn enter(&self, pod: &str, is_injected: bool) -> Vec<String> {
        lock(&self.provider).enter(pod, is_injected)
    }

    /// The log of the proxy that was injected into a pod; `None`: unknown.
    pub(crate) fn log_of_injected(&self, pod: &str) -> Option<String> {
        lock(&self.provider).log_of_injected(pod)
    }

    /// Control plane of the mesh that the cluster has.
    pub(crate) fn control_plane(&self) -> Vec<ControlPlanePod> {
        lock(&self.provider).control_plane()
    }

    /// Makes the pods of a test bed; returns their addresses when all of their keepers are there.
    pub(crate) fn create(
        &mut self,
        wanted: BTreeMap<String, (PodPurpose, Option<PodInMesh>)>,
        objects: &[Value],
        programs: &[PathBuf],
        cpus: &[u32],
    ) -> Result<BTreeMap<String, PodAddress>, LabError> {
        let names: Vec<String> = wanted.keys().cloned().collect();
        let has_proxy = |pod: &PodInMesh| pod.proxy.is_some();
        let with_proxy = wanted
            .iter()
            .filter(|(_, (_, in_mesh))| in_mesh.as_ref().is_some_and(has_proxy));
        self.injected
            .extend(with_proxy.map(|(name, _)| name.clone()));
        let pods: Vec<PodRequest> = wanted
            .into_iter()
            .map(|(name, (purpose, in_mesh))| PodRequest {
                config: PodKeeperConfig {
                    name: name.clone(),
                    address: self.address,
                    token: self.token.clone(),
                    authority: self.authority.clone(),
                    folder: self.folder.clone(),
                    links: Vec::new(),
                    silence_ms: millis(self.silence),
                },
                purpose,
                in_mesh,
                programs: programs.to_vec(),
                cpus: cpus.to_vec(),
            })
            .collect();
        self.pods.extend(names.iter().cloned());
        let addresses = lock(&self.provider).create(&pods, objects)?;
        let deadline = Instant::now() + JOINED_WITHIN;
        for pod in &pods {
            let name = &pod.config.name;
            self.wait_joined(name, deadline)?;
            // Cores of nodes are not chosen.
            if !cpus.is_empty() {
                let cpus = cpus.to_vec();
                self.done(name, PodOrder::Pin { cpus }, ANSWER_LIMIT)?;
            }
            if pod.purpose.is_of_agents {
                let (cores, _) = self
                    .exchange
                    .ask(name, PodOrder::Cores, &[], ANSWER_LIMIT)?;
                lock(&self.provider).check_load_cores(name, cores)?;
            }
        }
        Ok(addresses)
    }

    fn wait_joined(&self, name: &str, deadline: Instant) -> Result<(), LabError> {
        let mut state = lock(&self.exchange.state);
        while !state.joined.contains(name) {
            let exited = lock(&self.provider).exited(name);
            let lost = exited.or_else(|| state.lost.get(name).cloned());
            let late = || (Instant::now() >= deadline).then(|| String::from("it did not connect"));
            if let Some(why) = lost.or_else(late) {
                return Err(LabError::PodLost {
                    pod: name.to_owned(),
                    why,
                });
            }
            if let Some(why) = self.exchange.peer.ended() {
                return Err(LabError::RunKeeperGone { why });
            }
            let waited = self.exchange.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Ends pods of a test bed.
    pub(crate) fn remove(&mut self, names: &[String]) {
        for name in names {
            // Its keeper ends itself; one that is gone is removed anyway.
            let _ = self.exchange.order(name, PodOrder::End, &[]);
        }
        let _ = lock(&self.provider).remove(names);
        self.pods.retain(|pod| !names.contains(pod));
        self.injected.retain(|pod| !names.contains(pod));
        let pods = &self.pods;
        self.processes.retain(|_, pod| pods.contains(pod));
        let mut state = lock(&self.exchange.state);
        state.channels.retain(|_, pod| !names.contains(pod));
        state.replies.retain(|_, (pod, _)| !names.contains(pod));
        state.joined.retain(|pod| !names.contains(pod));
    }

    fn pod_of(&self, process: &str) -> Result<String, LabError> {
        let found = self.processes.get(process).cloned();
        found.ok_or_else(|| LabError::Keeper(format!("no process named {process} is kept")))
    }

    fn done(&self, pod: &str, order: PodOrder, limit: Duration) -> Result<(), LabError> {
        self.exchange.ask::<()>(pod, order, &[], limit)?;
        Ok(())
    }

    /// Sends a file, or a folder with all it contains.
    fn send_path(&self, pod: &str, path: &Path, sent: &mut Vec<u64>) -> Result<(), LabError> {
        let what = || format!("send {}", path.display());
        let meta = fs::symlink_metadata(path).map_err(LabError::io(what()))?;
        let mode = meta.permissions().mode() & 0o7777;
        let path_there = path.to_owned();
        if meta.is_dir() {
            let order = PodOrder::Folder {
                path: path_there,
                mode,
            };
            sent.push(self.exchange.order(pod, order, &[])?);
            let entries = fs::read_dir(path).map_err(LabError::io(what()))?;
            for entry in entries {
                let entry = entry.map_err(LabError::io(what()))?;
                self.send_path(pod, &entry.path(), sent)?;
            }
        } else if meta.is_file() {
            let bytes = fs::read(path).map_err(LabError::io(what()))?;
            let order = PodOrder::Write {
                path: path_there,
                mode,
            };
            sent.push(self.exchange.order(pod, order, &bytes)?);
        }
        Ok(())
    }
}

/// Notices pods that the provider knows to be gone before their silence shows it.
fn watch(
    exchange: &Arc<Exchange>,
    provider: &Arc<Mutex<Box<dyn PodProvider>>>,
) -> Result<(), LabError> {
    let (exchange, provider) = (Arc::downgrade(exchange), Arc::downgrade(provider));
    let look = move || {
        while let (Some(exchange), Some(provider)) = (exchange.upgrade(), provider.upgrade()) {
            if let Some(why) = lock(&provider).exited("") {
                exchange.peer.end(&format!("it ended: {why}"));
                exchange.changed.notify_all();
                return;
            }
            let joined = lock(&exchange.state).joined.clone();
            for pod in joined {
                let exited = lock(&provider).exited(&pod);
                if let Some(why) = exited {
                    lock(&exchange.state).lost.entry(pod).or_insert(why);
                    exchange.changed.notify_all();
                }
            }
            drop((exchange, provider));
            crate::process::pause(LOOK);
        }
    };
    std::thread::Builder::new()
        .name(String::from("watch"))
        .spawn(look)
        .map(drop)
        .map_err(LabError::io("watch the pods"))
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        self.exchange.peer.end("the run is over");
        let names: Vec<String> = self.pods.iter().cloned().collect();
        let _ = lock(&self.provider).remove(&names);
        // It holds what the provider has for it.
        let _ = self.caller.take().map(JoinHandle::join);
    }
}

impl Host for RemoteHost {
    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, LabError> {
        let pod = spawn.pod.clone().ok_or_else(|| {
            LabError::Keeper(format!("{} is to be started in no pod", spawn.name))
        })?;
        self.exits.remove(&spawn.name);
        self.processes.insert(spawn.name.clone(), pod.clone());
        let order = PodOrder::Spawn {
            spawn: Box::new(Spawn {
                pod: None,
                // The pod's own file has them.
                hosts: None,
                ..spawn.clone()
            }),
        };
        let started = self.exchange.ask(&pod, order, &[], ANSWER_LIMIT);
        match started {
            Ok((pid, _)) => Ok(pid),
            Err(NotDone::Refused(reason)) => Err(LabError::Spawn {
                name: spawn.name.clone(),
                program: spawn.argv.first().cloned().unwrap_or_default(),
                reason,
            }),
            Err(NotDone::Gone(error)) => Err(error),
        }
    }

    fn signal(&mut self, name: &str, signal: i32) -> Result<(), LabError> {
        let pod = self.pod_of(name)?;
        let name = name.to_owned();
        self.done(&pod, PodOrder::Signal { name, signal }, ANSWER_LIMIT)
    }

    fn stop(&mut self, name: &str, signal: i32, grace: Duration) -> Result<(), LabError> {
        let pod = self.pod_of(name)?;
        let order = PodOrder::Stop {
            name: name.to_owned(),
            signal,
            grace_ms: millis(grace),
        };
        let stopped = self.done(&pod, order, grace + ANSWER_LIMIT);
        self.exits.remove(name);
        self.processes.remove(name);
        stopped
    }

    fn tail(&mut self, name: &str) -> Result<Vec<String>, LabError> {
        let pod = self.pod_of(name)?;
        let name = name.to_owned();
        let (tail, _) = self
            .exchange
            .ask(&pod, PodOrder::Tail { name }, &[], ANSWER_LIMIT)?;
        Ok(tail)
    }

    fn exit_of(&mut self, name: &str) -> Result<Option<ProcessExit>, LabError> {
        if let Some(exit) = self.exits.get(name) {
            return Ok(Some(exit.clone()));
        }
        let Some(pod) = self.processes.get(name).cloned() else {
            return Ok(None);
        };
        let order = PodOrder::Exit {
            name: name.to_owned(),
        };
        let (exit, _): (Option<ProcessExit>, _) =
            self.exchange.ask(&pod, order, &[], ANSWER_LIMIT)?;
        if let Some(exit) = &exit {
            self.exits.insert(name.to_owned(), exit.clone());
        }
        Ok(exit)
    }

    fn is_running(&mut self, name: &str, _pid: u32) -> bool {
        self.processes.contains_key(name) && matches!(self.exit_of(name), Ok(None))
    }

    fn pin(&mut self, _cpus: &[u32]) -> Result<(), LabError> {
        // Each pod was told when it was made.
        Ok(())
    }

    fn opener(&mut self, pod: &str) -> io::Result<Opener> {
        let (exchange, pod) = (Arc::clone(&self.exchange), pod.to_owned());
        Ok(Box::new(move |to, within| exchange.dial(&pod, to, within)))
    }

    fn read(
        &mut self,
        pod: &str,
        path: &Path,
        (from, bytes_max): (u64, u64),
    ) -> io::Result<Option<(Vec<u8>, u64)>> {
        let order = PodOrder::Read {
            path: path.to_owned(),
            from,
            bytes_max,
        };
        let read = self.exchange.ask(pod, order, &[], ANSWER_LIMIT);
        let (length, bytes): (Option<u64>, _) =
            read.map_err(|error| io::Error::other(LabError::from(error)))?;
        Ok(length.map(|length| (bytes, length)))
    }

    fn pace(&mut self) -> Pace {
        // Of the conductor and the run keeper; the pods are near it.
        let clock = self.exchange.peer.clock(ANSWER_LIMIT);
        let round_trip = clock.map_or(ANSWER_LIMIT / 10, |clock| {
            Duration::from_nanos(clock.error_ns * 2)
        });
        Pace {
            lead: LEAD,
            lead_per_agent: LEAD_PER_AGENT + ROUND_TRIPS_PER_AGENT * round_trip,
            // Results wait for a connection that is cut.
            report: Pace::HERE.report + self.silence,
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn send(&mut self, pod: &str, paths: &[PathBuf]) -> Result<(), LabError> {
        let mut sent = Vec::new();
        for path in paths {
            // Folders above it that are there already stay as they are.
            let above = path.strip_prefix(&self.folder).ok().and_then(Path::parent);
            let mut folder = self.folder.clone();
            for part in above.into_iter().flat_map(Path::components) {
                folder.push(part);
                let order = PodOrder::Folder {
                    path: folder.clone(),
                    mode: 0o700,
                };
                sent.push(self.exchange.order(pod, order, &[])?);
            }
            self.send_path(pod, path, &mut sent)?;
        }
        for id in sent {
            self.exchange.reply(id, ANSWER_LIMIT)?;
        }
        Ok(())
    }

    fn bring(&mut self, pod: &str, folder: &Path, end: &str) -> Result<(), LabError> {
        let order = PodOrder::List {
            folder: folder.to_owned(),
            end: end.to_owned(),
        };
        let (names, _): (Vec<String>, _) = self.exchange.ask(pod, order, &[], ANSWER_LIMIT)?;
        // A name that is a path does not come from our keeper.
        for name in names.iter().filter(|name| !name.contains('/')) {
            let path = folder.join(name);
            let what = format!("bring {}", path.display());
            let read = self.read(pod, &path, (0, LOG_BYTES_MAX));
            if let Some((bytes, length)) = read.map_err(LabError::io(what.as_str()))? {
                // As long as it is there: what is copied says how much was left out.
                let written = fs::write(&path, bytes)
                    .and_then(|()| fs::OpenOptions::new().write(true).open(&path))
                    .and_then(|file| file.set_len(length));
                written.map_err(LabError::io(what))?;
            }
        }
        Ok(())
    }

    fn agent_socket(
        &mut self,
        pod: &str,
        process: &str,
        path: &Path,
    ) -> Result<AgentSocket, LabError> {
        let (channel, near) = self.exchange.channel(pod)?;
        let order = PodOrder::Listen {
            path: path.to_owned(),
            process: process.to_owned(),
            channel,
        };
        self.done(pod, order, ANSWER_LIMIT)?;
        let what = "read the agent's socket";
        near.set_nonblocking(true).map_err(LabError::io(what))?;
        Ok(AgentSocket::Stream(near))
    }

    fn clock(&mut self, pod: &str) -> Result<Option<ClockOffset>, LabError> {
        let own = self.exchange.peer.clock(ANSWER_LIMIT);
        let own = own.map_err(|why| LabError::RunKeeperGone { why })?;
        let (of_pod, _): (ClockOffset, _) =
            self.exchange.ask(pod, PodOrder::Clock, &[], ANSWER_LIMIT)?;
        Ok(Some(own.then(of_pod.reversed())))
    }

    fn observe(&mut self, observed: Observed) -> Beginning {
        let exchange = Arc::clone(&self.exchange);
        let provider = Arc::clone(&self.provider);
        let conductor = ObservedInstance::conductor(lock(&provider).pids());
        let lost = lock(&self.exchange.state).lost.clone();
        // A pod of another arm that is gone uses nothing.
        let is_there =
            |pod: &&String| pod.starts_with(&observed.test_bed) || !lost.contains_key(*pod);
        let pods = self.pods.iter().filter(is_there);
        let mut by_pod: BTreeMap<String, Vec<ObservedInstance>> =
            pods.map(|pod| (pod.clone(), Vec::new())).collect();
        for (pod, instance) in observed.instances {
            by_pod.entry(pod).or_default().push(instance);
        }
        // Those of other arms cannot be paused, and are not other programs.
        for (pod, instances) in &mut by_pod {
            if self.injected.contains(pod) && !pod.starts_with(&observed.test_bed) {
                instances.push(ObservedInstance::injected("sidecar", "sidecar", ""));
            }
        }
        Box::new(move || {
            let mut begun = Vec::new();
            for (pod, instances) in by_pod {
                let order = PodOrder::Observe {
                    instances,
                    pod: pod.rsplit('/').next().unwrap_or_default().to_owned(),
                };
                begun.push((exchange.order(&pod, order, &[])?, pod));
            }
            let own = LocalObservation::start(vec![conductor], Vec::new(), None)?;
            for (id, _) in &begun {
                exchange.reply(*id, ANSWER_LIMIT)?;
            }
            let pods = begun.into_iter();
            let pods = pods.map(|(_, pod)| {
                let node = lock(&provider).node(&pod);
                (pod, node)
            });
            let pods = pods.collect();
            Ok(Box::new(RemoteObservation {
                exchange,
                own,
                pods,
                told: Vec::new(),
                test_bed: observed.test_bed,
            }) as Box<dyn Observation>)
        })
    }
}
