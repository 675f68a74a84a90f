//! The conductor's side: pods elsewhere as the place of a test bed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use tare_net::link::RoundTrips;
use tare_net::redirect::RedirectRules;
use tare_record::clock::ClockOffset;
use tare_record::load::AddressPolicy;
use tare_record::record::{EnvironmentRecord, TargetVersion};

use super::brought::{self, LOG_BYTES_MAX};
use super::exchange::{ANSWER_LIMIT, Exchange, NotDone, millis};
use super::greeting::{SERVER_NAME, token_of};
use super::message::PodOrder;
use super::observation::{ObservedElsewhere, RemoteObservation};
use super::place::{Place, between, no_place, one_of};
use super::pod_keeper::{PodKeeperConfig, WAY_MODE};
use super::pod_provider::{
    ControlPlanePod, PodAddress, PodInMesh, PodProvider, PodRequest, SitePods, WantedPod,
};
use super::run_keeper::RunKeeperConfig;
use crate::LabError;
use crate::certificates::Authority;
use crate::environment::{Observation, Pace};
use crate::host::{AgentSocket, Beginning, Host, Observed, Opener};
use crate::keeper::{ProcessExit, Spawn, lock};
use crate::observe::ObservedInstance;
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
/// Pods elsewhere, by way of their run keepers. Dropping it ends them.
pub(crate) struct RemoteHost {
    /// One, or one for each group of sites.
    places: Vec<Place>,
    /// Tokens of pods are made of it.
    secret: String,
    /// Of the control channel alone: what is measured has no certificate of it.
    authority: String,
    folder: PathBuf,
    /// Pod → its place, by position.
    pods: BTreeMap<String, usize>,
    /// Pods with a proxy that the cluster's mesh has injected.
    injected: BTreeSet<String>,
    /// Process → pod.
    processes: BTreeMap<String, String>,
    /// Output of a process → its pod, the only one that it is brought from.
    outputs: BTreeMap<PathBuf, String>,
    /// Exits that are known: they do not change.
    exits: BTreeMap<String, ProcessExit>,
    silence: Duration,
}

impl RemoteHost {
    /// Starts the run keepers. `folder` is that of the run's files, here and in every pod.
    pub(crate) fn start(
        places: Vec<SitePods>,
        folder: &Path,
        silence: Duration,
    ) -> Result<RemoteHost, LabError> {
        let authority = Authority::new("control channel")?;
        let secret = format!("{}{}", Login::random()?.password, Login::random()?.password);
        let (certificate, key) = authority.sign(SERVER_NAME, &[], &[])?;
        let config = RunKeeperConfig {
            port: PORT,
            certificate,
            key,
            secret: secret.clone(),
            silence_ms: millis(silence),
            namespace: None,
        };
        let authority = authority.root_pem();
        let start = |pods: SitePods| Place::start(pods, &config, &authority, silence);
        let places: Vec<Place> = places.into_iter().map(start).collect::<Result<_, _>>()?;
        if places.is_empty() {
            return Err(LabError::Plan(String::from("nothing makes the pods")));
        }
        Ok(RemoteHost {
            places,
            secret,
            authority,
            folder: folder.to_owned(),
            pods: BTreeMap::new(),
            injected: BTreeSet::new(),
            processes: BTreeMap::new(),
            outputs: BTreeMap::new(),
            exits: BTreeMap::new(),
            silence,
        })
    }

    fn place(&self, pod: &str) -> &Place {
        &self.places[self.pods.get(pod).copied().unwrap_or_default()]
    }

    fn exchange(&self, pod: &str) -> &Arc<Exchange> {
        &self.place(pod).exchange
    }

