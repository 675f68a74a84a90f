//! The steps of one trial: preparation, counters, agents, window, evidence, status.

use std::path::Path;
use std::time::{Duration, Instant};

use tare_lab::environment::TestBed;
use tare_record::plan::{Cell, Plan, Preparation};
use tare_record::record::{TrialRecord, TrialStatus};

use crate::agent_plans::{AgentPlans, MeasuredCost};
use crate::agents::Agents;
use crate::durations::now_unix_us;
use crate::error::{ConductError, TrialError, check_running};
use crate::event::TrialObserver;
use crate::faults::Faults;
use crate::profiles::Profiles;
use crate::test_beds::TrialBed;
use crate::{evidence, prepare, read_back, status, target_counters, window};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The record has the results, or why the trial failed.
    Recorded,
    /// The user interrupted the run: nothing of the trial is kept.
    Interrupted,
}

/// Inputs of a trial.
pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub cell: &'a Cell,
    /// Number and seed of the trial.
    pub trial: (u32, u64),
    pub measured_cost: &'a MeasuredCost,
    /// Folder of the trial's files.
    pub folder: &'a Path,
    /// Instances whose stacks are sampled; with any, the trial is not judged.
    pub profile: &'a [String],
}

/// An empty record.
pub(crate) fn draft(number: u32) -> TrialRecord {
    TrialRecord {
        version: tare_record::FORMAT_VERSION,
        trial: number,
        block: 0,
        arm: String::new(),
        level: String::new(),
        aa_copy: 0,
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
        instances: Vec::new(),
        machine: None,
        proofs: Vec::new(),
        not_proved: Vec::new(),
        audits: Vec::new(),
        endpoints: Vec::new(),
        target_counters: Vec::new(),
        faults: Vec::new(),
        read_back: None,
    }
}

/// Measures one cell on a running test bed.
pub(crate) fn measure(
    task: &Task<'_>,
    trial_bed: TrialBed<'_>,
    observer: &mut dyn TrialObserver,
    record: &mut TrialRecord,
) -> Result<Trial, ConductError> {
    let TrialBed {
        bed,
        prepared,
        burn_in_ns,
    } = trial_bed;
    let warmed = burn_in_ns.map(|burn_in_ns| warmed_longer(task.cell, burn_in_ns));
    let task = Task {
        cell: warmed.as_ref().unwrap_or(task.cell),
        ..*task
    };
    let stopped = match steps(&task, (&mut *bed, prepared), observer, record) {
        Ok(()) => return Ok(Trial::Recorded),
        Err(stopped) => stopped,
    };
    let reason = match stopped {
        TrialError::Interrupted => return Ok(Trial::Interrupted),
        TrialError::Run(error) => return Err(error),
        TrialError::Lab(error) if error.is_ours() => return Err(error.into()),
        TrialError::Lab(error) => TrialError::Failed(error.to_string()),
        other => other,
    };
    // If an instance has exited, that is the reason.
    record.status = check_running(bed).err().unwrap_or(reason).into_status();
    Ok(Trial::Recorded)
}

/// The same cell with a warm-up of at least the burn-in.
fn warmed_longer(cell: &Cell, burn_in_ns: u64) -> Cell {
    let mut cell = cell.clone();
    for role in &mut cell.load {
        role.load.warmup_ns = role.load.warmup_ns.max(burn_in_ns);
    }
    cell
}

fn steps(
    task: &Task<'_>,
    (bed, prepared): (&mut dyn TestBed, &mut Vec<Preparation>),
    observer: &mut dyn TrialObserver,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    let (plan, cell, trial) = (task.plan, task.cell, task.trial);
    let Some(first) = cell.load.first() else {
        return Err(TrialError::Failed(
            "the cell has no load: give the experiment a load section".into(),
        ));
    };
    let mut arms = plan.arms.iter();
    let arm = arms.find(|arm| arm.name == cell.arm);
    record.not_proved = arm.map_or_else(Vec::new, |arm| arm.topology.not_proved());
    bed.check_external()?;
    prepare::steps(cell, trial, (&mut *bed, prepared), observer)?;
    let before = bed.counters()?;

    let pace = bed.pace();
    let lead = window::lead(cell, pace);
    let begun = Instant::now();
    let agent_plans = AgentPlans {
        cell,
        trial,
        placement: &plan.placement,
        measured_cost: task.measured_cost,
        start_at_unix_us: now_unix_us() + lead.as_micros() as u64,
        lead,
    };
    let mut agents = Agents::start(&agent_plans, bed)?;
    record.endpoints = agents.endpoints();
    // Not by the wall clock, which may be set at any time.
    let window_start = begun + lead + Duration::from_nanos(first.load.warmup_ns);
    let mut faults = Faults::of(cell, trial);
    let profiles = Profiles::start(task, bed, window_start)?;
    window::observe(
        (cell, pace),
        window_start,
        (&mut *bed, &mut agents),
        &mut faults,
        observer,
        record,
    )?;
    if !cell.faults.is_empty() {
        faults.wait_all();
        bed.recover()?;
    }
    check_running(bed)?;
    profiles.write(task)?;
    agents.write_files(task.folder)?;
    record.load = agents.into_results();
    bed.check_external()?;

    let mut after = evidence::gather(plan, cell, &before, bed, record)?;
    // Counters of restarted instances start again from 0: they give no difference.
    after.retain(|counters| !faults.restarted().contains(&counters.instance));
    record.target_counters = target_counters::target_counters(&before, &after);
    record.faults = faults.records();
    let read_back_violations = read_back::read(cell, trial, bed, record)?;
    status::judge(plan, cell, read_back_violations, record);
    prepare::undo(cell, trial.0, bed);
    Ok(())
}
