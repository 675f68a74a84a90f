//! Assigns addresses, ports, certificates and redirect rules to the instances of a topology.

mod mesh;
mod names;
mod redirect;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use tare_experiment::target::{
    ExemptBy, InstanceMode, RedirectPorts, RedirectSetup, software_name,
};
use tare_net::redirect::{Exemption, RedirectRules, TrafficDirection};
use tare_record::load::Endpoint;
use tare_record::text::preview;
use tare_record::topology::{Instance, InstanceRole, Interception, Route, Security, Topology};

use super::external::ExternalAddress;
use super::isolation::socket_folder;
use crate::LabError;
use crate::certificates::spiffe;
use crate::environment::TestBedPlan;
use crate::render::{Context, Listen, Login, Peer};

pub(crate) use mesh::{ROOT_CERTIFICATE, port_protocol};
pub(crate) use names::{Names, hosts_file};
pub(crate) use redirect::redirected_pods;

/// Longest name; a file's name has at most 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// Inputs of a layout besides the topology.
pub(crate) struct LayoutInputs<'a> {
    /// Pod → address.
    pub addresses: &'a BTreeMap<String, IpAddr>,
    /// Gives a free port of an address.
    pub port: &'a mut dyn FnMut(IpAddr) -> Result<u16, LabError>,
    /// Target → program.
    pub programs: &'a BTreeMap<String, PathBuf>,
    /// The test bed's folder, with a subfolder per instance.
    pub folder: &'a Path,
    /// Prefix of socket paths: short, since a socket's path has at most 107 bytes.
    pub sockets: &'a Path,
    /// Name of the run in identities.
    pub run: &'a str,
    /// Whether the kernel can redirect a pod's traffic.
    pub redirect: Redirect,
    /// Servers that are never redirected, whoever calls them.
    pub never_redirected: Vec<SocketAddr>,
    /// How a sidecar's own traffic is recognised.
    pub exemption: Exemption,
    /// Requirements of targets; those without any may be left out.
    pub needs: &'a BTreeMap<String, Needs>,
    /// The test bed's folder in memory.
    pub memory: Option<&'a Path>,
    /// External parts by their names in routes.
    pub external: &'a BTreeMap<String, ExternalAddress>,
    /// Pod → its Service, where proxies of the cluster's mesh know what they call by Services.
    pub services: &'a BTreeMap<String, PodService>,
}

/// The Service of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodService {
    /// Name, and value of the label of its pod.
    pub name: String,
    /// Host name.
    pub host: String,
    pub address: IpAddr,
}

/// Requirements of a target beyond listeners and an admin page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    pub ports: Vec<String>,
    /// Names of its further programs.
    pub programs: Vec<String>,
    pub instances: InstanceMode,
    /// Ports to which redirected traffic is sent.
    pub redirect_ports: RedirectPorts,
    /// How its own traffic can be recognised.
    pub exempt_by: ExemptBy,
    /// Who sets the redirect rules.
    pub redirect_rules: RedirectSetup,
}

/// Whether traffic can be redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// Each pod has a network of its own.
    Possible,
    /// All pods share one network.
    Impossible,
}

/// A topology with all addresses assigned.
#[derive(Debug)]
pub(crate) struct Layout {
    /// One context per instance except agents, in start order.
    pub contexts: Vec<Context>,
    /// Instances that need a certificate, including agents.
    pub identified: BTreeSet<String>,
    /// Instances of clusters: they become ready together.
    pub clustered: BTreeSet<String>,
    /// (Edge, calling instance) → addresses of its first hop, one for each called instance.
    pub endpoints: BTreeMap<(String, String), Endpoint>,
    /// Pod → redirect rules.
    pub redirects: BTreeMap<String, RedirectRules>,
    /// Instances that receive redirected traffic.
    pub redirected: BTreeSet<String>,
    /// Pod → host names that resolve in it.
    pub names: Names,
}

