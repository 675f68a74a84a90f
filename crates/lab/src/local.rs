//! The environment `local`: every instance is a process of this host, every pod an address of 127.0.0.0/8 or a network
//! namespace.

mod addresses;
mod agent;
mod collect;
mod external;
mod faults;
mod in_mesh;
pub(crate) mod isolation;
mod layout;
mod observed;
mod placed;
mod pod_limits;
mod pod_processes;
mod pods;
mod ready;
mod test_bed;
mod topics;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tare_experiment::target::{software_name, split_name};
use tare_record::load::AddressPolicy;
use tare_record::plan::{Addressing, Limits};
use tare_record::record::{EnvironmentRecord, TargetVersion};
use tare_record::topology::{SiteLink, Topology};

use crate::certificates::Authority;
use crate::doctor;
use crate::environment::{Environment, TestBed, TestBedPlan};
use crate::fetch::{Fetcher, Software};
use crate::host::SharedHost;
use crate::keeper::{self, CgroupLimits, Keeper, PrivateFolder, lock};
use crate::remote::host::RemoteHost;
use crate::remote::{self, SitePods};
use crate::targets::{Target, Targets};
use crate::{LabError, calibrate, process, program, render};
pub use addresses::{Addresses, free_port};
use in_mesh::not_yet;
use isolation::Isolation;
use layout::PodService;
pub use pod_limits::pod_limits;
pub use pods::can_redirect;
use pods::{MeshPods, Network};
pub use test_bed::LocalTestBed;

/// Name of the target that has no folder: the load agent, Tare itself.
pub(crate) const AGENT: &str = "agent";
/// Log file in an instance's folder.
const LOG: &str = "output.log";

/// Options of a local environment.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Tare's own program: keeper, agent and `origin` are started from it.
    pub tare: PathBuf,
    /// How pods get their addresses.
    pub addressing: Addressing,
    /// All known targets.
    pub targets: Targets,
    /// Fetches their software.
    pub fetcher: Fetcher,
    /// Folder in which runs are written: its disk is examined.
    pub out: PathBuf,
    /// Links between the sites of the experiment; none: a single site.
    pub site_links: Vec<SiteLink>,
    /// Limits of instances, in any arm; checked at the start.
    pub limits: Vec<(String, Limits)>,
    /// Seed of jitter and loss on the links between sites.
    pub seed: u64,
    /// Addresses that external parts may have.
    pub reach: AddressPolicy,
    /// Parent of the keeper's private folder; `None`: `$XDG_RUNTIME_DIR` or `/tmp`.
    pub base: Option<PathBuf>,
}

/// Targets as processes of this host, or of pods elsewhere.
pub struct Local {
    options: LocalOptions,
    host: SharedHost,
    /// The private folder, of the keeper or of this process; the last part of its name is the run's name in identities.
    folder: PathBuf,
    run: String,
    /// The private folder's counterpart in memory; `None`: this machine has no such file system.
    memory: Option<PathBuf>,
    /// The private folder of this process, where no keeper of this host has one.
    own_folder: Option<PrivateFolder>,
    authority: Authority,
    network: Network,
    isolation: Isolation,
    software: BTreeMap<String, Software>,
    /// What the mesh of the cluster injects.
    injected: BTreeMap<String, TargetVersion>,
    /// Resolved addresses of external parts.
    found: external::ResolvedNames,
    test_beds: u32,
}

impl Local {
    /// Starts the keeper, with namespaces if they are required, or possible and not excluded.
    ///
    /// # Errors
    /// What could not be started; namespaces that are required and not possible.
    pub fn new(options: LocalOptions) -> Result<Local, LabError> {
        let (mut keeper, network) = Network::start(&options)?;
        try_limits(&mut keeper, &options.limits, network.word())?;
        let isolation = Isolation::possible(&mut keeper);
        let folder = keeper.folder().to_owned();
        let run = run_of(&folder);
        let keeper = Arc::new(Mutex::new(keeper));
        Ok(Local {
            memory: keeper::make_in_memory(&folder)?,
            own_folder: None,
            authority: Authority::new(&run)?,
            network: network.with_keeper(Arc::clone(&keeper)),
            isolation,
            host: keeper,
            folder,
            run,
            software: BTreeMap::new(),
            injected: BTreeMap::new(),
            found: external::ResolvedNames::default(),
            test_beds: 0,
            options,
        })
    }

