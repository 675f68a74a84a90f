//! Capacity: the rate that a machine sustains, and which levels of a plan are above it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Plan};
use crate::load::Pacing;

/// Share of the capacity that an open loop may offer. Above it latency is dominated by queueing: the mean queue of an M/M/1
/// server is 4 at 80 % load and 19 at 95 %.
const SHARE_MAX: f64 = 0.80;

/// What to do with levels whose rate this machine does not sustain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondKnee {
    /// Measure them; saturation is flagged.
    #[default]
    Measure,
    /// Measure first what the arms with the most proxies sustain at maximum rate; skip levels above 80 % of that.
    Skip,
}

/// Measured capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Arm with the lowest capacity.
    pub arm: String,
    /// Successful responses per second in a closed loop over the plan's connections.
    pub achieved_per_s: f64,
    /// Time of the measurement, µs since the epoch.
    pub measured_unix_us: u64,
}

/// A level that is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedLevel {
    /// Name of the level.
    pub level: String,
    /// Reason, as a text for people.
    pub reason: String,
}

impl Plan {
    /// Whether the plan needs a measurement of capacity: levels may be skipped, several have a fixed rate, and all others run at
    /// maximum rate.
    #[must_use]
    pub fn needs_capacity_probe(&self) -> bool {
        let is_fast = |cell: &Cell| cell.load.iter().all(|role| role.load.pacing == Pacing::Max);
        let (fast, others): (Vec<&Cell>, Vec<&Cell>) =
            self.cells.iter().partition(|cell| is_fast(cell));
        let fast: BTreeSet<&str> = fast.iter().map(|cell| cell.level.as_str()).collect();
        self.beyond_knee == BeyondKnee::Skip
            && self.levels.len() > 1 + fast.len()
            && others.iter().all(|cell| offered_per_s(cell).is_some())
    }

    /// Whether levels may still be skipped: the capacity is needed and not yet known.
    #[must_use]
    pub fn may_skip_levels(&self) -> bool {
        self.needs_capacity_probe() && self.capacity.is_none()
    }

    /// Arms with the most proxies on their routes: a rate that they sustain, every arm sustains.
    #[must_use]
    pub fn arms_with_most_proxies(&self) -> Vec<&str> {
        let weigh = |arm: &super::Arm| -> usize {
            let routes = arm.topology.routes.iter();
            routes.map(|route| route.proxies.len()).sum()
        };
        let arms = self.arms.iter().filter(|arm| arm.requires.is_none());
        let most = arms.clone().map(weigh).max();
        arms.filter(|arm| Some(weigh(arm)) == most)
            .map(|arm| arm.name.as_str())
            .collect()
    }

    /// Removes the levels above the capacity; the one with the lowest rate always stays.
    pub fn skip_levels_above(&mut self, capacity: Capacity) {
        let rate = |plan: &Plan, level: &str| -> f64 {
            let of_level = plan.cells.iter().filter(|cell| cell.level == level);
            of_level.filter_map(offered_per_s).fold(0.0, f64::max)
        };
        let lowest = self
            .levels
            .iter()
            .map(|level| rate(self, &level.name))
            // A level at maximum rate offers none.
            .filter(|rate| *rate > 0.0)
            .fold(f64::INFINITY, f64::min);
        let beyond: Vec<String> = self
            .levels
            .iter()
            .map(|level| level.name.clone())
            .filter(|level| {
                let rate = rate(self, level);
                rate > lowest && rate > capacity.achieved_per_s * SHARE_MAX
            })
            .collect();
        self.levels.retain(|level| !beyond.contains(&level.name));
        self.cells.retain(|cell| !beyond.contains(&cell.level));
        self.skipped_levels
            .extend(beyond.into_iter().map(|level| SkippedLevel {
                level,
                reason: capacity.in_words(),
            }));
        self.capacity = Some(capacity);
    }
}

impl Capacity {
    /// Length of the measurement: several thousand exchanges of the slowest chain. An accuracy of 10 % is enough.
    pub const WINDOW: Duration = Duration::from_secs(2);
    /// Warm-up of the measurement: connections open and buffers grow.
    pub const WARMUP: Duration = Duration::from_millis(500);

    /// "envoy sustains 1450/s at max rate here, and above 80 % of that queues would be measured, not arms".
    #[must_use]
    pub fn in_words(&self) -> String {
        format!(
            "{} sustains {:.0}/s at max rate here, and above {:.0} % of that queues would be measured, not arms",
            self.arm,
            self.achieved_per_s,
            SHARE_MAX * 100.0
        )
    }
}

/// Offered rate of a cell, all agents of its only role together; `None` without a fixed rate or with several roles.
fn offered_per_s(cell: &Cell) -> Option<f64> {
    match cell.load.as_slice() {
        // The capacity is in requests per second, not in sessions.
        [role] if role.load.mix.session.is_some() => None,
        [role] => match role.load.pacing {
            Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => {
                Some(rate_per_s * f64::from(role.agents))
            }
            _ => None,
        },
        _ => None,
    }
}
