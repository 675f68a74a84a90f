//! The conductor: runs the blocks of a plan, trial by trial, and writes the records.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tare_experiment::estimate::StartupTimes;
use tare_experiment::target::software_name;
use tare_lab::LabError;
use tare_lab::environment::{Environment, UsageSample};
use tare_lab::seal::RunKey;
use tare_record::agent::Sample;
use tare_record::checksums::ENVIRONMENT;
use tare_record::load::Stop;
use tare_record::plan::{Arm, Capacity, Cell, Plan};
use tare_record::record::{RunProgress, RunState, TrialRecord, TrialStatus};
use tare_record::secrets::redacted;
use tare_stats::random::Random;

use crate::agent_plans::MeasuredCost;
use crate::disk::write_synced;
use crate::durations::now_unix_us;
use crate::error::TrialError;
use crate::event::{Event, StopDecision, TrialObserver, TrialProgress, Watcher};
use crate::folder::{DamagedRecord, RunFolder, STATE, json_text};
use crate::order::{Slot, block_order, check_runnable};
use crate::progress_log::ProgressLog;
use crate::test_beds::{PlannedTrial, TestBeds};
use crate::trial::{self, Task, Trial};
use crate::{ConductError, capacity, profiles};

/// Options of a run.
#[derive(Debug)]
pub struct RunOptions {
    /// Folder that holds the runs.
    pub out: PathBuf,
    /// Name of the run's folder.
    pub name: String,
    /// The command line.
    pub command: Vec<String>,
    /// Capacity of this machine, when an earlier run has measured it.
    pub capacity: Option<Capacity>,
    /// Start and overhead times of earlier runs.
    pub times: StartupTimes,
    /// Key by which the run is known as this user's when it is resumed, or why there is none.
    pub key: Result<RunKey, String>,
}

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run folder.
    pub folder: PathBuf,
    /// Its final state.
    pub progress: RunProgress,
    /// Start and overhead times of this run.
    pub times: StartupTimes,
}

/// Runs a plan from its first block.
///
/// # Errors
/// When the environment cannot provide what the plan needs, or a record cannot be written.
pub fn run(
    plan: &Plan,
    environment: &mut dyn Environment,
    options: &RunOptions,
    watcher: &mut dyn Watcher,
) -> Result<RunOutcome, ConductError> {
    check_runnable(plan)?;
    fetch(plan, environment, watcher)?;
    resolve_external(plan, environment)?;
    watcher.on_event(&Event::Preparing("looking at this machine"));
    let described = environment.describe()?;
    let folder = RunFolder::create(&options.out, &options.name)?;
    let watcher = &mut ProgressLog::open(folder.path(), watcher);
    let place = folder.path().join(ENVIRONMENT);
    let described = json_text(&place, &described)?;
    write_synced(&place, &described)?;
    let state = RunState {
        version: tare_record::FORMAT_VERSION,
        started_unix_us: now_unix_us(),
        ended_unix_us: None,
        state: RunProgress::Running,
        reason: None,
        command: options.command.clone(),
        resumed: 0,
    };
    folder.write(STATE, &state)?;
    let plan = capacity::skip_levels_above(
        plan,
        options.capacity.as_ref(),
        environment,
        &folder,
        watcher,
    )?;
    // Last: a folder with a plan is a run that can be resumed.
    let kept = redacted(&plan).map_err(|error| ConductError::Plan(error.to_string()))?;
    if let Err(why) = &options.key {
        watcher.on_event(&Event::Note(&format!("this run cannot be resumed: {why}")));
    }
    folder.write_plan(&kept, &described, options.key.as_ref().ok())?;
    let beds = TestBeds::new(options.times.clone());
    Conductor::new(plan, folder, beds, (environment, watcher)).conduct(state)
}

