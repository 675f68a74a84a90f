//! Proof of the TLS that agents speak themselves, by what they negotiated, and of the listener that it ended at.

use std::collections::BTreeSet;

use tare_schema::agent::TlsCount;
use tare_schema::plan::{Arm, Cell};
use tare_schema::protocol::{Counted, counted};
use tare_schema::record::Proof;
use tare_schema::topology::{Route, Security};

use super::{Growth, Resumption, Wanted, exactly, one_of_a_kind, only};
use crate::traffic::Sent;

/// What the agents of an edge negotiated: each connection a handshake, one version, cipher and group, no more certificates than
/// servers, and over mTLS one of theirs in every full handshake. Over plaintext, no handshake.
pub(super) fn of_agents(arm: &Arm, cell: &Cell, routes: &[&Route], sent: &[Sent]) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let over = sent.iter().filter(|sent| sent.edge == first.edge);
    over.filter(|sent| sent.connections > 0)
        .flat_map(|sent| of_agent(arm, cell, routes, first, sent))
        .collect()
}

fn of_agent(arm: &Arm, cell: &Cell, routes: &[&Route], first: &Route, sent: &Sent) -> Vec<Proof> {
    let who = sent.role.as_str();
    let sum = |of: fn(&TlsCount) -> u64| sent.tls.iter().map(of).sum::<u64>();
    let (full, resumed) = (sum(|one| one.full), sum(|one| one.resumed));
    let shaken = |expected| {
        exactly(
            who,
            "tls-handshakes",
            expected,
            Some((full + resumed) as f64),
        )
    };
    if first.own == Security::Plaintext {
        // That nothing was negotiated is worth a line only where something was.
        return (full + resumed > 0)
            .then(|| shaken(0))
            .into_iter()
            .collect();
    }
    let wanted = Wanted::of(arm, cell, &first.to);
    let seen = |of: fn(&TlsCount) -> Option<String>| -> Vec<String> {
        let all: BTreeSet<String> = sent.tls.iter().filter_map(of).collect();
        all.into_iter().collect()
    };
    let versions = seen(|one| Some(format!("TLSv{}", one.seen.version)));
    // What is external chooses its version itself, and may have a certificate for each of those behind it.
    let external = arm.topology.external(&first.to).is_some();
    let mut proofs = vec![
        shaken(sent.connections),
        match external {
            true => one_of_a_kind(who, "tls-version", versions),
            false => only(who, "tls-version", &wanted.version, Some(versions)),
        },
        one_of_a_kind(who, "tls-cipher", seen(|one| Some(one.seen.suite.clone()))),
        one_of_a_kind(who, "tls-group", seen(|one| one.seen.group.clone())),
    ];
    // Proxies on the way pass these bytes on: the TLS ends at the called instances.
    let servers: BTreeSet<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let certificates = seen(|one| one.seen.certificate.clone()).len();
    if !external {
        proofs.push(Proof {
            expected: match servers.len() {
                1 => "1".to_owned(),
                several => format!("1 to {several}"),
            },
            holds: (1..=servers.len()).contains(&certificates),
            ..exactly(who, "tls-server-certificates", 1, Some(certificates as f64))
        });
    }
    if wanted.resumption == Resumption::Forbidden {
        proofs.push(exactly(who, "tls-resumed", 0, Some(resumed as f64)));
    }
    if first.own == Security::Mtls {
        let shown = Some(sent.client_certificates as f64);
        proofs.push(exactly(who, "tls-client-certificates", full, shown));
    }
    proofs
}

/// What the listener of an edge says of the connections that it holds, where it can tell; one that holds none says nothing.
pub(super) fn of_listener(
    arm: &Arm,
    cell: &Cell,
    routes: &[&Route],
    growth: &Growth<'_>,
) -> Vec<Proof> {
    let since_start = Growth {
        before: &[],
        after: growth.after,
    };
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
        let wanted = match first.own {
            Security::Plaintext => "none".to_owned(),
            Security::Tls | Security::Mtls => Wanted::of(arm, cell, instance).version,
        };
        proofs.push(only(instance, "tls-version", &wanted, Some(found)));
    }
    proofs
}

/// Connections that the called part took while the agents opened theirs: at least as many, where nothing on the way shares them.
pub(super) fn taken(routes: &[&Route], sent: &[Sent], growth: &Growth<'_>) -> Option<Proof> {
    const WHAT: &str = "connections";
    let first = routes.first()?;
    // Proxies that read requests share connections. Where requests are counted, those are the better proof.
    let is_one_to_one = first.stops.is_empty() || counted(&first.protocol) == Counted::Connections;
    if !is_one_to_one || growth.of(&first.to, "requests", &first.edge).is_some() {
        return None;
    }
    let over = sent.iter().filter(|sent| sent.edge == first.edge);
    let opened: u64 = over.map(|sent| sent.connections).sum();
    let called: BTreeSet<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let grown = called
        .iter()
        .map(|instance| growth.of(instance, WHAT, &first.edge));
    let grown = grown.sum::<Option<f64>>()?;
    let name = called.into_iter().collect::<Vec<_>>().join(" + ");
    (opened > 0).then(|| Proof {
        expected: format!("at least {opened}"),
        holds: grown >= opened as f64,
        ..exactly(&name, WHAT, opened, Some(grown))
    })
}

#[cfg(test)]
mod tests;