/// Computes the layout of a test bed.
pub(crate) fn compute(
    plan: &TestBedPlan,
    inputs: &mut LayoutInputs<'_>,
) -> Result<Layout, LabError> {
    let topology = &plan.topology;
    check_names(plan)?;
    check(topology, inputs.redirect)?;
    let mut listeners = Listeners::default();
    for route in &topology.routes {
        check_cluster(topology, route, inputs)?;
        listeners.add(topology, route, inputs)?;
    }
    let mut contexts = Vec::new();
    for instance in topology.parts() {
        contexts.push(context(plan, instance, &listeners, inputs)?);
    }
    let mut names = names::names(topology, &listeners, &mut contexts, inputs)?;
    if let Some(mesh) = mesh::mesh(topology, &listeners, &contexts, inputs)? {
        mesh::add_names(&mut names, &mesh);
        for context in &mut contexts {
            let is_proxy = mesh.proxies.iter().any(|proxy| proxy.name == context.name);
            if is_proxy || context.role.is_mesh() {
                context.mesh = Some(mesh.clone());
            }
        }
    }
    let all = contexts.clone();
    for (index, context) in contexts.iter_mut().enumerate() {
        context.admin_socket = socket_folder(inputs.sockets, index).join("s");
        context.peers = peers(topology, &context.name, &all);
    }
    let endpoints = views::endpoints(topology, &listeners, inputs);
    let identified = topology
        .instances
        .iter()
        .filter(|instance| {
            needs_identity(topology, &instance.name) || inputs.is_cluster(&instance.target)
        })
        .map(|instance| instance.name.clone())
        .collect();
    let clustered = topology
        .parts()
        .filter(|instance| inputs.is_cluster(&instance.target))
        .map(|instance| instance.name.clone())
        .collect();
    let mut redirections = redirect::redirections(plan, &contexts, inputs)?;
    redirect::exempt(topology, &mut contexts, &redirections, inputs)?;
    redirect::own_rules(topology, &mut contexts, &mut redirections, inputs)?;
    Ok(Layout {
        contexts,
        identified,
        clustered,
        endpoints,
        redirects: redirections.pods,
        redirected: redirections.instances,
        names,
    })
}

impl LayoutInputs<'_> {
    /// The Service by which an instance is called.
    fn service_of(&self, topology: &Topology, instance: &str) -> Option<&PodService> {
        let pod = &find(topology, instance).ok()?.pod;
        self.services.get(pod)
    }

    fn is_cluster(&self, target: &str) -> bool {
        let needs = self.needs.get(target);
        needs.is_some_and(|needs| needs.instances == InstanceMode::Cluster)
    }
}

/// Members of a cluster advertise one address to all others, so no caller can be given its own sidecar instead.
fn check_cluster(
    topology: &Topology,
    route: &Route,
    inputs: &LayoutInputs<'_>,
) -> Result<(), LabError> {
    if topology.external(&route.to).is_some() {
        return Ok(());
    }
    let called = find(topology, &route.to)?;
    let among = inputs.is_cluster(&called.target) && stem(&route.from) == stem(&route.to);
    if !among
        || route.proxies.is_empty()
        || route.segments[0].interception == Interception::Redirect
    {
        return Ok(());
    }
    Err(LabError::Unsupported {
        what: format!("sidecars that {} and its likes call by address", route.from),
        environment: String::from("explicit interception"),
        next: format!(
            "use `interception: redirect`, or leave this traffic out: `exclude: [\"{}\"]`",
            route.edge
        ),
    })
}

/// The instances of a route, from caller to called.
fn chain(route: &Route) -> Vec<&str> {
    let ends = std::iter::once(route.to.as_str());
    std::iter::once(route.from.as_str())
        .chain(route.proxies.iter().map(String::as_str))
        .chain(ends)
        .collect()
}