/// Makes the software of a plan available.
pub(crate) fn fetch(
    plan: &Plan,
    environment: &mut dyn Environment,
    watcher: &mut dyn Watcher,
) -> Result<(), ConductError> {
    let mut targets = BTreeSet::new();
    for arm in plan.arms.iter().filter(|arm| arm.requires.is_none()) {
        for cell in plan.cells.iter().filter(|cell| cell.arm == arm.name) {
            let instances = arm.topology.instances.iter();
            let instances = instances.filter(|one| !arm.topology.is_injected(&one.name));
            targets.extend(instances.map(|instance| software_name(instance, &cell.targets)));
        }
    }
    let targets: Vec<String> = targets.into_iter().collect();
    environment.provide(&targets, &mut |words| {
        watcher.on_event(&Event::Preparing(words));
    })?;
    Ok(())
}

/// Finds the external parts of a plan, and connects to them.
pub(crate) fn resolve_external(
    plan: &Plan,
    environment: &mut dyn Environment,
) -> Result<(), ConductError> {
    let mut arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
    arms.try_for_each(|arm| Ok(environment.resolve_external(&arm.topology)?))
}

pub(crate) struct Conductor<'a> {
    plan: Plan,
    folder: RunFolder,
    environment: &'a mut dyn Environment,
    watcher: &'a mut dyn Watcher,
    beds: TestBeds,
    records: Vec<TrialRecord>,
    /// Arms whose test bed has started at least once: a later failure to start fails the trial, not the run.
    started_arms: BTreeSet<String>,
}

enum BlockEnd {
    Complete,
    Interrupted,
}

impl<'a> Conductor<'a> {
    pub(crate) fn new(
        plan: Plan,
        folder: RunFolder,
        beds: TestBeds,
        (environment, watcher): (&'a mut dyn Environment, &'a mut dyn Watcher),
    ) -> Self {
        Conductor {
            plan,
            folder,
            environment,
            watcher,
            beds,
            records: Vec::new(),
            started_arms: BTreeSet::new(),
        }
    }

    pub(crate) fn conduct(mut self, mut state: RunState) -> Result<RunOutcome, ConductError> {
        self.folder.write(STATE, &state)?;
        let (records, damaged) = self.folder.records()?;
        for DamagedRecord { file, reason } in damaged {
            let file = file.display();
            let said = format!("{file}: {reason}; its block is measured again");
            self.watcher.on_event(&Event::Note(&said));
        }
        self.records = records;
        self.started_arms = self
            .records
            .iter()
            .filter(|record| record.status.is_fit())
            .map(|record| record.arm.clone())
            .collect();
        let ended = self.blocks();
        let ended = match ended {
            Ok((BlockEnd::Complete, reason)) => self.profiles().map(|end| (end, reason)),
            other => other,
        };
        let logs = self.logs();
        self.beds.stop_all(&logs);
        (state.state, state.reason) = match &ended {
            Ok((BlockEnd::Complete, reason)) => (RunProgress::Complete, reason.clone()),
            Ok((BlockEnd::Interrupted, _)) => (
                RunProgress::Interrupted,
                Some("interrupted by the user".into()),
            ),
            Err(error) => (RunProgress::Failed, Some(error.to_string())),
        };
        state.ended_unix_us = Some(now_unix_us());
        let written = self.folder.write(STATE, &state);
        self.watcher.on_event(&Event::Ended {
            progress: state.state,
            reason: state.reason.as_deref(),
        });
        ended?;
        written?;
        let mut learned = self.beds.durations.learned;
        // Recovering from faults would distort the overhead time of a trial.
        if self.plan.cells.iter().any(|cell| !cell.faults.is_empty()) {
            learned.trials.clear();
        }
        Ok(RunOutcome {
            folder: self.folder.path().to_owned(),
            progress: state.state,
            times: learned,
        })
    }

    fn logs(&self) -> PathBuf {
        self.folder.path().join("testbeds")
    }

