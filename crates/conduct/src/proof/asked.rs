//! Proof of what instances ask on the way: as often as the share of requests that they are to ask about.

use tare_schema::plan::{Arm, Cell};
use tare_schema::record::Proof;
use tare_schema::topology::{Asked, Route};

use super::{Growth, Sent, exactly, setting_of};

/// Standard deviations between which a number that chance decides must lie: beyond six, one trial in 5 × 10⁸.
const DEVIATIONS: f64 = 6.0;

/// Evidence of one route on which an instance asks; none when nobody knows how much passed it.
pub(super) fn prove(
    arm: &Arm,
    cell: &Cell,
    asked: &Asked,
    sent: &[Sent],
    growth: &Growth<'_>,
) -> Vec<Proof> {
    let routes = &arm.topology.routes;
    let Some(route) = routes.iter().find(|route| route.edge == asked.edge) else {
        return Vec::new();
    };
    let Some(passed) = passed(asked, sent) else {
        return Vec::new();
    };
    let share = asked
        .share_setting
        .as_deref()
        .and_then(|name| setting_of(arm, cell, &route.from, name)?.as_f64())
        .unwrap_or(asked.share);
    let mut proofs = Vec::new();
    let grown = growth.of(&route.to, "requests", &asked.edge);
    proofs.push(about(&route.to, "requests", passed, share, grown));
    proofs.extend(at_both_ends(route, grown, growth));
    proofs
}

/// Requests of all edges that are asked about; `None` when one of them was not the agents'.
fn passed(asked: &Asked, sent: &[Sent]) -> Option<u64> {
    let mut passed = 0;
    for edge in &asked.about {
        let mut over = sent.iter().filter(|sent| sent.edge == *edge).peekable();
        over.peek()?;
        passed += over.map(|sent| sent.requests).sum::<u64>();
    }
    Some(passed)
}

/// What who asks has counted itself: as many questions as arrived, none twice.
fn at_both_ends(route: &Route, arrived: Option<f64>, growth: &Growth<'_>) -> Vec<Proof> {
    let mut proofs = Vec::new();
    let asked = growth.of(&route.from, "upstream-requests", &route.edge);
    if let (Some(asked), Some(arrived)) = (asked, arrived) {
        proofs.push(exactly(
            &route.from,
            "questions",
            arrived as u64,
            Some(asked),
        ));
    }
    if let Some(retries) = growth.of(&route.from, "retries", &route.edge) {
        proofs.push(exactly(&route.from, "questions-again", 0, Some(retries)));
    }
    proofs
}

/// None and all are exact; any other share is drawn for each request.
fn about(instance: &str, what: &str, passed: u64, share: f64, grown: Option<f64>) -> Proof {
    if share <= 0.0 {
        return exactly(instance, what, 0, grown);
    }
    if share >= 1.0 {
        return exactly(instance, what, passed, grown);
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
        instance: instance.to_owned(),
        edge: None,
        what: what.to_owned(),
        expected: format!("{low:.0} to {high:.0} ({:.0} % of {passed})", share * 100.0),
        found: grown.map_or_else(
            || "no such counter".to_owned(),
            |grown| format!("{grown:.0}"),
        ),
        holds: grown.is_some_and(|grown| (low..=high).contains(&grown)),
    }
}

#[cfg(test)]
mod tests;