fn find<'a>(topology: &'a Topology, name: &str) -> Result<&'a Instance, LabError> {
    let found = topology.instances.iter().find(|i| i.name == name);
    found.ok_or_else(|| LabError::Plan(format!("there is no instance `{name}` in the topology")))
}

/// Checks the topology before any address is assigned.
fn check(topology: &Topology, redirect: Redirect) -> Result<(), LabError> {
    for instance in &topology.instances {
        if !topology.pods.iter().any(|pod| pod.name == instance.pod) {
            let (name, pod) = (&instance.name, &instance.pod);
            return Err(LabError::Plan(format!(
                "instance `{name}` is to run in the pod `{pod}`, which is not in the topology"
            )));
        }
    }
    for route in &topology.routes {
        if route.segments.len() != route.proxies.len() + 1 {
            return Err(LabError::Plan(format!(
                "the edge {} has {} proxies and {} segments; it needs one segment more than proxies",
                route.edge,
                route.proxies.len(),
                route.segments.len()
            )));
        }
        let external = |name: &str| topology.external(name).is_some();
        for name in chain(route).into_iter().filter(|name| !external(name)) {
            find(topology, name)?;
        }
        if is_redirected(route) && redirect == Redirect::Impossible {
            return Err(LabError::Unsupported {
                what: format!("redirected traffic on the edge {}", route.edge),
                environment: String::from("local with loopback addressing"),
                next: String::from(
                    "use `interception: explicit`, or `addressing: namespaces`, where the kernel can redirect",
                ),
            });
        }
        let caller = find(topology, &route.from)?;
        if caller.role == InstanceRole::Agent && route.segments[0].security != Security::Plaintext {
            return Err(LabError::Unsupported {
                what: format!("a link made by the load agent on the edge {}", route.edge),
                environment: String::from("this version's agent"),
                next: String::from(
                    "give the client a sidecar that makes the link, or the edge TLS of its own (`own`)",
                ),
            });
        }
    }
    Ok(())
}

/// Listening addresses of all routes at each of their instances.
#[derive(Default)]
struct Listeners {
    /// (Route, position in its chain) → listening address.
    places: BTreeMap<(RouteKey, usize), Listen>,
    /// A called part has one listener for all callers with equal keys; a proxy has one per route.
    shared: Vec<(ListenerKey, Listen)>,
}

/// Key of a route: edge, caller, called.
type RouteKey = (String, String, String);

fn route_key(route: &Route) -> RouteKey {
    (route.edge.clone(), route.from.clone(), route.to.clone())
}

#[derive(PartialEq, Clone)]
struct ListenerKey {
    instance: String,
    /// Further reasons for separate listeners: the edge, when traffic is redirected to the called part's sidecar,
    /// which tells edges apart by it; in clusters, the address that is advertised to this caller.
    apart: (Option<String>, Option<SocketAddr>),
    protocol: String,
    edge_security: Security,
    link: Security,
    peer: Option<String>,
}

impl Listeners {
    fn at(&self, route: &Route, position: usize) -> Option<&Listen> {
        self.places.get(&(route_key(route), position))
    }

    fn add(
        &mut self,
        topology: &Topology,
        route: &Route,
        inputs: &mut LayoutInputs<'_>,
    ) -> Result<(), LabError> {
        for position in 1..=route.segments.len() {
            let listen = self.place(topology, route, position, inputs)?;
            self.places.insert((route_key(route), position), listen);
        }
        Ok(())
    }