    /// Runs all blocks that are not complete yet. Also returns why it stopped before the last one, if it did.
    fn blocks(&mut self) -> Result<(BlockEnd, Option<String>), ConductError> {
        let blocks = self.plan.blocks;
        let slots = block_order(&self.plan, 1).len() as u32;
        let done = (1..=blocks.max).filter(|&b| self.is_complete(b)).count() as u32;
        self.watcher.on_event(&Event::Started {
            folder: self.folder.path(),
            trials: slots * blocks.max,
            done: slots * done,
        });
        for block in 1..=blocks.max {
            if !self.is_complete(block) {
                self.supersede(block)?;
                if let BlockEnd::Interrupted = self.block(block)? {
                    return Ok((BlockEnd::Interrupted, None));
                }
                self.watcher.on_event(&Event::BlockDone {
                    folder: self.folder.path(),
                    block,
                    of: blocks.max,
                });
            }
            if blocks.until.is_some()
                && block >= blocks.min
                && block < blocks.max
                && let StopDecision::Stop(reason) = self.watcher.should_stop(self.folder.path())
            {
                return Ok((BlockEnd::Complete, Some(reason)));
            }
        }
        Ok((BlockEnd::Complete, None))
    }

    /// Whether every slot of a block has a record, and a repeat where the first attempt was not fit.
    fn is_complete(&self, block: u32) -> bool {
        block_order(&self.plan, block).iter().all(|slot| {
            let mut of_slot = self
                .records
                .iter()
                .filter(|record| record.block == block && !record.superseded && is_of(record, slot))
                .peekable();
            of_slot.peek().is_some()
                && of_slot.any(|record| record.status.is_fit() || record.attempt > 0)
        })
    }

    /// Marks the records of an incomplete block as superseded: they stay on disk, but do not count.
    fn supersede(&mut self, block: u32) -> Result<(), ConductError> {
        for record in &mut self.records {
            if record.block == block && !record.superseded {
                record.superseded = true;
                self.folder.write_record(record)?;
            }
        }
        Ok(())
    }

    fn block(&mut self, block: u32) -> Result<BlockEnd, ConductError> {
        let mut again = Vec::new();
        let order = block_order(&self.plan, block);
        for (index, slot) in order.iter().enumerate() {
            match self.trial(block, slot, 0, &order[index..])? {
                None => return Ok(BlockEnd::Interrupted),
                Some(status) if status.is_fit() => {}
                Some(_) => again.push(slot.clone()),
            }
        }
        for (index, slot) in again.iter().enumerate() {
            if self.trial(block, slot, 1, &again[index..])?.is_none() {
                return Ok(BlockEnd::Interrupted);
            }
        }
        Ok(BlockEnd::Complete)
    }

    /// Runs one trial and writes its record; `None` when the user interrupted it.
    fn trial(
        &mut self,
        block: u32,
        slot: &Slot,
        attempt: u32,
        left_in_block: &[Slot],
    ) -> Result<Option<TrialStatus>, ConductError> {
        let cell = self.cell(slot)?.clone();
        let number = self.records.last().map_or(1, |record| record.trial + 1);
        let path = self.folder.fresh_trial(number)?;
        let mut record = TrialRecord {
            block,
            arm: slot.arm.clone(),
            level: slot.level.clone(),
            aa_copy: slot.copy,
            attempt,
            ..trial::draft(number)
        };
        let begun = Instant::now();
        let beds_before = self.beds.durations.beds;
        let left = self.left(block, left_in_block);
        let progress = TrialProgress {
            block,
            blocks: self.plan.blocks.max,
            slot,
            attempt,
            left,
        };
        self.watcher.on_event(&Event::TrialStarted(&progress));
        match self.measure(&cell, slot, (&path, &[]), &progress, &mut record)? {
            Trial::Interrupted => return Ok(None),
            Trial::Recorded => {}
        }
        let took = begun.elapsed();
        let of_bed = self.beds.durations.beds - beds_before;
        let beside = took.saturating_sub(load_duration(&cell) + of_bed);
        if record.status.is_fit() {
            self.beds.durations.trial(&self.plan.experiment, beside);
        }
        record.took_ns = took.as_nanos() as u64;
        self.folder.write_record(&record)?;
        self.watcher.on_event(&Event::TrialDone(&record));
        let status = record.status.clone();
        if let TrialStatus::Failed { .. } = status {
            // The test bed may be broken: the next trial gets a new one.
            let logs = self.logs();
            self.beds.stop_all(&logs);
        }
        self.records.push(record);
        Ok(Some(status))
    }

