//! Routes as one instance sees them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tare_record::load::Endpoint;
use tare_record::topology::{Route, Security, Topology};

use super::{LayoutInputs, Listeners, chain, stem};
use crate::certificates::spiffe;
use crate::render::{Advertise, RouteContext, Upstream, edge_id};

/// The route from the point of view of an instance; twice, if it passes the instance twice.
pub(super) fn views(
    route: &Route,
    name: &str,
    listeners: &Listeners,
    run: &str,
) -> Vec<RouteContext> {
    let chain = chain(route);
    let positions = (0..chain.len()).filter(|position| chain[*position] == name);
    positions
        .map(|position| RouteContext {
            edge: route.edge.clone(),
            id: edge_id(&format!("{}->{}", route.from, route.to)),
            from: route.from.clone(),
            protocol: route.protocol.clone(),
            edge_security: route.edge_security,
            service: route.to.clone(),
            hostname: None,
            listen: listeners.at(route, position).cloned(),
            upstream: listeners.at(route, position + 1).map(|next| {
                let called = chain[position + 1];
                let shows = next.security != Security::Plaintext;
                Upstream {
                    address: next.address,
                    port: next.port,
                    security: next.security,
                    peer_identity: shows.then(|| spiffe(run, called)),
                    peer_host: shows.then(|| called.to_owned()),
                }
            }),
            advertise: listeners
                .at(route, 1)
                .filter(|_| position + 1 == chain.len())
                .map(|first| Advertise {
                    address: first.address,
                    port: first.port,
                }),
        })
        .collect()
}

/// Address of the first hop for each calling instance and edge.
pub(super) fn endpoints(
    topology: &Topology,
    listeners: &Listeners,
    inputs: &LayoutInputs<'_>,
) -> BTreeMap<(String, String), Endpoint> {
    let mut endpoints: BTreeMap<(String, String), Endpoint> = BTreeMap::new();
    for route in &topology.routes {
        let Some(listen) = listeners.at(route, 1) else {
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
                host: match (external, inputs.service_of(topology, &route.to)) {
                    (Some(external), _) => external.host.clone(),
                    (None, Some(service)) => service.host.clone(),
                    (None, None) => route.to.clone(),
                },
            });
    }
    endpoints
}

/// Merges routes of several callers that a sidecar cannot tell apart (redirected on their way to one address) into one
/// route, named after their part.
pub(super) fn merged(routes: Vec<RouteContext>) -> Vec<RouteContext> {
    let mut all: Vec<RouteContext> = Vec::new();
    for route in routes {
        let same = all.iter_mut().find(|known| {
            let place = |route: &RouteContext| {
                let listen = route.listen.as_ref().filter(|l| l.redirected.is_some())?;
                Some((listen.address, listen.port, listen.redirected))
            };
            place(known).is_some() && place(known) == place(&route) && known.edge == route.edge
        });
        let Some(known) = same else {
            all.push(route);
            continue;
        };
        if let (Some(known), Some(listen)) = (&mut known.listen, route.listen) {
            if known.peer_identities.is_empty() {
                known.peer_identities.extend(known.peer_identity.clone());
            }
            known.peer_identities.extend(listen.peer_identity);
        }
        let (part, _) = known.edge.split_once("->").unwrap_or_default();
        known.id = edge_id(&format!("{part}->{}", known.service));
        known.from = part.to_owned();
    }
    all
}
