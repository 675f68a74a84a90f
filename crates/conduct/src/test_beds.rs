//! The running test beds, and when a new one is started.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use tare_experiment::estimate::{StartupTimes, burn_in};
use tare_lab::LabError;
use tare_lab::environment::{Environment, TestBed, TestBedPlan};
use tare_record::plan::{Arm, Cell, Plan, Preparation, Restart};
use tare_record::topology::{Instance, Settings};

use crate::durations::Durations;
use crate::order::Slot;

/// What a test bed was started for. It is reused while the key of the next trial is equal.
#[derive(Debug, Clone, PartialEq)]
struct TestBedKey {
    arm: String,
    /// Block, copy and trial; 0 for those at which the restart policy does not restart.
    restart_scope: (u32, u32, u32),
    workload: Settings,
    targets: BTreeMap<String, Settings>,
}

/// The test beds of a run.
#[derive(Default)]
pub(crate) struct TestBeds {
    running: Vec<RunningTestBed>,
    /// Start times on this machine.
    pub durations: Durations,
}

struct RunningTestBed {
    key: TestBedKey,
    name: String,
    bed: Box<dyn TestBed>,
    /// Preparation steps that are done once per test bed and have been done.
    prepared: Vec<Preparation>,
    /// Nothing has been measured on it yet.
    is_fresh: bool,
    /// Its instances are paused while another test bed is under load.
    is_paused: bool,
}

/// A test bed, lent to one trial.
pub(crate) struct TrialBed<'a> {
    pub bed: &'a mut dyn TestBed,
    /// Preparation steps that are done once per test bed and have been done.
    pub prepared: &'a mut Vec<Preparation>,
    /// Warm-up of the first load on a fresh test bed, where the plan has a burn-in.
    pub burn_in_ns: Option<u64>,
}

/// What decides which test bed a trial needs.
pub(crate) struct PlannedTrial<'a> {
    pub arm: &'a Arm,
    pub cell: &'a Cell,
    pub slot: &'a Slot,
    pub block: u32,
    pub trial: u32,
}

impl TestBeds {
    /// No test bed runs yet.
    pub fn new(times: StartupTimes) -> Self {
        TestBeds {
            running: Vec::new(),
            durations: Durations::new(times),
        }
    }

    /// The test bed for a trial: a running one with the same key, or a new one.
    pub fn get(
        &mut self,
        plan: &Plan,
        planned: &PlannedTrial<'_>,
        environment: &mut dyn Environment,
        waiting: &mut dyn FnMut(&str, Duration),
        logs: &Path,
    ) -> Result<TrialBed<'_>, LabError> {
        let key = key_of(plan, planned);
        let found = self.running.iter().position(|running| running.key == key);
        if found.is_none() && plan.restart != Restart::Run {
            self.stop_all(logs);
        }
        for (index, other) in self.running.iter_mut().enumerate() {
            if Some(index) != found && !other.is_paused {
                other.bed.pause()?;
                other.is_paused = true;
            }
        }
        let index = match found {
            Some(index) => index,
            None => {
                let name = format!("b{}-{}-{}", planned.block, planned.slot.arm, planned.trial);
                let begun = Instant::now();
                let mut bed =
                    environment.place(&test_bed_plan(plan, planned.arm, planned.cell, &name))?;
                match bed.start(waiting) {
                    Ok(parts) => self
                        .durations
                        .bed(&parts, begun.elapsed() + burn_in(plan, planned.cell)),
                    Err(error) => {
                        // Logs of the failed start explain it best.
                        let _ = bed.collect(&logs.join(&name));
                        return Err(error);
                    }
                }
                self.running.push(RunningTestBed {
                    key,
                    name,
                    bed,
                    prepared: Vec::new(),
                    is_fresh: true,
                    is_paused: false,
                });
                self.running.len() - 1
            }
        };
        let running = &mut self.running[index];
        if std::mem::take(&mut running.is_paused) {
            running.bed.resume(waiting)?;
        }
        let is_fresh = std::mem::take(&mut running.is_fresh);
        Ok(TrialBed {
            bed: &mut *running.bed,
            prepared: &mut running.prepared,
            burn_in_ns: plan.burn_in_ns.filter(|_| is_fresh),
        })
    }

    /// Time to start the test beds that these trials, in this order, need and that do not run yet.
    pub fn startup_time<'a>(
        &self,
        plan: &Plan,
        trials: impl Iterator<Item = PlannedTrial<'a>>,
    ) -> Duration {
        let mut running: Vec<TestBedKey> = self
            .running
            .iter()
            .map(|running| running.key.clone())
            .collect();
        let mut sum = Duration::ZERO;
        for planned in trials {
            let key = key_of(plan, &planned);
            if running.contains(&key) {
                continue;
            }
            sum += self.durations.times.testbed_start(&planned.arm.topology)
                + burn_in(plan, planned.cell);
            if plan.restart != Restart::Run {
                running.clear();
            }
            running.push(key);
        }
        sum
    }

    /// Collects the logs and stops all test beds.
    pub fn stop_all(&mut self, logs: &Path) {
        for mut running in self.running.drain(..) {
            // Logs are diagnostics: a failure to copy them does not fail the run.
            let _ = running.bed.collect(&logs.join(running.name));
            // Dropping the test bed kills what did not stop.
            let _ = running.bed.stop();
        }
    }
}

/// The plan of the test bed for a cell.
#[must_use]
pub fn test_bed_plan(plan: &Plan, arm: &Arm, cell: &Cell, name: &str) -> TestBedPlan {
    TestBedPlan {
        name: name.to_owned(),
        topology: arm.topology.clone(),
        workload: cell.workload.clone(),
        targets: cell.targets.clone(),
        placement: plan.placement.clone(),
        limits: plan.limits_of(arm),
        excluded: arm.excluded.clone(),
        agents: agents(plan),
    }
}

/// Most agents at once of each instance whose pod has nothing else in any arm: then their pods are the same in all arms.
fn agents(plan: &Plan) -> BTreeMap<String, u32> {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for role in plan.cells.iter().flat_map(|cell| &cell.load) {
        let known = most.entry(role.instance.clone()).or_default();
        *known = (*known).max(role.agents);
    }
    for arm in &plan.arms {
        let all = &arm.topology.instances;
        most.retain(|name, _| {
            let own = all.iter().find(|one| one.name == *name);
            let beside =
                |one: &&Instance| one.name != *name && own.is_some_and(|own| own.pod == one.pod);
            all.iter().find(beside).is_none()
        });
    }
    most
}

fn key_of(plan: &Plan, planned: &PlannedTrial<'_>) -> TestBedKey {
    TestBedKey {
        arm: planned.slot.arm.clone(),
        restart_scope: match plan.restart {
            Restart::Trial => (planned.block, planned.slot.copy, planned.trial),
            Restart::Block => (planned.block, planned.slot.copy, 0),
            // The A/A copy has its own processes, so that the A/A check includes differences between processes.
            Restart::Run => (0, planned.slot.copy, 0),
        },
        workload: planned.cell.settings_of_bed(plan),
        targets: planned.cell.targets.clone(),
    }
}
