//! What this machine carries, found before the first block: the arms with the most proxies, at full speed for a moment.

use tare_lab::environment::Environment;
use tare_schema::agent::{LoadResult, Sample};
use tare_schema::load::{Pacing, Stop};
use tare_schema::plan::{Arm, Ceiling, Cell, Plan};
use tare_stats::random::Random;

use crate::beds::{Beds, Stay};
use crate::clock::now_unix_us;
use crate::disk::make_folder;
use crate::event::{Event, Listener, Watcher};
use crate::folder::RunFolder;
use crate::order::Slot;
use crate::orders::Worked;
use crate::trial::{self, Task, Trial};
use crate::{ConductError, refusal};

/// The plan without the levels that this machine does not carry, where it asks for that; `known` spares the measurement.
pub(crate) fn below(
    plan: &Plan,
    known: Option<&Ceiling>,
    environment: &mut dyn Environment,
    folder: &RunFolder,
    watcher: &mut dyn Watcher,
) -> Result<Plan, ConductError> {
    let mut kept = plan.clone();
    if !plan.asks_for_ceiling() {
        return Ok(kept);
    }
    let ceiling = match known {
        Some(known) => Some(known.clone()),
        None => measured(plan, environment, folder, watcher)?,
    };
    if let Some(ceiling) = ceiling {
        kept.keep_below(ceiling);
    }
    for left in &kept.left_out {
        let said = format!("{} is left out: {}", left.level, left.why);
        watcher.hear(&Event::Told(&said));
    }
    refusal::refuse_what_cannot_run(&kept)?;
    Ok(kept)
}

/// The least that any of the heaviest arms carries; `None` where none of them could be measured.
fn measured(
    plan: &Plan,
    environment: &mut dyn Environment,
    folder: &RunFolder,
    watcher: &mut dyn Watcher,
) -> Result<Option<Ceiling>, ConductError> {
    let mut least: Option<Ceiling> = None;
    for name in plan.heaviest_arms() {
        let arm = plan.arms.iter().find(|arm| arm.name == name);
        let cell = plan.cells.iter().find(|cell| cell.arm == name);
        let (Some(arm), Some(cell)) = (arm, cell) else {
            continue;
        };
        let said = format!("finding out what this machine carries: {name} at full speed");
        watcher.hear(&Event::Preparing(&said));
        let carried = carried(plan, arm, cell, environment, folder, watcher)?;
        let lower = |so_far: &Ceiling| Some(so_far.carried_per_s) > carried;
        if let Some(carried_per_s) = carried
            && least.as_ref().is_none_or(lower)
        {
            least = Some(Ceiling {
                arm: name.to_owned(),
                carried_per_s,
                measured_unix_us: now_unix_us(),
            });
        }
    }
    Ok(least)
}

/// Right answers per second of one arm at full speed; `None` when it could not be measured, which its own trials will tell.
fn carried(
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
    let stay = Stay {
        arm,
        cell: &cell,
        slot: &slot,
        block: 0,
        trial: 0,
    };
    let place = folder.path().join("ceiling").join(&arm.name);
    make_folder(&place)?;
    let mut beds = Beds::default();
    let logs = folder.path().join("beds");
    let bed = beds.get(plan, &stay, environment, &mut |_, _| (), &logs)?;
    let seed = Random::for_purpose(plan.seed, &format!("ceiling of {}", arm.name)).bits();
    let task = Task {
        plan,
        cell: &cell,
        trial: (stay.trial, seed),
        worked: &Worked::default(),
        folder: &place,
    };
    let mut record = trial::draft(stay.trial);
    let trial = trial::measure(&task, bed, &mut Ear(watcher), &mut record);
    beds.stop_all(&logs);
    Ok(match trial? {
        Trial::Interrupted => None,
        Trial::Recorded => record.load.first().and_then(per_second),
    })
}

fn at_full_speed(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    for role in &mut cell.load {
        role.load.pacing = Pacing::Max;
        role.load.warmup_ns = Ceiling::WARMUP.as_nanos() as u64;
        role.load.stop = Stop::Duration {
            window_ns: Ceiling::WINDOW.as_nanos() as u64,
        };
    }
    cell
}

fn per_second(role: &LoadResult) -> Option<f64> {
    let right = role.answered_in_window.right as f64;
    (role.window_ns > 0 && right > 0.0).then(|| right * 1e9 / role.window_ns as f64)
}

/// Samples of this are nobody's business; an interruption is.
struct Ear<'a>(&'a mut dyn Watcher);

impl Listener for Ear<'_> {
    fn step(&mut self, _: &str) {}

    fn sample(&mut self, _: &str, _: &Sample) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}
