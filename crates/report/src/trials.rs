//! Selection of trials: superseded trials and incomplete blocks are excluded; one fit trial per cell, block and copy counts.

use std::collections::{BTreeMap, BTreeSet};

use tare_record::metric::Metric;
use tare_record::plan::{Arm, Plan};
use tare_record::record::{RunProgress, TrialStatus};
use tare_record::view::{FailedShare, TrialRow};

use crate::failures;
use crate::latency::{self, MaybeLowerBound};
use crate::measure::{CellHistograms, TrialMetrics, measure};
use crate::read::{Run, Trial};

/// Upper limit of cells with merged observations: each takes four histograms.
const MERGED_MAX: usize = 2048;

/// Arm and level.
pub type CellName = (String, String);

/// Metrics of the trials that count, and a row for every trial.
#[derive(Debug, Default)]
pub struct Trials<'a> {
    /// Blocks that count, in order.
    pub blocks: Vec<u32>,
    /// Number of them that are complete: all, unless there is only an incomplete first block.
    pub complete_blocks: u32,
    /// Trials that count, by cell, then by block and copy.
    pub cells: BTreeMap<CellName, BTreeMap<(u32, u32), TrialMetrics<'a>>>,
    /// Their observations, merged over the trials of copy 0.
    pub merged: BTreeMap<CellName, CellHistograms>,
    /// Their failures, by cell.
    pub failed: BTreeMap<CellName, FailedShare>,
    pub attempts: BTreeMap<CellName, Attempts>,
    /// A row for every trial.
    pub rows: Vec<TrialRow>,
    /// Histograms that could not be read, with the reason.
    pub skipped: Vec<String>,
}

impl<'a> Trials<'a> {
    /// The trials whose medians are the figures of a cell. The second copy of the baseline only measures noise.
    pub fn fit(&self, cell: &CellName) -> Vec<&TrialMetrics<'a>> {
        let measured = self.cells.get(cell).into_iter().flatten();
        let first = measured.filter(|((_, copy), _)| *copy == 0);
        first.map(|(_, metrics)| metrics).collect()
    }
}

/// Counts of the trials of a cell, over the blocks that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Trials made, copies and repeats included.
    pub made: u32,
    /// Trials planned: one per block and copy.
    pub planned: u32,
    /// Planned trials that were repeated or have no fit trial.
    pub repeated: u32,
}

impl Attempts {
    /// Share of the planned trials that were repeated or are missing.
    pub fn repeated_share(self) -> Option<f64> {
        (self.planned > 0).then(|| f64::from(self.repeated) / f64::from(self.planned))
    }
}

/// Number of copies of an arm in each block.
fn copies(plan: &Plan, arm: usize) -> u32 {
    if arm == 0 && plan.aa_check { 2 } else { 1 }
}

/// Arms with at least one trial.
pub fn arms_run(run: &Run) -> BTreeSet<&str> {
    run.trials
        .iter()
        .map(|trial| trial.record.arm.as_str())
        .collect()
}

/// Blocks that count, and the number of them that are complete.
///
/// The last block of a run that is not complete is excluded unless the block is: it will be measured again. An incomplete
/// block counts only if it is the only one.
fn blocks(run: &Run) -> (Vec<u32>, u32) {
    let tried: BTreeSet<u32> = current(run).map(|trial| trial.record.block).collect();
    let mut blocks: Vec<u32> = tried.into_iter().collect();
    let complete = run
        .state
        .as_ref()
        .is_some_and(|state| state.state == RunProgress::Complete);
    let mut complete_blocks = blocks.len() as u32;
    if let Some(&last) = blocks.last()
        && !complete
        && !is_complete_block(run, last)
    {
        complete_blocks -= 1;
        if complete_blocks > 0 {
            blocks.pop();
        }
    }
    (blocks, complete_blocks)
}

/// Whether every slot of a block has a fit trial or a repeated one: the conductor's definition of a complete block.
fn is_complete_block(run: &Run, block: u32) -> bool {
    let settled: BTreeSet<(&str, &str, u32)> = current(run)
        .map(|trial| &trial.record)
        .filter(|record| record.block == block && (record.status.is_fit() || record.attempt > 0))
        .map(|record| (record.arm.as_str(), record.level.as_str(), record.aa_copy))
        .collect();
    let arms = arms_run(run);
    // An arm whose requirements are not met is not run; every other one is run in every block.
    let due = |(_, arm): &(usize, &Arm)| arm.requires.is_none() || arms.contains(arm.name.as_str());
    run.plan
        .arms
        .iter()
        .enumerate()
        .filter(due)
        .all(|(place, arm)| {
            run.plan.levels.iter().all(|level| {
                (0..copies(&run.plan, place))
                    .all(|copy| settled.contains(&(arm.name.as_str(), level.name.as_str(), copy)))
            })
        })
}

/// Trials that are not superseded.
fn current(run: &Run) -> impl Iterator<Item = &Trial> {
    run.trials.iter().filter(|trial| !trial.record.superseded)
}

