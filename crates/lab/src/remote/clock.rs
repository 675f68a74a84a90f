//! Offset between the wall clocks of two hosts, from round trips.

use std::time::{SystemTime, UNIX_EPOCH};

use tare_record::clock::ClockOffset;

/// Round trips per measurement.
pub(crate) const ROUND_TRIPS: usize = 16;

/// One question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// When it was asked and answered, by this clock.
    pub sent_ns: u64,
    pub received_ns: u64,
    /// When it was answered, by the other clock.
    pub answered_ns: u64,
}

/// The offset by the shortest round trip: the answer was given within it, so the error is half of it.
pub(crate) fn offset(trips: &[RoundTrip]) -> Option<ClockOffset> {
    let length = |trip: &RoundTrip| trip.received_ns.saturating_sub(trip.sent_ns);
    let shortest = trips.iter().min_by_key(|trip| length(trip))?;
    let middle = shortest.sent_ns + length(shortest) / 2;
    Some(ClockOffset {
        offset_ns: shortest.answered_ns.cast_signed() - middle.cast_signed(),
        error_ns: length(shortest).div_ceil(2),
    })
}

/// Nanoseconds since the epoch.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Simulated delays, each direction its own: the true offset is always within the error.
        #[test]
        fn the_true_offset_is_within_the_error(
            true_offset in -3_600_000_000_000_i64..3_600_000_000_000,
            delays in prop::collection::vec((1_000_u64..5_000_000, 1_000_u64..5_000_000), 1..=ROUND_TRIPS),
        ) {
            let start = 1_700_000_000_000_000_000_u64;
            let trips: Vec<RoundTrip> = delays.iter().zip(0..).map(|((there, back), index)| {
                let sent_ns = start + index * 10_000_000;
                RoundTrip {
                    sent_ns,
                    answered_ns: (sent_ns + there).saturating_add_signed(true_offset),
                    received_ns: sent_ns + there + back,
                }
            }).collect();
            let found = offset(&trips).unwrap();
            prop_assert!(found.offset_ns.abs_diff(true_offset) <= found.error_ns);
            let shortest = delays.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(found.error_ns, shortest.div_ceil(2));
        }
    }

    #[test]
    fn without_round_trips_nothing_is_known() {
        assert_eq!(offset(&[]), None);
    }
}
