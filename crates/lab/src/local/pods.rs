//! The network of a run: addressing, links between sites, redirection; and the pods of its test beds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tare_net::Switch;
use tare_net::link::{DirectionPlan, LinkPlan, RoundTrips};
use tare_net::redirect::{self, Exemption, RedirectRules, TrafficDirection};
use tare_record::plan::Addressing;
use tare_record::record::{EnvironmentRecord, LinkRtt, TargetVersion};
use tare_record::topology::{InstanceRole, SiteLink};

use super::addresses::{self, Addresses};
use super::external;
use super::layout::{Redirect, redirected_pods};
use super::lock;
use super::pod_limits::pod_limits;
use crate::LabError;
use crate::connector::{Connector, PodConnector};
use crate::environment::TestBedPlan;
use crate::host::SharedHost;
use crate::keeper::{Keeper, SharedKeeper};
use crate::local::LocalOptions;
use crate::observe::ObservedLinks;
use crate::remote::host::RemoteHost;
use crate::remote::{ControlPlanePod, PodInMesh, PodPurpose, WantedPod};

/// Addressing of a run's pods.
pub(crate) struct Network {
    holder: Option<Holder>,
    pub(crate) kind: Kind,
    /// Why this addressing was chosen, for the record.
    pub(crate) reason: String,
    /// How a sidecar's own traffic is recognised, where traffic is redirected.
    pub(crate) exemption: Exemption,
    /// Site names in the order of their numbers; none: a single site.
    sites: Vec<String>,
    /// Measured round-trip times between sites, for the record.
    pub(crate) link_rtts: Vec<LinkRtt>,
}

/// What makes and removes the pods.
#[derive(Clone)]
enum Holder {
    Keeper(SharedKeeper),
    Remote(Arc<Mutex<RemoteHost>>),
}

/// Network of the pods.
pub(crate) enum Kind {
    /// Each elsewhere, with a keeper of its own.
    Remote,
    /// On the host's loopback device.
    Loopback(Addresses),
    /// Each in a network namespace.
    Namespaces(Numbers),
}

/// What the mesh of a cluster is told about the pods of a test bed.
#[derive(Debug, Default)]
pub(crate) struct MeshPods {
    pub pods: BTreeMap<String, PodInMesh>,
    pub objects: Vec<Value>,
}

/// Pod numbers in use: several test beds may be attached to one switch.
#[derive(Clone, Default)]
pub(crate) struct Numbers(Arc<Mutex<BTreeSet<u16>>>);

impl Numbers {
    /// Takes the lowest free number.
    fn take(&self) -> Option<PodNumber> {
        let mut taken = lock(&self.0);
        let number = (0..u16::MAX).find(|number| !taken.contains(number))?;
        taken.insert(number);
        Some(PodNumber {
            numbers: self.clone(),
            number,
        })
    }
}

/// A pod's number; released on drop.
struct PodNumber {
    numbers: Numbers,
    number: u16,
}

impl Drop for PodNumber {
    fn drop(&mut self) {
        lock(&self.numbers.0).remove(&self.number);
    }
}

