//! Path proof of external authorization: checks per request, within six standard deviations of the configured share.

use tare_record::plan::{Arm, Cell};
use tare_record::record::Proof;
use tare_record::topology::{ExtAuthz, Route};

use super::{Deltas, SentTraffic, exactly, setting_of};

/// Allowed standard deviations of a random number of checks: one trial in 5 × 10⁸ is beyond six.
const DEVIATIONS: f64 = 6.0;

/// Proofs of one route to an authorization server; none when the number of requests is not known.
pub(super) fn prove(
    arm: &Arm,
    cell: &Cell,
    ext_authz: &ExtAuthz,
    sent: &[SentTraffic],
    deltas: &Deltas<'_>,
) -> Vec<Proof> {
    let routes = &arm.topology.routes;
    let Some(route) = routes.iter().find(|route| route.edge == ext_authz.edge) else {
        return Vec::new();
    };
    let Some(passed) = passed(ext_authz, sent) else {
        return Vec::new();
    };
    let share = ext_authz
        .share_setting
        .as_deref()
        .and_then(|name| setting_of(arm, cell, &route.from, name)?.as_f64())
        .unwrap_or(ext_authz.share);
    let mut proofs = Vec::new();
    let delta = deltas.of(&route.to, "requests", &ext_authz.edge);
    proofs.push(check(&route.to, "requests", passed, share, delta));
    proofs.extend(at_both_ends(route, delta, deltas));
    proofs
}

/// Requests over all edges that are checked; `None` when agents send nothing over one of them.
fn passed(ext_authz: &ExtAuthz, sent: &[SentTraffic]) -> Option<u64> {
    let mut passed = 0;
    for edge in &ext_authz.edges {
        let mut over = sent.iter().filter(|sent| sent.edge == *edge).peekable();
        over.peek()?;
        passed += over.map(|sent| sent.requests).sum::<u64>();
    }
    Some(passed)
}

/// Proofs by the counters of the asking proxy: as many checks as arrived at the server, no retries.
fn at_both_ends(route: &Route, arrived: Option<f64>, deltas: &Deltas<'_>) -> Vec<Proof> {
    let mut proofs = Vec::new();
    let queries = deltas.of(&route.from, "upstream-requests", &route.edge);
    if let (Some(queries), Some(arrived)) = (queries, arrived) {
        proofs.push(exactly(
            &route.from,
            "authz-requests",
            arrived as u64,
            Some(queries),
        ));
    }
    if let Some(retries) = deltas.of(&route.from, "retries", &route.edge) {
        proofs.push(exactly(&route.from, "authz-retries", 0, Some(retries)));
    }
    proofs
}

/// Proof of the number of checks. Shares of 0 and 1 are exact; any other is drawn for each request.
fn check(instance: &str, what: &str, passed: u64, share: f64, delta: Option<f64>) -> Proof {
    if share <= 0.0 {
        return exactly(instance, what, 0, delta);
    }
    if share >= 1.0 {
        return exactly(instance, what, passed, delta);
    }
    let expected = passed as f64 * share;
    let deviation = (expected * (1.0 - share)).sqrt();
    let (low, high) = (
        (expected - DEVIATIONS * deviation).max(0.0).floor(),
        (expected + DEVIATIONS * deviation)
            .min(passed as f64)
            .ceil(),
    );
    Proof {
        expected: format!("{low:.0} to {high:.0} ({:.0} % of {passed})", share * 100.0),
        passed: delta.is_some_and(|delta| (low..=high).contains(&delta)),
        ..exactly(instance, what, passed, delta)
    }
}

#[cfg(test)]
mod tests;
