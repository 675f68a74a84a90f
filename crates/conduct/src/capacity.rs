//! Capacity of the machine, measured before the first block: the arms with the most proxies, at maximum rate.

use tare_lab::environment::Environment;
use tare_record::agent::LoadResult;
use tare_record::load::{Pacing, Stop};
use tare_record::plan::{Arm, Capacity, Cell, Plan};
use tare_stats::random::Random;

use crate::ConductError;
use crate::agent_plans::MeasuredCost;
use crate::conductor::ForwardToWatcher;
use crate::disk::make_folder;
use crate::durations::now_unix_us;
use crate::event::{Event, Watcher};
use crate::folder::RunFolder;
use crate::order::{Slot, check_runnable};
use crate::test_beds::{PlannedTrial, TestBeds};
use crate::trial::{self, Task, Trial};

/// The plan without the levels above the capacity of this machine, if it asks for that. `known` replaces the measurement.
pub(crate) fn skip_levels_above(
    plan: &Plan,
    known: Option<&Capacity>,
    environment: &mut dyn Environment,
    folder: &RunFolder,
    watcher: &mut dyn Watcher,
) -> Result<Plan, ConductError> {
    let mut kept = plan.clone();
    if !plan.needs_capacity_probe() {
        return Ok(kept);
    }
    let capacity = match known {
        Some(known) => Some(known.clone()),
        None => measure_capacity(plan, environment, folder, watcher)?,
    };
    if let Some(capacity) = capacity {
        kept.skip_levels_above(capacity);
    }
    for left in &kept.skipped_levels {
        let message = format!("{} is skipped: {}", left.level, left.reason);
        watcher.on_event(&Event::Note(&message));
    }
    check_runnable(&kept)?;
    Ok(kept)
}

/// The lowest capacity of the arms with the most proxies; `None` when none of them could be measured.
fn measure_capacity(
    plan: &Plan,
    environment: &mut dyn Environment,
    folder: &RunFolder,
    watcher: &mut dyn Watcher,
) -> Result<Option<Capacity>, ConductError> {
    let mut least: Option<Capacity> = None;
    for name in plan.arms_with_most_proxies() {
        let arm = plan.arms.iter().find(|arm| arm.name == name);
        let cell = plan.cells.iter().find(|cell| cell.arm == name);
        let (Some(arm), Some(cell)) = (arm, cell) else {
            continue;
        };
        let message = format!("measuring the capacity of this machine: {name} at max rate");
        watcher.on_event(&Event::Preparing(&message));
        let arm_capacity = arm_capacity(plan, arm, cell, environment, folder, watcher)?;
        let lower = |so_far: &Capacity| Some(so_far.achieved_per_s) > arm_capacity;
        if let Some(achieved_per_s) = arm_capacity
            && least.as_ref().is_none_or(lower)
        {
            least = Some(Capacity {
                arm: name.to_owned(),
                achieved_per_s,
                measured_unix_us: now_unix_us(),
            });
        }
    }
    Ok(least)
}

/// Successful answers per second of one arm at maximum rate; `None` when it could not be measured: its trials report why.
fn arm_capacity(
    plan: &Plan,
    arm: &Arm,
    cell: &Cell,
    environment: &mut dyn Environment,
    folder: &RunFolder,
    watcher: &mut dyn Watcher,
) -> Result<Option<f64>, ConductError> {
    let cell = at_full_speed(cell);
    let slot = Slot {
        arm: arm.name.clone(),
        level: cell.level.clone(),
        copy: 0,
    };
    let planned = PlannedTrial {
        arm,
        cell: &cell,
        slot: &slot,
        block: 0,
        trial: 0,
    };
    let place = folder.path().join("capacity").join(&arm.name);
    make_folder(&place)?;
    let mut test_beds = TestBeds::default();
    let logs = folder.path().join("testbeds");
    let bed = test_beds.get(plan, &planned, environment, &mut |_, _| (), &logs)?;
    let seed = Random::for_purpose(plan.seed, &format!("capacity of {}", arm.name)).bits();
    let task = Task {
        plan,
        cell: &cell,
        trial: (planned.trial, seed),
        measured_cost: &MeasuredCost::default(),
        folder: &place,
        profile: &[],
    };
    let mut record = trial::draft(planned.trial);
    let progress = None;
    let mut observer = ForwardToWatcher { watcher, progress };
    let trial = trial::measure(&task, bed, &mut observer, &mut record);
    test_beds.stop_all(&logs);
    Ok(match trial? {
        Trial::Interrupted => None,
        Trial::Recorded => record.load.first().and_then(per_second),
    })
}

fn at_full_speed(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    for role in &mut cell.load {
        role.load.pacing = Pacing::Max;
        role.load.warmup_ns = Capacity::WARMUP.as_nanos() as u64;
        role.load.stop = Stop::Duration {
            window_ns: Capacity::WINDOW.as_nanos() as u64,
        };
    }
    cell
}

fn per_second(role: &LoadResult) -> Option<f64> {
    let ok = role.completed_in_window.ok as f64;
    (role.window_ns > 0 && ok > 0.0).then(|| ok * 1e9 / role.window_ns as f64)
}
