//! The routes of an arm, for drawings and as text: `client ─▶ client-sidecar (envoy) ═mTLS═▶ server`.

use std::collections::BTreeMap;

use tare_record::api::ArmRoute;
use tare_record::plan::Arm;
use tare_record::text::word_of;
use tare_record::topology::{Interception, Route, RouteSegment, Security, Topology};

/// An arm with its routes; those of an edge that differ in instance names only are there once.
#[must_use]
pub fn arm_route(arm: &Arm) -> ArmRoute {
    let mut seen: Vec<(&str, String)> = Vec::new();
    let mut routes = Vec::new();
    for route in &arm.topology.routes {
        let key = (route.edge.as_str(), shape(route, &arm.topology));
        if !seen.contains(&key) {
            seen.push(key);
            routes.push(stops(route, &arm.topology));
        }
    }
    ArmRoute {
        name: arm.name.clone(),
        about: arm.about.clone(),
        routes,
    }
}

/// Parts and proxies of a route, and between two of them the security of the hop.
fn stops(route: &Route, topology: &Topology) -> Vec<String> {
    let mut stops = vec![route.from.clone()];
    for (index, segment) in route.segments.iter().enumerate() {
        let security = match (segment.security, route.edge_security) {
            (Security::Plaintext, carried) => carried,
            (security, _) => security,
        };
        stops.push(word_of(&security));
        stops.push(match route.proxies.get(index) {
            Some(proxy) => format!("{proxy} ({})", target(proxy, topology)),
            None => route.to.clone(),
        });
    }
    stops
}

/// One line per edge; routes of an edge that differ in instance names only are drawn once, with their count.
#[must_use]
pub fn lines(arm: &Arm) -> Vec<String> {
    let mut edges: Vec<(&str, String, usize)> = Vec::new();
    let mut seen: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for route in &arm.topology.routes {
        let shape = (route.edge.as_str(), shape(route, &arm.topology));
        match seen.get(&shape) {
            Some(at) => edges[*at].2 += 1,
            None => {
                seen.insert(shape, edges.len());
                edges.push((&route.edge, drawn(route, &arm.topology), 1));
            }
        }
    }
    edges
        .into_iter()
        .map(|(_, drawn, count)| match count {
            1 => drawn,
            _ => format!("{drawn}   (× {count})"),
        })
        .collect()
}

/// The route without instance names: routes of an edge with equal shapes are counted.
fn shape(route: &Route, topology: &Topology) -> String {
    let mut shape = String::new();
    for (index, link) in route.segments.iter().enumerate() {
        shape.push_str(&arrow(link, route.edge_security));
        if let Some(stop) = route.proxies.get(index) {
            shape.push_str(&target(stop, topology));
        }
    }
    shape
}

fn drawn(route: &Route, topology: &Topology) -> String {
    let mut line = route.from.clone();
    for (index, link) in route.segments.iter().enumerate() {
        line.push_str(&arrow(link, route.edge_security));
        match route.proxies.get(index) {
            Some(stop) => line.push_str(&format!("{stop} ({})", target(stop, topology))),
            None => match topology.external(&route.to) {
                Some(external) => {
                    line.push_str(&format!("{} (external {})", route.to, external.at))
                }
                None => line.push_str(&route.to),
            },
        }
    }
    line
}

/// `envoy`, or `envoy 1.38.3` where the arm chooses a version.
fn target(instance: &str, topology: &Topology) -> String {
    let mut instances = topology.instances.iter();
    let Some(known) = instances.find(|known| known.name == instance) else {
        return String::from("?");
    };
    match known.version() {
        Some(version) => format!("{} {version}", known.target),
        None => known.target.clone(),
    }
}

/// A double line for a link with TLS between proxies; end-to-end TLS of the edge is written in the arrow.
fn arrow(link: &RouteSegment, own: Security) -> String {
    let carried = match own {
        Security::Plaintext => None,
        Security::Tls => Some("TLS"),
        Security::Mtls => Some("mTLS"),
    };
    let arrow = match (link.security, carried) {
        (Security::Plaintext, None) => String::from("─▶"),
        (Security::Plaintext, Some(carried)) => format!("─{carried}─▶"),
        (Security::Tls, None) => String::from("═TLS═▶"),
        (Security::Mtls, None) => String::from("═mTLS═▶"),
        (Security::Tls, Some(carried)) => format!("═TLS({carried})═▶"),
        (Security::Mtls, Some(carried)) => format!("═mTLS({carried})═▶"),
    };
    match link.interception {
        Interception::Explicit => format!(" {arrow} "),
        Interception::Redirect => format!(" {arrow}⤷ "),
    }
}
