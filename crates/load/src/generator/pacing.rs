//! Schedule for the pacing of a plan.

use std::sync::Arc;

use tare_schema::load::{Interarrival, LoadSpec, Pacing};
use tare_stats::random::Random;

use super::PlanError;
use crate::arrivals::{ArrivalSchedule, PoissonSchedule, Recording};

/// Standard deviations above the mean that a Poisson count exceeds only once in a million.
const DEVIATIONS: f64 = 5.0;

/// The schedule of an open loop; `None` for a closed loop.
///
/// # Errors
/// When a recording cannot be used.
pub(super) fn schedule(load: &LoadSpec, seed: u64) -> Result<Option<ArrivalSchedule>, PlanError> {
    let interarrival = match &load.pacing {
        Pacing::Constant { rate_per_s } => return Ok(Some(ArrivalSchedule::even(*rate_per_s))),
        Pacing::Replay {
            file,
            speed,
            at_end,
            shard,
        } => {
            let recording = Recording::read(file, *speed, *at_end, *shard)?;
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
pub(super) fn peak_arrivals(schedule: &ArrivalSchedule, within_ns: u64) -> u64 {
    let within_s = within_ns as f64 / 1e9;
    let peak = match schedule {
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
