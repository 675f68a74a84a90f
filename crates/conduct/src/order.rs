//! What of a plan is measured here, and in which order: arms in random order within a block, levels within an arm.

use tare_record::plan::{Arm, Compare, Plan};
use tare_stats::random::Random;

use crate::ConductError;

/// One trial of a block: an arm at a level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    pub arm: String,
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
    if plan.aa_check
        && let Some((first, _, _)) = arm_visits.first().cloned()
    {
        arm_visits.push((first, 1, all));
    }
    arm_visits
}

/// Checks that the environment has every preparation step of the workload, and that enough arms remain to compare.
pub(crate) fn check_runnable(plan: &Plan) -> Result<(), ConductError> {
    let planned = |name: &&String| {
        let mut cells = plan.cells.iter();
        cells.all(|cell| cell.prepare.iter().any(|step| step.step() == *name))
    };
    let steps = plan.workload.prepare.iter();
    let cannot: Vec<&str> = steps
        .filter(|name| !planned(name))
        .map(String::as_str)
        .collect();
    if !cannot.is_empty() {
        return Err(ConductError::Plan(format!(
            "workload {} has preparation steps ({}), which no environment here can run yet",
            plan.workload.name,
            cannot.join(", ")
        )));
    }
    check_comparable(plan)
}

/// An arm whose needs are not met is skipped; the baseline and one more arm must remain.
fn check_comparable(plan: &Plan) -> Result<(), ConductError> {
    let can_run = plan
        .arms
        .iter()
        .filter(|arm| arm.requires.is_none())
        .count();
    let lacking = |arm: &Arm| {
        let needs = arm.requires.as_ref()?;
        Some(format!("{} needs {needs}", arm.name))
    };
    let lacking: Vec<String> = plan.arms.iter().filter_map(lacking).collect();
    let baseline = plan.arms.first().is_none_or(|arm| arm.requires.is_none());
    let too_few = match plan.compare {
        Compare::Arms => can_run < 2.min(plan.arms.len()) || !baseline,
        Compare::Levels => can_run == 0,
    };
    if too_few && !lacking.is_empty() {
        return Err(ConductError::Plan(format!(
            "there is nothing to compare in this environment: {}",
            lacking.join("; ")
        )));
    }
    Ok(())
}
