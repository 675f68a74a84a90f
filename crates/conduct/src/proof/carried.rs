//! Proof of an edge whose connections a part opens itself and keeps: each stop must have carried what the one before it sent on.
//!
//! Connections are older than a trial, so they are counted since the start of the instances; bytes are those of the trial.

use std::collections::BTreeSet;

use tare_schema::plan::{Arm, Cell};
use tare_schema::protocol::{Counted, counted};
use tare_schema::record::Proof;
use tare_schema::topology::{InstanceRole, Route, Security, Topology};

use super::{Group, Growth, exactly, prove_links};
use crate::traffic::Traffic;

/// A record of TLS 1.3 around one byte. (RFC 8446, 5.2)
const RECORD_BYTES: u64 = 23;
/// What a driver may send between the readings of two stops: it asks now and then whether the other side is well.
const HEARTBEAT_BYTES: f64 = 4096.0;
/// The same, as a share.
const SLACK: f64 = 0.01;

/// The counter that proves copies among peers.
pub(crate) const COPIES: &str = "bytes-sent";

/// Whether it is such an edge: proxies see bytes, and no agent knows how many there must be.
pub(super) fn concerns(routes: &[&Route], traffic: Option<&Traffic>) -> bool {
    let bytes = |route: &&Route| counted(&route.protocol) == Counted::Connections;
    routes.first().is_some_and(bytes) && traffic.is_none_or(|known| known.connections.is_none())
}

/// The evidence of one edge.
pub(super) fn prove(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    traffic: Option<&Traffic>,
    growth: &Growth<'_>,
) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let since_start = Growth {
        before: &[],
        after: growth.after,
    };
    let edge = Edge {
        name: &first.edge,
        growth,
        since_start: &since_start,
    };
    let exchanges = traffic.map_or(0, |known| known.requests_min);
    let mut proofs = passed_by(&arm.topology, routes, &edge);
    let mut before: Option<Vec<&str>> = None;
    for position in 0..first.stops.len() {
        // Several routes of an edge share its traffic; what each of them has is not known.
        let stops = routes
            .iter()
            .map(|route| route.stops.get(position).map(String::as_str));
        let Some(stops) = stops.collect::<Option<Vec<&str>>>() else {
            continue;
        };
        proofs.extend(match &before {
            None => edge.used(&stops, exchanges, first.own),
            Some(before) => edge.alike(before, &stops),
        });
        proofs.extend(edge.knew_all_names(&stops));
        before = Some(stops);
    }
    proofs.extend(called(routes, before.as_deref(), exchanges, &edge));
    proofs.extend(copies(routes, &edge));
    if before.is_some_and(|stops| edge.connections(&stops).is_some_and(|count| count > 0.0)) {
        proofs.extend(prove_links(arm, cell, routes, growth));
    }
    proofs
}

/// An edge and what was counted on it.
struct Edge<'a> {
    name: &'a str,
    growth: &'a Growth<'a>,
    since_start: &'a Growth<'a>,
}

impl<'a> Edge<'a> {
    fn ever(&'a self, stops: &[&'a str]) -> Group<'a> {
        Group::of(stops.to_vec(), self.since_start, self.name)
    }

    fn now(&'a self, stops: &[&'a str]) -> Group<'a> {
        Group::of(stops.to_vec(), self.growth, self.name)
    }

    /// Connections since the start.
    fn connections(&'a self, stops: &[&'a str]) -> Option<f64> {
        self.ever(stops).grown("connections")
    }

    /// The first stop: whoever calls has called through it.
    fn used(&'a self, stops: &[&'a str], exchanges: u64, own: Security) -> Vec<Proof> {
        // Of an edge that nothing need have called nothing is claimed.
        if exchanges == 0 {
            return Vec::new();
        }
        let name = self.ever(stops).name();
        let mut proofs = vec![at_least(&name, "connections", 1, self.connections(stops))];
        let bytes = self.now(stops).grown("bytes-received");
        if bytes.is_some() {
            let least = exchanges * bytes_of(own);
            proofs.push(at_least(&name, "bytes-received", least, bytes));
        }
        proofs
    }

    /// A later stop: what the one before it carried.
    fn alike(&'a self, before: &[&'a str], stops: &[&'a str]) -> Vec<Proof> {
        let (ever, now) = (self.ever(stops), self.now(stops));
        let mut proofs = Vec::new();
        if let Some(expected) = self.connections(before) {
            let found = self.connections(stops);
            let proof = match ever.tells_edges("connections") {
                // One may just have been opened, but not the only one.
                true if expected > 1.0 => about(&ever.name(), "connections", expected, 1.0, found),
                true => exactly(&ever.name(), "connections", expected as u64, found),
                // It has those of other edges, too.
                false => at_least(&ever.name(), "connections", expected as u64, found),
            };
            proofs.push(proof);
        }
        let carried = self.now(before).grown("bytes-received");
        let found = now.grown("bytes-received");
        if let (Some(expected), Some(_)) = (carried, found)
            && now.tells_edges("bytes-received")
        {
            let slack = HEARTBEAT_BYTES;
            let name = now.name();
            proofs.push(about(&name, "bytes-received", expected, slack, found));
        }
        proofs
    }

    /// No caller asked a stop for a name that no edge has.
    fn knew_all_names(&'a self, stops: &[&'a str]) -> Option<Proof> {
        const WHAT: &str = "unknown-names";
        let ever = self.ever(stops);
        let found = ever.grown(WHAT)?;
        Some(exactly(&ever.name(), WHAT, 0, Some(found)))
    }
}

