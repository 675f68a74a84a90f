//! Proof of the agents' own TLS: by what they negotiated, and by the counters of the listener that terminates it.

use std::collections::BTreeSet;

use tare_record::agent::TlsCount;
use tare_record::plan::{Arm, Cell, FaultKind, PlannedFault};
use tare_record::protocol::{Counted, counted};
use tare_record::record::Proof;
use tare_record::topology::{Route, Security};

use super::connections::at_least;
use super::{Deltas, ExpectedTls, ResumptionRule, exactly, only_label, single_label};
use crate::traffic::SentTraffic;

/// Proofs by the agents of an edge: one handshake per connection, one version, cipher and group, no more server certificates than
/// servers, and with mTLS a client certificate in every full handshake. With plaintext, no handshake.
pub(super) fn of_agents(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    sent: &[SentTraffic],
) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let over = sent.iter().filter(|sent| sent.edge == first.edge);
    over.filter(|sent| sent.connections > 0)
        .flat_map(|sent| of_agent(arm, cell, routes, first, sent))
        .collect()
}

fn of_agent(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    first: &Route,
    sent: &SentTraffic,
) -> Vec<Proof> {
    let agent_role = sent.role.as_str();
    let sum = |of: fn(&TlsCount) -> u64| sent.tls.iter().map(of).sum::<u64>();
    let (full, resumed) = (sum(|one| one.full), sum(|one| one.resumed));
    let done = Some((full + resumed) as f64);
    let handshakes = |expected| exactly(agent_role, "tls-handshakes", expected, done);
    if first.edge_security == Security::Plaintext {
        // Reported only when there were handshakes.
        return Vec::from_iter((full + resumed > 0).then(|| handshakes(0)));
    }
    let expected_tls = ExpectedTls::of(arm, cell, &first.to);
    let seen = |of: fn(&TlsCount) -> Option<String>| -> Vec<String> {
        let all: BTreeSet<String> = sent.tls.iter().filter_map(of).collect();
        all.into_iter().collect()
    };
    let versions = seen(|one| Some(format!("TLSv{}", one.seen.version)));
    let suites = seen(|one| Some(one.seen.suite.clone()));
    // An external server chooses its version itself, and may have a certificate for each server behind it.
    let external = arm.topology.external(&first.to).is_some();
    let mut proofs = vec![
        handshakes(sent.connections),
        match external {
            true => single_label(agent_role, "tls-version", versions),
            false => {
                let expected = &expected_tls.version;
                only_label(agent_role, "tls-version", expected, Some(versions))
            }
        },
        single_label(agent_role, "tls-cipher", suites),
        single_label(agent_role, "tls-group", seen(|one| one.seen.group.clone())),
    ];
    // Proxies on the path pass these bytes on: TLS is terminated at the called instances.
    let servers: BTreeSet<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let certificates = seen(|one| one.seen.certificate.clone()).len();
    let found = Some(certificates as f64);
    if !external {
        proofs.push(Proof {
            expected: match servers.len() {
                1 => "1".to_owned(),
                several => format!("1 to {several}"),
            },
            passed: (1..=servers.len()).contains(&certificates),
            ..exactly(agent_role, "tls-server-certificates", 1, found)
        });
    }
    if expected_tls.resumption == ResumptionRule::Forbidden {
        proofs.push(exactly(agent_role, "tls-resumed", 0, Some(resumed as f64)));
    }
    if first.edge_security == Security::Mtls {
        let shown = Some(sent.client_certificates as f64);
        proofs.push(exactly(agent_role, "tls-client-certificates", full, shown));
    }
    proofs
}

/// Proofs by the TLS versions that the listeners of an edge report for their open connections; none without such a report.
pub(super) fn of_listener(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    deltas: &Deltas<'_>,
) -> Vec<Proof> {
    let since_start = deltas.since_start();
    let called = routes.iter().map(|route| route.to.as_str());
    let called = called.filter(|name| arm.topology.external(name).is_none());
    let called: BTreeSet<&str> = called.collect();
    let (Some(first), mut proofs) = (routes.first(), Vec::new()) else {
        return Vec::new();
    };
    for instance in called {
        let found = since_start.labels(instance, "tls-version", &first.edge);
        let Some(found) = found.filter(|versions| !versions.is_empty()) else {
            continue;
        };
        let expected_tls = match first.edge_security {
            Security::Plaintext => "none".to_owned(),
            Security::Tls | Security::Mtls => ExpectedTls::of(arm, cell, instance).version,
        };
        let (what, found) = ("tls-version", Some(found));
        proofs.push(only_label(instance, what, &expected_tls, found));
    }
    proofs
}

/// Proof that the called part accepted at least as many connections as the agents opened, where no proxy shares connections; at
/// least one where a fault of the plan ends an instance, which loses what its process had counted.
pub(super) fn accepted_connections(
    faults: &[PlannedFault],
    routes: &[&Route],
    sent: &[SentTraffic],
    deltas: &Deltas<'_>,
) -> Option<Proof> {
    const WHAT: &str = "connections";
    let first = routes.first()?;
    // Proxies that forward requests share connections. Where requests are counted, they are the better proof.
    let is_one_to_one =
        first.proxies.is_empty() || counted(&first.protocol) == Counted::Connections;
    if !is_one_to_one || deltas.of(&first.to, "requests", &first.edge).is_some() {
        return None;
    }
    let over = sent.iter().filter(|sent| sent.edge == first.edge);
    let opened: u64 = over.map(|sent| sent.connections).sum();
    let called: BTreeSet<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let delta = called
        .iter()
        .map(|instance| deltas.of(instance, WHAT, &first.edge));
    let delta = delta.sum::<Option<f64>>()?;
    let is_ended = faults.iter().any(|fault| match &fault.action {
        FaultKind::Kill { of } | FaultKind::Stop { of } => {
            of.iter().any(|instance| called.contains(instance.as_str()))
        }
        _ => false,
    });
    let least = if is_ended { 1 } else { opened };
    let name = called.into_iter().collect::<Vec<_>>().join(" + ");
    (opened > 0).then(|| at_least(&name, WHAT, least, Some(delta)))
}

#[cfg(test)]
mod tests;