    /// The listening address of a route at one position of its chain.
    fn place(
        &mut self,
        topology: &Topology,
        route: &Route,
        position: usize,
        inputs: &mut LayoutInputs<'_>,
    ) -> Result<Listen, LabError> {
        if let Some(known) = self.at(route, position) {
            return Ok(known.clone());
        }
        let chain = chain(route);
        let (caller, name) = (chain[position - 1], chain[position]);
        if let Some(found) = inputs.external.get(name) {
            return Ok(found.listen());
        }
        let instance = find(topology, name)?;
        let security = route.segments[position - 1].security;
        let peer = (security == Security::Mtls).then(|| spiffe(inputs.run, caller));
        if let Some(direction) = redirect::direction(topology, route, position)? {
            // The caller uses the address of the called part; the kernel redirects it there.
            let end = chain.len() - 1;
            let called = self.place(topology, route, end, inputs)?;
            self.places.insert((route_key(route), end), called.clone());
            // In a cluster's mesh it uses the Service.
            let service = inputs.service_of(topology, &route.to);
            let service = service.filter(|_| direction == TrafficDirection::Outbound);
            return Ok(Listen {
                address: service.map_or(called.address, |service| service.address),
                security,
                peer_identity: peer,
                redirected: Some(direction),
                redirect_port: Some(redirect::port(instance, direction, inputs)?),
                ..called
            });
        }
        let may_share = position + 1 == chain.len();
        // The first hop has its address by now, unless the kernel redirects the caller.
        let first_hop = self.at(route, 1).filter(|first| first.redirected.is_none());
        let first_hop = first_hop.map(|first| SocketAddr::from((first.address, first.port)));
        let key = ListenerKey {
            instance: name.to_owned(),
            apart: (
                redirect::comes_in(topology, route)?.then(|| route.edge.clone()),
                first_hop.filter(|_| inputs.is_cluster(&instance.target)),
            ),
            protocol: route.protocol.clone(),
            edge_security: route.edge_security,
            link: security,
            peer,
        };
        let known = self.shared.iter().find(|(s, _)| may_share && *s == key);
        if let Some((_, listen)) = known {
            return Ok(listen.clone());
        }
        let address = address_of(inputs, &instance.pod)?;
        let listen = Listen {
            address,
            port: (inputs.port)(address)?,
            security,
            peer_identity: key.peer.clone(),
            peer_identities: Vec::new(),
            redirected: None,
            redirect_port: None,
        };
        if may_share {
            self.shared.push((key, listen.clone()));
        }
        Ok(listen)
    }
}

/// Whether the edge is redirected to one of its proxies.
fn is_redirected(route: &Route) -> bool {
    let mut links = route.segments.iter();
    links.any(|link| link.interception == Interception::Redirect)
}

fn address_of(inputs: &LayoutInputs<'_>, pod: &str) -> Result<IpAddr, LabError> {
    let address = inputs.addresses.get(pod).copied();
    address.ok_or_else(|| LabError::Plan(format!("the pod `{pod}` has no address")))
}

fn context(
    plan: &TestBedPlan,
    instance: &Instance,
    listeners: &Listeners,
    inputs: &mut LayoutInputs<'_>,
) -> Result<Context, LabError> {
    let address = address_of(inputs, &instance.pod)?;
    let admin = SocketAddr::from((address, (inputs.port)(address)?));
    let mut ports = BTreeMap::new();
    for name in inputs
        .needs
        .get(&instance.target)
        .map_or(&[][..], |needs| &needs.ports)
    {
        ports.insert(name.clone(), (inputs.port)(address)?);
    }
    let target = software_name(instance, &plan.targets);
    let not_provided = || {
        LabError::Plan(format!(
            "the target `{target}` was not provided before it was placed"
        ))
    };
    let program = match inputs.programs.get(&target) {
        Some(program) => program.clone(),
        None if plan.topology.is_injected(&instance.name) => PathBuf::new(),
        None => return Err(not_provided()),
    };
    let further = inputs.needs.get(&instance.target);
    let further = further.map_or(&[][..], |needs| &needs.programs);
    let programs = further
        .iter()
        .filter_map(|name| Some((name.clone(), inputs.programs.get(name)?.clone())))
        .collect();
    let mut settings = plan
        .targets
        .get(&instance.target)
        .cloned()
        .unwrap_or_default();
    settings.extend(instance.settings.clone());
    let dir = inputs.folder.join(&instance.name);
    let routes = plan.topology.routes.iter();
    Ok(Context {
        name: instance.name.clone(),
        role: instance.role,
        pod: instance.pod.clone(),
        bin: program,
        programs,
        log: dir.join(super::LOG),
        dir,
        memory: inputs.memory.map(|memory| memory.join(&instance.name)),
        exempt: None,
        redirect: None,
        mesh: None,
        ca: None,
        ports,
        address,
        admin,
        admin_socket: PathBuf::new(),
        login: Login::random()?,
        cpus: plan.placement.target_cpus.clone(),
        settings,
        workload: plan.workload.clone(),
        identity: None,
        routes: views::merged(
            routes
                .flat_map(|route| views::views(route, &instance.name, listeners, inputs.run))
                .collect(),
        ),
        peers: Vec::new(),
    })
}

