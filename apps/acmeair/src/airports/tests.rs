//! Counts of the table, and what the scripted session finds in it.

use std::collections::BTreeSet;

use super::*;
use crate::domain::flight::DAYS;

/// What a workload's scripted session asks, read from where it is written.
fn asked(variable: &str) -> Vec<String> {
    let session = include_str!("../../../../workloads/acmeair/session.yaml");
    let start = format!("{variable}: \"{{{{ cycle:");
    let at = session.find(&start).unwrap() + start.len();
    let list = &session[at..];
    let end = list.find(" }}").unwrap();
    list[..end].split(',').map(str::to_owned).collect()
}

fn exists(origin: &str, destination: &str) -> bool {
    SEGMENTS
        .iter()
        .any(|segment| segment.origin == origin && segment.destination == destination)
}

/// Whether each of a full turn of queries has a segment.
fn turn() -> Vec<bool> {
    let (from, to) = (asked("from"), asked("to"));
    (0..from.len() * to.len())
        .map(|query| exists(&from[query % from.len()], &to[query % to.len()]))
        .collect()
}

#[test]
fn there_are_394_segments_between_31_airports() {
    assert_eq!(SEGMENTS.len(), 394);
    let origins: BTreeSet<_> = SEGMENTS.iter().map(|segment| segment.origin).collect();
    let destinations: BTreeSet<_> = SEGMENTS.iter().map(|segment| segment.destination).collect();
    assert_eq!((origins.len(), destinations.len()), (14, 29));
    let airports: BTreeSet<_> = origins.union(&destinations).copied().collect();
    let known: BTreeSet<_> = AIRPORTS.iter().map(|airport| airport.code).collect();
    assert_eq!(airports.len(), 31);
    assert_eq!(airports, known);
    let ids: BTreeSet<_> = SEGMENTS.iter().map(|segment| &segment.id).collect();
    assert_eq!(ids.len(), 394);
    assert_eq!(
        (SEGMENTS[0].id.as_str(), SEGMENTS[393].id.as_str()),
        ("AA0", "AA393")
    );
}

#[test]
fn miles_are_those_of_the_great_circle_and_the_same_both_ways() {
    for (origin, destination, published) in [
        ("LHR", "JFK", 3451),
        ("SFO", "SYD", 7417),
        ("DEL", "BOM", 708),
    ] {
        let found = miles(origin, destination);
        assert!(
            (found - published).abs() <= published / 100,
            "{origin}-{destination}: {found}"
        );
        assert_eq!(found, miles(destination, origin));
    }
    assert!(
        SEGMENTS
            .iter()
            .all(|segment| (100..12_500).contains(&segment.miles))
    );
}

#[test]
fn of_the_pairs_that_the_session_asks_81_in_a_hundred_exist() {
    let (from, to) = (asked("from"), asked("to"));
    assert_eq!((from.len(), to.len()), (15, 14));
    let different = |list: &[String]| list.iter().collect::<BTreeSet<_>>().len();
    assert_eq!((different(&from), different(&to)), (15, 14));
    // 15 and 14 have no common divisor: a full turn asks every pair once.
    let turn = turn();
    assert_eq!(turn.len(), 210);
    assert_eq!(turn.iter().filter(|exists| **exists).count(), 170);
}

#[test]
fn a_leg_of_the_session_finds_a_flight_in_34_of_a_hundred() {
    // Departures are asked for today and five days more, returns for a week that is not loaded.
    let departures = (0..=5).filter(|day| DAYS.contains(day)).count();
    let returns = (6..=12).filter(|day| DAYS.contains(day)).count();
    assert_eq!((departures, returns), (5, 0));
    let queries = 210.0 * 6.0;
    let found = 170.0 * departures as f64;
    let share = found / (2.0 * queries);
    assert!((share - 0.337).abs() < 0.0005, "{share}");
}

#[test]
fn pairs_without_flights_are_spread_over_the_turn() {
    let turn: Vec<bool> = turn().into_iter().cycle().take(420).collect();
    for window in turn.windows(42) {
        let found = window.iter().filter(|exists| **exists).count();
        assert!((33..=36).contains(&found), "{found} of 42");
    }
}
