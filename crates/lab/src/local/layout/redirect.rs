//! Redirect rules: which traffic of which pods the kernel sends to a sidecar, and which is excluded.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, SocketAddrV4};

use tare_experiment::target::{ExemptBy, RedirectPorts, RedirectSetup};
use tare_net::redirect::{
    Exemption, INBOUND_PORT, OUTBOUND_PORT, PortRedirect, RedirectRules, SIDECAR_MARK,
    SIDECAR_PORTS, TrafficDirection,
};
use tare_record::plan::Exclusion;
use tare_record::topology::{Instance, Interception, Route, Topology};

use super::{LayoutInputs, Needs, address_of, chain, find};
use crate::LabError;
use crate::environment::TestBedPlan;
use crate::render::{Context, Exempt, RedirectExclusions};

/// Redirect rules of an arm.
#[derive(Debug, Default)]
pub(super) struct Redirections {
    /// Pod → redirect rules.
    pub pods: BTreeMap<String, RedirectRules>,
    /// Sidecars that receive redirected traffic.
    pub instances: BTreeSet<String>,
}

/// Direction in which a route is redirected to the instance at this position of its chain; `None`: it is not.
pub(super) fn direction(
    topology: &Topology,
    route: &Route,
    position: usize,
) -> Result<Option<TrafficDirection>, LabError> {
    if route.segments[position - 1].interception == Interception::Explicit {
        return Ok(None);
    }
    let name = chain(route)[position];
    let pod = &find(topology, name)?.pod;
    if *pod == find(topology, &route.from)?.pod {
        return Ok(Some(TrafficDirection::Outbound));
    }
    if *pod == find(topology, &route.to)?.pod {
        return Ok(Some(TrafficDirection::Inbound));
    }
    Err(LabError::Plan(format!(
        "the edge {} is to be redirected to `{name}`, which stands beside neither of its ends",
        route.edge
    )))
}

/// Pods whose traffic Tare redirects.
pub(crate) fn redirected_pods(topology: &Topology) -> Result<BTreeSet<String>, LabError> {
    let mut pods = BTreeSet::new();
    for route in &topology.routes {
        for position in 1..=route.segments.len() {
            let name = chain(route)[position];
            let is_redirected = direction(topology, route, position)?.is_some();
            if is_redirected && !topology.is_injected(name) {
                pods.insert(find(topology, name)?.pod.clone());
            }
        }
    }
    Ok(pods)
}

