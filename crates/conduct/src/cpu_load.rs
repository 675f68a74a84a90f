//! CPU use during a trial: by other programs, by other arms, and whether the instances saturated their cores.

use std::collections::BTreeSet;

use tare_record::plan::{Fitness, Placement};
use tare_record::record::{BackgroundLoad, InstanceUsage, MachineUsage};
use tare_record::topology::SHARED_CONTROL_PLANE;

/// Share of the cores of instances and of agents that other programs used; `None` when the CPU time of a core, of an instance or
/// of other arms is not known.
///
/// Everything of a run but its agents runs on the cores of the instances: the conductor, the keeper, the links, and instances of
/// other arms.
#[must_use]
pub fn background_load(
    placement: &Placement,
    machine: &MachineUsage,
    parts: &[InstanceUsage],
) -> Option<BackgroundLoad> {
    let (agents, others): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.role == "agent");
    let agents_ns = cpu_ns(&agents)?;
    let others_ns = cpu_ns(&others)? + machine.other_arms_cpu_ns?;
    let target_cores = target_cores(placement, machine);
    if placement.agents_have_cores_of_their_own() {
        return Some(BackgroundLoad {
            target_cores: background(machine, &target_cores, others_ns)?,
            agent_cores: Some(background(machine, &placement.agent_cpus, agents_ns)?),
        });
    }
    Some(BackgroundLoad {
        target_cores: background(machine, &target_cores, agents_ns + others_ns)?,
        agent_cores: None,
    })
}

/// CPU time of other programs on all cores, where the observation does not say it: an agent had ended before it was read.
#[must_use]
pub fn background_cpu_ns(machine: &MachineUsage, parts: &[InstanceUsage]) -> Option<u64> {
    let all: Vec<&InstanceUsage> = parts.iter().collect();
    let own_ns = cpu_ns(&all)? + machine.other_arms_cpu_ns?;
    let cpus: Vec<u32> = (0..machine.core_busy.len() as u32).collect();
    let share = background(machine, &cpus, own_ns)?;
    Some((share * available_ns(machine, &cpus)) as u64)
}

/// Share of the cores of instances that instances of other arms used; of all cores where agents have none of their own.
#[must_use]
pub fn other_arms(placement: &Placement, machine: &MachineUsage) -> Option<f64> {
    let cpus = target_cores(placement, machine);
    share(machine.other_arms_cpu_ns?, machine, &cpus)
}

/// The cores of instances; all cores where agents have none of their own.
fn target_cores(placement: &Placement, machine: &MachineUsage) -> Vec<u32> {
    if placement.agents_have_cores_of_their_own() {
        return placement.target_cpus.clone();
    }
    if placement.agent_cpus.is_empty() || placement.target_cpus.is_empty() {
        return (0..machine.core_busy.len() as u32).collect();
    }
    let both = placement.agent_cpus.iter().chain(&placement.target_cpus);
    let both: BTreeSet<u32> = both.copied().collect();
    both.into_iter().collect()
}

fn cpu_ns(parts: &[&InstanceUsage]) -> Option<u64> {
    let own = parts.iter();
    let own = own.filter(|part| part.role != SHARED_CONTROL_PLANE);
    own.map(|part| part.cpu_ns).sum()
}

/// Busy share of these cores that the run's own CPU time does not account for. Clamped at 0: core times are coarser than process
/// times.
fn background(machine: &MachineUsage, cpus: &[u32], own_ns: u64) -> Option<f64> {
    let accounted = mean(&machine.core_busy, cpus)? - mean(&machine.core_unattributed, cpus)?;
    Some((accounted - share(own_ns, machine, cpus)?).clamp(0.0, 1.0))
}

/// CPU time as a share of the time that these cores had.
fn share(cpu_ns: u64, machine: &MachineUsage, cpus: &[u32]) -> Option<f64> {
    let available_ns = available_ns(machine, cpus);
    (available_ns > 0.0).then(|| cpu_ns as f64 / available_ns)
}

/// Time that these cores had.
fn available_ns(machine: &MachineUsage, cpus: &[u32]) -> f64 {
    machine.window_ns as f64 * (1.0 - machine.steal_share.unwrap_or(0.0)) * cpus.len() as f64
}

/// Whether the instances' own work kept their cores so busy that queueing dominates.
#[must_use]
pub fn is_saturated(fitness: &Fitness, placement: &Placement, machine: &MachineUsage) -> bool {
    let background = machine
        .background
        .map_or(0.0, |background| background.target_cores);
    let others = background + machine.other_arms.unwrap_or(0.0);
    mean(&machine.core_busy, &placement.target_cpus)
        .is_some_and(|busy| busy - others > fitness.saturated_busy)
}

