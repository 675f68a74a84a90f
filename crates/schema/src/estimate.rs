//! How long a plan takes, from its windows and what starting and stopping costs.

use std::time::Duration;

use crate::load::LoadSpec;
use crate::plan::{BaselineRuns, Cell, Plan, Restart};
use crate::topology::InstanceRole;

/// Around every window: agent start, idle counters, drain, writing the record.
const PER_TRIAL: Duration = Duration::from_millis(250);
/// Setting up and taking down one test bed: addresses, certificates, folders.
const PER_BED: Duration = Duration::from_millis(200);
/// Starting one process until it is ready.
const PER_INSTANCE: Duration = Duration::from_millis(200);

/// What a run of a plan takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Trials of one block, the second run of the baseline included.
    pub trials_per_block: u64,
    /// Trials of the fewest and of the most blocks.
    pub trials: (u64, u64),
    /// Time inside measuring windows of one block; `None`: nobody can know (a load without an end).
    pub measuring: Option<Duration>,
    /// Time of one block.
    pub block: Option<Duration>,
    /// Time of the fewest and of the most blocks.
    pub total: Option<(Duration, Duration)>,
}

/// Estimates a plan.
#[must_use]
pub fn estimate(plan: &Plan) -> Estimate {
    let runs = |arm: usize| match (arm, plan.baseline_runs) {
        (0, BaselineRuns::Twice) => 2,
        _ => 1,
    };
    let mut trials = 0;
    let mut measuring = Some(Duration::ZERO);
    let mut block = Some(Duration::ZERO);
    let mut once = Duration::ZERO;
    for (index, arm) in plan
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.needs.is_none())
    {
        let cells: Vec<&Cell> = plan
            .cells
            .iter()
            .filter(|cell| cell.arm == arm.name)
            .collect();
        let processes = arm
            .topology
            .instances
            .iter()
            .filter(|instance| instance.role != InstanceRole::Agent)
            .count();
        let burn_in = Duration::from_nanos(plan.burn_in_ns.unwrap_or(0));
        let bed = PER_BED + PER_INSTANCE * u32::try_from(processes).unwrap_or(u32::MAX) + burn_in;
        let repeats: u32 = runs(index);
        trials += u64::from(repeats) * cells.len() as u64;
        for cell in &cells {
            let Some((whole, window)) = length(cell) else {
                measuring = None;
                block = None;
                continue;
            };
            measuring = measuring.map(|sum| sum + window * repeats);
            block = block.map(|sum| sum + (whole + PER_TRIAL) * repeats);
        }
        match plan.restart {
            Restart::Run => once += bed,
            Restart::Block => block = block.map(|sum| sum + bed * repeats),
            Restart::Trial => {
                let beds = repeats * u32::try_from(cells.len()).unwrap_or(u32::MAX);
                block = block.map(|sum| sum + bed * beds);
            }
        }
    }
    Estimate {
        trials_per_block: trials,
        trials: (
            trials * u64::from(plan.blocks.min),
            trials * u64::from(plan.blocks.max),
        ),
        measuring,
        block,
        total: block.map(|block| {
            (
                once + block * plan.blocks.min,
                once + block * plan.blocks.max,
            )
        }),
    }
}

/// Warm-up with window, and window alone, of the longest role.
fn length(cell: &Cell) -> Option<(Duration, Duration)> {
    let mut longest = (Duration::ZERO, Duration::ZERO);
    for role in &cell.load {
        let window = window(&role.load)?;
        let whole = Duration::from_nanos(role.load.warmup_ns) + window;
        if whole > longest.0 {
            longest = (whole, window);
        }
    }
    Some(longest)
}

fn window(load: &LoadSpec) -> Option<Duration> {
    load.pacing.window_ns(load.stop).map(Duration::from_nanos)
}