/// Bytes of an exchange at least, as they pass.
fn bytes_of(own: Security) -> u64 {
    match own {
        Security::Plaintext => 1,
        Security::Tls | Security::Mtls => RECORD_BYTES,
    }
}

/// Sidecars of the callers that the edge is to pass by: they have not seen any of it, as far as they can tell.
fn passed_by(topology: &Topology, routes: &[&Route], edge: &Edge<'_>) -> Vec<Proof> {
    const WHAT: &str = "unknown-connections";
    let mut proofs = Vec::new();
    for route in routes {
        let caller = topology.instances.iter().find(|i| i.name == route.from);
        let beside = topology.instances.iter().filter(|instance| {
            instance.role == InstanceRole::Sidecar
                && caller.is_some_and(|caller| caller.pod == instance.pod)
                && !route.stops.contains(&instance.name)
        });
        for sidecar in beside {
            // Whatever edge its reader took it for: it cannot know.
            let counters = edge.since_start.after.iter();
            let mut readings = counters
                .filter(|counters| counters.instance == sidecar.name)
                .flat_map(|counters| &counters.readings)
                .filter(|reading| reading.name == WHAT)
                .peekable();
            if readings.peek().is_some() {
                let found = readings.map(|reading| reading.value).sum();
                proofs.push(exactly(&sidecar.name, WHAT, 0, Some(found)));
            }
        }
    }
    proofs
}

/// The called part, where it counts: all edges that lead to it together, and bytes as it reads them.
fn called(routes: &[&Route], last: Option<&[&str]>, exchanges: u64, edge: &Edge<'_>) -> Vec<Proof> {
    let parts: Vec<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let ever = Group::of(parts.clone(), edge.since_start, edge.name);
    let now = Group::of(parts, edge.growth, edge.name);
    let mut proofs = Vec::new();
    if exchanges == 0 {
        return proofs;
    }
    if let Some(found) = ever.grown("connections") {
        let through = last.and_then(|stops| edge.connections(stops));
        let least = through.map_or(1, |count| count as u64);
        proofs.push(at_least(&ever.name(), "connections", least, Some(found)));
    }
    if let Some(found) = now.grown("bytes-received") {
        let name = now.name();
        proofs.push(at_least(&name, "bytes-received", exchanges, Some(found)));
    }
    proofs
}

/// Peers that copy from each other: the first stops of a caller have handed it at least as many bytes as it has copied, and where
/// they are the last ones of its own callers, too, as many more as it has given them.
fn copies(routes: &[&Route], edge: &Edge<'_>) -> Vec<Proof> {
    let callers: BTreeSet<&str> = routes.iter().map(|route| route.from.as_str()).collect();
    let of_caller = |caller| {
        let counted = |name| edge.growth.of(caller, name, edge.name);
        let mut copied = counted("replication-bytes-in")?;
        let own = routes.iter().filter(|route| route.from == caller);
        let stops = own.map(|route| route.stops.first().map(String::as_str));
        let stops = stops.collect::<Option<Vec<&str>>>()?;
        let mut called = routes.iter().filter(|route| route.to == caller);
        let is_stop = |stop: &String| stops.contains(&stop.as_str());
        if called.any(|route| route.stops.last().is_some_and(is_stop)) {
            copied += counted("replication-bytes-out").unwrap_or(0.0);
        }
        let stops = edge.now(&stops);
        let handed = stops.grown(COPIES)?;
        // A last copy may have come between the two readings.
        let least = copied - HEARTBEAT_BYTES.max(copied * SLACK);
        let least = least.max(0.0) as u64;
        Some(at_least(&stops.name(), COPIES, least, Some(handed)))
    };
    callers.into_iter().filter_map(of_caller).collect()
}

pub(super) fn at_least(instance: &str, what: &str, least: u64, found: Option<f64>) -> Proof {
    Proof {
        expected: format!("at least {least}"),
        holds: found.is_some_and(|found| found >= least as f64),
        ..exactly(instance, what, least, found)
    }
}

/// The same, but for what may have passed between two readings.
fn about(instance: &str, what: &str, expected: f64, slack: f64, found: Option<f64>) -> Proof {
    let slack = slack.max(expected * SLACK).floor();
    Proof {
        expected: format!("{expected:.0} ± {slack:.0}"),
        holds: found.is_some_and(|found| (found - expected).abs() <= slack),
        ..exactly(instance, what, 0, found)
    }
}

#[cfg(test)]
mod tests;
