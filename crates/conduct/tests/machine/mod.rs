//! The machine in a run: what agents are told of their cores and their work, and what others took.

use tare_record::load::Cores;
use tare_record::plan::{Placement, Plan, Restart};

use super::bench;
use super::scripted::plan;

/// The agents on the second core, everything else on the first.
fn placed() -> Plan {
    let mut plan = plan();
    plan.placement = Placement {
        agent_cpus: vec![1],
        target_cpus: vec![0],
    };
    plan
}

fn told(plan: &Plan) -> Vec<(Cores, Option<u64>)> {
    let mut bench = bench(&[]);
    // Two blocks, in each a trial that needs most.
    *bench.lab.costs_ns.lock().unwrap() = [150, 200, 110, 120, 300, 90].into();
    bench.run(plan);
    let orders = bench.lab.orders.lock().unwrap();
    orders
        .iter()
        .map(|plan| (plan.cores, plan.cpu_per_exchange_ns))
        .collect()
}

#[test]
fn an_agent_is_told_the_most_that_an_exchange_has_taken_so_far_what_was_spun_apart() {
    let costs: Vec<_> = told(&placed()).into_iter().map(|(_, cost)| cost).collect();
    let expected = [None, Some(150), Some(200), Some(200), Some(200), Some(300)];
    assert_eq!(costs[..6], expected);
}

#[test]
fn what_was_measured_at_another_level_stands_in_until_the_level_has_its_own() {
    let mut plan = placed();
    let mut other = plan.levels[0].clone();
    other.name = "5000/s".into();
    plan.levels.push(other);
    for mut cell in plan.cells.clone() {
        cell.level = "5000/s".into();
        plan.cells.push(cell);
    }
    plan.blocks.max = 1;
    plan.blocks.min = 1;
    let mut bench = bench(&[]);
    *bench.lab.costs_ns.lock().unwrap() = [500, 10, 10, 10, 10, 10].into();
    let outcome = bench.run(&plan);
    let records = bench.records(&outcome);
    let orders = bench.lab.orders.lock().unwrap();
    assert_eq!((records.len(), orders.len()), (6, 6));
    for (index, (record, plan)) in records.iter().zip(orders.iter()).enumerate() {
        let earlier = &records[..index];
        let own = earlier.iter().filter(|one| one.level == record.level);
        let dearest = |level: &str| level == records[0].level;
        let expected = match (index, own.count()) {
            (0, _) => None,
            (_, 0) => Some(500),
            _ if dearest(&record.level) => Some(500),
            _ => Some(10),
        };
        assert_eq!(plan.cpu_per_exchange_ns, expected, "trial {}", record.trial);
    }
}

#[test]
fn cores_are_an_agents_own_where_nothing_else_is_placed_and_they_suffice() {
    let cores = |plan: &Plan| told(plan)[0].0;
    assert_eq!(cores(&placed()), Cores::Dedicated);
    let mut shared = placed();
    shared.placement.target_cpus = vec![0, 1];
    assert_eq!(cores(&shared), Cores::Shared);
    // One core for everything.
    assert_eq!(cores(&plan()), Cores::Shared);
    let mut workers = placed();
    for cell in &mut workers.cells {
        cell.load[0].load.workers = 2;
    }
    assert_eq!(cores(&workers), Cores::Shared);
    workers.placement.agent_cpus = vec![1, 2];
    assert_eq!(cores(&workers), Cores::Dedicated);
    for cell in &mut workers.cells {
        cell.load[0].agents = 2;
    }
    assert_eq!(cores(&workers), Cores::Shared);
}

#[test]
fn a_record_says_what_others_took_and_that_does_not_make_the_parts_saturated() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&placed());
    for record in bench.records(&outcome) {
        let background = record.machine.unwrap().background.unwrap();
        assert!(
            (background.target_cores - 0.25).abs() < 1e-6,
            "{background:?}"
        );
        let agents = background.agent_cores.unwrap();
        assert!((agents - 0.1).abs() < 1e-6, "{background:?}");
        assert!(record.status.is_fit() && !record.saturated);
    }
}

#[test]
fn a_record_tells_instances_of_other_arms_apart_from_other_programs() {
    let mut bench = bench(&[]);
    bench.lab.other_arms = 0.2;
    let mut plan = placed();
    plan.restart = Restart::Run;
    let outcome = bench.run(&plan);
    let is_near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
    for record in bench.records(&outcome) {
        let machine = record.machine.unwrap();
        assert_eq!(machine.other_arms_cpu_ns, Some(200_000));
        assert!(is_near(machine.other_arms.unwrap(), 0.2), "{machine:?}");
        let background = machine.background.unwrap();
        assert!(is_near(background.target_cores, 0.05), "{background:?}");
        assert!(is_near(background.agent_cores.unwrap(), 0.1));
        assert!(record.status.is_fit() && !record.saturated);
    }
}