impl Network {
    /// Starts the keeper for the requested addressing, or for the best that is possible.
    pub(crate) fn start(options: &LocalOptions) -> Result<(Keeper, Network), LabError> {
        let base = options.base.as_deref();
        let asked = |addressing| match addressing {
            Addressing::Auto => String::from("the default, possible here"),
            _ => String::from("asked for"),
        };
        let refused = match options.addressing {
            Addressing::Loopback => asked(options.addressing),
            Addressing::Namespaces | Addressing::Auto => {
                match Keeper::start_in_namespaces(&options.tare, base) {
                    Ok(mut keeper) => {
                        let (sites, link_rtts) = join_sites(&mut keeper, options)?;
                        let network = Network {
                            holder: None,
                            kind: Kind::Namespaces(Numbers::default()),
                            exemption: redirect::exemption_in(keeper.inside_pid()),
                            reason: asked(options.addressing),
                            sites,
                            link_rtts,
                        };
                        return Ok((keeper, network));
                    }
                    // A link that was requested must not be left out of a measurement.
                    Err(error) if !options.site_links.is_empty() => {
                        return Err(LabError::Unsupported {
                            what: String::from("sites"),
                            environment: String::from("pods without a network of their own"),
                            next: format!("{error} and leave the sites out"),
                        });
                    }
                    Err(error) if options.addressing == Addressing::Auto => {
                        format!("namespaces are not possible here: {error}")
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        let keeper = Keeper::start(&options.tare, base)?;
        let network = Network {
            holder: None,
            kind: Kind::Loopback(Addresses::reserve()?),
            reason: refused,
            exemption: Exemption::Group,
            sites: Vec::new(),
            link_rtts: Vec::new(),
        };
        Ok((keeper, network))
    }

    /// Pods of a keeper, from now on.
    pub(crate) fn with_keeper(self, keeper: SharedKeeper) -> Network {
        Network {
            holder: Some(Holder::Keeper(keeper)),
            ..self
        }
    }

    /// Pods elsewhere.
    pub(crate) fn remote(host: Arc<Mutex<RemoteHost>>) -> Network {
        Network {
            holder: Some(Holder::Remote(host)),
            kind: Kind::Remote,
            reason: String::from("pods have a network of their own there"),
            exemption: Exemption::Group,
            sites: Vec::new(),
            link_rtts: Vec::new(),
        }
    }

    /// Measures what is between sites elsewhere, where nothing is made.
    pub(crate) fn measure_links(&mut self, links: &[SiteLink]) -> Result<(), LabError> {
        let Some(Holder::Remote(host)) = &self.holder else {
            return Ok(());
        };
        self.link_rtts.clear();
        for link in links {
            let trips = lock(host).round_trips(&link.between)?;
            self.link_rtts
                .extend(trips.map(|trips| link_rtt(link, &trips)));
        }
        Ok(())
    }

    /// Kind of environment in the record.
    pub(crate) fn environment(&self) -> String {
        match &self.holder {
            Some(Holder::Remote(host)) => lock(host).environment().to_owned(),
            _ => String::from("local"),
        }
    }

    /// Describes where pods are; `None`: they are on this machine.
    pub(crate) fn describe(
        &self,
        targets: &BTreeMap<String, TargetVersion>,
    ) -> Result<Option<EnvironmentRecord>, LabError> {
        match &self.holder {
            Some(Holder::Remote(host)) => lock(host).describe(targets),
            _ => Ok(None),
        }
    }

    /// How a sidecar's own traffic is recognised, where that differs from Istio, for the record.
    pub(crate) fn exemption_in_words(&self) -> Option<String> {
        let words = "without root: a sidecar's own traffic is known by packet mark (1337) or by the ports it calls from, not by \
                     its group as in Istio";
        (self.exemption == Exemption::MarkOrPort).then(|| words.to_owned())
    }

    /// Name of the addressing in the record.
    pub(crate) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Loopback(_) => "loopback",
            Kind::Namespaces(_) | Kind::Remote => "namespaces",
        }
    }

    /// Where pods are, in words.
    pub(crate) fn location(&self) -> String {
        match &self.holder {
            Some(Holder::Remote(host)) => lock(host).location(),
            _ => self.word().to_owned(),
        }
    }

    /// Assigns every pod of a test bed its address and, with namespaces, its network namespace.
    pub(crate) fn pods(
        &mut self,
        plan: &TestBedPlan,
        (test_bed, folder): (&str, &Path),
        programs: &BTreeMap<String, PathBuf>,
        mesh_pods: MeshPods,
    ) -> Result<TestBedPods, LabError> {
        let topology = &plan.topology;
        let no_holder = || LabError::Plan(String::from("nothing makes the pods"));
        let mut pods = TestBedPods {
            holder: self.holder.clone().ok_or_else(no_holder)?,
            sites: self.sites.clone(),
            test_bed: test_bed.to_owned(),
            folder: folder.to_owned(),
            addresses: BTreeMap::new(),
            services: BTreeMap::new(),
            attached: BTreeSet::new(),
            numbers: Vec::new(),
        };
        if let Holder::Remote(host) = &pods.holder {
            let host = Arc::clone(host);
            let programs: Vec<PathBuf> = programs.values().cloned().collect();
            let cpus = &plan.placement.target_cpus;
            let mut wanted = BTreeMap::new();
            let redirected = redirected_pods(topology)?;
            let limits = pod_limits(topology, &plan.limits)?;
            let calling: BTreeSet<&str> = external::callers(topology).map(|(_, pod)| pod).collect();
            for pod in &topology.pods {
                let within = topology.instances.iter().filter(|one| one.pod == pod.name);
                let agents = within.clone().filter_map(|one| plan.agents.get(&one.name));
                let is_of_agents = within.clone().any(|one| one.role == InstanceRole::Agent);
                let has_parts = within.clone().any(|one| one.role != InstanceRole::Agent);
                for number in 1..=agents.max().copied().unwrap_or(1).max(1) {
                    let name = of_number(&pod.name, number);
                    let purpose = PodPurpose {
                        redirects: redirected.contains(&pod.name),
                        is_of_agents,
                        has_parts,
                        calls_external: calling.contains(pod.name.as_str()),
                    };
                    // A pod of a further agent has no sidecar.
                    let in_mesh = mesh_pods.pods.get(&name).cloned();
                    let pod = WantedPod {
                        site: pod.site.clone(),
                        purpose,
                        limits: limits.get(&pod.name).copied().unwrap_or_default(),
                        in_mesh,
                    };
                    wanted.insert(pods.keeper_name(&name), pod);
                    pods.attached.insert(name);
                }
            }
            let made = lock(&host).create(wanted, &mesh_pods.objects, &programs, cpus)?;
            for pod in &topology.pods {
                let Some(at) = made.get(&pods.keeper_name(&pod.name)) else {
                    continue;
                };
                pods.addresses.insert(pod.name.clone(), at.pod);
                pods.services
                    .extend(at.service.map(|at| (pod.name.clone(), at)));
            }
            return Ok(pods);
        }
        let sites = &self.sites;
        for pod in &topology.pods {
            let address = match &mut self.kind {
                Kind::Loopback(addresses) => addresses.next_address(),
                Kind::Namespaces(numbers) => {
                    let many =
                        || LabError::Plan(format!("{} pods are too many", topology.pods.len()));
                    let taken = numbers.take().ok_or_else(many)?;
                    let address = site_address(sites, &pod.site, taken.number).ok_or_else(many)?;
                    if let Holder::Keeper(keeper) = &pods.holder {
                        lock(keeper).attach(&pods.keeper_name(&pod.name), address)?;
                    }
                    pods.numbers.push(taken);
                    pods.attached.insert(pod.name.clone());
                    address
                }
                Kind::Remote => return Err(no_holder()),
            };
            pods.addresses
                .insert(pod.name.clone(), IpAddr::from(address));
        }
        Ok(pods)
    }

    /// Whether a pod's traffic can be redirected.
    pub(crate) fn redirect(&self) -> Redirect {
        match self.kind {
            Kind::Loopback(_) => Redirect::Impossible,
            Kind::Namespaces(_) | Kind::Remote => Redirect::Possible,
        }
    }

    /// Host name of a Service of the run; `None`: there are none.
    pub(crate) fn service_host(&self, name: &str) -> Option<String> {
        match &self.holder {
            Some(Holder::Remote(host)) => lock(host).service_host(name),
            _ => None,
        }
    }

    /// The run keepers, which pods elsewhere must reach whatever is redirected.
    pub(crate) fn run_keepers(&self) -> Vec<SocketAddr> {
        match &self.holder {
            Some(Holder::Remote(host)) => lock(host).addresses(),
            _ => Vec::new(),
        }
    }

    /// A port of a pod that is not in `given`; added there.
    pub(crate) fn port(
        &self,
        address: IpAddr,
        given: &mut BTreeSet<SocketAddr>,
    ) -> Result<u16, LabError> {
        match self.kind {
            Kind::Loopback(_) => addresses::free_port(address, given),
            // No other processes use that network.
            Kind::Namespaces(_) | Kind::Remote => addresses::next_port(address, given),
        }
    }
}

/// A pod, or that of a further agent.
fn of_number(pod: &str, number: u32) -> String {
    match number {
        1 => pod.to_owned(),
        more => format!("{pod}.{more}"),
    }
}

/// Numbers are unique across sites; gaps within a site do not matter.
fn site_address(sites: &[String], site: &str, number: u16) -> Option<Ipv4Addr> {
    if sites.is_empty() {
        return Switch::pod_address(number);
    }
    let place = sites.iter().position(|name| name == site)?;
    tare_net::site::pod_address(u8::try_from(place).ok()?, number)
}

/// The pods of one test bed. Dropping it releases their network namespaces, which end with the last process in them.
pub(crate) struct TestBedPods {
    holder: Holder,
    sites: Vec<String>,
    test_bed: String,
    folder: PathBuf,
    pub(crate) addresses: BTreeMap<String, IpAddr>,
    /// Pod → address of its Service.
    pub(crate) services: BTreeMap<String, IpAddr>,
    attached: BTreeSet<String>,
    /// Released after the network namespaces.
    numbers: Vec<PodNumber>,
}

impl TestBedPods {
    fn keeper_name(&self, pod: &str) -> String {
        format!("{}/{pod}", self.test_bed)
    }

    /// The pod's name in the keeper, if it has a network namespace.
    pub(crate) fn network(&self, pod: &str) -> Option<String> {
        self.attached.contains(pod).then(|| self.keeper_name(pod))
    }

    /// A pod, and those for further agents like the one in it.
    pub(crate) fn alike(&self, pod: &str) -> Vec<String> {
        let numbers = (1..).map(|number| of_number(pod, number));
        let mut all: Vec<String> = numbers
            .take_while(|name| self.attached.contains(name))
            .collect();
        if all.is_empty() {
            all.push(pod.to_owned());
        }
        all
    }

    /// Names in the keeper of all pods with a network namespace.
    fn all_kept(&self) -> impl Iterator<Item = String> {
        self.attached.iter().map(|pod| self.keeper_name(pod))
    }

    /// The links between the sites, if there are any.
    pub(crate) fn links(&self) -> Option<ObservedLinks> {
        match &self.holder {
            Holder::Keeper(keeper) if !self.sites.is_empty() => Some(ObservedLinks {
                keeper: Arc::clone(keeper),
                sites: self.sites.clone(),
            }),
            _ => None,
        }
    }

    /// Redirects a pod's traffic to its sidecar.
    pub(crate) fn redirect(&self, pod: &str, rules: &RedirectRules) -> Result<(), LabError> {
        match &self.holder {
            Holder::Keeper(keeper) => lock(keeper).redirect(&self.keeper_name(pod), rules),
            Holder::Remote(host) => lock(host).redirect(&self.keeper_name(pod), rules),
        }
    }

    /// Has host names resolve in a pod elsewhere; those of this machine mount the file.
    pub(crate) fn name_hosts(&self, pod: &str, hosts: &str) -> Result<(), LabError> {
        match &self.holder {
            Holder::Keeper(_) => Ok(()),
            Holder::Remote(host) => {
                let mut pods = self.alike(pod).into_iter();
                pods.try_for_each(|pod| lock(host).name_hosts(&self.keeper_name(&pod), hosts))
            }
        }
    }

    /// Words that begin a command in a pod elsewhere; `None`: it is on this machine.
    pub(crate) fn enter(&self, pod: &str, is_injected: bool) -> Option<Vec<String>> {
        match &self.holder {
            Holder::Keeper(_) => None,
            Holder::Remote(host) => Some(lock(host).enter(&self.keeper_name(pod), is_injected)),
        }
    }

    /// The log of the proxy that was injected into a pod; `None`: unknown.
    pub(crate) fn log_of_injected(&self, pod: &str) -> Option<String> {
        match &self.holder {
            Holder::Keeper(_) => None,
            Holder::Remote(host) => lock(host).log_of_injected(&self.keeper_name(pod)),
        }
    }

    /// Control plane of the mesh that the cluster has.
    pub(crate) fn control_plane(&self) -> Vec<ControlPlanePod> {
        match &self.holder {
            Holder::Remote(host) => lock(host).control_plane(),
            Holder::Keeper(_) => Vec::new(),
        }
    }

    /// Whether other programs could use a pod's ports.
    pub(crate) fn are_open_to_strangers(&self) -> bool {
        self.attached.is_empty()
    }

    /// Connects and runs commands in the network of a pod.
    pub(crate) fn connector(&self, pod: &str) -> Connector {
        match self.network(pod) {
            None => Connector::Host,
            Some(pod) => Connector::Pod(PodConnector {
                host: match &self.holder {
                    Holder::Keeper(keeper) => Arc::clone(keeper) as SharedHost,
                    Holder::Remote(host) => Arc::clone(host) as SharedHost,
                },
                pod,
                folder: self.folder.clone(),
            }),
        }
    }
}

impl Drop for TestBedPods {
    fn drop(&mut self) {
        let names: Vec<String> = self.all_kept().collect();
        match &self.holder {
            Holder::Remote(host) => lock(host).remove(&names),
            Holder::Keeper(keeper) => {
                for pod in &names {
                    // If the keeper is gone, so are the pods.
                    let _ = lock(keeper).detach(pod);
                }
            }
        }
    }
}

/// Connects every two sites. Returns their names in the order of their numbers, and the measured round-trip times.
fn join_sites(
    keeper: &mut Keeper,
    options: &LocalOptions,
) -> Result<(Vec<String>, Vec<LinkRtt>), LabError> {
    let mut sites: Vec<String> = options
        .site_links
        .iter()
        .flat_map(|link| link.between.clone())
        .collect();
    sites.sort();
    sites.dedup();
    let mut link_rtts = Vec::new();
    for (link, seed) in options.site_links.iter().zip(options.seed..) {
        let pair = link.between.each_ref().map(|name| {
            let place = sites.iter().position(|site| site == name);
            place.and_then(|place| u8::try_from(place).ok())
        });
        let [Some(one), Some(other)] = pair else {
            return Err(LabError::Plan(format!(
                "{} sites are too many",
                sites.len()
            )));
        };
        // The keeper names the devices.
        let plan = LinkPlan::symmetric(["", ""], &direction_plan(link), seed);
        let trips = keeper.join([one, other], &plan)?;
        link_rtts.push(link_rtt(link, &trips));
    }
    Ok((sites, link_rtts))
}

fn direction_plan(link: &SiteLink) -> DirectionPlan {
    DirectionPlan {
        delay_ns: link.one_way_ns,
        jitter_ns: link.jitter_ns,
        rate_bits_per_s: link.rate_bits_per_s,
        queue_bytes: link.queue_bytes,
        loss: link.loss,
    }
}

/// The measurement for the record.
fn link_rtt(link: &SiteLink, trips: &RoundTrips) -> LinkRtt {
    LinkRtt {
        link: link.name(),
        sent: trips.sent,
        answered: trips.answered,
        p50_ns: trips.p50_ns,
        p99_ns: trips.p99_ns,
        min_ns: trips.min_ns,
        max_ns: trips.max_ns,
    }
}

/// Redirects the traffic of an empty pod; `tare` is the program from which the keeper is started.
///
/// # Errors
/// Why traffic cannot be redirected with this addressing, as text.
pub fn can_redirect(tare: &Path, addressing: Addressing) -> Result<(), String> {
    const POD: &str = "redirection";
    if addressing == Addressing::Loopback {
        return Err("with loopback addresses there is none: use `addressing: namespaces`".into());
    }
    let mut keeper = Keeper::start_in_namespaces(tare, None)
        .map_err(|error| format!("network namespaces are not possible here: {error}"))?;
    let address = Switch::pod_address(0).unwrap_or(Ipv4Addr::LOCALHOST);
    let rules = RedirectRules {
        directions: [TrafficDirection::Outbound, TrafficDirection::Inbound].into(),
        ..RedirectRules::default()
    };
    let tried = keeper.attach(POD, address);
    // The pod is removed with the keeper.
    let tried = tried.and_then(|()| keeper.redirect(POD, &rules));
    tried.map_err(|error| error.to_string())
}