    /// Where pods of all sites, or of the first one, come from.
    fn first(&self) -> MutexGuard<'_, Box<dyn PodProvider>> {
        lock(&self.places[0].provider)
    }

    fn provider(&self, pod: &str) -> MutexGuard<'_, Box<dyn PodProvider>> {
        lock(&self.place(pod).provider)
    }

    /// Whether all pods have users for what runs in them.
    pub(crate) fn has_users(&self) -> bool {
        let mut places = self.places.iter();
        places.all(|place| lock(&place.provider).has_users())
    }

    pub(crate) fn environment(&self) -> &'static str {
        self.first().environment()
    }

    /// Where the pods are, in words.
    pub(crate) fn location(&self) -> String {
        let all = self.places.iter().map(|place| {
            let location = lock(&place.provider).location();
            match place.sites.is_empty() {
                true => location,
                false => format!("{}: {location}", place.sites.join(", ")),
            }
        });
        all.collect::<Vec<String>>().join("; ")
    }

    /// The run keepers, as pods reach them.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.address).collect()
    }

    /// Measures the round trips between the places of two sites; `None`: they are one place. Pods must reach each other.
    pub(crate) fn round_trips(&self, sites: &[String; 2]) -> Result<Option<RoundTrips>, LabError> {
        let position = |site: &String| {
            let is_there = |place: &Place| place.sites.contains(site);
            let found = self.places.iter().position(is_there);
            found.ok_or_else(|| no_place(site))
        };
        let [one, other] = [position(&sites[0])?, position(&sites[1])?];
        if one == other {
            return Ok(None);
        }
        between(&self.places[other], &self.places[one]).map(Some)
    }

    /// Redirects a pod's traffic to its sidecar.
    pub(crate) fn redirect(&self, pod: &str, rules: &RedirectRules) -> Result<(), LabError> {
        let rules = rules.clone();
        self.done(pod, PodOrder::Redirect { rules }, ANSWER_LIMIT)
    }

    /// Has host names resolve in a pod.
    pub(crate) fn name_hosts(&self, pod: &str, hosts: &str) -> Result<(), LabError> {
        self.exchange(pod)
            .ask::<()>(pod, PodOrder::NameHosts, hosts.as_bytes(), ANSWER_LIMIT)?;
        Ok(())
    }

    /// Describes where the pods are; `None`: it is this machine.
    pub(crate) fn describe(
        &self,
        targets: &BTreeMap<String, TargetVersion>,
    ) -> Result<Option<EnvironmentRecord>, LabError> {
        let mut all = Vec::new();
        for place in &self.places {
            let Some(mut record) = lock(&place.provider).describe(targets)? else {
                continue;
            };
            if let Some(cluster) = &mut record.cluster {
                cluster.sites.clone_from(&place.sites);
            }
            all.push(record);
        }
        one_of(all)
    }

    /// Host name of a Service of the run; `None`: there are none.
    pub(crate) fn service_host(&self, name: &str) -> Option<String> {
        self.first().service_host(name)
    }

    /// Words that begin a command in a pod; none: it cannot be entered.
    pub(crate) fn enter(&self, pod: &str, is_injected: bool) -> Vec<String> {
        self.provider(pod).enter(pod, is_injected)
    }

    /// The log of the proxy that was injected into a pod; `None`: unknown.
    pub(crate) fn log_of_injected(&self, pod: &str) -> Option<String> {
        self.provider(pod).log_of_injected(pod)
    }

    /// Control plane of the mesh that the cluster has.
    pub(crate) fn control_plane(&self) -> Vec<ControlPlanePod> {
        self.first().control_plane()
    }

    /// Makes the pods of a test bed; returns their addresses when all of their keepers are there.
    pub(crate) fn create(
        &mut self,
        wanted: BTreeMap<String, WantedPod>,
        objects: &[Value],
        programs: &[PathBuf],
        cpus: &[u32],
    ) -> Result<BTreeMap<String, PodAddress>, LabError> {
        let has_proxy = |pod: &PodInMesh| pod.proxy.is_some();
        let with_proxy = wanted
            .iter()
            .filter(|(_, pod)| pod.in_mesh.as_ref().is_some_and(has_proxy));
        self.injected
            .extend(with_proxy.map(|(name, _)| name.clone()));
        let mut requests: Vec<Vec<PodRequest>> = self.places.iter().map(|_| Vec::new()).collect();
        for (name, pod) in wanted {
            let is_there =
                |place: &Place| place.sites.is_empty() || place.sites.contains(&pod.site);
            let found = self.places.iter().position(is_there);
            let index = found.ok_or_else(|| no_place(&pod.site))?;
            self.pods.insert(name.clone(), index);
            let token = token_of(&self.secret, &name);
            requests[index].push(PodRequest {
                config: PodKeeperConfig {
                    name,
                    address: self.places[index].address,
                    token,
                    authority: self.authority.clone(),
                    folder: self.folder.clone(),
                    links: Vec::new(),
                    silence_ms: millis(self.silence),
                },
                purpose: pod.purpose,
                limits: pod.limits,
                in_mesh: pod.in_mesh,
                programs: programs.to_vec(),
                cpus: cpus.to_vec(),
            });
        }
        let mut addresses = BTreeMap::new();
        for (place, pods) in self.places.iter().zip(&requests) {
            if !pods.is_empty() {
                let names = pods.iter().map(|pod| pod.config.name.clone());
                place.exchange.expect(names.collect())?;
                addresses.extend(lock(&place.provider).create(pods, objects)?);
            }
        }
        let deadline = Instant::now() + JOINED_WITHIN;
        for pod in requests.iter().flatten() {
            let name = &pod.config.name;
            self.place(name).wait_joined(name, deadline)?;
            // Cores of nodes are not chosen.
            if !cpus.is_empty() {
                let cpus = cpus.to_vec();
                self.done(name, PodOrder::Pin { cpus }, ANSWER_LIMIT)?;
            }
            if pod.purpose.is_of_agents {
                let (cores, _) =
                    self.exchange(name)
                        .ask(name, PodOrder::Cores, &[], ANSWER_LIMIT)?;
                self.provider(name).check_load_cores(name, cores)?;
            }
        }
        Ok(addresses)
    }

    /// Ends pods of a test bed.
    pub(crate) fn remove(&mut self, names: &[String]) {
        for name in names {
            // Its keeper ends itself; one that is gone is removed anyway.
            let _ = self.exchange(name).order(name, PodOrder::End, &[]);
        }
        for place in &self.places {
            let _ = lock(&place.provider).remove(names);
            place.exchange.forget(names);
        }
        self.pods.retain(|pod, _| !names.contains(pod));
        self.injected.retain(|pod| !names.contains(pod));
        let pods = &self.pods;
        self.processes.retain(|_, pod| pods.contains_key(pod));
        self.outputs.retain(|_, pod| pods.contains_key(pod));
        for place in &self.places {
            let mut state = lock(&place.exchange.state);
            state.channels.retain(|_, pod| !names.contains(pod));
            state.replies.retain(|_, (pod, _)| !names.contains(pod));
            state.joined.retain(|pod| !names.contains(pod));
        }
    }

    fn pod_of(&self, process: &str) -> Result<String, LabError> {
        let found = self.processes.get(process).cloned();
        found.ok_or_else(|| LabError::Keeper(format!("no process named {process} is kept")))
    }

    fn done(&self, pod: &str, order: PodOrder, limit: Duration) -> Result<(), LabError> {
        self.exchange(pod).ask::<()>(pod, order, &[], limit)?;
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
            sent.push(self.exchange(pod).order(pod, order, &[])?);
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
            sent.push(self.exchange(pod).order(pod, order, &bytes)?);
        }
        Ok(())
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        for place in &self.places {
            place.exchange.peer.end("the run is over");
        }
        let names: Vec<String> = self.pods.keys().cloned().collect();
        for place in &self.places {
            let _ = lock(&place.provider).remove(&names);
        }
    }
}