    /// Pods elsewhere; starts their run keepers. A side without a word for longer than `silence` is gone. What is between their
    /// sites is not made but measured.
    ///
    /// # Errors
    /// What could not be started, and what is not possible elsewhere.
    pub fn remote(
        options: LocalOptions,
        places: Vec<SitePods>,
        silence: std::time::Duration,
    ) -> Result<Local, LabError> {
        // The same path here and in the pods, where nobody has a folder of his own for it.
        let base = Path::new(remote::BASE);
        keeper::sweep(base);
        let own = PrivateFolder::make(keeper::new_path(base))?;
        let folder = own.path().to_owned();
        let run = run_of(&folder);
        let authority = Authority::new(&run)?;
        let host = RemoteHost::start(places, &folder, silence)?;
        let isolation = Isolation::of_pods(host.has_users());
        let host = Arc::new(Mutex::new(host));
        Ok(Local {
            memory: None,
            own_folder: Some(own),
            authority,
            network: Network::remote(Arc::clone(&host)),
            isolation,
            host,
            folder,
            run,
            software: BTreeMap::new(),
            injected: BTreeMap::new(),
            found: external::ResolvedNames::default(),
            test_beds: 0,
            options,
        })
    }

    /// How pods get their addresses: `namespaces` or `loopback`.
    #[must_use]
    pub fn addressing(&self) -> &'static str {
        self.network.word()
    }

    /// Where pods are, in words.
    #[must_use]
    pub fn location(&self) -> String {
        self.network.location()
    }

    /// The private folder of the run, removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Program paths of all targets of a plan.
    fn programs(&mut self, plan: &TestBedPlan) -> Result<BTreeMap<String, PathBuf>, LabError> {
        let topology = &plan.topology;
        let wanted: Vec<String> = topology
            .parts()
            .filter(|instance| !topology.is_injected(&instance.name))
            .map(|instance| software_name(instance, &plan.targets))
            .collect();
        self.provide(&wanted, &mut |_| {})?;
        for (name, software) in &self.software {
            software.verify(name)?;
        }
        let programs = self.software.iter();
        Ok(programs
            .map(|(name, s)| (name.clone(), s.bin.clone()))
            .collect())
    }
}

impl Local {
    fn is_elsewhere(&self) -> bool {
        self.own_folder.is_some()
    }

    /// Finds the external parts of a topology. On this machine they are on the host's network, so pods must be as well.
    fn find_external(
        &mut self,
        topology: &Topology,
    ) -> Result<BTreeMap<String, external::ExternalAddress>, LabError> {
        if topology.external.is_empty() {
            return Ok(BTreeMap::new());
        }
        if self.is_elsewhere() {
            external::check_elsewhere(topology, &self.network.environment())?;
        } else if self.network.word() == "namespaces" {
            return Err(LabError::Unsupported {
                what: String::from("external parts"),
                environment: String::from("local with namespaces, whose pods have no way there"),
                next: String::from("use `addressing: loopback`"),
            });
        }
        let reach = self.options.reach;
        let find = |at: &str| lock(&self.host).find_external(at, reach);
        self.found
            .find(topology, (&find, reach), &self.options.targets)
    }

    /// Requirements of a plan's targets for the layout.
    fn needs(&self, plan: &TestBedPlan) -> Result<BTreeMap<String, layout::Needs>, LabError> {
        let mut needs = BTreeMap::new();
        for instance in plan.topology.parts() {
            let target = self.options.targets.get(&instance.target)?;
            let of_target = layout::Needs {
                ports: target.def.ports.clone(),
                programs: target.def.programs.keys().cloned().collect(),
                instances: target.def.instances,
                redirect_ports: target.def.redirect_ports,
                exempt_by: target.def.exempt_by,
                redirect_rules: target.def.redirect_rules,
            };
            needs.insert(instance.target.clone(), of_target);
        }
        Ok(needs)
    }

