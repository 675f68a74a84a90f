//! The order of trials: arms in random order within a block, levels in random order within an arm.

use tare_schema::plan::{BaselineRuns, Plan};
use tare_stats::random::Random;

/// One trial of a block: an arm at a level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// 0; 1 for the second measurement of the baseline (A/A check).
    pub copy: u32,
}

/// All slots of one block in the order in which they are measured.
///
/// Each block has its own random generator, so that a resumed run measures an interrupted block in the same order.
#[must_use]
pub fn block_order(plan: &Plan, block: u32) -> Vec<Slot> {
    let mut random = Random::for_purpose(plan.seed, &format!("block {block}"));
    let mut arm_visits = arm_visits(plan);
    random.shuffle(&mut arm_visits);
    let mut slots = Vec::with_capacity(arm_visits.len() * plan.levels.len());
    for (arm, copy, mut levels) in arm_visits {
        random.shuffle(&mut levels);
        slots.extend(levels.into_iter().map(|level| Slot {
            arm: arm.clone(),
            level,
            copy,
        }));
    }
    slots
}

/// Arms with their copy number and levels. With an A/A check the first arm is there twice: it is the baseline where arms are
/// compared; where levels are compared, its levels show the noise.
fn arm_visits(plan: &Plan) -> Vec<(String, u32, Vec<String>)> {
    let all: Vec<String> = plan.levels.iter().map(|level| level.name.clone()).collect();
    let mut arm_visits: Vec<(String, u32, Vec<String>)> = plan
        .arms
        .iter()
        .filter(|arm| arm.requires.is_none())
        .map(|arm| (arm.name.clone(), 0, all.clone()))
        .collect();
    if plan.baseline_runs == BaselineRuns::Twice
        && let Some((first, _, _)) = arm_visits.first().cloned()
    {
        arm_visits.push((first, 1, all));
    }
    arm_visits
}
