//! The load plan of each agent: its share of the load, its cores, its measured CPU time per exchange.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_record::agent::LoadResult;
use tare_record::load::{AddressPolicy, Cores, Endpoint, LoadPlan, LoadSpec, Shard};
use tare_record::plan::{Cell, Placement, RoleLoad};
use tare_record::record::TrialRecord;

/// CPU time per exchange of the agents of a run so far, by role.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeasuredCost(BTreeMap<String, u64>);

impl MeasuredCost {
    /// The highest cost in trials of this level; for roles that were not measured there, in trials of any level.
    pub fn at(level: &str, records: &[TrialRecord]) -> MeasuredCost {
        let mut found = highest_cost(records.iter());
        found.extend(highest_cost(
            records.iter().filter(|record| record.level == level),
        ));
        MeasuredCost(found)
    }

    fn of(&self, role: &str) -> Option<u64> {
        self.0.get(role).copied()
    }
}

fn highest_cost<'a>(records: impl Iterator<Item = &'a TrialRecord>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for role in records.flat_map(|record| &record.load) {
        if let Some(cost_ns) = cost_ns(role) {
            let highest_cost: &mut u64 = found.entry(role.role.clone()).or_default();
            *highest_cost = cost_ns.max(*highest_cost);
        }
    }
    found
}

/// CPU time of the workers per exchange, without spinning.
fn cost_ns(role: &LoadResult) -> Option<u64> {
    let generator = &role.generator;
    let cpu_ns: u64 = generator.worker_cpu_ns.iter().sum();
    let spun_ns: u64 = generator.worker_spun_ns.iter().sum();
    let work_ns = cpu_ns.saturating_sub(spun_ns);
    (role.released > 0 && work_ns > 0).then(|| work_ns.div_ceil(role.released))
}

/// Whether each worker of a cell has a core that the run uses for nothing else.
fn cores(placement: &Placement, cell: &Cell) -> Cores {
    let workers = |role: &RoleLoad| u64::from(role.agents.max(1)) * u64::from(role.load.workers);
    let wanted: u64 = cell.load.iter().map(workers).sum();
    if placement.agents_have_cores_of_their_own() && placement.agent_cpus.len() as u64 >= wanted {
        Cores::Dedicated
    } else {
        Cores::Shared
    }
}

/// Makes the load plans of all agents of a cell.
pub(crate) struct AgentPlans<'a> {
    pub cell: &'a Cell,
    /// Number and seed of the trial.
    pub trial: (u32, u64),
    pub placement: &'a Placement,
    pub measured_cost: &'a MeasuredCost,
    pub start_at_unix_us: u64,
    /// Time from now to the start.
    pub lead: Duration,
}

impl AgentPlans<'_> {
    /// The load plan of one of the agents that share a role.
    pub fn of(&self, role: &RoleLoad, endpoint: &Endpoint, shard: Shard) -> LoadPlan {
        let (trial, seed) = self.trial;
        let load = self.cell.load_of_trial(&role.load, trial);
        LoadPlan {
            version: tare_record::FORMAT_VERSION,
            role: role.role.clone(),
            start_at_unix_us: Some(self.start_at_unix_us),
            start_lead_ns: Some(self.lead.as_nanos() as u64),
            seed: seed ^ u64::from(shard.index),
            endpoint: endpoint.clone(),
            // Test beds are on this machine; the lab replaces this for external parts.
            allowed_addresses: AddressPolicy::Private,
            address_overrides: Vec::new(),
            cores: cores(self.placement, self.cell),
            cpu_per_exchange_ns: self.measured_cost.of(&role.role),
            load: LoadSpec {
                pacing: load.pacing.share(shard),
                stop: load.stop.share(shard),
                ..load
            },
        }
    }
}
