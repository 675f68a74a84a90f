//! What a machine carries, and which levels of a plan lie beyond it.

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Plan};
use crate::load::Pacing;

/// Share of what is carried at full speed that an open loop may offer: above it queues grow at random, and what is seen is
/// theirs. (The queue of a single server at 80 % is 4 long on average, at 95 % 19.)
const SHARE_MAX: f64 = 0.80;

/// What becomes of levels whose rate this machine does not carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondKnee {
    /// They are measured, and flagged where it shows.
    #[default]
    Measure,
    /// What the arms with the most proxies carry at full speed is measured first; levels above 80 % of it are left out.
    LeaveOut,
}

/// What was carried at full speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Arm that carried least.
    pub arm: String,
    /// Right answers per second in a closed loop over the plan's connections.
    pub carried_per_s: f64,
    /// When it was measured, µs since the epoch.
    pub measured_unix_us: u64,
}

/// A level that is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its name.
    pub level: String,
    /// Why, in words.
    pub why: String,
}

impl Plan {
    /// Whether anything is to be found out about what this machine carries: levels may be left out, several have a fixed rate,
    /// and the others go at full speed.
    #[must_use]
    pub fn asks_for_ceiling(&self) -> bool {
        let is_fast = |cell: &Cell| cell.load.iter().all(|role| role.load.pacing == Pacing::Max);
        let (fast, others): (Vec<&Cell>, Vec<&Cell>) =
            self.cells.iter().partition(|cell| is_fast(cell));
        let fast: BTreeSet<&str> = fast.iter().map(|cell| cell.level.as_str()).collect();
        self.beyond_knee == BeyondKnee::LeaveOut
            && self.levels.len() > 1 + fast.len()
            && others.iter().all(|cell| offered_per_s(cell).is_some())
    }

    /// Whether levels may still be left out: the ceiling is asked for and not known.
    #[must_use]
    pub fn may_leave_levels_out(&self) -> bool {
        self.asks_for_ceiling() && self.ceiling.is_none()
    }

    /// Arms whose ways have the most proxies in them: what they carry, every other arm does.
    #[must_use]
    pub fn heaviest_arms(&self) -> Vec<&str> {
        let weigh = |arm: &super::Arm| -> usize {
            let routes = arm.topology.routes.iter();
            routes.map(|route| route.stops.len()).sum()
        };
        let arms = self.arms.iter().filter(|arm| arm.needs.is_none());
        let most = arms.clone().map(weigh).max();
        arms.filter(|arm| Some(weigh(arm)) == most)
            .map(|arm| arm.name.as_str())
            .collect()
    }

    /// Takes the levels out that lie beyond what is carried; the one with the lowest rate always stays.
    pub fn keep_below(&mut self, ceiling: Ceiling) {
        let rate = |plan: &Plan, level: &str| -> f64 {
            let of_level = plan.cells.iter().filter(|cell| cell.level == level);
            of_level.filter_map(offered_per_s).fold(0.0, f64::max)
        };
        let lowest = self
            .levels
            .iter()
            .map(|level| rate(self, &level.name))
            // A level at full speed offers none.
            .filter(|rate| *rate > 0.0)
            .fold(f64::INFINITY, f64::min);
        let beyond: Vec<String> = self
            .levels
            .iter()
            .map(|level| level.name.clone())
            .filter(|level| {
                let rate = rate(self, level);
                rate > lowest && rate > ceiling.carried_per_s * SHARE_MAX
            })
            .collect();
        self.levels.retain(|level| !beyond.contains(&level.name));
        self.cells.retain(|cell| !beyond.contains(&cell.level));
        self.left_out
            .extend(beyond.into_iter().map(|level| LeftOut {
                level,
                why: ceiling.in_words(),
            }));
        self.ceiling = Some(ceiling);
    }
}

impl Ceiling {
    /// How long it is measured: long enough for several thousand answers of the slowest chain; a figure within a tenth is all that
    /// is needed.
    pub const WINDOW: Duration = Duration::from_secs(2);
    /// Connections open and buffers grow.
    pub const WARMUP: Duration = Duration::from_millis(500);

    /// "envoy carries 1450/s at full speed here, and above 80 % of that queues are measured, not arms".
    #[must_use]
    pub fn in_words(&self) -> String {
        format!(
            "{} carries {:.0}/s at full speed here, and above {:.0} % of that queues would be measured, not arms",
            self.arm,
            self.carried_per_s,
            SHARE_MAX * 100.0
        )
    }
}

/// Rate that a cell offers, all agents of its one role together; `None`: it has none, or several roles.
fn offered_per_s(cell: &Cell) -> Option<f64> {
    match cell.load.as_slice() {
        // A rate of sessions is none of requests, which are what is carried.
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