    /// One more trial of every cell that has instances to profile. It is not judged, and has no record.
    fn profiles(&mut self) -> Result<BlockEnd, ConductError> {
        if self.plan.profile.is_empty() {
            return Ok(BlockEnd::Complete);
        }
        self.folder.fresh_profiles()?;
        let block = self.plan.blocks.max + 1;
        let first = self.records.last().map_or(1, |record| record.trial + 1);
        let slots = block_order(&self.plan, block).into_iter();
        for (number, slot) in (first..).zip(slots.filter(|slot| slot.copy == 0)) {
            let instances = profiles::instances(&self.plan, arm_of(&self.plan, &slot)?);
            if instances.is_empty() {
                continue;
            }
            let what = format!("profile of {} at {}", slot.arm, slot.level);
            self.watcher.on_event(&Event::Note(&what));
            let cell = profiles::long_enough(self.cell(&slot)?.clone());
            let path = self.folder.fresh_profile(number)?;
            let mut record = TrialRecord {
                block,
                arm: slot.arm.clone(),
                level: slot.level.clone(),
                ..trial::draft(number)
            };
            let progress = TrialProgress {
                block,
                blocks: block,
                slot: &slot,
                attempt: 0,
                left: Duration::ZERO,
            };
            let wanted = (path.as_path(), instances.as_slice());
            if let Trial::Interrupted =
                self.measure(&cell, &slot, wanted, &progress, &mut record)?
            {
                return Ok(BlockEnd::Interrupted);
            }
            if let TrialStatus::Failed { reason, .. } = &record.status {
                let said = format!("no {what}: {reason}");
                self.watcher.on_event(&Event::Note(&said));
                let logs = self.logs();
                self.beds.stop_all(&logs);
            }
        }
        Ok(BlockEnd::Complete)
    }

    fn cell(&self, slot: &Slot) -> Result<&Cell, ConductError> {
        let mut cells = self.plan.cells.iter();
        cells
            .find(|cell| cell.arm == slot.arm && cell.level == slot.level)
            .ok_or_else(|| {
                ConductError::Plan(format!(
                    "the plan has no cell for arm {} at level {}",
                    slot.arm, slot.level
                ))
            })
    }

    fn measure(
        &mut self,
        cell: &Cell,
        slot: &Slot,
        (path, profile): (&std::path::Path, &[String]),
        progress: &TrialProgress<'_>,
        record: &mut TrialRecord,
    ) -> Result<Trial, ConductError> {
        if self.watcher.interrupted() {
            return Ok(Trial::Interrupted);
        }
        let arm = arm_of(&self.plan, slot)?;
        let planned = PlannedTrial {
            arm,
            cell,
            slot,
            block: record.block,
            trial: record.trial,
        };
        let logs = self.folder.path().join("testbeds");
        let watcher = &mut *self.watcher;
        let mut waiting = |instance: &str, waited| {
            watcher.on_event(&Event::Starting(progress, instance, waited));
        };
        let started = self
            .beds
            .get(&self.plan, &planned, self.environment, &mut waiting, &logs);
        let bed = match started {
            Ok(bed) => bed,
            Err(error) => return start_failed(&self.started_arms, error, record),
        };
        self.started_arms.insert(slot.arm.clone());
        let seed = format!("trial {}", record.trial);
        let seed = Random::for_purpose(self.plan.seed, &seed).bits();
        let mut observer = ForwardToWatcher {
            watcher: self.watcher,
            progress: Some(progress),
        };
        let task = Task {
            plan: &self.plan,
            cell,
            trial: (record.trial, seed),
            measured_cost: &MeasuredCost::at(&slot.level, &self.records),
            folder: path,
            profile,
        };
        trial::measure(&task, bed, &mut observer, record)
    }

