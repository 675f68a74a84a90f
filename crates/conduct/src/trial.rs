//! One trial, step by step, into its record: preparation, counters, agents, window, evidence, status.

use std::path::Path;
use std::time::Instant;

use tare_lab::environment::Bed;
use tare_schema::plan::{Cell, Plan, Preparation};
use tare_schema::record::{TrialRecord, TrialStatus};

use crate::agents::Agents;
use crate::beds::Ground;
use crate::clock::{now_unix_us, until};
use crate::disturb::Disturbances;
use crate::error::{ConductError, Stopped, alive, is_ours};
use crate::event::Listener;
use crate::orders::{Orders, Worked};
use crate::{evidence, prepare, read_back, status, told, window};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Its record says what was measured, or why it failed.
    Recorded,
    /// The user wants to stop: nothing of it is kept.
    Interrupted,
}

/// What is measured, and how.
pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub cell: &'a Cell,
    /// Number and seed of the trial.
    pub trial: (u32, u64),
    pub worked: &'a Worked,
    /// Folder of its files.
    pub folder: &'a Path,
}

/// A record that nothing has been measured for.
pub(crate) fn draft(number: u32) -> TrialRecord {
    TrialRecord {
        version: tare_schema::FORMAT_VERSION,
        trial: number,
        block: 0,
        arm: String::new(),
        level: String::new(),
        copy: 0,
        attempt: 0,
        started_unix_us: now_unix_us(),
        took_ns: 0,
        status: TrialStatus::Failed {
            reason: "it was not judged".into(),
            log_tail: Vec::new(),
        },
        saturated: false,
        superseded: false,
        load: Vec::new(),
        parts: Vec::new(),
        machine: None,
        proofs: Vec::new(),
        not_proved: Vec::new(),
        audits: Vec::new(),
        endpoints: Vec::new(),
        told: Vec::new(),
        events: Vec::new(),
        read_back: None,
    }
}

/// Measures one cell on a bed that is up.
pub(crate) fn measure(
    task: &Task<'_>,
    ground: Ground<'_>,
    listener: &mut dyn Listener,
    record: &mut TrialRecord,
) -> Result<Trial, ConductError> {
    let Ground {
        bed,
        taken,
        burn_in_ns,
    } = ground;
    let warmed = burn_in_ns.map(|burn_in_ns| warmed_longer(task.cell, burn_in_ns));
    let task = Task {
        cell: warmed.as_ref().unwrap_or(task.cell),
        ..*task
    };
    let stopped = match steps(&task, (&mut *bed, taken), listener, record) {
        Ok(()) => return Ok(Trial::Recorded),
        Err(stopped) => stopped,
    };
    let reason = match stopped {
        Stopped::Interrupted => return Ok(Trial::Interrupted),
        Stopped::Run(error) => return Err(error),
        Stopped::Lab(error) if is_ours(&error) => return Err(error.into()),
        Stopped::Lab(error) => Stopped::Failed(error.to_string()),
        other => other,
    };
    // When a part has died, that is the reason.
    record.status = alive(bed).err().unwrap_or(reason).into_status();
    Ok(Trial::Recorded)
}

/// The same cell whose load warms up for at least so long.
fn warmed_longer(cell: &Cell, burn_in_ns: u64) -> Cell {
    let mut cell = cell.clone();
    for role in &mut cell.load {
        role.load.warmup_ns = role.load.warmup_ns.max(burn_in_ns);
    }
    cell
}

fn steps(
    task: &Task<'_>,
    (bed, taken): (&mut dyn Bed, &mut Vec<Preparation>),
    listener: &mut dyn Listener,
    record: &mut TrialRecord,
) -> Result<(), Stopped> {
    let (plan, cell, trial) = (task.plan, task.cell, task.trial);
    let Some(first) = cell.load.first() else {
        return Err(Stopped::Failed(
            "the cell has no load: give the experiment a load section".into(),
        ));
    };
    let mut arms = plan.arms.iter();
    let arm = arms.find(|arm| arm.name == cell.arm);
    record.not_proved = arm.map_or_else(Vec::new, |arm| arm.topology.not_proved());
    bed.check_external()?;
    prepare::steps(cell, trial, (&mut *bed, taken), listener)?;
    let before = bed.counters()?;

    let orders = Orders {
        cell,
        trial,
        placement: &plan.placement,
        worked: task.worked,
        start_at_unix_us: now_unix_us() + window::lead(cell).as_micros() as u64,
    };
    let mut agents = Agents::start(&orders, bed)?;
    record.endpoints = agents.endpoints();
    let window_start = until(orders.start_at_unix_us + first.load.warmup_ns / 1000);
    let mut disturbances = Disturbances::of(cell, trial);
    window::observe(
        cell,
        Instant::now() + window_start,
        (&mut *bed, &mut agents),
        &mut disturbances,
        listener,
        record,
    )?;
    if !cell.events.is_empty() {
        disturbances.settle();
        bed.mend()?;
    }
    alive(bed)?;
    agents.write_files(task.folder)?;
    record.load = agents.into_results();
    bed.check_external()?;

    let mut after = evidence::gather(plan, cell, &before, bed, record)?;
    // What was started again counts from nothing.
    after.retain(|counters| !disturbances.renewed().contains(&counters.instance));
    record.told = told::told(&before, &after);
    record.events = disturbances.records();
    let unread = read_back::read(cell, trial, bed, record)?;
    status::judge(plan, cell, unread, record);
    prepare::undo(cell, trial.0, bed);
    Ok(())
}
