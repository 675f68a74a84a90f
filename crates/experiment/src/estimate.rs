//! Estimated duration of a plan: its windows, and the time to start and stop test beds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tare_record::load::LoadSpec;
use tare_record::plan::{Capacity, Cell, Plan, Preparation, PrepareWhen, Restart};
use tare_record::topology::Topology;

/// Per trial: agent start, reading counters, drain, writing the record.
const PER_TRIAL: Duration = Duration::from_millis(250);
/// Per test bed: set-up and clean-up of addresses, certificates and folders.
const PER_TEST_BED: Duration = Duration::from_millis(200);
/// Per process: start until ready.
const PER_INSTANCE: Duration = Duration::from_millis(200);
/// Per topic: creation before a trial and deletion after it, each until every broker knows.
const PER_TOPIC: Duration = Duration::from_secs(1);

/// Durations measured in earlier runs on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartupTimes {
    /// Time that one more instance adds to the start of a test bed, by target.
    pub starts: BTreeMap<String, Duration>,
    /// Time of a trial besides its load, by experiment.
    pub trials: BTreeMap<String, Duration>,
    /// Typical start time from the target's folder, for targets without a measurement.
    #[serde(skip)]
    pub usual: BTreeMap<String, Duration>,
}

impl StartupTimes {
    /// Time to start a test bed; a constant is assumed for targets without a known time.
    #[must_use]
    pub fn testbed_start(&self, topology: &Topology) -> Duration {
        let start = |target: &str| {
            let known = self.starts.get(target).or_else(|| self.usual.get(target));
            known.copied().unwrap_or(PER_INSTANCE)
        };
        PER_TEST_BED
            + topology
                .parts()
                .map(|part| start(&part.target))
                .sum::<Duration>()
    }

    /// Time of a trial besides its load; estimated from its preparation steps if unknown.
    #[must_use]
    pub fn trial_overhead(&self, plan: &Plan) -> Duration {
        let topics = |cell: &Cell| {
            let steps = cell.prepare.iter();
            let steps = steps.filter(|step| step.when() == PrepareWhen::Trial);
            steps
                .filter(|step| matches!(step, Preparation::Topic { .. }))
                .count()
        };
        let known = self.trials.get(&plan.experiment).copied();
        known.unwrap_or_else(|| {
            let topics = plan.cells.iter().map(topics).max().unwrap_or(0);
            PER_TRIAL + PER_TOPIC * u32::try_from(topics).unwrap_or(u32::MAX)
        })
    }

    /// Targets of a plan without a measured start time.
    #[must_use]
    pub fn unknown<'a>(&self, plan: &'a Plan) -> Vec<&'a str> {
        let arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
        let parts = arms.flat_map(|arm| arm.topology.parts());
        let mut targets: Vec<&str> = parts
            .map(|part| part.target.as_str())
            .filter(|target| !self.starts.contains_key(*target))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

/// Additional warm-up of the first load on a fresh test bed.
#[must_use]
pub fn burn_in(plan: &Plan, cell: &Cell) -> Duration {
    let warmup_ns = cell.load.iter().map(|role| role.load.warmup_ns).max();
    let more_ns = plan
        .burn_in_ns
        .unwrap_or(0)
        .saturating_sub(warmup_ns.unwrap_or(0));
    Duration::from_nanos(more_ns)
}

/// Estimated duration of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Trials per block, the second measurement of the baseline included.
    pub trials_per_block: u64,
    /// Trials for the least and for the greatest number of blocks.
    pub trials: (u64, u64),
    /// Time inside the windows of one block; `None`: unknown (a load without an end).
    pub measuring: Option<Duration>,
    /// Duration of one block.
    pub block: Option<Duration>,
    /// Duration for the least and for the greatest number of blocks.
    pub total: Option<(Duration, Duration)>,
}

/// Estimates the duration of a plan.
#[must_use]
pub fn estimate(plan: &Plan, times: &StartupTimes) -> Estimate {
    let (min, max) = (plan.blocks.min, plan.blocks.max);
    let (mut trials, mut once) = (0, capacity(plan, times));
    let mut measuring = Some(Duration::ZERO);
    let mut block = Some(Duration::ZERO);
    let beside = times.trial_overhead(plan);
    for (index, arm) in plan.arms.iter().enumerate() {
        if arm.requires.is_some() {
            continue;
        }
        let cells = plan.cells.iter().filter(|cell| cell.arm == arm.name);
        let cells: Vec<&Cell> = cells.collect();
        let repeats: u32 = match (index, plan.aa_check) {
            (0, true) => 2,
            _ => 1,
        };
        trials += u64::from(repeats) * cells.len() as u64;
        for cell in &cells {
            let length = length(cell);
            let window = length.map(|(_, window)| window * repeats);
            measuring = measuring.zip(window).map(|(sum, window)| sum + window);
            let trial = length.map(|(whole, _)| (whole + beside) * repeats);
            block = block.zip(trial).map(|(sum, trial)| sum + trial);
        }
        let burn_in = cells.first().map(|cell| burn_in(plan, cell));
        let bed = times.testbed_start(&arm.topology) + burn_in.unwrap_or_default();
        let beds = match plan.restart {
            Restart::Trial => cells.len(),
            Restart::Block | Restart::Run => count_test_beds(plan, &cells),
        };
        let beds = bed * repeats * u32::try_from(beds).unwrap_or(u32::MAX);
        match plan.restart {
            Restart::Run => once += beds,
            Restart::Block | Restart::Trial => block = block.map(|sum| sum + beds),
        }
    }
    Estimate {
        trials_per_block: trials,
        trials: (trials * u64::from(min), trials * u64::from(max)),
        measuring,
        block,
        total: block.map(|block| (once + block * min, once + block * max)),
    }
}

/// Time to measure the capacity.
fn capacity(plan: &Plan, times: &StartupTimes) -> Duration {
    if !plan.may_skip_levels() {
        return Duration::ZERO;
    }
    let heaviest = plan.arms_with_most_proxies();
    let arms = plan.arms.iter();
    arms.filter(|arm| heaviest.contains(&arm.name.as_str()))
        .map(|arm| {
            let cell = plan.cells.iter().find(|cell| cell.arm == arm.name);
            let burn_in = cell.map(|cell| burn_in(plan, cell)).unwrap_or_default();
            times.testbed_start(&arm.topology) + burn_in + Capacity::WARMUP + Capacity::WINDOW
        })
        .sum()
}

/// Number of test beds for the cells of an arm: levels share one unless they differ in what is started.
fn count_test_beds(plan: &Plan, cells: &[&Cell]) -> usize {
    let mut kinds = Vec::new();
    for cell in cells {
        let kind = (cell.settings_of_bed(plan), &cell.targets);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.len()
}

/// Warm-up plus window, and the window alone, of the longest role.
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