/// Mean over these cores; `None` when a value is missing or the list is empty.
fn mean(of_cores: &[f64], cpus: &[u32]) -> Option<f64> {
    let shares = cpus.iter().map(|&cpu| of_cores.get(cpu as usize).copied());
    let sum: f64 = shares.sum::<Option<f64>>()?;
    (!cpus.is_empty()).then(|| sum / cpus.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn placement(agent_cpus: &[u32], target_cpus: &[u32]) -> Placement {
        Placement {
            agent_cpus: agent_cpus.to_vec(),
            target_cpus: target_cpus.to_vec(),
        }
    }

    fn machine(core_busy: &[f64], core_unattributed: &[f64]) -> MachineUsage {
        MachineUsage {
            window_ns: SECOND_NS,
            core_busy: core_busy.to_vec(),
            core_unattributed: core_unattributed.to_vec(),
            other_arms_cpu_ns: Some(0),
            ..MachineUsage::default()
        }
    }

    fn part(role: &str, share: f64) -> InstanceUsage {
        InstanceUsage {
            role: role.into(),
            cpu_ns: Some((share * SECOND_NS as f64) as u64),
            ..InstanceUsage::default()
        }
    }

    fn is_near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 1e-6
    }

    #[test]
    fn what_is_busy_and_neither_ours_nor_unbooked_is_foreign_on_each_set_of_cores() {
        let parts = [
            part("app", 0.2),
            part("sidecar", 0.3),
            part("conductor", 0.01),
            part("agent", 0.25),
        ];
        let machine = machine(&[0.92, 0.4], &[0.11, 0.05]);
        let found = background_load(&placement(&[1], &[0]), &machine, &parts).unwrap();
        assert!(is_near(found.target_cores, 0.3), "{found:?}");
        assert!(is_near(found.agent_cores.unwrap(), 0.1), "{found:?}");
    }

    #[test]
    fn the_time_of_other_programs_is_what_is_busy_and_not_ours() {
        let parts = [part("app", 0.5), part("agent", 0.25)];
        let machine = machine(&[0.92, 0.4], &[0.1, 0.02]);
        let found = background_cpu_ns(&machine, &parts).unwrap();
        assert!(found.abs_diff(SECOND_NS * 45 / 100) < 1000, "{found}");
        let unknown = InstanceUsage::default();
        assert_eq!(background_cpu_ns(&machine, &[unknown]), None);
    }

    #[test]
    fn stolen_time_is_nobodys() {
        let mut machine = machine(&[1.0, 0.0], &[0.0, 0.0]);
        machine.steal_share = Some(0.1);
        let parts = [part("app", 0.9), part("agent", 0.0)];
        let found = background_load(&placement(&[1], &[0]), &machine, &parts).unwrap();
        assert!(is_near(found.target_cores, 0.0), "{found:?}");
    }

    #[test]
    fn agents_without_cores_of_their_own_leave_one_figure() {
        let parts = [part("app", 0.4), part("agent", 0.2)];
        let machine = machine(&[0.8, 0.4, 0.9], &[0.0, 0.0, 0.0]);
        let shared = background_load(&placement(&[1], &[0, 1]), &machine, &parts).unwrap();
        assert!(is_near(shared.target_cores, 0.3), "{shared:?}");
        assert_eq!(shared.agent_cores, None);
        let anywhere = background_load(&placement(&[], &[]), &machine, &parts).unwrap();
        assert!(is_near(anywhere.target_cores, 0.5), "{anywhere:?}");
    }

    #[test]
    fn instances_of_other_arms_are_no_other_programs() {
        let parts = [part("app", 0.2), part("agent", 0.25)];
        let mut machine = machine(&[0.25, 0.7], &[0.0, 0.0]);
        machine.other_arms_cpu_ns = Some(SECOND_NS / 5);
        let near = placement(&[0], &[1]);
        let found = background_load(&near, &machine, &parts).unwrap();
        assert!(is_near(found.target_cores, 0.3), "{found:?}");
        assert!(is_near(found.agent_cores.unwrap(), 0.0), "{found:?}");
        assert!(is_near(other_arms(&near, &machine).unwrap(), 0.2));
        // Of both cores where nobody has one of its own.
        let anywhere = placement(&[], &[]);
        assert!(is_near(other_arms(&anywhere, &machine).unwrap(), 0.1));
        machine.other_arms_cpu_ns = None;
        assert_eq!(background_load(&near, &machine, &parts), None);
        assert_eq!(other_arms(&near, &machine), None);
    }

    #[test]
    fn what_is_not_known_is_not_nothing_and_more_of_ours_than_busy_is() {
        let near = placement(&[1], &[0]);
        let machine = machine(&[0.3, 0.3], &[0.0, 0.0]);
        let unknown = InstanceUsage::default();
        assert_eq!(background_load(&near, &machine, &[unknown]), None);
        assert_eq!(background_load(&near, &MachineUsage::default(), &[]), None);
        let more = [part("app", 0.35), part("agent", 0.3)];
        let found = background_load(&near, &machine, &more).unwrap();
        assert_eq!(found.target_cores, 0.0);
    }

    #[test]
    fn cores_that_other_programs_or_other_arms_fill_are_not_saturated() {
        let near = placement(&[1], &[0]);
        let mut machine = machine(&[0.92, 0.1], &[0.0, 0.0]);
        let fitness = Fitness::default();
        assert!(is_saturated(&fitness, &near, &machine));
        machine.background = Some(BackgroundLoad {
            target_cores: 0.3,
            agent_cores: Some(0.0),
        });
        assert!(!is_saturated(&fitness, &near, &machine));
        machine.background = None;
        machine.other_arms = Some(0.3);
        assert!(!is_saturated(&fitness, &near, &machine));
    }
}
