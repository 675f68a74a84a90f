//! From the pacing of a plan to its schedule.

use std::sync::Arc;

use tare_schema::load::{Gaps, LoadSpec, Pacing};
use tare_stats::random::Random;

use super::PlanError;
use crate::arrivals::{RandomTimes, Recording, Times};

/// What a Poisson count stays below but for one time in a million: its mean and so many standard deviations.
const DEVIATIONS: f64 = 5.0;

/// The schedule of an open loop; `None` where starts follow answers.
///
/// # Errors
/// When a recording cannot be used.
pub(super) fn times(load: &LoadSpec, seed: u64) -> Result<Option<Times>, PlanError> {
    let gaps = match &load.pacing {
        Pacing::Constant { rate_per_s } => return Ok(Some(Times::even(*rate_per_s))),
        Pacing::Replay {
            file,
            speed,
            at_end,
            deal,
        } => {
            let recording = Recording::read(file, *speed, *at_end, *deal)?;
            return Ok(Some(Times::Recorded(Arc::new(recording))));
        }
        Pacing::Poisson { .. } => Gaps::Random,
        Pacing::Ramp { gaps, .. } | Pacing::Steps { gaps, .. } => *gaps,
        Pacing::Closed { .. } | Pacing::Max => return Ok(None),
    };
    let profile = load.pacing.profile(load.warmup_ns);
    Ok(profile.map(|profile| match gaps {
        Gaps::Even => Times::Profile(profile),
        Gaps::Random => {
            let random = Random::for_purpose(seed, "starts");
            Times::Random(RandomTimes::new(profile, random))
        }
    }))
}

/// The most starts within any time so long, over all workers.
pub(super) fn crowd_max(times: &Times, within_ns: u64) -> u64 {
    let within_s = within_ns as f64 / 1e9;
    let crowd = match times {
        Times::Recorded(recording) => return recording.crowd_max(within_ns),
        Times::Even { gap_ns } => within_ns as f64 / gap_ns,
        Times::Profile(profile) => profile.peak_per_s() * within_s,
        Times::Random(random) => {
            let mean = random.profile().peak_per_s() * within_s;
            mean + DEVIATIONS * mean.sqrt()
        }
    };
    crowd.ceil() as u64
}
