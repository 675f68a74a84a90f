//! What is made before trials, filled and taken back; and several agents that share a role.

use tare_record::load::Stop;
use tare_record::plan::{Blocks, Preparation, PrepareWhen, Restart};
use tare_record::record::TrialStatus;

use super::bench;
use super::scripted::{self, plan};

/// A topic that is made when a trial, or a bed, asks for it.
fn topic(name: &str, when: PrepareWhen) -> Preparation {
    Preparation::Topic {
        step: "topic".into(),
        when,
        part: "broker".into(),
        port: "plain".into(),
        topic: name.into(),
        partitions: 1,
        replicas: 1,
        fill: None,
    }
}

#[test]
fn several_agents_share_a_role_and_each_says_what_it_did() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.blocks = Blocks {
        min: 1,
        max: 1,
        until: None,
    };
    for cell in &mut plan.cells {
        cell.load[0].agents = 3;
        cell.load[0].load.stop = Stop::Count { exchanges: 10 };
    }
    let outcome = bench.run(&plan);
    let asked = bench.lab.steps.lock().unwrap();
    let shares: Vec<&str> = asked.iter().take(3).map(String::as_str).collect();
    let share = |exchanges: u32| format!("load: Count {{ exchanges: {exchanges} }}");
    assert_eq!(shares, [share(4), share(3), share(3)]);
    for record in bench.records(&outcome) {
        let roles: Vec<&str> = record.load.iter().map(|role| role.role.as_str()).collect();
        assert_eq!(roles, ["load"; 3]);
    }
}

#[test]
fn what_is_made_for_a_trial_is_taken_back_and_what_is_made_for_a_bed_is_made_and_filled_once() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.blocks = Blocks {
        min: 2,
        max: 2,
        until: None,
    };
    plan.aa_check = false;
    plan.restart = Restart::Run;
    plan.arms.truncate(1);
    plan.cells.truncate(1);
    let cell = &mut plan.cells[0];
    let mut stored = topic("stored", PrepareWhen::Start);
    let Preparation::Topic { fill, .. } = &mut stored else {
        panic!("a topic");
    };
    let mut load = cell.load[0].load.clone();
    load.stop = Stop::Count {
        exchanges: scripted::REQUESTS,
    };
    *fill = Some(Box::new(load.clone()));
    cell.prepare = vec![topic("own-{trial}", PrepareWhen::Trial), stored];
    cell.load[0].load.stop = Stop::Count { exchanges: 7 };
    let outcome = bench.run(&plan);
    assert!(
        bench
            .records(&outcome)
            .iter()
            .all(|one| one.status.is_fit())
    );
    let asked = bench.lab.steps.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            "make own-1",
            "make stored",
            "topic: Count { exchanges: 1000 }",
            "load: Count { exchanges: 7 }",
            "undo own-1",
            "make own-2",
            "load: Count { exchanges: 7 }",
            "undo own-2",
        ]
    );
    let told = bench.watcher.heard.iter();
    assert_eq!(told.filter(|words| *words == "step topic").count(), 3);
}

#[test]
fn a_topic_that_was_not_filled_fails_its_trial_with_the_number_that_is_missing() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    for cell in &mut plan.cells {
        let mut stored = topic("stored", PrepareWhen::Start);
        let Preparation::Topic { fill, .. } = &mut stored else {
            panic!("a topic");
        };
        let mut load = cell.load[0].load.clone();
        load.stop = Stop::Count { exchanges: 5000 };
        *fill = Some(Box::new(load));
        cell.prepare = vec![stored];
    }
    let outcome = bench.run(&plan);
    let TrialStatus::Failed { reason, .. } = &bench.records(&outcome)[0].status else {
        panic!("it counts as filled");
    };
    assert!(
        reason.contains("the step `topic` wrote 1000 of 5000 records"),
        "{reason}"
    );
}
