//! What an agent is told of a trial: its share of the load, and what is known of its cores and its work.

use std::collections::BTreeMap;

use tare_schema::agent::LoadResult;
use tare_schema::load::{Cores, Deal, Endpoint, LoadPlan, LoadSpec, Reach};
use tare_schema::plan::{Cell, Placement, RoleLoad};
use tare_schema::record::TrialRecord;

/// What agents of a run took for an exchange so far, by role; those of a level before those of others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worked(BTreeMap<String, u64>);

impl Worked {
    /// The most that any trial of the level needed; of a role that was not measured there, of any level.
    pub fn at(level: &str, records: &[TrialRecord]) -> Worked {
        let mut found = most(records.iter());
        found.extend(most(records.iter().filter(|record| record.level == level)));
        Worked(found)
    }

    fn of(&self, role: &str) -> Option<u64> {
        self.0.get(role).copied()
    }
}

fn most<'a>(records: impl Iterator<Item = &'a TrialRecord>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for role in records.flat_map(|record| &record.load) {
        if let Some(cost_ns) = cost_ns(role) {
            let most: &mut u64 = found.entry(role.role.clone()).or_default();
            *most = cost_ns.max(*most);
        }
    }
    found
}

/// CPU of the workers for an exchange, what they spun apart.
fn cost_ns(role: &LoadResult) -> Option<u64> {
    let ours = &role.instrument;
    let cpu_ns: u64 = ours.worker_cpu_ns.iter().sum();
    let spun_ns: u64 = ours.worker_spun_ns.iter().sum();
    let work_ns = cpu_ns.saturating_sub(spun_ns);
    (role.released > 0 && work_ns > 0).then(|| work_ns.div_ceil(role.released))
}

/// Whether each worker of a cell has a core on which nothing else of the run is.
fn cores(placement: &Placement, cell: &Cell) -> Cores {
    let workers = |role: &RoleLoad| u64::from(role.agents.max(1)) * u64::from(role.load.workers);
    let wanted: u64 = cell.load.iter().map(workers).sum();
    if placement.agents_have_cores_of_their_own() && placement.agent_cpus.len() as u64 >= wanted {
        Cores::Own
    } else {
        Cores::Shared
    }
}

/// Orders for all agents of a cell.
pub(crate) struct Orders<'a> {
    pub cell: &'a Cell,
    /// Number and seed of the trial.
    pub trial: (u32, u64),
    pub placement: &'a Placement,
    pub worked: &'a Worked,
    pub start_at_unix_us: u64,
}

impl Orders<'_> {
    /// Those of one of the agents that share a role.
    pub fn of(&self, role: &RoleLoad, endpoint: &Endpoint, deal: Deal) -> LoadPlan {
        let (trial, seed) = self.trial;
        let load = self.cell.load_of_trial(&role.load, trial);
        LoadPlan {
            version: tare_schema::FORMAT_VERSION,
            role: role.role.clone(),
            start_at_unix_us: Some(self.start_at_unix_us),
            seed: seed ^ u64::from(deal.part),
            endpoint: endpoint.clone(),
            // What the lab makes is on this machine; of what is external the lab knows more.
            reach: Reach::Private,
            address_overrides: Vec::new(),
            cores: cores(self.placement, self.cell),
            cpu_per_exchange_ns: self.worked.of(&role.role),
            load: LoadSpec {
                pacing: load.pacing.share(deal),
                stop: load.stop.share(deal),
                ..load
            },
        }
    }
}
