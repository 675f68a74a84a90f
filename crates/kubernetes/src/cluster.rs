//! The namespace of a run, and its pods: a [`PodProvider`].

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;
use tare_lab::LabError;
use tare_lab::remote::{
    ControlPlanePod, Dial, OwnNamespace, PodAddress, PodInMesh, PodNode, PodProvider, PodRequest,
    RunKeeperConfig,
};
use tare_record::plan::Limits;
use tare_record::record::{EnvironmentRecord, NodeRecord, TargetVersion};

use crate::cluster_options::ClusterOptions;
use crate::kubectl::Kubectl;
use crate::leftovers::{delete_run_keeper, sweep, sweep_within};
use crate::manifests::{self, CONFIG_FILE, CONTAINER, Pod, PodKind};
use crate::mesh_of_cluster::MeshOfCluster;
use crate::nodes::NodeSets;
use crate::opt_out::{self, Marks};
use crate::pod_image::PodImage;
use crate::pods_that_start::{self, DELETED};
use crate::run_namespace::{self, FORCE, GONE_LIMIT, IGNORE_ABSENT, RunNamespace};
use crate::watch::Watch;
use crate::{forward, policies, problems, record, rights, software_links};

/// Time for the scheduler to find a node: a cluster may have to add one.
const SCHEDULE_LIMIT: Duration = Duration::from_secs(60);
/// The same for a pod that was on a node before: that node must be there.
const RETURN_LIMIT: Duration = Duration::from_secs(20);
/// Age from which a later run removes what is left of this one.
pub(crate) const KEEP: Duration = Duration::from_secs(24 * 3600);
/// Domain of a cluster's Services, unless it was set up otherwise.
const DOMAIN: &str = "cluster.local";
/// Pod of the run keeper.
pub(crate) const RUN_KEEPER: &str = "run-keeper";
/// Pod that describes the node and the image.
const PROBE: &str = "probe";
/// Most of the log of an injected proxy.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// Where the pods of a run are. Dropping it deletes them, and the namespace if it is the run's own.
pub struct Cluster {
    pub(crate) kubectl: Kubectl,
    options: ClusterOptions,
    /// Name of the run: value of a label of all that it makes.
    run: String,
    namespace: String,
    /// The run's own namespace; `None`: it was there before.
    made: Option<RunNamespace>,
    /// In a namespace of others: the run keeper's pod with its UID, which owns all that the run makes.
    pub(crate) owner: Option<(String, String)>,
    image: PodImage,
    watch: Watch,
    /// Names of pods at the API server, by the run's.
    names: BTreeMap<String, String>,
    /// Number of pods so far: makes names unique.
    count: u64,
    nodes: NodeSets,
    /// Node of each pod of the topology: the same for all arms and blocks.
    placed: BTreeMap<String, String>,
    /// Nodes as they are recorded, by their names.
    recorded: BTreeMap<String, PodNode>,
    /// What the record says of them.
    node_records: Vec<NodeRecord>,
    /// Folders of this machine that are elsewhere in the image.
    links: BTreeMap<PathBuf, PathBuf>,
    /// What keeps all meshes away from a pod, and all but that of the cluster that arms use.
    kept_out: Marks,
    others_kept_out: Marks,
    /// The mesh of the cluster, if arms use it.
    mesh: Option<MeshOfCluster>,
    /// Addresses of what is external that pods may call.
    admitted: u32,
}

impl Cluster {
    /// Checks the rights, makes the namespace of the run, and removes what dead runs have left.
    ///
    /// # Errors
    /// What is missing or not allowed, with the next step.
    pub fn start(options: ClusterOptions) -> Result<Cluster, LabError> {
        Cluster::start_with(Kubectl::new(options.context.clone()), options)
    }

