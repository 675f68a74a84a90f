//! Which beds are up, and when one is set up afresh.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{Bed, BedPlan, Environment};
use tare_schema::estimate::{Times, burn_in};
use tare_schema::plan::{Arm, Cell, Plan, Preparation, Restart};
use tare_schema::topology::Settings;

use crate::durations::Durations;
use crate::order::Slot;

/// What a bed was made for: as long as the key of the next trial is the same, it stays up.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    arm: String,
    /// Block, copy and trial, as far as the restart policy tells them apart.
    round: (u32, u32, u32),
    workload: Settings,
    targets: BTreeMap<String, Settings>,
}

/// The beds of a run.
#[derive(Default)]
pub(crate) struct Beds {
    up: Vec<Up>,
    /// What starting takes here.
    pub durations: Durations,
}

/// A bed that is up.
struct Up {
    key: Key,
    name: String,
    bed: Box<dyn Bed>,
    /// Steps that it needs only once.
    taken: Vec<Preparation>,
    /// Nothing has been measured on it.
    is_fresh: bool,
}

/// A bed, for one trial.
pub(crate) struct Ground<'a> {
    pub bed: &'a mut dyn Bed,
    /// Steps that were taken on it.
    pub taken: &'a mut Vec<Preparation>,
    /// How long the load is to warm it up, if not as always.
    pub burn_in_ns: Option<u64>,
}

/// One trial, as far as beds are concerned.
pub(crate) struct Stay<'a> {
    pub arm: &'a Arm,
    pub cell: &'a Cell,
    pub slot: &'a Slot,
    pub block: u32,
    pub trial: u32,
}

impl Beds {
    /// None is up yet.
    pub fn new(times: Times) -> Self {
        Beds {
            up: Vec::new(),
            durations: Durations::new(times),
        }
    }

    /// The bed for a trial: one that is up, or a fresh one.
    pub fn get(
        &mut self,
        plan: &Plan,
        stay: &Stay<'_>,
        environment: &mut dyn Environment,
        waiting: &mut dyn FnMut(&str, Duration),
        logs: &Path,
    ) -> Result<Ground<'_>, LabError> {
        let key = key_of(plan, stay);
        let index = match self.up.iter().position(|up| up.key == key) {
            Some(index) => index,
            None => {
                if plan.restart != Restart::Run {
                    self.stop_all(logs);
                }
                let name = format!("b{}-{}-{}", stay.block, stay.slot.arm, stay.trial);
                let begun = Instant::now();
                let mut bed = environment.place(&bed_plan(plan, stay.arm, stay.cell, &name))?;
                match bed.start(waiting) {
                    Ok(parts) => self
                        .durations
                        .bed(&parts, begun.elapsed() + burn_in(plan, stay.cell)),
                    Err(error) => {
                        // What it wrote before it gave up is the best explanation there is.
                        let _ = bed.collect(&logs.join(&name));
                        return Err(error);
                    }
                }
                self.up.push(Up {
                    key,
                    name,
                    bed,
                    taken: Vec::new(),
                    is_fresh: true,
                });
                self.up.len() - 1
            }
        };
        let up = &mut self.up[index];
        let is_fresh = std::mem::take(&mut up.is_fresh);
        Ok(Ground {
            bed: &mut *up.bed,
            taken: &mut up.taken,
            burn_in_ns: plan.burn_in_ns.filter(|_| is_fresh),
        })
    }

    /// Time that beds will take that these trials, one after the other, start.
    pub fn will_take<'a>(&self, plan: &Plan, stays: impl Iterator<Item = Stay<'a>>) -> Duration {
        let mut up: Vec<Key> = self.up.iter().map(|up| up.key.clone()).collect();
        let mut sum = Duration::ZERO;
        for stay in stays {
            let key = key_of(plan, &stay);
            if up.contains(&key) {
                continue;
            }
            sum += self.durations.times.bed(&stay.arm.topology) + burn_in(plan, stay.cell);
            if plan.restart != Restart::Run {
                up.clear();
            }
            up.push(key);
        }
        sum
    }

    /// Collects logs and stops everything.
    pub fn stop_all(&mut self, logs: &Path) {
        for mut up in self.up.drain(..) {
            // Logs are for people: a run is not lost because they cannot be copied.
            let _ = up.bed.collect(&logs.join(up.name));
            // Dropping the bed ends what would not stop by itself.
            let _ = up.bed.stop();
        }
    }
}

/// What a bed for a cell is made from.
#[must_use]
pub fn bed_plan(plan: &Plan, arm: &Arm, cell: &Cell, name: &str) -> BedPlan {
    BedPlan {
        name: name.to_owned(),
        topology: arm.topology.clone(),
        workload: cell.workload.clone(),
        targets: cell.targets.clone(),
        placement: plan.placement.clone(),
        limits: plan.limits.clone(),
        excluded: arm.excluded.clone(),
    }
}

fn key_of(plan: &Plan, stay: &Stay<'_>) -> Key {
    Key {
        arm: stay.slot.arm.clone(),
        round: match plan.restart {
            Restart::Trial => (stay.block, stay.slot.copy, stay.trial),
            Restart::Block => (stay.block, stay.slot.copy, 0),
            // Its copy has processes of its own: the A/A check sees what differs between processes.
            Restart::Run => (0, stay.slot.copy, 0),
        },
        workload: stay.cell.settings_of_bed(plan),
        targets: stay.cell.targets.clone(),
    }
}