    /// Estimate of the remaining time of the run, from this slot of a block on: the loads, the overhead per trial, and the start
    /// of further test beds with their burn-in.
    fn left(&self, block: u32, slots: &[Slot]) -> Duration {
        let later = (block + 1..=self.plan.blocks.max).flat_map(|later| {
            let slots = block_order(&self.plan, later);
            slots.into_iter().map(move |slot| (later, slot))
        });
        let now = slots.iter().map(|slot| (block, slot.clone()));
        let slots: Vec<(u32, Slot)> = now.chain(later).collect();
        let upcoming = slots
            .iter()
            .enumerate()
            .filter_map(|(index, (block, slot))| {
                let (arm, cell) = (arm_of(&self.plan, slot).ok()?, self.cell(slot).ok()?);
                Some(PlannedTrial {
                    arm,
                    cell,
                    slot,
                    block: *block,
                    trial: index as u32,
                })
            });
        let upcoming: Vec<PlannedTrial<'_>> = upcoming.collect();
        let loads: Duration = upcoming
            .iter()
            .map(|planned| load_duration(planned.cell))
            .sum();
        let beside = self.beds.durations.times.trial_overhead(&self.plan);
        let trials = upcoming.len() as u32;
        loads + beside * trials + self.beds.startup_time(&self.plan, upcoming.into_iter())
    }
}

/// Handles a failed start of a test bed: it ends the run if the arm has never started, else it fails the trial.
fn start_failed(
    started_arms: &BTreeSet<String>,
    error: LabError,
    record: &mut TrialRecord,
) -> Result<Trial, ConductError> {
    if !started_arms.contains(&record.arm) || error.is_ours() {
        return Err(error.into());
    }
    record.status = TrialError::Lab(error).into_status();
    Ok(Trial::Recorded)
}

fn arm_of<'a>(plan: &'a Plan, slot: &Slot) -> Result<&'a Arm, ConductError> {
    let mut arms = plan.arms.iter();
    arms.find(|arm| arm.name == slot.arm)
        .ok_or_else(|| ConductError::Plan(format!("the plan has no arm {}", slot.arm)))
}

fn is_of(record: &TrialRecord, slot: &Slot) -> bool {
    record.arm == slot.arm && record.level == slot.level && record.aa_copy == slot.copy
}

/// Warm-up and window of the longest load; a stop rule without a duration counts as no window.
fn load_duration(cell: &Cell) -> Duration {
    let takes = cell.load.iter().map(|role| {
        let window_ns = match role.load.stop {
            Stop::Duration { window_ns } => window_ns,
            Stop::Count { .. } | Stop::Interrupted => 0,
        };
        Duration::from_nanos(role.load.warmup_ns + window_ns)
    });
    takes.max().unwrap_or_default()
}

/// Forwards the steps and samples of a trial to the watcher; without progress, the interruption alone.
pub(crate) struct ForwardToWatcher<'a, 'p> {
    pub watcher: &'a mut dyn Watcher,
    pub progress: Option<&'a TrialProgress<'p>>,
}

impl TrialObserver for ForwardToWatcher<'_, '_> {
    fn step(&mut self, name: &str) {
        if let Some(progress) = self.progress {
            self.watcher.on_event(&Event::Step(progress, name));
        }
    }

    fn sample(&mut self, role: &str, sample: &Sample) {
        if let Some(progress) = self.progress {
            self.watcher
                .on_event(&Event::Sampled(progress, role, sample));
        }
    }

    fn usage(&mut self, usage: &UsageSample) {
        if let Some(progress) = self.progress {
            self.watcher.on_event(&Event::Usage(progress, usage));
        }
    }

    fn interrupted(&self) -> bool {
        self.watcher.interrupted()
    }
}