    pub(crate) fn start_with(
        kubectl: Kubectl,
        options: ClusterOptions,
    ) -> Result<Cluster, LabError> {
        rights::check(
            &kubectl,
            options.namespace.as_deref(),
            options.mesh.as_ref(),
        )?;
        let run = run_namespace::new_name();
        let namespace = options.namespace.clone().unwrap_or_else(|| run.clone());
        let found = |mesh| MeshOfCluster::find(mesh, &kubectl, &namespace);
        let mesh = options.mesh.as_ref().map(found).transpose()?;
        let nodes = record::list_nodes(&kubectl)?;
        let sets = NodeSets::of(&nodes, &options).map_err(LabError::Cluster)?;
        let (recorded, node_records) = record::nodes(&nodes);
        let watch = Watch::start(kubectl.clone(), &namespace, &run)?;
        let made = match &options.namespace {
            Some(_) => None,
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let expires = now.unwrap_or_default() + KEEP;
                let used = options.mesh.as_ref().map(|mesh| &*mesh.title);
                let marks = opt_out::of_all(&options.opt_outs, used, |one| &one.namespaces);
                let (redirects, expires_s) = (options.redirects, expires.as_secs());
                let manifest = manifests::namespace(&run, expires_s, redirects, &marks);
                Some(RunNamespace::make(&kubectl, &manifest)?)
            }
        };
        let marks = |used| opt_out::of_all(&options.opt_outs, used, |one| &one.pods);
        let (kept_out, others_kept_out) = (
            marks(None),
            marks(options.mesh.as_ref().map(|mesh| &*mesh.title)),
        );
        // From here on, dropping it removes what was made.
        let cluster = Cluster {
            image: PodImage::new(&options.image),
            kubectl,
            options,
            run,
            namespace,
            made,
            owner: None,
            watch,
            names: BTreeMap::new(),
            count: 0,
            nodes: sets,
            placed: BTreeMap::new(),
            recorded,
            node_records,
            links: BTreeMap::new(),
            kept_out,
            others_kept_out,
            mesh,
            admitted: 0,
        };
        match &cluster.made {
            Some(made) => {
                cluster.make(&manifests::account(&cluster.namespace))?;
                sweep(&cluster.kubectl, made.created_s)?;
            }
            None => sweep_within(&cluster.kubectl, &cluster.namespace)?,
        }
        Ok(cluster)
    }

    /// Name of one of the run's own pods or objects: in a namespace of others, one of no other run.
    fn named(&self, name: &str) -> String {
        match &self.made {
            Some(_) => name.to_owned(),
            None => format!("{}-{name}", self.run),
        }
    }

    /// Makes objects in the namespace; in one of others they go with the run keeper.
    fn make(&self, objects: &[Value]) -> Result<(), LabError> {
        let mut objects = objects.to_vec();
        if let Some((name, uid)) = &self.owner {
            for object in &mut objects {
                manifests::own(object, (name, uid));
            }
        }
        let words = ["create", "--filename=-", "--output=name"];
        self.in_namespace(&words, Some(&manifests::list(&objects)))
            .map(drop)
    }

    /// Waits until each of the pods has what `found` looks for.
    fn wait<T>(
        &self,
        pods: &[&str],
        schedule_limit: Duration,
        found: impl FnMut(&Value) -> Option<T>,
    ) -> Result<Vec<T>, LabError> {
        let there = (&self.kubectl, self.namespace.as_str());
        pods_that_start::wait(&self.watch, there, (pods, schedule_limit), found)
    }

    /// What all pods have in common.
    fn pod(&self) -> Pod<'_> {
        Pod {
            run: &self.run,
            name: "",
            image: &self.options.image,
            arguments: &[],
            config: None,
            kind: PodKind::Probe,
            node: None,
            nodes: &self.nodes.of_agents,
            cores: None,
            limits: Limits::default(),
            marks: &self.kept_out,
            in_mesh: None,
        }
    }

    fn marks(&self, in_mesh: Option<&PodInMesh>) -> &Marks {
        match in_mesh.is_some_and(|pod| pod.proxy.is_some()) {
            true => &self.others_kept_out,
            false => &self.kept_out,
        }
    }

    /// What `tare doctor` says in a pod; in the mesh, if arms use that.
    fn probe(&mut self) -> Result<EnvironmentRecord, LabError> {
        let in_mesh = self.mesh.as_ref().map(MeshOfCluster::of_probe);
        let probe = self.named(PROBE);
        let pod = Pod {
            name: &probe,
            arguments: &["doctor", "--json"],
            marks: self.marks(in_mesh.as_ref()),
            in_mesh: in_mesh.as_ref(),
            ..self.pod()
        };
        self.make(&[pod.manifest()])?;
        // It ends with an error where something prevents a measurement: that is in what it says.
        let ended = self.wait(&[&probe], SCHEDULE_LIMIT, |pod| {
            problems::of_end(pod).map(|_| pod.clone())
        })?;
        let said = self.in_namespace(&["logs", &probe], None)?;
        for pod in &ended {
            self.image.note(pod)?;
            if let Some(mesh) = &mut self.mesh {
                mesh.note_proxy(pod)?;
            }
        }
        let record = serde_json::from_str(&said).map_err(|error| {
            LabError::Cluster(format!(
                "{}: the image {} does not have this version of Tare: make it from the same sources with scripts/release ({error})",
                self.kubectl.name(),
                self.options.image
            ))
        })?;
        self.in_namespace(&["delete", "pod", &probe, "--wait=false"], None)?;
        Ok(record)
    }

    fn has_two_limits(&self, pod: &PodRequest) -> bool {
        let is_exclusive = pod.purpose.is_of_agents && self.options.load_cores.is_some();
        is_exclusive && pod.limits != Limits::default()
    }

    fn in_namespace(&self, words: &[&str], input: Option<&Value>) -> Result<String, LabError> {
        let within = ["--namespace", &self.namespace];
        self.kubectl.run(&[&within, words].concat(), input)
    }
}

