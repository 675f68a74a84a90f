//! Which trials count: superseded and unfinished blocks left out, one fit trial per cell, block and copy.

use std::collections::{BTreeMap, BTreeSet};

use tare_schema::metric::Metric;
use tare_schema::plan::{Arm, BaselineRuns, Plan};
use tare_schema::record::{RunProgress, TrialStatus};
use tare_schema::view::{FailedShare, TrialRow};

use crate::failures;
use crate::latency::{self, Figured};
use crate::measure::{Measured, Merged, measure};
use crate::read::{Run, Trial};

/// Most cells whose observations are kept merged: each holds three histograms.
const MERGED_MAX: usize = 2048;

/// Arm and level.
pub type CellName = (String, String);

/// Everything measured that counts, and every trial as a row.
#[derive(Debug, Default)]
pub struct Trials<'a> {
    /// Blocks that count, in order.
    pub blocks: Vec<u32>,
    /// Of those, how many are whole: all, unless there is nothing but an unfinished first one.
    pub whole: u32,
    /// Trials that count by cell, then block and copy.
    pub cells: BTreeMap<CellName, BTreeMap<(u32, u32), Measured<'a>>>,
    /// Their observations, merged over the trials of copy 0.
    pub merged: BTreeMap<CellName, Merged>,
    /// What failed of them, by cell.
    pub failed: BTreeMap<CellName, FailedShare>,
    /// How often something was tried, by cell.
    pub tries: BTreeMap<CellName, Tries>,
    /// Every trial.
    pub rows: Vec<TrialRow>,
    /// Histograms that could not be read, with the reason.
    pub skipped: Vec<String>,
}

/// How the trials of a cell went, over the blocks that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    /// Trials made, copies and repeats too.
    pub made: u32,
    /// Trials that had to be: one per block and copy.
    pub planned: u32,
    /// Of those, repeated or missing for good.
    pub repeated: u32,
}

impl Tries {
    /// Share of the planned trials that were repeated or are missing.
    pub fn repeated_share(self) -> Option<f64> {
        (self.planned > 0).then(|| f64::from(self.repeated) / f64::from(self.planned))
    }
}

/// Copies that each arm runs in a block.
fn copies(plan: &Plan, arm: usize) -> u32 {
    if arm == 0 && plan.baseline_runs == BaselineRuns::Twice {
        2
    } else {
        1
    }
}

/// Arms of which anything was measured; the others were not run here.
pub fn arms_run(run: &Run) -> BTreeSet<&str> {
    run.trials
        .iter()
        .map(|trial| trial.record.arm.as_str())
        .collect()
}

/// Blocks that count, and how many of them are whole.
///
/// The last block of a run that is still going or was ended is left out unless it is whole: it will be measured again. With
/// no whole block at all there is nothing better than what is there.
fn blocks(run: &Run) -> (Vec<u32>, u32) {
    let tried: BTreeSet<u32> = current(run).map(|trial| trial.record.block).collect();
    let mut blocks: Vec<u32> = tried.into_iter().collect();
    let complete = run
        .state
        .as_ref()
        .is_some_and(|state| state.state == RunProgress::Complete);
    let mut whole = blocks.len() as u32;
    if let Some(&last) = blocks.last()
        && !complete
        && !is_whole(run, last)
    {
        whole -= 1;
        if whole > 0 {
            blocks.pop();
        }
    }
    (blocks, whole)
}

