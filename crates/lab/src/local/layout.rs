//! Turns an arm's topology into places: who listens where, whom each one calls, who needs a certificate.

mod captured;
mod fit;
mod names;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use tare_net::capture::{Capture, Exemption};
use tare_schema::load::Endpoint;
use tare_schema::target::{ExemptBy, Instances, RedirectPorts};
use tare_schema::topology::{Instance, InstanceRole, Interception, Route, Security, Topology};

use super::external::Found;
use crate::LabError;
use crate::certificates::spiffe;
use crate::environment::BedPlan;
use crate::render::{Context, Listen, Login, Peer};

pub(crate) use names::{Names, hosts_file};

/// What the environment knows that the topology does not.
pub(crate) struct Ground<'a> {
    /// Pod → address.
    pub addresses: &'a BTreeMap<String, IpAddr>,
    /// Gives a free port of an address.
    pub port: &'a mut dyn FnMut(IpAddr) -> Result<u16, LabError>,
    /// Target → program.
    pub programs: &'a BTreeMap<String, PathBuf>,
    /// The bed's folder; instances get folders in it.
    pub folder: &'a Path,
    /// What paths of sockets begin with: short, since a socket's path has at most 107 bytes.
    pub sockets: &'a Path,
    /// Name of the run in identities.
    pub run: &'a str,
    /// Whether the kernel can be told to redirect a pod's traffic.
    pub redirect: Redirect,
    /// By what a sidecar's own traffic is known.
    pub exemption: Exemption,
    /// Target → what it needs of its place; those that need nothing may be left out.
    pub needs: &'a BTreeMap<String, Needs>,
    /// The bed's folder in memory.
    pub memory: Option<&'a Path>,
    /// What is external, by its name in routes.
    pub external: &'a BTreeMap<String, Found>,
}

/// What a target needs of its place beyond listeners and an administration page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    /// Names of further ports.
    pub ports: Vec<String>,
    /// Whether its instances make one system.
    pub instances: Instances,
    /// To which of its ports redirected traffic is sent.
    pub redirects: RedirectPorts,
    /// By what its own traffic can be known.
    pub exempt: ExemptBy,
}

/// Whether traffic can be redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// Each pod has a network of its own.
    Possible,
    /// All pods share one.
    Impossible,
}

/// An arm in its places.
#[derive(Debug)]
pub(crate) struct Layout {
    /// One context per instance but agents, in start order.
    pub contexts: Vec<Context>,
    /// Instances that need a certificate, agents among them.
    pub identified: BTreeSet<String>,
    /// Instances of clusters: they are ready together or not at all.
    pub clustered: BTreeSet<String>,
    /// Edge and calling instance → where it sends the first byte, one address for each instance it calls.
    pub endpoints: BTreeMap<(String, String), Endpoint>,
    /// Pod → what the kernel sends to its sidecar.
    pub captures: BTreeMap<String, Capture>,
    /// Instances to which the kernel sends traffic.
    pub capturing: BTreeSet<String>,
    /// Pod → names that resolve in it alone.
    pub names: Names,
}

/// Gives every instance its place.
pub(crate) fn lay_out(plan: &BedPlan, ground: &mut Ground<'_>) -> Result<Layout, LabError> {
    let topology = &plan.topology;
    fit::check(plan)?;
    check(topology, ground.redirect)?;
    let mut listens = Listens::default();
    for route in &topology.routes {
        check_cluster(topology, route, ground)?;
        listens.add(topology, route, ground)?;
    }
    let mut contexts = Vec::new();
    for instance in topology.parts() {
        contexts.push(context(plan, instance, &listens, ground)?);
    }
    let names = names::names(topology, &listens, &mut contexts, ground.redirect)?;
    let all = contexts.clone();
    for (index, context) in contexts.iter_mut().enumerate() {
        context.admin_socket = ground.sockets.with_extension(format!("a{index}"));
        context.peers = peers(topology, &context.name, &all);
    }
    let endpoints = endpoints(topology, &listens);
    let identified = topology
        .instances
        .iter()
        .filter(|instance| {
            needs_identity(topology, &instance.name) || ground.is_cluster(&instance.target)
        })
        .map(|instance| instance.name.clone())
        .collect();
    let clustered = topology
        .parts()
        .filter(|instance| ground.is_cluster(&instance.target))
        .map(|instance| instance.name.clone())
        .collect();
    let captured = captured::captured(plan, &contexts, ground.exemption)?;
    captured::exempt(topology, &mut contexts, &captured, ground)?;
    Ok(Layout {
        contexts,
        identified,
        clustered,
        endpoints,
        captures: captured.pods,
        capturing: captured.instances,
        names,
    })
}