/// Whether a route is redirected when it enters the called part's pod.
pub(super) fn comes_in(topology: &Topology, route: &Route) -> Result<bool, LabError> {
    for position in 1..=route.segments.len() {
        if direction(topology, route, position)? == Some(TrafficDirection::Inbound) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Port of a sidecar to which one edge is redirected.
pub(super) fn port(
    sidecar: &Instance,
    direction: TrafficDirection,
    inputs: &mut LayoutInputs<'_>,
) -> Result<u16, LabError> {
    let needs = inputs.needs.get(&sidecar.target);
    if needs.is_some_and(|needs| needs.redirect_ports == RedirectPorts::PerEdge) {
        let address = address_of(inputs, &sidecar.pod)?;
        return (inputs.port)(address);
    }
    Ok(shared_port(direction))
}

fn shared_port(direction: TrafficDirection) -> u16 {
    match direction {
        TrafficDirection::Outbound => OUTBOUND_PORT,
        TrafficDirection::Inbound => INBOUND_PORT,
    }
}

/// The redirect rules of all routes.
pub(super) fn redirections(
    plan: &TestBedPlan,
    contexts: &[Context],
    inputs: &LayoutInputs<'_>,
) -> Result<Redirections, LabError> {
    let mut redirections = Redirections::default();
    for context in contexts {
        let listeners = context
            .routes
            .iter()
            .filter_map(|route| route.listen.as_ref());
        for listen in listeners {
            let (Some(direction), Some(port)) = (listen.redirected, listen.redirect_port) else {
                continue;
            };
            redirections.instances.insert(context.name.clone());
            let pod = redirections.pods.entry(context.pod.clone()).or_default();
            pod.directions.insert(direction);
            if port != shared_port(direction)
                && let SocketAddr::V4(server) = SocketAddr::from((listen.address, listen.port))
            {
                pod.port_redirects.insert(PortRedirect {
                    direction,
                    server,
                    port,
                });
            }
        }
    }
    for (pod, rules) in &mut redirections.pods {
        rules.exemption = inputs.exemption;
        let never = inputs.never_redirected.iter().copied();
        rules.servers.extend(never.filter_map(v4));
        for route in &plan.topology.routes {
            rules
                .servers
                .extend(left_alone(&plan.topology, route, pod, contexts)?);
        }
        rules.servers.extend(contexts.iter().flat_map(apart));
        for exclusion in &plan.excluded {
            match exclusion {
                Exclusion::Port(port) => {
                    rules.ports.insert(*port);
                }
                Exclusion::Range(range) => {
                    rules.ranges.insert(range.parse().map_err(LabError::Plan)?);
                }
            }
        }
    }
    Ok(redirections)
}

/// Ports of an instance that no edge leads to: never redirected.
fn apart(context: &Context) -> Vec<SocketAddrV4> {
    let ports = context.ports.values().copied();
    let all = ports.map(|port| SocketAddr::from((context.address, port)));
    all.filter_map(v4).collect()
}

fn v4(address: SocketAddr) -> Option<SocketAddrV4> {
    match address {
        SocketAddr::V4(at) => Some(at),
        SocketAddr::V6(_) => None,
    }
}

/// Sets packet mark and source ports of the sidecars' own traffic, where a group id cannot identify it.
pub(super) fn exempt(
    topology: &Topology,
    contexts: &mut [Context],
    redirections: &Redirections,
    inputs: &LayoutInputs<'_>,
) -> Result<(), LabError> {
    if inputs.exemption == Exemption::Group {
        return Ok(());
    }
    let [first_port, last_port] = SIDECAR_PORTS;
    for context in contexts {
        if !redirections.instances.contains(&context.name) {
            continue;
        }
        let target = &find(topology, &context.name)?.target;
        let can = |needs: &Needs| needs.exempt_by == ExemptBy::MarkOrPort;
        if !inputs.needs.get(target).is_some_and(can) {
            return Err(LabError::Unsupported {
                what: format!("redirected traffic for {} ({target})", context.name),
                environment: String::from(
                    "a user namespace of one user, where sidecars have no group of their own and this one cannot mark what \
                     it sends",
                ),
                next: String::from("run as root, or use `interception: explicit`"),
            });
        }
        context.exempt = Some(Exempt {
            mark: SIDECAR_MARK,
            first_port,
            last_port,
        });
    }
    Ok(())
}

/// Hands the redirect rules of a pod over to its sidecar, where that sets them itself, or to the mesh that injects it.
pub(super) fn own_rules(
    topology: &Topology,
    contexts: &mut [Context],
    redirections: &mut Redirections,
    inputs: &LayoutInputs<'_>,
) -> Result<(), LabError> {
    for context in contexts {
        if !redirections.instances.contains(&context.name) {
            continue;
        }
        let target = &find(topology, &context.name)?.target;
        let is_injected = topology.is_injected(&context.name);
        let own = |needs: &Needs| needs.redirect_rules == RedirectSetup::Own;
        if !is_injected && !inputs.needs.get(target).is_some_and(own) {
            continue;
        }
        let Some(mut rules) = redirections.pods.remove(&context.pod) else {
            continue;
        };
        if is_injected {
            only_by_port(context, &mut rules)?;
        }
        let list = |all: Vec<String>| all.join(",");
        context.redirect = Some(RedirectExclusions {
            ports: list(rules.ports.iter().map(u16::to_string).collect()),
            ranges: list(rules.ranges.iter().map(ToString::to_string).collect()),
            servers: rules.servers.iter().copied().collect(),
            inbound: rules.directions.contains(&TrafficDirection::Inbound),
            outbound: rules.directions.contains(&TrafficDirection::Outbound),
        });
    }
    Ok(())
}

/// Replaces single servers by their ports: annotations have ports and ranges only.
fn only_by_port(context: &Context, rules: &mut RedirectRules) -> Result<(), LabError> {
    let listens = context
        .routes
        .iter()
        .filter_map(|route| route.listen.as_ref());
    let redirected: BTreeSet<u16> = listens
        .filter(|listen| listen.redirected.is_some())
        .map(|listen| listen.port)
        .collect();
    for server in std::mem::take(&mut rules.servers) {
        if redirected.contains(&server.port()) {
            return Err(LabError::Unsupported {
                what: format!(
                    "traffic to {server} without the sidecar {}, which is to carry that of another server with this port,",
                    context.name
                ),
                environment: String::from("the mesh of a cluster"),
                next: String::from("use a control plane of the run's own (--mesh own)"),
            });
        }
        rules.ports.insert(server.port());
    }
    Ok(())
}

/// Servers that a route reaches from or in this pod without redirection on that hop.
fn left_alone(
    topology: &Topology,
    route: &Route,
    pod: &str,
    contexts: &[Context],
) -> Result<Vec<SocketAddrV4>, LabError> {
    let chain = chain(route);
    let mut found = Vec::new();
    for position in 1..chain.len() {
        let near = &find(topology, chain[position - 1])?.pod;
        let far = &find(topology, chain[position])?.pod;
        // A sidecar's own traffic is exempt by its group; traffic within a pod is never redirected.
        let leaves = position == 1 && near == pod;
        let crosses = near != far && (leaves || far == pod);
        if !crosses || direction(topology, route, position)?.is_some() {
            continue;
        }
        let context = contexts.iter().find(|c| c.name == chain[position]);
        let mut routes = context.into_iter().flat_map(|context| &context.routes);
        let listen = routes
            .find(|known| known.edge == route.edge)
            .and_then(|known| known.listen.as_ref());
        if let Some(listen) = listen
            && let SocketAddr::V4(at) = SocketAddr::from((listen.address, listen.port))
        {
            found.push(at);
        }
    }
    Ok(found)
}