    /// Certificates of all instances that need one; they include addresses that are advertised for the instance.
    fn identities(
        &self,
        layout: &layout::Layout,
        pods: &pods::TestBedPods,
        folder: &Path,
    ) -> Result<BTreeMap<String, render::Identity>, LabError> {
        let mut identities = BTreeMap::new();
        for name in &layout.identified {
            let context = layout.contexts.iter().find(|context| context.name == *name);
            let mut addresses: Vec<IpAddr> = match context {
                Some(context) => vec![context.address],
                None => pods.addresses.get(name).copied().into_iter().collect(),
            };
            for route in context.iter().flat_map(|context| &context.routes) {
                let advertised = route.advertise.as_ref().map(|at| at.address);
                addresses.extend(advertised.filter(|at| !addresses.contains(at)));
            }
            let keys = folder.join(format!("{name}.keys"));
            make_folder(&keys)?;
            let mut also = vec![layout::stem(name)];
            let routes = context.iter().flat_map(|context| &context.routes);
            let called = routes.filter(|route| route.service == *name);
            also.extend(called.filter_map(|route| route.hostname.as_deref()).take(1));
            let identity = self.authority.issue(name, &also, &addresses, &keys)?;
            identities.insert(name.clone(), identity);
        }
        Ok(identities)
    }
}

impl Environment for Local {
    fn machine(&mut self) -> Result<Option<EnvironmentRecord>, LabError> {
        let (environment, addressing) = (self.network.environment(), self.network.word());
        let here = || doctor::describe(&environment, addressing, Vec::new());
        Ok((!self.is_elsewhere()).then(here))
    }

    fn provide(
        &mut self,
        targets: &[String],
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        for name in targets.iter().filter(|name| *name != AGENT) {
            let target = self.options.targets.named(name)?;
            let further: Vec<Target> = target.programs().collect();
            for one in std::iter::once(&target).chain(&further) {
                let name = one.software_name();
                if !self.software.contains_key(&name) {
                    let software = self.options.fetcher.provide(one, progress)?;
                    self.software.insert(name, software);
                }
            }
        }
        Ok(())
    }

    fn resolve_external(&mut self, topology: &Topology) -> Result<(), LabError> {
        let found = self.find_external(topology)?;
        external::check_brokers(topology, &found, self.options.reach)?;
        external::read_metrics(&found)
    }

    fn describe(&mut self) -> Result<EnvironmentRecord, LabError> {
        let targets = self.software.iter();
        let mut targets: BTreeMap<String, TargetVersion> = targets
            .map(|(n, s)| (n.clone(), s.version.clone()))
            .collect();
        let elsewhere = self.network.describe(&targets)?;
        self.network.measure_links(&self.options.site_links)?;
        if let Some(record) = elsewhere {
            let of_mesh = record.clusters().flat_map(|cluster| &cluster.mesh);
            self.injected = of_mesh.map(|(n, v)| (n.clone(), v.clone())).collect();
            targets.extend(self.injected.clone());
            let facts = record.facts.clone().into_iter();
            return Ok(EnvironmentRecord {
                facts: facts.chain(self.found.facts()).collect(),
                environment: self.network.environment(),
                addressing: self.network.word().to_owned(),
                tare_build: tare_record::version::BUILD.map(str::to_owned),
                tare_sha256: program::sha256(),
                targets,
                link_rtts: self.network.link_rtts.clone(),
                ..record
            });
        }
        let checks = doctor::examine(&self.options.out, &[]);
        let mut record = doctor::describe(&self.network.environment(), self.network.word(), checks);
        record.targets = targets;
        // A machine that cannot be calibrated can still be measured on, with unknown limits.
        let calibration =
            calibrate::cached_or_measured(&self.options.fetcher.cache, &self.options.out);
        record.calibration = calibration.ok();
        let reason = self.network.reason.clone();
        record.facts.insert(String::from("addressing"), reason);
        if self.network.word() == "loopback" {
            let who = "every user of this machine: the ports of targets are on its loopback (see `addressing`)";
            let fact = String::from("targets-reachable-by");
            record.facts.insert(fact, who.to_owned());
        }
        let isolation = self.isolation.in_words();
        record.facts.insert(String::from("isolation"), isolation);
        let lies = doctor::file_system(&self.folder);
        record.facts.insert(String::from("instance-files-on"), lies);
        if let Some(how) = self.network.exemption_in_words() {
            record.facts.insert(String::from("redirected-traffic"), how);
        }
        record.facts.extend(self.found.facts());
        record.link_rtts.clone_from(&self.network.link_rtts);
        Ok(record)
    }