impl Ground<'_> {
    fn is_cluster(&self, target: &str) -> bool {
        let needs = self.needs.get(target);
        needs.is_some_and(|needs| needs.instances == Instances::Cluster)
    }
}

/// Instances of a cluster tell all others one address each: no caller can be told of its own sidecar instead.
fn check_cluster(topology: &Topology, route: &Route, ground: &Ground<'_>) -> Result<(), LabError> {
    if topology.external(&route.to).is_some() {
        return Ok(());
    }
    let called = find(topology, &route.to)?;
    let among = ground.is_cluster(&called.target) && stem(&route.from) == stem(&route.to);
    if !among || route.stops.is_empty() || route.links[0].interception == Interception::Redirect {
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

/// Where each calling instance sends its first bytes.
fn endpoints(topology: &Topology, listens: &Listens) -> BTreeMap<(String, String), Endpoint> {
    let mut endpoints: BTreeMap<(String, String), Endpoint> = BTreeMap::new();
    for route in &topology.routes {
        let Some(listen) = listens.at(route, 1) else {
            continue;
        };
        let at = SocketAddr::from((listen.address, listen.port));
        let external = topology.external(&route.to);
        endpoints
            .entry((route.edge.clone(), route.from.clone()))
            .and_modify(|known| {
                known.addresses.push(at);
                // Several instances are called by the name of their part, which their certificates have.
                if external.is_none() {
                    known.host = stem(&route.to).to_owned();
                }
            })
            .or_insert_with(|| Endpoint {
                addresses: vec![at],
                host: external.map_or(&route.to, |one| &one.host).clone(),
            });
    }
    endpoints
}

/// The instances of a route from caller to called.
fn chain(route: &Route) -> Vec<&str> {
    let ends = std::iter::once(route.to.as_str());
    std::iter::once(route.from.as_str())
        .chain(route.stops.iter().map(String::as_str))
        .chain(ends)
        .collect()
}

fn find<'a>(topology: &'a Topology, name: &str) -> Result<&'a Instance, LabError> {
    let found = topology.instances.iter().find(|i| i.name == name);
    found.ok_or_else(|| LabError::Plan(format!("there is no instance `{name}` in the topology")))
}

