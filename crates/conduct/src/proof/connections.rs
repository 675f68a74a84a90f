//! Path proof by connections and bytes, for edges whose client keeps a connection pool: each proxy must have carried what the one
//! before it sent on.
//!
//! Connections may be older than a trial, so they are counted since the instances started; bytes are those of the trial.

use std::collections::BTreeSet;

use tare_record::plan::{Arm, Cell};
use tare_record::protocol::{Counted, counted};
use tare_record::record::Proof;
use tare_record::topology::{InstanceRole, Route, Security, Topology};

use super::{Deltas, InstanceGroup, exactly, prove_segments};
use crate::traffic::ExpectedTraffic;

/// Bytes of a TLS 1.3 record with one byte of content. (RFC 8446, 5.2)
const RECORD_BYTES: u64 = 23;
/// Bytes that a driver may send between the readings of two proxies: heartbeats.
const HEARTBEAT_BYTES: f64 = 4096.0;
/// The same, as a share of the bytes.
const SLACK: f64 = 0.01;

/// The counter that proves replication between cluster members.
pub(crate) const COPIES: &str = "bytes-sent";

/// Whether this proof is used for an edge: its proxies count connections, and no agent has opened them.
pub(super) fn applies_to(routes: &[&Route], traffic: Option<&ExpectedTraffic>) -> bool {
    let bytes = |route: &&Route| counted(&route.protocol) == Counted::Connections;
    routes.first().is_some_and(bytes) && traffic.is_none_or(|known| known.connections.is_none())
}

/// The proofs of one edge.
pub(super) fn prove(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    traffic: Option<&ExpectedTraffic>,
    deltas: &Deltas<'_>,
) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let since_start = deltas.since_start();
    let edge = Edge {
        name: &first.edge,
        deltas,
        since_start: &since_start,
    };
    let exchanges = traffic.map_or(0, |known| known.requests_min);
    let mut proofs = bypassed(&arm.topology, routes, &edge);
    let mut before: Option<Vec<&str>> = None;
    for position in 0..first.proxies.len() {
        // Several routes of an edge share its traffic; what each of them has is not known.
        let proxies = routes
            .iter()
            .map(|route| route.proxies.get(position).map(String::as_str));
        let Some(proxies) = proxies.collect::<Option<Vec<&str>>>() else {
            continue;
        };
        proofs.extend(match &before {
            None => edge.first_proxy_proofs(&proxies, exchanges, first.edge_security),
            Some(before) => edge.later_proxy_proofs(before, &proxies),
        });
        proofs.extend(edge.no_unmatched_sni(&proxies));
        before = Some(proxies);
    }
    proofs.extend(called(routes, before.as_deref(), exchanges, &edge));
    proofs.extend(copies(routes, &edge));
    if before.is_some_and(|proxies| edge.connections(&proxies).is_some_and(|count| count > 0.0)) {
        proofs.extend(prove_segments(arm, cell, routes, deltas));
    }
    proofs
}

/// An edge and the counters on it.
struct Edge<'a> {
    name: &'a str,
    deltas: &'a Deltas<'a>,
    since_start: &'a Deltas<'a>,
}

impl<'a> Edge<'a> {
    fn lifetime(&'a self, proxies: &[&'a str]) -> InstanceGroup<'a> {
        InstanceGroup::of(proxies.to_vec(), self.since_start, self.name)
    }

    fn trial(&'a self, proxies: &[&'a str]) -> InstanceGroup<'a> {
        InstanceGroup::of(proxies.to_vec(), self.deltas, self.name)
    }

    /// Connections since the instances started.
    fn connections(&'a self, proxies: &[&'a str]) -> Option<f64> {
        self.lifetime(proxies).delta("connections")
    }

    /// Proofs of the first proxy: the caller's traffic has passed it.
    fn first_proxy_proofs(
        &'a self,
        proxies: &[&'a str],
        exchanges: u64,
        own: Security,
    ) -> Vec<Proof> {
        // An edge that need not have been called has no proof.
        if exchanges == 0 {
            return Vec::new();
        }
        let name = self.lifetime(proxies).name();
        let mut proofs = vec![at_least(&name, "connections", 1, self.connections(proxies))];
        let bytes = self.trial(proxies).delta("bytes-received");
        if bytes.is_some() {
            let least = exchanges * bytes_of(own);
            proofs.push(at_least(&name, "bytes-received", least, bytes));
        }
        proofs
    }

    /// Proofs of a later proxy: it has carried what the one before it did.
    fn later_proxy_proofs(&'a self, before: &[&'a str], proxies: &[&'a str]) -> Vec<Proof> {
        let (lifetime, trial) = (self.lifetime(proxies), self.trial(proxies));
        let mut proofs = Vec::new();
        if let Some(expected) = self.connections(before) {
            let found = self.connections(proxies);
            let proof = match lifetime.has_edge_labels("connections") {
                // One connection may have been opened between the two readings, but not the only one.
                true if expected > 1.0 => {
                    approximately(&lifetime.name(), "connections", expected, 1.0, found)
                }
                true => exactly(&lifetime.name(), "connections", expected as u64, found),
                // The counter includes connections of other edges.
                false => at_least(&lifetime.name(), "connections", expected as u64, found),
            };
            proofs.push(proof);
        }
        let carried = self.trial(before).delta("bytes-received");
        let found = trial.delta("bytes-received");
        if let (Some(expected), Some(_)) = (carried, found)
            && trial.has_edge_labels("bytes-received")
        {
            let (name, what) = (trial.name(), "bytes-received");
            proofs.push(approximately(&name, what, expected, HEARTBEAT_BYTES, found));
        }
        proofs
    }

    /// Proof that no client asked a proxy for a server name (SNI) that no edge has.
    fn no_unmatched_sni(&'a self, proxies: &[&'a str]) -> Option<Proof> {
        const WHAT: &str = "unmatched-sni";
        let lifetime = self.lifetime(proxies);
        let found = lifetime.delta(WHAT)?;
        Some(exactly(&lifetime.name(), WHAT, 0, Some(found)))
    }
}

