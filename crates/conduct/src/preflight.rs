//! Preflight check: refuses plans that cannot run here, before anything is started.

use tare_schema::plan::{Arm, Compare, Plan};

use crate::ConductError;

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
