//! Turns an arm's topology into places: who listens where, whom each one calls, who needs a certificate.

mod captured;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use tare_net::capture::Capture;
use tare_schema::load::Endpoint;
use tare_schema::topology::{Instance, InstanceRole, Interception, Route, Security, Topology};

use crate::LabError;
use crate::certificates::spiffe;
use crate::environment::BedPlan;
use crate::render::{Context, Listen, Peer, RouteContext, Upstream, edge_id};

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
    /// Name of the run in identities.
    pub run: &'a str,
    /// Whether the kernel can be told to redirect a pod's traffic.
    pub redirect: Redirect,
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
    /// Instances that need a certificate.
    pub identified: BTreeSet<String>,
    /// Edge → where its caller sends the first byte.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// Pod → what the kernel sends to its sidecar.
    pub captures: BTreeMap<String, Capture>,
    /// Instances to which the kernel sends traffic.
    pub capturing: BTreeSet<String>,
}

/// Gives every instance its place.
pub(crate) fn lay_out(plan: &BedPlan, ground: &mut Ground<'_>) -> Result<Layout, LabError> {
    let topology = &plan.topology;
    check(topology, ground.redirect)?;
    let mut listens = Listens::default();
    for route in &topology.routes {
        listens.add(topology, route, ground)?;
    }
    let mut contexts = Vec::new();
    for instance in parts(topology) {
        contexts.push(context(plan, instance, &listens, ground)?);
    }
    let all = contexts.clone();
    for context in &mut contexts {
        context.peers = peers(topology, &context.name, &all);
    }
    let mut endpoints = BTreeMap::new();
    for route in &topology.routes {
        if let Some(listen) = listens.at(route, 1) {
            let endpoint = Endpoint {
                addresses: vec![SocketAddr::from((listen.address, listen.port))],
                host: route.to.clone(),
            };
            endpoints.insert(route.edge.clone(), endpoint);
        }
    }
    let identified = parts(topology)
        .filter(|instance| needs_identity(topology, &instance.name))
        .map(|instance| instance.name.clone())
        .collect();
    let captured = captured::captured(plan, &contexts)?;
    Ok(Layout {
        contexts,
        identified,
        endpoints,
        captures: captured.pods,
        capturing: captured.instances,
    })
}

/// Everything that is started as a target.
pub(crate) fn parts(topology: &Topology) -> impl Iterator<Item = &Instance> {
    let is_part = |instance: &&Instance| instance.role != InstanceRole::Agent;
    topology.instances.iter().filter(is_part)
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
        for name in chain(route) {
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
        let bare = [route.own, route.links[0].security].map(|s| s == Security::Plaintext);
        if caller.role == InstanceRole::Agent && bare != [true, true] {
            return Err(LabError::Unsupported {
                what: format!("TLS from the load agent itself on the edge {}", route.edge),
                environment: String::from("this version's agent"),
                next: String::from("give the client a sidecar that makes the link"),
            });
        }
    }
    Ok(())
}

/// Where each route comes in at each of its instances.
#[derive(Default)]
struct Listens {
    /// (Edge, position in its chain) → place.
    places: BTreeMap<(String, usize), Listen>,
    /// A part listens once for all its callers that speak alike; a proxy once for each edge.
    shared: Vec<(Sharing, Listen)>,
}

#[derive(PartialEq, Clone)]
struct Sharing {
    instance: String,
    protocol: String,
    own: Security,
    link: Security,
    peer: Option<String>,
}

impl Listens {
    fn at(&self, route: &Route, position: usize) -> Option<&Listen> {
        self.places.get(&(route.edge.clone(), position))
    }

    fn add(
        &mut self,
        topology: &Topology,
        route: &Route,
        ground: &mut Ground<'_>,
    ) -> Result<(), LabError> {
        for position in 1..=route.links.len() {
            let listen = self.place(topology, route, position, ground)?;
            self.places.insert((route.edge.clone(), position), listen);
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
        let instance = find(topology, name)?;
        let security = route.links[position - 1].security;
        let peer = (security == Security::Mtls).then(|| spiffe(ground.run, caller));
        let captured = captured::direction(topology, route, position)?;
        if captured.is_some() {
            // The caller is told where the called part is: there the kernel catches it.
            let end = chain.len() - 1;
            let called = self.place(topology, route, end, ground)?;
            self.places
                .insert((route.edge.clone(), end), called.clone());
            return Ok(Listen {
                security,
                peer,
                captured,
                ..called
            });
        }
        // A sidecar tells redirected edges apart by where they were going.
        let may_share = position + 1 == chain.len() && !is_redirected(route);
        let sharing = Sharing {
            instance: name.to_owned(),
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
            captured: None,
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
        address,
        admin,
        cpus: plan.placement.part_cpus.clone(),
        settings,
        workload: plan.workload.clone(),
        identity: None,
        routes: routes
            .flat_map(|route| views(route, &instance.name, listens, ground.run))
            .collect(),
        peers: Vec::new(),
    })
}

/// A route as an instance sees it; twice, if it passes twice.
fn views(route: &Route, name: &str, listens: &Listens, run: &str) -> Vec<RouteContext> {
    let chain = chain(route);
    let positions = (0..chain.len()).filter(|position| chain[*position] == name);
    positions
        .map(|position| RouteContext {
            edge: route.edge.clone(),
            id: edge_id(&route.edge),
            protocol: route.protocol.clone(),
            own: route.own,
            host: route.to.clone(),
            listen: listens.at(route, position).cloned(),
            upstream: listens.at(route, position + 1).map(|next| {
                let called = chain[position + 1];
                let shows = next.security != Security::Plaintext;
                Upstream {
                    address: next.address,
                    port: next.port,
                    security: next.security,
                    peer: shows.then(|| spiffe(run, called)),
                    peer_host: shows.then(|| called.to_owned()),
                }
            }),
        })
        .collect()
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
    (0..)
        .zip(all.iter().filter(alike))
        .map(|(index, other)| Peer {
            index,
            name: other.name.clone(),
            address: other.address,
            admin: other.admin,
            routes: other.routes.clone(),
        })
        .collect()
}

/// `broker-2` → `broker`.
fn stem(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, number)) if number.parse::<u32>().is_ok() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests;