/// Fewest bytes of an exchange on the wire.
fn bytes_of(own: Security) -> u64 {
    match own {
        Security::Plaintext => 1,
        Security::Tls | Security::Mtls => RECORD_BYTES,
    }
}

/// Proofs that the callers' sidecars, where the edge bypasses them, have seen none of its connections.
fn bypassed(topology: &Topology, routes: &[&Route], edge: &Edge<'_>) -> Vec<Proof> {
    const WHAT: &str = "unmatched-connections";
    let mut proofs = Vec::new();
    for route in routes {
        let caller = topology.instances.iter().find(|i| i.name == route.from);
        let beside = topology.instances.iter().filter(|instance| {
            instance.role == InstanceRole::Sidecar
                && caller.is_some_and(|caller| caller.pod == instance.pod)
                && !route.proxies.contains(&instance.name)
        });
        for sidecar in beside {
            // The edge label is ignored: for such a connection it cannot be known.
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

/// Proofs by the counters of the called part: connections of all edges that lead to it, and bytes received.
fn called(routes: &[&Route], last: Option<&[&str]>, exchanges: u64, edge: &Edge<'_>) -> Vec<Proof> {
    let parts: Vec<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let lifetime = InstanceGroup::of(parts.clone(), edge.since_start, edge.name);
    let trial = InstanceGroup::of(parts, edge.deltas, edge.name);
    let mut proofs = Vec::new();
    if exchanges == 0 {
        return proofs;
    }
    if let Some(found) = lifetime.delta("connections") {
        let through = last.and_then(|proxies| edge.connections(proxies));
        let least = through.map_or(1, |count| count as u64);
        let name = lifetime.name();
        proofs.push(at_least(&name, "connections", least, Some(found)));
    }
    if let Some(found) = trial.delta("bytes-received") {
        let name = trial.name();
        proofs.push(at_least(&name, "bytes-received", exchanges, Some(found)));
    }
    proofs
}

/// Proofs of replication between cluster members: the first proxies of a member have sent it at least as many bytes as it has
/// copied. Where they are also the last proxies of its callers, they have sent as many more as the member has given out.
fn copies(routes: &[&Route], edge: &Edge<'_>) -> Vec<Proof> {
    let callers: BTreeSet<&str> = routes.iter().map(|route| route.from.as_str()).collect();
    let of_caller = |caller| {
        let counted = |name| edge.deltas.of(caller, name, edge.name);
        let mut copied = counted("replication-bytes-in")?;
        let own = routes.iter().filter(|route| route.from == caller);
        let proxies = own.map(|route| route.proxies.first().map(String::as_str));
        let proxies = proxies.collect::<Option<Vec<&str>>>()?;
        let mut called = routes.iter().filter(|route| route.to == caller);
        let is_shared = |proxy: &String| proxies.contains(&proxy.as_str());
        if called.any(|route| route.proxies.last().is_some_and(is_shared)) {
            copied += counted("replication-bytes-out").unwrap_or(0.0);
        }
        let proxies = edge.trial(&proxies);
        let handed = proxies.delta(COPIES)?;
        // A last copy may have arrived between the two readings.
        let least = copied - HEARTBEAT_BYTES.max(copied * SLACK);
        let least = least.max(0.0) as u64;
        Some(at_least(&proxies.name(), COPIES, least, Some(handed)))
    };
    callers.into_iter().filter_map(of_caller).collect()
}

pub(super) fn at_least(instance: &str, what: &str, least: u64, found: Option<f64>) -> Proof {
    Proof {
        expected: format!("at least {least}"),
        passed: found.is_some_and(|found| found >= least as f64),
        ..exactly(instance, what, least, found)
    }
}

/// Proof of a number, but for what may have passed between two readings.
fn approximately(
    instance: &str,
    what: &str,
    expected: f64,
    slack: f64,
    found: Option<f64>,
) -> Proof {
    let slack = slack.max(expected * SLACK).floor();
    Proof {
        expected: format!("{expected:.0} ± {slack:.0}"),
        passed: found.is_some_and(|found| (found - expected).abs() <= slack),
        ..exactly(instance, what, 0, found)
    }
}

#[cfg(test)]
mod tests;
