//! Host names of parts outside of the mesh, and of Services: sent by their callers, resolved in each pod.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use tare_record::topology::{InstanceRole, Route, Topology};

use super::{LayoutInputs, Listeners, Redirect, find};
use crate::LabError;
use crate::render::Context;

/// Pod → host name → addresses, in the order in which they are tried.
pub(crate) type Names = BTreeMap<String, BTreeMap<String, Vec<IpAddr>>>;

/// Adds host names to the contexts; returns their addresses per pod: those of the caller's first hop.
///
/// Names resolve only in pods with a network namespace, which have their own `/etc/hosts`. Elsewhere callers use an
/// address and send no server name, so routing by name cannot work.
pub(super) fn names(
    topology: &Topology,
    listeners: &Listeners,
    contexts: &mut [Context],
    inputs: &LayoutInputs<'_>,
) -> Result<Names, LabError> {
    let mut names = Names::new();
    let is_started = |route: &&Route| topology.external(&route.to).is_none();
    for route in topology.routes.iter().filter(is_started) {
        let service = inputs.service_of(topology, &route.to);
        let own = find(topology, &route.to)?.host.as_ref();
        let Some(host) = service.map(|service| &service.host).or(own) else {
            continue;
        };
        if inputs.redirect == Redirect::Impossible {
            refuse_routing_by_name(topology, route, host)?;
            continue;
        }
        let pod = find(topology, &route.from)?.pod.clone();
        if let Some(first) = listeners.at(route, 1) {
            let known = names.entry(pod).or_default();
            let addresses = known.entry(host.clone()).or_default();
            if !addresses.contains(&first.address) {
                addresses.push(first.address);
            }
        }
        let passing = contexts.iter_mut().flat_map(|context| &mut context.routes);
        for known in passing.filter(|known| known.edge == route.edge && known.service == route.to) {
            known.hostname = Some(host.clone());
        }
    }
    Ok(names)
}

fn refuse_routing_by_name(topology: &Topology, route: &Route, host: &str) -> Result<(), LabError> {
    for stop in &route.proxies {
        if find(topology, stop)?.role == InstanceRole::Sni {
            return Err(LabError::Unsupported {
                what: format!("`{stop}`, which routes by the name {host},"),
                environment: String::from("local with loopback addressing"),
                next: String::from(
                    "use `addressing: namespaces`, where that name resolves in each pod",
                ),
            });
        }
    }
    Ok(())
}

/// A pod's `/etc/hosts`.
pub(crate) fn hosts_file(names: &BTreeMap<String, Vec<IpAddr>>) -> String {
    let mut text = String::from("127.0.0.1 localhost\n");
    for (name, addresses) in names {
        for address in addresses {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{address} {name}");
        }
    }
    text
}
