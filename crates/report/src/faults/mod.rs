//! Injected faults: what was done during trials, its effect on the load, and the records read back.

mod samples;
mod tables;
mod words;

pub use tables::{seconds, trials};

use std::collections::BTreeMap;

use tare_record::agent::LoadResult;
use tare_record::record::{FaultRecord, TrialRecord};
use tare_record::view::{FaultMark, FaultSample, FaultTrial, FaultView, ReadBackView};

use crate::cells::{median, median_u64};
use crate::read::{Run, Trial};
use samples::MergedSample;

/// Views of the cells with faults, in the order of the plan, and the sample files that could not be read.
pub fn faults(run: &Run) -> (Vec<FaultView>, Vec<String>) {
    let mut views = Vec::new();
    let mut skipped = Vec::new();
    for cell in &run.plan.cells {
        let of_cell = |trial: &&Trial| {
            let record = &trial.record;
            let there = !record.faults.is_empty() || record.read_back.is_some();
            there && !record.superseded && record.arm == cell.arm && record.level == cell.level
        };
        // Offsets of samples count from the start of the warm-up, those of events from the start of the window.
        let warmup_ns = cell.load.first().map_or(0, |role| role.load.warmup_ns);
        let trials: Vec<TrialSamples<'_>> = run
            .trials
            .iter()
            .filter(of_cell)
            .map(|trial| trial_samples(trial, warmup_ns, &mut skipped))
            .collect();
        if trials.is_empty() {
            continue;
        }
        let rows: Vec<FaultTrial> = trials.iter().map(row).collect();
        let faults = fault_marks(&trials);
        let of_arm = (run.plan.arms.len() > 1).then_some(cell.arm.as_str());
        views.push(FaultView {
            level: cell.level.clone(),
            arm: cell.arm.clone(),
            sentences: words::sentences(of_arm, &cell.faults, &faults, &rows),
            faults,
            series: series(&trials),
            trials: rows,
        });
    }
    (views, skipped)
}

/// A trial with its samples; offsets from the start of the window.
struct TrialSamples<'a> {
    record: &'a TrialRecord,
    samples: Vec<MergedSample>,
}

fn trial_samples<'a>(
    trial: &'a Trial,
    warmup_ns: u64,
    skipped: &mut Vec<String>,
) -> TrialSamples<'a> {
    let record = &trial.record;
    let mut samples = samples::read(&trial.folder).unwrap_or_else(|reason| {
        skipped.push(format!("trials/{:04}/samples.csv: {reason}", record.trial));
        Vec::new()
    });
    samples.retain(|one| one.offset_ns > warmup_ns);
    for sample in &mut samples {
        sample.offset_ns -= warmup_ns;
    }
    TrialSamples { record, samples }
}

fn row(trial_samples: &TrialSamples<'_>) -> FaultTrial {
    let record = trial_samples.record;
    let began = record
        .faults
        .iter()
        .filter_map(|fault| fault.began_ns)
        .min();
    let window_ns = record.load.iter().map(|role| role.window_ns).max();
    let within: Vec<MergedSample> = trial_samples
        .samples
        .iter()
        .filter(|one| window_ns.is_none_or(|end| one.offset_ns <= end))
        .copied()
        .collect();
    let counts = |name: &str| {
        let all = record
            .load
            .iter()
            .map(|role| role.protocol_counts.get(name));
        all.flatten().copied().reduce(|a, b| a + b)
    };
    FaultTrial {
        trial: record.trial,
        done: words::done(&record.faults),
        outage_ns: began.and_then(|from_ns| samples::longest_outage(&within, from_ns)),
        slowest_ns: trial_samples
            .samples
            .iter()
            .filter_map(|one| one.slowest_ns)
            .max(),
        retried: counts("retries"),
        errors: record.load.iter().map(LoadResult::failed).sum(),
        read_back: record.read_back.as_ref().map(|found| ReadBackView {
            acknowledged: found.acknowledged,
            read: found.read,
            lost: found.lost,
            duplicated: found.duplicated,
        }),
    }
}

/// The faults by their index in the trial, with median times.
fn fault_marks(trials: &[TrialSamples<'_>]) -> Vec<FaultMark> {
    let mut places: BTreeMap<usize, Vec<&FaultRecord>> = BTreeMap::new();
    for trial in trials {
        for (place, fault) in trial.record.faults.iter().enumerate() {
            places.entry(place).or_default().push(fault);
        }
    }
    places
        .into_values()
        .filter_map(|all| {
            Some(FaultMark {
                label: words::label(&all),
                began_ns: median_u64(all.iter().map(|one| one.began_ns))?,
                done_ns: median_u64(all.iter().map(|one| one.done_ns)),
            })
        })
        .collect()
}

/// The samples by their offset, over the trials.
fn series(trials: &[TrialSamples<'_>]) -> Vec<FaultSample> {
    let mut places: BTreeMap<u64, Vec<MergedSample>> = BTreeMap::new();
    for sample in trials.iter().flat_map(|trial| &trial.samples) {
        // The last sample of a load is shorter: it ends with the drain.
        places.entry(sample.offset_ns).or_default().push(*sample);
    }
    places
        .into_iter()
        .filter(|(_, all)| all.len() * 2 > trials.len())
        .map(|(offset_ns, all)| {
            let length_ns = all
                .iter()
                .map(|one| one.length_ns)
                .max()
                .unwrap_or(1)
                .max(1);
            let rate = |one: &MergedSample| one.ok as f64 * 1e9 / one.length_ns.max(1) as f64;
            FaultSample {
                offset_ns,
                length_ns,
                ok_per_s: median(all.iter().map(|one| Some(rate(one))).collect()).unwrap_or(0.0),
                errors: all.iter().map(|one| one.errors).sum(),
                slowest_ns: median_u64(all.iter().map(|one| one.slowest_ns)),
            }
        })
        .collect()
}
