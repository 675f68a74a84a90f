//! When the n-th exchange of a schedule starts, in nanoseconds from the start of the load.

use std::sync::Arc;

use tare_schema::load::RateProfile;
use tare_stats::random::Random;

use super::NEVER;
use super::recording::Recording;

/// A schedule. Each time is computed from its number (random ones from whole-number sums), so nothing adds up to a drift.
#[derive(Debug, Clone)]
pub enum Times {
    /// One distance for all.
    Even {
        /// The distance.
        gap_ns: f64,
    },
    /// As the integral of a rate grows by one.
    Profile(RateProfile),
    /// As it grows by exponential steps of mean one.
    Random(RandomTimes),
    /// As recorded.
    Recorded(Arc<Recording>),
}

/// A Poisson process, stretched to a rate that may change (time-change theorem; Daley and Vere-Jones, "An Introduction to the
/// Theory of Point Processes", 7.4).
#[derive(Debug, Clone)]
pub struct RandomTimes {
    profile: RateProfile,
    random: Random,
    /// Starts drawn so far.
    drawn: u64,
    /// Integral of the rate at the last one drawn, in 2⁻⁶⁴: whole numbers add up without rounding.
    sum: u128,
}

/// 2⁶⁴.
const ONE: f64 = 18_446_744_073_709_551_616.0;

impl RandomTimes {
    /// The process of a seeded generator.
    #[must_use]
    pub fn new(profile: RateProfile, random: Random) -> Self {
        Self {
            profile,
            random,
            drawn: 0,
            sum: 0,
        }
    }

    /// The rate it is stretched to.
    #[must_use]
    pub fn profile(&self) -> &RateProfile {
        &self.profile
    }

    /// The start with this number. Numbers must not fall, but that of the last call may be asked for again.
    fn at(&mut self, index: u64) -> Option<u64> {
        while self.drawn <= index {
            self.sum += (self.random.exponential() * ONE) as u128;
            self.drawn += 1;
        }
        let at_ns = self.profile.time_of(self.sum as f64 / ONE)?;
        Some(at_ns.round() as u64)
    }
}

impl Times {
    /// A constant rate.
    #[must_use]
    pub fn even(rate_per_s: f64) -> Self {
        Times::Even {
            gap_ns: 1e9 / rate_per_s,
        }
    }

    /// When the exchange with this number starts; `None` if there is none. Numbers must not fall from call to call.
    #[inline]
    pub fn at(&mut self, index: u64) -> Option<u64> {
        match self {
            Times::Random(random) => random.at(index),
            Times::Even { .. } | Times::Profile(_) | Times::Recorded(_) => self.known_ns(index),
        }
    }

    /// The same for schedules that need not be gone through from the start.
    #[inline]
    #[must_use]
    pub fn known_ns(&self, index: u64) -> Option<u64> {
        match self {
            // Exact to the nanosecond up to 2^53 ns, 104 days.
            Times::Even { gap_ns } => Some((index as f64 * gap_ns).round() as u64),
            Times::Profile(profile) => Some(profile.time_of(index as f64)?.round() as u64),
            Times::Recorded(recording) => recording.at(index),
            Times::Random(_) => None,
        }
    }

    /// The first exchange at or behind a time.
    #[must_use]
    pub fn first_from(&self, at_ns: u64) -> u64 {
        match self {
            Times::Even { gap_ns } => self.settle((at_ns as f64 / gap_ns).ceil() as u64, at_ns),
            Times::Profile(profile) => self.settle(profile.count_until(at_ns).ceil() as u64, at_ns),
            Times::Recorded(recording) => recording.first_from(at_ns),
            Times::Random(random) => {
                let mut walker = random.clone();
                let mut index = 0;
                while walker.at(index).is_some_and(|start_ns| start_ns < at_ns) {
                    index += 1;
                }
                index
            }
        }
    }

    /// The guess comes from a formula that rounds otherwise than the times: settle it by the times themselves.
    fn settle(&self, guess: u64, at_ns: u64) -> u64 {
        let start_ns = |index| self.known_ns(index).unwrap_or(NEVER);
        let mut index = guess;
        while index > 0 && start_ns(index - 1) >= at_ns {
            index -= 1;
        }
        while start_ns(index) < at_ns {
            index += 1;
        }
        index
    }

    /// Mean distance of the starts before this time; `None` when there are none.
    #[must_use]
    pub fn mean_gap_ns(&self, until_ns: u64) -> Option<u64> {
        let until_ns = until_ns.min(self.length_ns());
        let starts = match self {
            Times::Random(random) => random.profile().count_until(until_ns) as u64,
            Times::Even { .. } | Times::Profile(_) | Times::Recorded(_) => {
                self.first_from(until_ns)
            }
        };
        until_ns.checked_div(starts)
    }

    /// When the schedule itself is over; [`NEVER`] if it goes on for ever.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        match self {
            Times::Recorded(recording) => recording.length_ns(),
            Times::Even { .. } | Times::Profile(_) | Times::Random(_) => NEVER,
        }
    }
}
