//! Flights: one per segment and loaded day.

use std::ops::RangeInclusive;

use jiff::civil::Date;
use jiff::{Span, Timestamp, Unit, tz::TimeZone};
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::airports::{SEGMENTS, Segment};

/// Days with flights, relative to today.
pub const DAYS: RangeInclusive<i32> = -1..=4;
/// Statute miles in an hour, for the time of arrival.
const MILES_PER_HOUR: i64 = 600;

/// A flight segment, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightSegment {
    /// `AA12`.
    #[serde(rename = "_id")]
    pub id: String,
    /// Airport of departure.
    #[serde(rename = "originPort")]
    pub origin: String,
    /// Airport of arrival.
    #[serde(rename = "destPort")]
    pub destination: String,
    /// Great-circle distance.
    pub miles: i64,
}

impl From<&Segment> for FlightSegment {
    fn from(segment: &Segment) -> FlightSegment {
        FlightSegment {
            id: segment.id.clone(),
            origin: segment.origin.to_owned(),
            destination: segment.destination.to_owned(),
            miles: segment.miles,
        }
    }
}

/// A flight, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flight {
    /// `AA12-2026-11-21`: the same whenever it is loaded, so that bookings stay valid after a reload.
    #[serde(rename = "_id")]
    pub id: String,
    pub flight_segment_id: String,
    /// Midnight (UTC) of its day.
    pub scheduled_departure_time: DateTime,
    pub scheduled_arrival_time: DateTime,
    /// US dollars.
    pub first_class_base_cost: i32,
    /// US dollars.
    pub economy_class_base_cost: i32,
    pub num_first_class_seats: i32,
    pub num_economy_class_seats: i32,
    pub airplane_type_id: String,
}

/// A flight in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offered {
    #[serde(rename = "_id")]
    id: String,
    flight_segment_id: String,
    scheduled_departure_time: String,
    scheduled_arrival_time: String,
    first_class_base_cost: i32,
    economy_class_base_cost: i32,
    num_first_class_seats: i32,
    num_economy_class_seats: i32,
    airplane_type_id: String,
    flight_segment: FlightSegment,
}

/// Today (UTC).
pub fn today() -> Date {
    Timestamp::now().to_zoned_datetime(TimeZone::UTC).date()
}

/// Midnight (UTC) at the beginning of a day; `None` if a BSON date cannot represent it.
pub fn midnight(day: Date) -> Option<DateTime> {
    let zoned = day.to_zoned_datetime(TimeZone::UTC).ok()?;
    Some(DateTime::from_millis(zoned.timestamp().as_millisecond()))
}

/// Formatted as ISO 8601, in seconds.
pub fn instant(at: DateTime) -> String {
    Timestamp::from_millisecond(at.timestamp_millis())
        .and_then(|stamp| stamp.round(Unit::Second))
        .map_or_else(|_| String::new(), |stamp| stamp.to_string())
}

/// The flights of all segments on the days around this one. Days that no date can represent are left out.
pub fn loaded(today: Date) -> Vec<Flight> {
    let days = DAYS.filter_map(|day| {
        let date = today.checked_add(Span::new().days(day)).ok()?;
        Some((date, midnight(date)?))
    });
    days.flat_map(|(date, departure)| {
        SEGMENTS
            .iter()
            .map(move |segment| Flight::new(segment, date, departure))
    })
    .collect()
}

impl Flight {
    fn new(segment: &Segment, date: Date, departure: DateTime) -> Flight {
        let flown_ms = segment.miles * 3_600_000 / MILES_PER_HOUR;
        Flight {
            id: format!("{}-{date}", segment.id),
            flight_segment_id: segment.id.clone(),
            scheduled_departure_time: departure,
            scheduled_arrival_time: DateTime::from_millis(departure.timestamp_millis() + flown_ms),
            first_class_base_cost: 500,
            economy_class_base_cost: 200,
            num_first_class_seats: 10,
            num_economy_class_seats: 200,
            airplane_type_id: "B747".to_owned(),
        }
    }

    /// The flight with its segment, for responses.
    pub fn offered(self, segment: &FlightSegment) -> Offered {
        Offered {
            id: self.id,
            flight_segment_id: self.flight_segment_id,
            scheduled_departure_time: instant(self.scheduled_departure_time),
            scheduled_arrival_time: instant(self.scheduled_arrival_time),
            first_class_base_cost: self.first_class_base_cost,
            economy_class_base_cost: self.economy_class_base_cost,
            num_first_class_seats: self.num_first_class_seats,
            num_economy_class_seats: self.num_economy_class_seats,
            airplane_type_id: self.airplane_type_id,
            flight_segment: segment.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::civil::date;

    use super::*;

    #[test]
    fn there_are_2364_flights_on_six_days() {
        let flights = loaded(date(2026, 11, 21));
        assert_eq!(flights.len(), 2364);
        let ids: BTreeSet<_> = flights.iter().map(|flight| &flight.id).collect();
        assert_eq!(ids.len(), 2364);
        let days: BTreeSet<_> = flights
            .iter()
            .map(|flight| instant(flight.scheduled_departure_time))
            .collect();
        let days: Vec<_> = days.iter().map(String::as_str).collect();
        assert_eq!(days.len(), 6);
        assert_eq!(
            (days[0], days[5]),
            ("2026-11-20T00:00:00Z", "2026-11-25T00:00:00Z")
        );
    }

    #[test]
    fn a_flight_lands_later_on_a_longer_way() {
        let flights = loaded(date(2026, 2, 28));
        let flown = |origin, destination| {
            let segment = SEGMENTS
                .iter()
                .find(|segment| segment.origin == origin && segment.destination == destination)
                .unwrap();
            let flight = flights
                .iter()
                .find(|flight| flight.flight_segment_id == segment.id)
                .unwrap();
            flight.scheduled_arrival_time.timestamp_millis()
                - flight.scheduled_departure_time.timestamp_millis()
        };
        assert!(flown("LHR", "SYD") > 10 * flown("LHR", "CDG"));
    }
}