    fn place(&mut self, plan: &TestBedPlan) -> Result<Box<dyn TestBed>, LabError> {
        Ok(Box::new(self.test_bed(plan)?))
    }
}

impl Local {
    /// As [`Environment::place`]; the test bed also shows its processes and commands, which are of this host.
    ///
    /// # Errors
    /// The template, setting or resource that is wrong.
    pub fn test_bed(&mut self, plan: &TestBedPlan) -> Result<LocalTestBed, LabError> {
        let programs = self.programs(plan)?;
        let mut external = self.find_external(&plan.topology)?;
        process::pin_own_threads(&plan.placement.target_cpus).map_err(LabError::io(format!(
            "run on the cores {:?} (see `placement:`)",
            plan.placement.target_cpus
        )))?;
        self.test_beds += 1;
        let name = format!("{}-{}", self.test_beds, plan.name);
        let folder = self.folder.join(&name);
        make_folder(&folder)?;
        if self.is_elsewhere() {
            external::copy_tls_files(&mut external, &folder)?;
        }
        let memory = self.memory.as_ref().map(|memory| memory.join(&name));
        let needs = self.needs(plan)?;
        let is_in_mesh = plan
            .topology
            .mesh
            .as_ref()
            .is_some_and(|mesh| mesh.installed);
        let services = match is_in_mesh {
            true => in_mesh::services(&plan.topology, self.test_beds, &self.network)?,
            false => BTreeMap::new(),
        };
        let sockets = self.folder.join(self.test_beds.to_string());
        let lay_out = |network: &Network,
                       addresses: &BTreeMap<String, IpAddr>,
                       services: &BTreeMap<String, PodService>| {
            let mut given = BTreeSet::new();
            let mut inputs = layout::LayoutInputs {
                addresses,
                // A mesh is told of ports, whosever they are: no two pods have the same.
                port: &mut |address| match is_in_mesh {
                    true => network.port(IpAddr::from(Ipv4Addr::UNSPECIFIED), &mut given),
                    false => network.port(address, &mut given),
                },
                programs: &programs,
                folder: &folder,
                sockets: &sockets,
                run: &self.run,
                redirect: network.redirect(),
                never_redirected: network.run_keepers(),
                exemption: network.exemption,
                needs: &needs,
                memory: memory.as_deref(),
                external: &external,
                services,
            };
            layout::compute(plan, &mut inputs)
        };
        let mut mesh_pods = MeshPods::default();
        if is_in_mesh {
            // Ports do not depend on addresses. Services and annotations need them before there are pods.
            let pods = plan.topology.pods.iter().zip(1..);
            let addresses = pods.map(|(pod, number)| (pod.name.clone(), not_yet(number)));
            let layout = lay_out(&self.network, &addresses.collect(), &services)?;
            mesh_pods = in_mesh::of_pods(plan, &layout, &services, &self.options.targets)?;
        }
        let pods = self
            .network
            .pods(plan, (&name, &folder), &programs, mesh_pods)?;
        lock(&self.host).pin(&plan.placement.target_cpus)?;
        let mut services = services;
        services.retain(|pod, _| pods.services.contains_key(pod));
        for (pod, service) in &mut services {
            service.address = pods.services[pod];
        }
        let mut layout = lay_out(&self.network, &pods.addresses, &services)?;
        for (pod, rules) in &layout.redirects {
            pods.redirect(pod, rules)?;
        }
        for (pod, names) in &layout.names {
            let file = placed::hosts_of(&folder, pod);
            let hosts = layout::hosts_file(names);
            write_public(&file, &hosts)?;
            pods.name_hosts(pod, &hosts)?;
        }
        let mut rendered = Vec::new();
        let mut confinements = Vec::new();
        let mut identities = self.identities(&layout, &pods, &folder)?;
        if let Some(memory) = &memory {
            make_folder(memory)?;
        }
        if plan.topology.mesh.is_some() {
            let file = folder.join(layout::ROOT_CERTIFICATE);
            write_public(&file, &self.authority.root_pem())?;
        }
        for context in &mut layout.contexts {
            make_folder(&context.dir)?;
            if let Some(memory) = &context.memory {
                make_folder(memory)?;
            }
            if let Some(sockets) = context.admin_socket.parent() {
                make_folder(sockets)?;
            }
            context.identity = identities.remove(&context.name);
            let mesh = plan.topology.mesh.as_ref();
            if mesh.is_some_and(|mesh| mesh.control_plane.contains(&context.name)) {
                let keys = folder.join(format!("{}.ca", context.name));
                make_folder(&keys)?;
                context.ca = Some(self.authority.issue_ca(&context.name, &keys)?);
            }
        }
        for (context, instance) in layout.contexts.iter().zip(plan.topology.parts()) {
            let target = self.options.targets.get(&instance.target)?;
            let one = match plan.topology.is_injected(&instance.name) {
                true => render::render_injected(target, context)?,
                false => render::render(target, context)?,
            };
            one.write()?;
            rendered.push(one);
            confinements.push(self.isolation.confine(context)?);
        }
        for (pod, paths) in placed::files_of_pods(plan, &layout, &identities, &folder) {
            for pod in pods.alike(&pod).iter().filter_map(|pod| pods.network(pod)) {
                lock(&self.host).send(&pod, &paths)?;
            }
        }
        for (context, confinement) in layout.contexts.iter().zip(&confinements) {
            let user = confinement.as_ref().and_then(|one| one.user);
            if let (Some(user), Some(pod)) = (user, pods.network(&context.pod)) {
                let folders = isolation::folders_of(context);
                lock(&self.host).give(&pod, &folders, user)?;
            }
        }
        let software = self.software.iter();
        Ok(LocalTestBed::new(placed::PlacedTestBed {
            host: Arc::clone(&self.host),
            name,
            folder,
            plan: plan.clone(),
            layout,
            pods,
            rendered,
            confinements,
            of_agents: isolation::of_agent(&self.isolation),
            agents: identities,
            memory,
            software: software
                .map(|(name, software)| (name, &software.version))
                .chain(&self.injected)
                .map(|(name, version)| {
                    let target = split_name(name).0;
                    (name.clone(), format!("{target} {}", version.version))
                })
                .collect(),
            tare: self.options.tare.clone(),
            external,
            reach: self.options.reach,
        }))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(folder) = &self.own_folder {
            let _ = folder.remove();
        }
    }
}

