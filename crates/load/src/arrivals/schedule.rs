//! Times of the n-th start of a schedule, in nanoseconds from the start of the load.

use std::sync::Arc;

use tare_record::load::{Interarrival, LoadSpec, Pacing, RateProfile};
use tare_stats::random::Random;

use super::NEVER;
use super::trace::{ArrivalTrace, TraceError};

/// A schedule. Each time is computed from its index (Poisson times from integer sums), so errors do not accumulate.
#[derive(Debug, Clone)]
pub enum ArrivalSchedule {
    /// A constant gap.
    Even {
        gap_ns: f64,
    },
    /// A start whenever the integral of a rate has grown by one.
    Profile(RateProfile),
    /// A start whenever it has grown by an exponential step of mean one.
    Random(PoissonSchedule),
    Recorded(Arc<ArrivalTrace>),
}

/// A Poisson process with a rate that may change (time-change theorem; Daley and Vere-Jones, "An Introduction to the Theory of
/// Point Processes", 7.4).
#[derive(Debug, Clone)]
pub struct PoissonSchedule {
    profile: RateProfile,
    random: Random,
    /// Starts drawn so far.
    drawn: u64,
    /// Integral of the rate at the last start, in 2⁻⁶⁴: integers add up without rounding.
    sum: u128,
}

/// 2⁶⁴.
const ONE: f64 = 18_446_744_073_709_551_616.0;

/// Standard deviations above the mean that a Poisson count exceeds only once in a million.
const DEVIATIONS: f64 = 5.0;

impl PoissonSchedule {
    /// A process with a seeded random generator.
    #[must_use]
    pub fn new(profile: RateProfile, random: Random) -> Self {
        Self {
            profile,
            random,
            drawn: 0,
            sum: 0,
        }
    }

    /// Its rate over time.
    #[must_use]
    pub fn profile(&self) -> &RateProfile {
        &self.profile
    }

    /// The start with this index. The index must not fall; the last one can be requested again.
    fn at(&mut self, index: u64) -> Option<u64> {
        while self.drawn <= index {
            self.sum += (self.random.exponential() * ONE) as u128;
            self.drawn += 1;
        }
        let at_ns = self.profile.time_of(self.sum as f64 / ONE)?;
        Some(at_ns.round() as u64)
    }
}

impl ArrivalSchedule {
    /// The schedule of an open loop; `None` for a closed loop.
    ///
    /// # Errors
    /// When a recording cannot be used.
    pub fn of_load(load: &LoadSpec, seed: u64) -> Result<Option<Self>, TraceError> {
        let interarrival = match &load.pacing {
            Pacing::Constant { rate_per_s } => return Ok(Some(Self::even(*rate_per_s))),
            Pacing::Replay {
                file,
                speed,
                at_end,
                shard,
            } => {
                let recording = ArrivalTrace::read(file, *speed, *at_end, *shard)?;
                return Ok(Some(ArrivalSchedule::Recorded(Arc::new(recording))));
            }
            Pacing::Poisson { .. } => Interarrival::Exponential,
            Pacing::Ramp { interarrival, .. } | Pacing::Steps { interarrival, .. } => *interarrival,
            Pacing::Closed { .. } | Pacing::Max => return Ok(None),
        };
        let profile = load.pacing.profile(load.warmup_ns);
        Ok(profile.map(|profile| match interarrival {
            Interarrival::Constant => ArrivalSchedule::Profile(profile),
            Interarrival::Exponential => {
                let random = Random::for_purpose(seed, "starts");
                ArrivalSchedule::Random(PoissonSchedule::new(profile, random))
            }
        }))
    }

    /// Most starts of all workers within any interval of this length.
    #[must_use]
    pub fn peak_arrivals(&self, within_ns: u64) -> u64 {
        let within_s = within_ns as f64 / 1e9;
        let peak = match self {
            ArrivalSchedule::Recorded(recording) => return recording.peak_arrivals(within_ns),
            ArrivalSchedule::Even { gap_ns } => within_ns as f64 / gap_ns,
            ArrivalSchedule::Profile(profile) => profile.peak_per_s() * within_s,
            ArrivalSchedule::Random(random) => {
                let mean = random.profile().peak_per_s() * within_s;
                mean + DEVIATIONS * mean.sqrt()
            }
        };
        peak.ceil() as u64
    }

    /// A constant rate.
    #[must_use]
    pub fn even(rate_per_s: f64) -> Self {
        ArrivalSchedule::Even {
            gap_ns: 1e9 / rate_per_s,
        }
    }

    /// Time of the start with this index; `None` if there is none. The index must not fall from call to call.
    #[inline]
    pub fn at(&mut self, index: u64) -> Option<u64> {
        match self {
            ArrivalSchedule::Random(random) => random.at(index),
            ArrivalSchedule::Even { .. }
            | ArrivalSchedule::Profile(_)
            | ArrivalSchedule::Recorded(_) => self.known_ns(index),
        }
    }

    /// The same for schedules with random access; `None` for Poisson starts.
    #[inline]
    #[must_use]
    pub fn known_ns(&self, index: u64) -> Option<u64> {
        match self {
            // Exact to the nanosecond up to 2^53 ns, 104 days.
            ArrivalSchedule::Even { gap_ns } => Some((index as f64 * gap_ns).round() as u64),
            ArrivalSchedule::Profile(profile) => {
                Some(profile.time_of(index as f64)?.round() as u64)
            }
            ArrivalSchedule::Recorded(recording) => recording.at(index),
            ArrivalSchedule::Random(_) => None,
        }
    }

    /// Index of the first start at or after a time.
    #[must_use]
    pub fn first_from(&self, at_ns: u64) -> u64 {
        match self {
            ArrivalSchedule::Even { gap_ns } => {
                self.settle((at_ns as f64 / gap_ns).ceil() as u64, at_ns)
            }
            ArrivalSchedule::Profile(profile) => {
                self.settle(profile.count_until(at_ns).ceil() as u64, at_ns)
            }
            ArrivalSchedule::Recorded(recording) => recording.first_from(at_ns),
            ArrivalSchedule::Random(random) => {
                let mut walker = random.clone();
                let mut index = 0;
                while walker.at(index).is_some_and(|start_ns| start_ns < at_ns) {
                    index += 1;
                }
                index
            }
        }
    }

    /// Corrects an index from a formula, which rounds differently than the times.
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

    /// Mean gap of the starts before this time; `None` without any.
    #[must_use]
    pub fn mean_gap_ns(&self, until_ns: u64) -> Option<u64> {
        let until_ns = until_ns.min(self.length_ns());
        let starts = match self {
            ArrivalSchedule::Random(random) => random.profile().count_until(until_ns) as u64,
            ArrivalSchedule::Even { .. }
            | ArrivalSchedule::Profile(_)
            | ArrivalSchedule::Recorded(_) => self.first_from(until_ns),
        };
        until_ns.checked_div(starts)
    }

    /// Length of the schedule; [`NEVER`] if it has no end.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        match self {
            ArrivalSchedule::Recorded(recording) => recording.length_ns(),
            ArrivalSchedule::Even { .. }
            | ArrivalSchedule::Profile(_)
            | ArrivalSchedule::Random(_) => NEVER,
        }
    }
}