fn text_of(config: &impl Serialize) -> Result<String, LabError> {
    serde_json::to_string(config).map_err(|error| LabError::Plan(error.to_string()))
}

/// Pod of the topology: the name without the test bed.
fn of_topology(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

impl PodProvider for Cluster {
    fn environment(&self) -> &'static str {
        "kubernetes"
    }

    fn location(&self) -> String {
        format!("namespace {} of {}", self.namespace, self.kubectl.name())
    }

    fn describe(
        &mut self,
        targets: &BTreeMap<String, TargetVersion>,
    ) -> Result<Option<EnvironmentRecord>, LabError> {
        let mut record = self.probe()?;
        let there = (self.kubectl.name(), self.options.image.as_str());
        self.links = software_links::find(targets, &record.targets, there, &self.options.tare)?;
        let nodes = self.node_records.clone();
        let mut cluster = record::cluster(&self.kubectl, &self.options, nodes)?;
        let software = self.mesh.as_ref().map(MeshOfCluster::software);
        cluster.mesh = software.unwrap_or_default();
        cluster.tare_sha256 = record.tare_sha256.take();
        // Nodes of one cluster are taken for equal, whichever the probe was on; those of two clusters never are.
        record.fingerprint = cluster.id.clone();
        record.machine_id = Some(cluster.id.clone());
        record.cluster = Some(cluster);
        record.checks.extend(self.image.check());
        Ok(Some(record))
    }

    fn start_run_keeper(
        &mut self,
        config: &RunKeeperConfig,
    ) -> Result<(SocketAddr, Dial), LabError> {
        let namespace = match &self.made {
            Some(_) => Some(OwnNamespace {
                name: self.namespace.clone(),
                api_server: run_namespace::api_server(&self.kubectl)?,
            }),
            None => None,
        };
        let has_account = namespace.is_some();
        let config = RunKeeperConfig {
            namespace,
            ..config.clone()
        };
        let data = BTreeMap::from([(String::from("config"), text_of(&config)?)]);
        let name = self.named(RUN_KEEPER);
        let pod = Pod {
            name: &name,
            arguments: &["keeper", "--run", CONFIG_FILE],
            config: Some((&name, "config")),
            kind: PodKind::RunKeeper { has_account },
            ..self.pod()
        };
        let words = ["create", "--filename=-", "--output=json"];
        let made = self.in_namespace(&words, Some(&pod.manifest()))?;
        if self.made.is_none() {
            let made: Value = serde_json::from_str(&made).unwrap_or_default();
            let uid = made["metadata"]["uid"].as_str().unwrap_or_default();
            self.owner = Some((name.clone(), uid.to_owned()));
        }
        // The pod waits for its Secret.
        let mut objects = vec![manifests::secret(&self.run, &name, &data)];
        if !self.options.is_one_of_several {
            objects.extend(policies::of_run(&self.run, self.mesh.is_some()));
        }
        self.make(&objects)?;
        let pods = self.wait(&[&name], SCHEDULE_LIMIT, |pod| {
            Some((running_address(pod)?, pod.clone()))
        })?;
        for (_, pod) in &pods {
            self.image.note(pod)?;
        }
        let addresses = pods.into_iter().map(|(address, _)| address);
        let address = addresses.into_iter().next();
        let address = address.ok_or_else(|| LabError::Cluster(String::from("no address")))?;
        let dial = forward::dial(
            self.kubectl.clone(),
            self.namespace.clone(),
            name,
            config.port,
        );
        Ok((SocketAddr::from((address, config.port)), dial))
    }

    fn admit(&mut self, at: &str, address: SocketAddr) -> Result<(), LabError> {
        if self.options.is_one_of_several {
            let text = "what is external is found in one cluster, and the sites have several: leave one of both out";
            return Err(LabError::Cluster(String::from(text)));
        }
        self.admitted += 1;
        let behind = policies::behind_service(&self.kubectl, at, &self.namespace);
        let policy = policies::external(&self.run, self.admitted, address, behind.as_ref());
        self.make(&[policy])
    }

    fn check_load_cores(&self, pod: &str, cores: u32) -> Result<(), LabError> {
        match self.options.load_cores {
            Some(wanted) if wanted != cores => Err(LabError::Cluster(format!(
                "{pod} has no exclusive cores: it may use {cores}, not {wanted}: set the kubelet's cpuManagerPolicy to static on its node, or leave --load-cores out"
            ))),
            _ => Ok(()),
        }
    }

    fn control_plane(&self) -> Vec<ControlPlanePod> {
        let mesh = self.mesh.as_ref().map(MeshOfCluster::control_plane);
        mesh.unwrap_or_default()
    }

    fn service_host(&self, name: &str) -> Option<String> {
        Some(format!("{name}.{}.svc.{DOMAIN}", self.namespace))
    }

    fn create(
        &mut self,
        pods: &[PodRequest],
        objects: &[Value],
    ) -> Result<BTreeMap<String, PodAddress>, LabError> {
        if let Some(pod) = pods.iter().find(|pod| self.has_two_limits(pod)) {
            return Err(LabError::Cluster(format!(
                "{} has limits and exclusive cores: leave its `limits` or --load-cores out",
                of_topology(&pod.config.name)
            )));
        }
        let services = match &mut self.mesh {
            Some(mesh) => mesh.create(pods, objects)?,
            None => BTreeMap::new(),
        };
        let first = self.count;
        let secret = self.named(&format!("keepers-{first}"));
        let mut data = BTreeMap::new();
        for pod in pods {
            let mut config = pod.config.clone();
            config.links = self.links.clone().into_iter().collect();
            let name = self.named(&manifests::pod_name(&config.name, self.count));
            self.count += 1;
            data.insert(name.clone(), text_of(&config)?);
            self.names.insert(config.name, name);
        }
        let mut objects = vec![manifests::secret(&self.run, &secret, &data)];
        let named: Vec<(&str, &str)> = pods
            .iter()
            .map(|pod| {
                (
                    pod.config.name.as_str(),
                    self.names[&pod.config.name].as_str(),
                )
            })
            .collect();
        objects.extend(named.iter().zip(pods).map(|((of_run, name), request)| {
            let in_mesh = self.mesh.as_ref().and_then(|mesh| mesh.pod(request));
            let (nodes, cores) = match request.purpose.is_of_agents {
                true => (&self.nodes.of_agents, self.options.load_cores),
                false => (&self.nodes.of_parts, None),
            };
            let pod = Pod {
                name,
                arguments: &["keeper", "--pod", CONFIG_FILE],
                config: Some((&secret, name)),
                kind: PodKind::Keeper(request.purpose),
                node: self.placed.get(of_topology(of_run)).map(String::as_str),
                nodes,
                cores,
                limits: request.limits,
                marks: self.marks(in_mesh.as_ref()),
                in_mesh: in_mesh.as_ref(),
                ..self.pod()
            };
            pod.manifest()
        }));
        self.make(&objects)?;
        let names: Vec<&str> = named.iter().map(|(_, name)| *name).collect();
        let was_placed = |(of_run, _): &(&str, &str)| self.placed.contains_key(of_topology(of_run));
        let limit = match named.iter().all(was_placed) {
            true => RETURN_LIMIT,
            false => SCHEDULE_LIMIT,
        };
        let found = self.wait(&names, limit, |pod| {
            let node = pod["spec"]["nodeName"].as_str()?.to_owned();
            Some((running_address(pod)?, node, pod.clone()))
        })?;
        let mut addresses = BTreeMap::new();
        let mut nodes = Vec::new();
        for (((of_run, _), request), (pod, node, manifest)) in named.iter().zip(pods).zip(found) {
            self.image.note(&manifest)?;
            if let Some(mesh) = &self.mesh {
                mesh.check(request, &manifest)?;
            }
            let service = request.in_mesh.as_ref();
            let service = service.and_then(|pod| services.get(&pod.name).copied());
            addresses.insert((*of_run).to_owned(), PodAddress { pod, service });
            nodes.push((of_topology(of_run).to_owned(), node));
        }
        self.placed.extend(nodes);
        // A node may have come since the beginning.
        if !self
            .placed
            .values()
            .all(|node| self.recorded.contains_key(node))
        {
            let nodes = record::list_nodes(&self.kubectl)?;
            self.recorded.extend(record::nodes(&nodes).0);
        }
        Ok(addresses)
    }

    fn node(&self, pod: &str) -> Option<PodNode> {
        self.recorded
            .get(self.placed.get(of_topology(pod))?)
            .cloned()
    }

    fn exited(&mut self, pod: &str) -> Option<String> {
        let name = match pod {
            "" => self.named(RUN_KEEPER),
            of_run => self.names.get(of_run)?.clone(),
        };
        match self.watch.pod(&name)? {
            None => Some(String::from(DELETED)),
            // The run keeper's node may come back.
            Some(state) if pod.is_empty() => problems::of_end(&state),
            Some(pod) => problems::of_end(&pod)
                .or_else(|| problems::of_restart(&pod))
                .or_else(|| problems::of_node(&pod)),
        }
    }

    fn enter(&self, pod: &str, is_injected: bool) -> Vec<String> {
        let Some(name) = self.names.get(pod) else {
            return Vec::new();
        };
        let mesh = self.options.mesh.as_ref().filter(|_| is_injected);
        let container = mesh.map_or(CONTAINER, |mesh| &mesh.container);
        self.kubectl.in_container(&self.namespace, name, container)
    }

    fn log_of_injected(&self, pod: &str) -> Option<String> {
        let mesh = self.options.mesh.as_ref()?;
        let namespace = format!("--namespace={}", self.namespace);
        let container = format!("--container={}", mesh.container);
        let limit = format!("--limit-bytes={LOG_BYTES_MAX}");
        let words = ["logs", self.names.get(pod)?, &namespace, &container, &limit];
        self.kubectl.try_once(&words)
    }

    fn remove(&mut self, pods: &[String]) -> Result<(), LabError> {
        let names: Vec<String> = pods
            .iter()
            .filter_map(|pod| self.names.remove(pod))
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        if let Some(mesh) = &mut self.mesh {
            mesh.remove(pods);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut words = vec![
            "delete",
            "pod",
            "--grace-period=1",
            IGNORE_ABSENT,
            GONE_LIMIT,
        ];
        words.extend(&names);
        match self.in_namespace(&words, None) {
            Ok(_) => Ok(()),
            // A node that is lost does not confirm the end of its pods.
            Err(_) => self
                .in_namespace(&[&FORCE[..], &names].concat(), None)
                .map(drop),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            made.delete_and_wait(&self.kubectl);
        } else if let Some((run_keeper, _)) = &self.owner {
            // The cluster removes what this owns.
            delete_run_keeper(&self.kubectl, &self.namespace, run_keeper);
        }
    }
}

/// The address of a pod whose container runs.
fn running_address(pod: &Value) -> Option<IpAddr> {
    let status = &pod["status"];
    let running = status["phase"] == "Running";
    let address = status["podIP"].as_str()?;
    running.then(|| address.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_has_an_address_when_it_runs() {
        let pod = |phase: &str| json!({"status": {"phase": phase, "podIP": "10.244.1.5"}});
        assert_eq!(running_address(&pod("Pending")), None);
        assert_eq!(
            running_address(&pod("Running")),
            Some("10.244.1.5".parse().unwrap())
        );
    }

    #[test]
    fn a_pod_of_the_topology_is_named_without_its_test_bed() {
        assert_eq!(of_topology("b2-direct/server"), "server");
    }
}
