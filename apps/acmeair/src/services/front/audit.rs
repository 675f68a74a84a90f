//! The audit: whether searches, bookings and miles add up.

use std::time::{Duration, Instant};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Front;
use crate::airports::SEGMENTS;
use crate::peer::Peer;

/// Expected share of legs with a flight in the scripted session: 170 of 210 pairs and 5 of 6 days; return legs have none.
const EXPECTED: f64 = 170.0 / 210.0 * 5.0 / 6.0 / 2.0;
/// Smallest tolerance.
const TOLERANCE: f64 = 0.01;
/// Tolerance in standard deviations.
const SIGMAS: f64 = 3.0;
/// How long updates of miles may take to settle.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);
/// Pause between polls.
const PAUSE: Duration = Duration::from_millis(50);
/// Timeout of a request.
const AUDIT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq, Serialize)]
struct Check {
    name: &'static str,
    expected: Value,
    found: Value,
    ok: bool,
}

#[derive(Debug, Default, Deserialize)]
struct Searched {
    searches: u64,
    successes: u64,
}

#[derive(Debug, Default, Deserialize)]
struct Booked {
    booked: i64,
    cancelled: i64,
    listed: i64,
    segments: std::collections::BTreeMap<String, i64>,
    miles: Settled,
}

#[derive(Debug, Default, Deserialize)]
struct Settled {
    pending: i64,
    sum: i64,
    uncertain: i64,
    refused: i64,
    lost: i64,
}

#[derive(Debug, Default, Deserialize)]
struct Flown {
    miles: i64,
}

/// Audits all services once miles have settled; 200 if all checks pass, else 409.
pub(super) async fn audit(front: &Front) -> Response {
    match checks(front).await {
        Ok(checks) => {
            let ok = checks.iter().all(|check| check.ok);
            let status = if ok {
                StatusCode::OK
            } else {
                StatusCode::CONFLICT
            };
            (status, Json(json!({ "ok": ok, "checks": checks }))).into_response()
        }
        Err(why) => {
            let report =
                json!({ "ok": false, "error": format!("the audit could not be made: {why}") });
            (StatusCode::SERVICE_UNAVAILABLE, Json(report)).into_response()
        }
    }
}

async fn checks(front: &Front) -> Result<Vec<Check>, String> {
    let begun = Instant::now();
    let booked = loop {
        let booked: Booked = report(&front.booking).await?;
        if booked.miles.pending == 0 || begun.elapsed() > SETTLED_WITHIN {
            break booked;
        }
        tokio::time::sleep(PAUSE).await;
    };
    let searched = report(&front.flight).await?;
    let flown = report(&front.customer).await?;
    let mut checks = vec![found(&searched)];
    checks.extend(bookings(&booked, &flown));
    Ok(checks)
}

async fn report<T: serde::de::DeserializeOwned>(peer: &Peer) -> Result<T, String> {
    let path = format!("/{}/audit", peer.name);
    let answer = peer.get(&path, AUDIT_TIMEOUT).await;
    let answer = answer.map_err(|error| error.to_string())?;
    serde_json::from_slice(&answer.body)
        .map_err(|error| format!("{} says {}: {error}", peer.name, answer.status))
}

/// The share of legs with a flight, within a hundredth or three standard deviations.
fn found(searched: &Searched) -> Check {
    let legs = searched.searches as f64;
    let share = match searched.searches {
        0 => None,
        _ => Some(searched.successes as f64 / legs),
    };
    let deviation = (EXPECTED * (1.0 - EXPECTED) / legs.max(1.0)).sqrt();
    let tolerance = TOLERANCE.max(SIGMAS * deviation);
    Check {
        name: "flights-found",
        expected: json!({ "share": EXPECTED, "tolerance": tolerance }),
        found: json!({ "share": share, "legs": searched.searches, "successes": searched.successes }),
        ok: share.is_some_and(|share| (share - EXPECTED).abs() <= tolerance),
    }
}

fn bookings(booked: &Booked, flown: &Flown) -> Vec<Check> {
    let there = booked.booked - booked.cancelled;
    let worth = |(id, bookings): (&String, &i64)| {
        let segment = SEGMENTS.iter().find(|segment| segment.id == *id);
        segment.map_or(0, |segment| segment.miles * bookings)
    };
    let worth: i64 = booked.segments.iter().map(worth).sum();
    let miles = &booked.miles;
    let loose = [miles.pending, miles.uncertain, miles.refused, miles.lost];
    vec![
        Check {
            name: "bookings-listed",
            expected: json!({ "booked": booked.booked, "cancelled": booked.cancelled, "listed": there }),
            found: json!({ "listed": booked.listed }),
            ok: booked.listed == there,
        },
        // The same sum from three sources: bookings, updates, customers.
        Check {
            name: "miles",
            expected: json!({ "bookings": worth }),
            found: json!({ "updates": miles.sum, "customers": flown.miles }),
            ok: worth == miles.sum && worth == flown.miles,
        },
        Check {
            name: "mile-updates-settled",
            expected: json!({ "pending": 0, "uncertain": 0, "refused": 0, "lost": 0 }),
            found: json!({
                "pending": miles.pending,
                "uncertain": miles.uncertain,
                "refused": miles.refused,
                "lost": miles.lost,
            }),
            ok: loose == [0; 4],
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(searches: u64, successes: u64) -> bool {
        found(&Searched {
            searches,
            successes,
        })
        .ok
    }

    #[test]
    fn thirty_four_of_a_hundred_legs_have_a_flight_give_or_take_one_or_chance() {
        assert!((EXPECTED - 0.3373).abs() < 0.0001);
        assert!(searched(100_000, 33_730));
        assert!(searched(100_000, 34_700));
        assert!(!searched(100_000, 34_800));
        assert!(!searched(100_000, 32_700));
        // Of a hundred legs 34 ± 14 are chance.
        assert!(searched(100, 47));
        assert!(!searched(100, 49));
        assert!(!searched(0, 0));
    }

    fn booked() -> Booked {
        let segment = &SEGMENTS[3];
        Booked {
            booked: 5,
            cancelled: 3,
            listed: 2,
            segments: [(segment.id.clone(), 2)].into(),
            miles: Settled {
                sum: 2 * segment.miles,
                ..Settled::default()
            },
        }
    }

    fn wrong(booked: &Booked, flown: i64) -> Vec<&'static str> {
        let checks = bookings(booked, &Flown { miles: flown });
        let wrong = checks.iter().filter(|check| !check.ok);
        wrong.map(|check| check.name).collect()
    }

    #[test]
    fn bookings_and_miles_add_up_or_it_is_said_which_do_not() {
        let miles = 2 * SEGMENTS[3].miles;
        assert!(wrong(&booked(), miles).is_empty());
        assert_eq!(wrong(&booked(), miles + 1), ["miles"]);
        let mut fewer = booked();
        fewer.listed = 1;
        assert_eq!(wrong(&fewer, miles), ["bookings-listed"]);
        let mut given_twice = booked();
        given_twice.miles.sum += 1;
        assert_eq!(wrong(&given_twice, miles), ["miles"]);
        let mut unsure = booked();
        unsure.miles.uncertain = 1;
        assert_eq!(wrong(&unsure, miles), ["mile-updates-settled"]);
    }
}