/// Whether every slot of a block has a trial that is fit or a repeat: what the conductor takes for a complete block.
fn is_whole(run: &Run, block: u32) -> bool {
    let settled: BTreeSet<(&str, &str, u32)> = current(run)
        .map(|trial| &trial.record)
        .filter(|record| record.block == block && (record.status.is_fit() || record.attempt > 0))
        .map(|record| (record.arm.as_str(), record.level.as_str(), record.copy))
        .collect();
    let arms = arms_run(run);
    // An arm that needs what is not there is not run; any other has its turn in every block.
    let due = |(_, arm): &(usize, &Arm)| arm.needs.is_none() || arms.contains(arm.name.as_str());
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

/// Trials that were not measured again by a resumed run.
fn current(run: &Run) -> impl Iterator<Item = &Trial> {
    run.trials.iter().filter(|trial| !trial.record.superseded)
}

/// Measures every trial once and keeps what counts.
pub fn trials(run: &Run) -> Trials<'_> {
    let (blocks, whole) = blocks(run);
    let mut all = Trials {
        blocks: blocks.clone(),
        whole,
        ..Trials::default()
    };
    for trial in &run.trials {
        let record = &trial.record;
        let latency = if record.load.is_empty() {
            None
        } else {
            let roles = record.load.iter();
            let players = roles.filter(|role| role.sessions.is_some());
            let players: Vec<&str> = players.map(|role| role.role.as_str()).collect();
            latency::read_trial(&trial.folder, &players)
                .map_err(|why| {
                    all.skipped
                        .push(format!("trials/{:04}/{why}", record.trial))
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
        all.tries.entry(cell.clone()).or_default().made += 1;
        if !record.status.is_fit() {
            continue;
        }
        let has_room = all.merged.len() < MERGED_MAX || all.merged.contains_key(&cell);
        if let Some(latency) = latency.as_ref().filter(|_| record.copy == 0 && has_room)
            && let Err(error) = all.merged.entry(cell.clone()).or_default().pour(latency)
        {
            all.skipped
                .push(format!("trials/{:04}: {error}", record.trial));
        }
        all.cells
            .entry(cell)
            .or_default()
            .insert((record.block, record.copy), measured);
    }
    for (cell, measured) in &all.cells {
        let records: Vec<_> = measured.values().map(|one| one.record).collect();
        let failed = failures::of_cell(&run.plan, cell, &records);
        all.failed.insert(cell.clone(), failed);
    }
    count_tries(run, &mut all);
    all
}

fn count_tries(run: &Run, all: &mut Trials<'_>) {
    // Attempts at each slot: the highest number.
    let mut attempts: BTreeMap<(&str, &str, u32, u32), u32> = BTreeMap::new();
    for record in current(run).map(|trial| &trial.record) {
        let slot = (
            record.arm.as_str(),
            record.level.as_str(),
            record.block,
            record.copy,
        );
        let last = attempts.entry(slot).or_default();
        *last = record.attempt.max(*last);
    }
    for (place, arm) in run.plan.arms.iter().enumerate() {
        for level in &run.plan.levels {
            let cell = (arm.name.clone(), level.name.clone());
            let tries = all.tries.entry(cell.clone()).or_default();
            let places = all
                .blocks
                .iter()
                .flat_map(|&block| (0..copies(&run.plan, place)).map(move |copy| (block, copy)));
            for (block, copy) in places {
                let slot = (arm.name.as_str(), level.name.as_str(), block, copy);
                let attempt = attempts.get(&slot);
                // What an unfinished first block has not come to yet is not missing; the copy alone says nothing of the cell.
                let own = attempts.get(&(slot.0, slot.1, block, 0));
                if all.whole == 0 && (attempt.is_none() || own.is_none()) {
                    continue;
                }
                let fit = all
                    .cells
                    .get(&cell)
                    .is_some_and(|cell| cell.contains_key(&(block, copy)));
                let repeated = attempt.is_some_and(|&attempt| attempt > 0);
                tries.planned += 1;
                tries.repeated += u32::from(!fit || repeated);
            }
        }
    }
}

fn row(run: &Run, trial: &Trial, measured: &Measured<'_>, counts: bool) -> TrialRow {
    let record = &trial.record;
    let (status, mut why) = match &record.status {
        TrialStatus::Fit => ("fit", Vec::new()),
        TrialStatus::Unfit { reasons } => ("unfit", reasons.clone()),
        TrialStatus::Invalid { reasons } => ("invalid", reasons.clone()),
        TrialStatus::Failed { reason, log_tail } => {
            let mut why = vec![reason.clone()];
            // The end of the log says most; the whole of it lies in the trial's folder.
            why.extend(log_tail.iter().rev().take(3).rev().cloned());
            ("failed", why)
        }
    };
    let status = if record.superseded {
        "superseded"
    } else {
        status
    };
    if record.superseded {
        why.push("its block was measured again when the run was resumed".into());
    } else if !counts {
        why.push("its block was not finished".into());
    }
    let started = run
        .state
        .as_ref()
        .map_or(record.started_unix_us, |s| s.started_unix_us);
    let at = |metric| {
        measured
            .values
            .get(&metric)
            .map(|figured: &Figured| figured.value)
    };
    let lateness = record
        .load
        .iter()
        .filter_map(|role| role.instrument.lateness.p99_ns)
        .max();
    TrialRow {
        trial: record.trial,
        block: record.block,
        arm: record.arm.clone(),
        level: record.level.clone(),
        copy: record.copy,
        attempt: record.attempt,
        status: status.into(),
        why,
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
        proofs_held: record.proofs.iter().filter(|proof| proof.holds).count() as u32,
        proofs_made: record.proofs.len() as u32,
    }
}