/// Computes the metrics of every trial and keeps those of the trials that count.
pub fn trials(run: &Run) -> Trials<'_> {
    let (blocks, complete_blocks) = blocks(run);
    let mut all = Trials {
        blocks: blocks.clone(),
        complete_blocks,
        ..Trials::default()
    };
    for trial in &run.trials {
        let record = &trial.record;
        let latency = if record.load.is_empty() {
            None
        } else {
            let roles = record.load.iter();
            let session_roles = roles.filter(|role| role.sessions.is_some());
            let session_roles: Vec<&str> = session_roles.map(|role| role.role.as_str()).collect();
            latency::read_trial(&trial.folder, &session_roles)
                .map_err(|reasons| {
                    all.skipped
                        .push(format!("trials/{:04}/{reasons}", record.trial))
                })
                .ok()
        };
        let measured = measure(trial, latency.as_ref());
        let counts = !record.superseded && blocks.contains(&record.block);
        all.rows.push(row(run, trial, &measured, counts));
        let cell = (record.arm.clone(), record.level.clone());
        if !counts {
            continue;
        }
        all.attempts.entry(cell.clone()).or_default().made += 1;
        if !record.status.is_fit() {
            continue;
        }
        let has_room = all.merged.len() < MERGED_MAX || all.merged.contains_key(&cell);
        if let Some(latency) = latency.as_ref().filter(|_| record.aa_copy == 0 && has_room)
            && let Err(error) = all.merged.entry(cell.clone()).or_default().add(latency)
        {
            all.skipped
                .push(format!("trials/{:04}: {error}", record.trial));
        }
        all.cells
            .entry(cell)
            .or_default()
            .insert((record.block, record.aa_copy), measured);
    }
    for (cell, measured) in &all.cells {
        let records: Vec<_> = measured.values().map(|one| one.record).collect();
        let failed = failures::cell_failures(&run.plan, cell, &records);
        all.failed.insert(cell.clone(), failed);
    }
    count_attempts(run, &mut all);
    all
}

fn count_attempts(run: &Run, all: &mut Trials<'_>) {
    // The highest number of an attempt, by slot.
    let mut last_attempts: BTreeMap<(&str, &str, u32, u32), u32> = BTreeMap::new();
    for record in current(run).map(|trial| &trial.record) {
        let slot = (
            record.arm.as_str(),
            record.level.as_str(),
            record.block,
            record.aa_copy,
        );
        let last = last_attempts.entry(slot).or_default();
        *last = record.attempt.max(*last);
    }
    for (place, arm) in run.plan.arms.iter().enumerate() {
        for level in &run.plan.levels {
            let cell = (arm.name.clone(), level.name.clone());
            let attempts = all.attempts.entry(cell.clone()).or_default();
            let places = all
                .blocks
                .iter()
                .flat_map(|&block| (0..copies(&run.plan, place)).map(move |copy| (block, copy)));
            for (block, copy) in places {
                let slot = (arm.name.as_str(), level.name.as_str(), block, copy);
                let attempt = last_attempts.get(&slot);
                // Trials that an incomplete first block has not run yet are not missing; a second copy alone does not count.
                let own = last_attempts.get(&(slot.0, slot.1, block, 0));
                if all.complete_blocks == 0 && (attempt.is_none() || own.is_none()) {
                    continue;
                }
                let fit = all
                    .cells
                    .get(&cell)
                    .is_some_and(|cell| cell.contains_key(&(block, copy)));
                let repeated = attempt.is_some_and(|&attempt| attempt > 0);
                attempts.planned += 1;
                attempts.repeated += u32::from(!fit || repeated);
            }
        }
    }
}

fn row(run: &Run, trial: &Trial, measured: &TrialMetrics<'_>, counts: bool) -> TrialRow {
    let record = &trial.record;
    let (status, mut reasons) = match &record.status {
        TrialStatus::Fit => ("fit", Vec::new()),
        TrialStatus::Unfit { reasons } => ("unfit", reasons.clone()),
        TrialStatus::Invalid { reasons } => ("invalid", reasons.clone()),
        TrialStatus::Failed { reason, log_tail } => {
            let mut reasons = vec![reason.clone()];
            // The last lines only: the whole log is in the trial's folder.
            reasons.extend(log_tail.iter().rev().take(3).rev().cloned());
            ("failed", reasons)
        }
    };
    let status = if record.superseded {
        "superseded"
    } else {
        status
    };
    if record.superseded {
        reasons.push("its block was measured again when the run was resumed".into());
    } else if !counts {
        reasons.push("its block was not finished".into());
    }
    let started = run
        .state
        .as_ref()
        .map_or(record.started_unix_us, |s| s.started_unix_us);
    let at = |metric| {
        measured
            .values
            .get(&metric)
            .map(|figured: &MaybeLowerBound| figured.value)
    };
    let lateness = record
        .load
        .iter()
        .filter_map(|role| role.generator.lateness.p99_ns)
        .max();
    TrialRow {
        trial: record.trial,
        block: record.block,
        arm: record.arm.clone(),
        level: record.level.clone(),
        aa_copy: record.aa_copy,
        attempt: record.attempt,
        status: status.into(),
        reasons,
        offset_ns: record
            .started_unix_us
            .saturating_sub(started)
            .saturating_mul(1000),
        took_ns: record.took_ns,
        saturated: record.saturated,
        p50_ns: at(Metric::Median).map(|ns| ns as u64),
        p99_ns: at(Metric::P99).map(|ns| ns as u64),
        throughput_per_s: at(Metric::Throughput),
        lateness_p99_ns: lateness,
        proofs_held: record.proofs.iter().filter(|proof| proof.passed).count() as u32,
        proofs_made: record.proofs.len() as u32,
    }
}