/// What must hold before anything is placed.
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
        if route.links.len() != route.stops.len() + 1 {
            return Err(LabError::Plan(format!(
                "the edge {} has {} stops and {} links; it needs one link more than stops",
                route.edge,
                route.stops.len(),
                route.links.len()
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
        if caller.role == InstanceRole::Agent && route.links[0].security != Security::Plaintext {
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

/// Where each route comes in at each of its instances.
#[derive(Default)]
struct Listens {
    /// (Way, position in its chain) → place.
    places: BTreeMap<(Way, usize), Listen>,
    /// A part listens once for all its callers that speak alike; a proxy once for each edge.
    shared: Vec<(Sharing, Listen)>,
}

/// An edge between two instances: edge, caller, called.
type Way = (String, String, String);

fn way(route: &Route) -> Way {
    (route.edge.clone(), route.from.clone(), route.to.clone())
}

#[derive(PartialEq, Clone)]
struct Sharing {
    instance: String,
    /// What must be alike besides: of an edge that is redirected to the called part's sidecar its name, by which that tells edges
    /// apart; where callers are told how to find the called part, the address that this caller is told.
    apart: (Option<String>, Option<SocketAddr>),
    protocol: String,
    own: Security,
    link: Security,
    peer: Option<String>,
}

impl Listens {
    fn at(&self, route: &Route, position: usize) -> Option<&Listen> {
        self.places.get(&(way(route), position))
    }

    fn add(
        &mut self,
        topology: &Topology,
        route: &Route,
        ground: &mut Ground<'_>,
    ) -> Result<(), LabError> {
        for position in 1..=route.links.len() {
            let listen = self.place(topology, route, position, ground)?;
            self.places.insert((way(route), position), listen);
        }
        Ok(())
    }

    /// Where a route comes in at one position of its chain.
    fn place(
        &mut self,
        topology: &Topology,
        route: &Route,
        position: usize,
        ground: &mut Ground<'_>,
    ) -> Result<Listen, LabError> {
        if let Some(known) = self.at(route, position) {
            return Ok(known.clone());
        }
        let chain = chain(route);
        let (caller, name) = (chain[position - 1], chain[position]);
        if let Some(found) = ground.external.get(name) {
            return Ok(found.listen());
        }
        let instance = find(topology, name)?;
        let security = route.links[position - 1].security;
        let peer = (security == Security::Mtls).then(|| spiffe(ground.run, caller));
        if let Some(captured) = captured::direction(topology, route, position)? {
            // The caller is told where the called part is: there the kernel catches it.
            let end = chain.len() - 1;
            let called = self.place(topology, route, end, ground)?;
            self.places.insert((way(route), end), called.clone());
            return Ok(Listen {
                security,
                peer,
                captured: Some(captured),
                capture_port: Some(captured::port(instance, captured, ground)?),
                ..called
            });
        }
        let may_share = position + 1 == chain.len();
        // The first stop has its place by now, unless the kernel takes the caller there.
        let told = self.at(route, 1).filter(|first| first.captured.is_none());
        let told = told.map(|first| SocketAddr::from((first.address, first.port)));
        let sharing = Sharing {
            instance: name.to_owned(),
            apart: (
                captured::comes_in(topology, route)?.then(|| route.edge.clone()),
                told.filter(|_| ground.is_cluster(&instance.target)),
            ),
            protocol: route.protocol.clone(),
            own: route.own,
            link: security,
            peer,
        };
        let known = self.shared.iter().find(|(s, _)| may_share && *s == sharing);
        if let Some((_, listen)) = known {
            return Ok(listen.clone());
        }
        let address = address_of(ground, &instance.pod)?;
        let listen = Listen {
            address,
            port: (ground.port)(address)?,
            security,
            peer: sharing.peer.clone(),
            peers: Vec::new(),
            captured: None,
            capture_port: None,
        };
        if may_share {
            self.shared.push((sharing, listen.clone()));
        }
        Ok(listen)
    }
}

/// Whether the kernel takes the edge to one of its proxies.
fn is_redirected(route: &Route) -> bool {
    let mut links = route.links.iter();
    links.any(|link| link.interception == Interception::Redirect)
}

fn address_of(ground: &Ground<'_>, pod: &str) -> Result<IpAddr, LabError> {
    let address = ground.addresses.get(pod).copied();
    address.ok_or_else(|| LabError::Plan(format!("the pod `{pod}` has no address")))
}

fn context(
    plan: &BedPlan,
    instance: &Instance,
    listens: &Listens,
    ground: &mut Ground<'_>,
) -> Result<Context, LabError> {
    let address = address_of(ground, &instance.pod)?;
    let admin = SocketAddr::from((address, (ground.port)(address)?));
    let mut ports = BTreeMap::new();
    for name in ground
        .needs
        .get(&instance.target)
        .map_or(&[][..], |needs| &needs.ports)
    {
        ports.insert(name.clone(), (ground.port)(address)?);
    }
    let program = ground.programs.get(&instance.target).ok_or_else(|| {
        let target = &instance.target;
        LabError::Plan(format!(
            "the target `{target}` was not provided before it was placed"
        ))
    })?;
    let mut settings = plan
        .targets
        .get(&instance.target)
        .cloned()
        .unwrap_or_default();
    settings.extend(instance.settings.clone());
    let dir = ground.folder.join(&instance.name);
    let routes = plan.topology.routes.iter();
    Ok(Context {
        name: instance.name.clone(),
        role: instance.role,
        pod: instance.pod.clone(),
        bin: program.clone(),
        log: dir.join(super::LOG),
        dir,
        memory: ground.memory.map(|memory| memory.join(&instance.name)),
        exempt: None,
        ports,
        address,
        admin,
        admin_socket: PathBuf::new(),
        login: Login::random()?,
        cpus: plan.placement.part_cpus.clone(),
        settings,
        workload: plan.workload.clone(),
        identity: None,
        routes: views::merged(
            routes
                .flat_map(|route| views::views(route, &instance.name, listens, ground.run))
                .collect(),
        ),
        peers: Vec::new(),
    })
}

/// Whether a link at this instance, or an edge that it begins or ends, is TLS.
fn needs_identity(topology: &Topology, name: &str) -> bool {
    topology.routes.iter().any(|route| {
        let chain = chain(route);
        let last = chain.len() - 1;
        chain.iter().enumerate().any(|(position, instance)| {
            let at_end = position == 0 || position == last;
            let ins = position.checked_sub(1).and_then(|i| route.links.get(i));
            let outs = route.links.get(position);
            *instance == name
                && ((at_end && route.own != Security::Plaintext)
                    || [ins, outs]
                        .into_iter()
                        .flatten()
                        .any(|link| link.security != Security::Plaintext))
        })
    })
}

/// Instances of the same target and role whose names differ in a final number only.
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
    // By number, whatever order they start in.
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

#[cfg(test)]
mod tests;