/// Whether a hop at this instance, or an edge that starts or ends here, uses TLS.
fn needs_identity(topology: &Topology, name: &str) -> bool {
    topology.routes.iter().any(|route| {
        let chain = chain(route);
        let last = chain.len() - 1;
        chain.iter().enumerate().any(|(position, instance)| {
            let at_end = position == 0 || position == last;
            let ins = position.checked_sub(1).and_then(|i| route.segments.get(i));
            let outs = route.segments.get(position);
            *instance == name
                && ((at_end && route.edge_security != Security::Plaintext)
                    || [ins, outs]
                        .into_iter()
                        .flatten()
                        .any(|link| link.security != Security::Plaintext))
        })
    })
}

/// Instances of the same target and role whose names differ only in a final number.
fn peers(topology: &Topology, name: &str, all: &[Context]) -> Vec<Peer> {
    let Ok(me) = find(topology, name) else {
        return Vec::new();
    };
    let alike = |other: &&Context| {
        find(topology, &other.name).is_ok_and(|instance| {
            instance.target == me.target
                && instance.role == me.role
                && stem(&instance.name) == stem(name)
        })
    };
    let mut alike: Vec<&Context> = all.iter().filter(alike).collect();
    // By number, independent of the start order.
    alike.sort_by_key(|other| number(&other.name));
    (0..)
        .zip(alike)
        .map(|(index, other)| Peer {
            index,
            name: other.name.clone(),
            address: other.address,
            admin: other.admin,
            ports: other.ports.clone(),
            routes: other.routes.clone(),
        })
        .collect()
}

/// `broker-2` → 2.
fn number(name: &str) -> Option<u32> {
    name.rsplit_once('-')?.1.parse().ok()
}

/// `broker-2` → `broker`.
pub(super) fn stem(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, number)) if number.parse::<u32>().is_ok() => stem,
        _ => name,
    }
}

/// Refuses a plan with a name that could be read as a path, a line or several words of a configuration: names become folders, and a
/// plan may come from elsewhere.
fn check_names(plan: &TestBedPlan) -> Result<(), LabError> {
    let topology = &plan.topology;
    let mut names = vec![plan.name.as_str()];
    names.extend(topology.pods.iter().map(|pod| pod.name.as_str()));
    for one in &topology.instances {
        names.extend([&one.name, &one.pod, &one.target].map(String::as_str));
    }
    names.extend(topology.external.iter().map(|one| one.name.as_str()));
    let hosts = topology
        .instances
        .iter()
        .filter_map(|one| one.host.as_deref());
    let protocols = topology.routes.iter().map(|route| route.protocol.as_str());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let of_host = |c: char| word(c) || c == '.';
    let wrong = names
        .into_iter()
        .chain(protocols)
        .find(|name| !fits(name, &word))
        .or_else(|| hosts.into_iter().find(|host| !fits(host, &of_host)));
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(LabError::Plan(format!(
            "`{}` in the plan is not a name: use letters, digits and hyphens",
            preview(wrong)
        ))),
    }
}

fn fits(name: &str, allowed: &dyn Fn(char) -> bool) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

#[cfg(test)]
mod tests;