/// Name of the run in identities: the last part of its folder's name.
fn run_of(folder: &Path) -> String {
    let name = keeper::name_of(folder);
    name.rsplit('-').next().unwrap_or_default().to_owned()
}

/// Checks, before anything is measured, that limits can be set on this machine.
fn try_limits(
    keeper: &mut Keeper,
    limits: &[(String, Limits)],
    addressing: &str,
) -> Result<(), LabError> {
    for (instance, limits) in limits {
        let Some(bounds) = bounds(limits) else {
            continue;
        };
        keeper.check_limits(bounds).map_err(|error| match error {
            LabError::Keeper(why) => LabError::Unsupported {
                what: format!("`limits` of {instance}"),
                environment: format!("the environment local ({addressing}) here"),
                next: why,
            },
            other => other,
        })?;
    }
    Ok(())
}

fn bounds(limits: &Limits) -> Option<CgroupLimits> {
    CgroupLimits::new(limits.cpu, limits.memory_bytes)
}

/// Writes a file that everybody may read, whatever the umask.
fn write_public(path: &Path, text: &str) -> Result<(), LabError> {
    use std::os::unix::fs::PermissionsExt;
    let what = || format!("write {}", path.display());
    std::fs::write(path, text).map_err(LabError::io(what()))?;
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(path, mode).map_err(LabError::io(what()))
}

/// Creates a folder that only this user can enter; it must not exist.
///
/// # Errors
/// When it exists or cannot be created.
pub fn make_folder(path: &Path) -> Result<(), LabError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(LabError::io(format!("make the folder {}", path.display())))
}
