//! The order of trials: arms in random order within a block, levels in random order within an arm.

use tare_schema::plan::{BaselineRuns, Plan};
use tare_stats::random::Random;

/// One trial to be made in a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// 0; 1 for the second run of the baseline.
    pub copy: u32,
}

/// All slots of one block in the order in which they are measured.
///
/// Each block draws from a generator of its own, so a resumed run measures an interrupted block in
/// the very order it would have had.
#[must_use]
pub fn block_order(plan: &Plan, block: u32) -> Vec<Slot> {
    let mut random = Random::for_purpose(plan.seed, &format!("block {block}"));
    let mut stays = stays(plan);
    random.shuffle(&mut stays);
    let mut slots = Vec::with_capacity(stays.len() * plan.levels.len());
    for (arm, copy, mut levels) in stays {
        random.shuffle(&mut levels);
        slots.extend(levels.into_iter().map(|level| Slot {
            arm: arm.clone(),
            level,
            copy,
        }));
    }
    slots
}

/// Arms with their copies and the levels that each is measured at. The first arm runs twice: where arms are compared it
/// is the baseline, where levels are compared its levels show the noise.
fn stays(plan: &Plan) -> Vec<(String, u32, Vec<String>)> {
    let all: Vec<String> = plan.levels.iter().map(|level| level.name.clone()).collect();
    let mut stays: Vec<(String, u32, Vec<String>)> = plan
        .arms
        .iter()
        .filter(|arm| arm.needs.is_none())
        .map(|arm| (arm.name.clone(), 0, all.clone()))
        .collect();
    if plan.baseline_runs == BaselineRuns::Twice
        && let Some((first, _, _)) = stays.first().cloned()
    {
        stays.push((first, 1, all));
    }
    stays
}