impl Host for RemoteHost {
    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, LabError> {
        let pod = spawn.pod.clone().ok_or_else(|| {
            LabError::Keeper(format!("{} is to be started in no pod", spawn.name))
        })?;
        self.exits.remove(&spawn.name);
        self.processes.insert(spawn.name.clone(), pod.clone());
        self.outputs.insert(spawn.output.clone(), pod.clone());
        let order = PodOrder::Spawn {
            spawn: Box::new(Spawn {
                pod: None,
                // The pod's own file has them.
                hosts: None,
                ..spawn.clone()
            }),
        };
        let started = self.exchange(&pod).ask(&pod, order, &[], ANSWER_LIMIT);
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
        let (tail, _) =
            self.exchange(&pod)
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
            self.exchange(&pod).ask(&pod, order, &[], ANSWER_LIMIT)?;
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
        let (exchange, pod) = (Arc::clone(self.exchange(pod)), pod.to_owned());
        Ok(Box::new(move |to, within| exchange.dial(&pod, to, within)))
    }

    fn find_external(&mut self, at: &str, reach: AddressPolicy) -> Result<SocketAddr, String> {
        self.places[0].find_external(at, reach)
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
        let read = self.exchange(pod).ask(pod, order, &[], ANSWER_LIMIT);
        let (length, bytes): (Option<u64>, _) =
            read.map_err(|error| io::Error::other(LabError::from(error)))?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::Error::other("its keeper sent more than was asked for"));
        }
        Ok(length.map(|length| (bytes, length)))
    }

    fn pace(&mut self) -> Pace {
        // Of the conductor and the run keepers; the pods are near them.
        let round_trip = self
            .places
            .iter()
            .map(Place::round_trip)
            .max()
            .unwrap_or_default();
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
                    mode: WAY_MODE,
                };
                sent.push(self.exchange(pod).order(pod, order, &[])?);
            }
            self.send_path(pod, path, &mut sent)?;
        }
        for id in sent {
            self.exchange(pod).reply(id, ANSWER_LIMIT)?;
        }
        Ok(())
    }

    fn bring(&mut self, pod: &str, folder: &Path, end: &str) -> Result<(), LabError> {
        let order = PodOrder::List {
            folder: folder.to_owned(),
            end: end.to_owned(),
        };
        let (names, _): (Vec<String>, _) = self.exchange(pod).ask(pod, order, &[], ANSWER_LIMIT)?;
        let listed = brought::paths(&names, (folder, end), (pod, &self.outputs));
        for path in listed {
            let read = self.read(pod, &path, (0, LOG_BYTES_MAX));
            let what = format!("bring {}", path.display());
            if let Some((bytes, length)) = read.map_err(LabError::io(what))? {
                brought::keep(&path, &bytes, length)?;
            }
        }
        Ok(())
    }

    fn give(&mut self, pod: &str, paths: &[PathBuf], user: u32) -> Result<(), LabError> {
        let paths = paths.to_vec();
        self.done(pod, PodOrder::Give { paths, user }, ANSWER_LIMIT)
    }

    fn agent_socket(
        &mut self,
        pod: &str,
        process: &str,
        path: &Path,
    ) -> Result<AgentSocket, LabError> {
        let (channel, near) = self.exchange(pod).channel(pod)?;
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
        let exchange = self.exchange(pod);
        let own = exchange.peer.clock(ANSWER_LIMIT);
        let own = own.map_err(|why| LabError::RunKeeperGone { why })?;
        let (of_pod, _): (ClockOffset, _) =
            exchange.ask(pod, PodOrder::Clock, &[], ANSWER_LIMIT)?;
        Ok(Some(own.then(of_pod.reversed())))
    }

    fn observe(&mut self, observed: Observed) -> Beginning {
        let pids = self
            .places
            .iter()
            .flat_map(|place| lock(&place.provider).pids());
        let conductor = ObservedInstance::conductor(pids.collect());
        let is_lost = |pod: &String| lock(&self.exchange(pod).state).lost.contains_key(pod);
        // A pod of another arm that is gone uses nothing.
        let is_there = |pod: &&String| pod.starts_with(&observed.test_bed) || !is_lost(pod);
        let pods = self.pods.keys().filter(is_there);
        let mut by_pod: BTreeMap<String, Vec<ObservedInstance>> =
            pods.map(|pod| (pod.clone(), Vec::new())).collect();
        for (pod, instance) in observed.instances {
            by_pod.entry(pod).or_default().push(instance);
        }
        let mut all = Vec::new();
        for (pod, mut instances) in by_pod {
            // Those of other arms cannot be paused, and are not other programs.
            if self.injected.contains(&pod) && !pod.starts_with(&observed.test_bed) {
                instances.push(ObservedInstance::injected("sidecar", "sidecar", ""));
            }
            let place = self.place(&pod);
            let (node, exchange) = (
                lock(&place.provider).node(&pod),
                Arc::clone(&place.exchange),
            );
            let elsewhere = ObservedElsewhere {
                pod,
                node,
                exchange,
            };
            all.push((elsewhere, instances));
        }
        Box::new(move || {
            let observation = RemoteObservation::begin(all, conductor, observed.test_bed)?;
            Ok(Box::new(observation) as Box<dyn Observation>)
        })
    }
}
