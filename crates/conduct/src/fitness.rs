//! Whether the instrument was good enough in a trial: `unfit` and `saturated`.

use tare_schema::plan::{Fitness, Placement};
use tare_schema::record::{MachineUsage, RoleResult};

use crate::tail::Lateness;

/// Every limit of ours that was passed, in words; empty when the trial is fit.
///
/// `lateness` is its highest quantile up to p99 that the counts carry; `service_p50_ns` is the median service time of the role, `None` when nothing was answered.
#[must_use]
pub fn unfit_reasons(
    fitness: &Fitness,
    placement: &Placement,
    role: &RoleResult,
    lateness: Option<Lateness>,
    service_p50_ns: Option<u64>,
    machine: Option<&MachineUsage>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let limit_ns = fitness.lateness_limit_ns(service_p50_ns);
    if let Some(Lateness { name, value_ns }) = lateness
        && value_ns > limit_ns
    {
        reasons.push(format!(
            "lateness {name} {} µs is above {} µs: requests were released late",
            value_ns / 1000,
            limit_ns / 1000
        ));
    }
    if let Some(busy) = machine.and_then(|machine| busy_share(machine, &placement.agent_cpus))
        && busy > fitness.agent_busy
        && role.offered_per_s.is_some()
    {
        reasons.push(format!(
            "the agent's core was {:.0} % busy, above {:.0} %",
            busy * 100.0,
            fitness.agent_busy * 100.0
        ));
    }
    // What overflowed the queue was taken by our loop: that is the target's limit, not ours.
    let taken = role.released + role.overflow;
    if role.intended > 0 && (taken as f64) < role.intended as f64 * fitness.released_share {
        reasons.push(format!(
            "only {taken} of {} intended arrivals were released",
            role.intended
        ));
    }
    if let Some(sessions) = &role.sessions {
        let begun = sessions.started + sessions.overflow;
        if (begun as f64) < sessions.intended as f64 * fitness.released_share {
            reasons.push(format!(
                "only {begun} of {} intended sessions were started",
                sessions.intended
            ));
        }
    }
    reasons
}

/// Whether the parts' cores were so busy that queueing there dominates.
#[must_use]
pub fn is_saturated(fitness: &Fitness, placement: &Placement, machine: &MachineUsage) -> bool {
    busy_share(machine, &placement.part_cpus).is_some_and(|busy| busy > fitness.saturated_busy)
}

/// Mean busy share of these cores; `None` when none of them is named.
fn busy_share(machine: &MachineUsage, cpus: &[u32]) -> Option<f64> {
    let busy: Vec<f64> = cpus
        .iter()
        .filter_map(|&cpu| machine.core_busy.get(cpu as usize).copied())
        .collect();
    (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
}
