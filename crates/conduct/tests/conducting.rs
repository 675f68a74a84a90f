//! A whole run on a scripted laboratory: order, repeats, failures, interruption, resume.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says where by panicking"
)]

mod machine;
mod prepared;
mod scripted;

use std::time::Duration;

use scripted::{Fate, Lab, Memory, plan};
use tare_conduct::{
    ConductError, KeptRun, RunFolder, RunOptions, RunOutcome, block_order, resume, run,
};
use tare_experiment::estimate::StartupTimes;
use tare_lab::seal::RunKey;
use tare_record::agent::LoadEnd;
use tare_record::external::External;
use tare_record::load::Pacing;
use tare_record::plan::{
    Ask, Audit, BeyondKnee, Blocks, Capacity, FaultKind, Guarantee, Plan, PlannedFault,
    Preparation, PreparedTopic, ReadBackPlan, Restart, Until,
};
use tare_record::record::{RunProgress, TargetVersion, TrialStatus};

struct Bench {
    out: tempfile::TempDir,
    config: tempfile::TempDir,
    lab: Lab,
    watcher: Memory,
}

fn bench(fates: &[Fate]) -> Bench {
    Bench {
        out: tempfile::tempdir().unwrap(),
        config: tempfile::tempdir().unwrap(),
        lab: Lab::with(fates),
        watcher: Memory::default(),
    }
}

impl Bench {
    fn run(&mut self, plan: &Plan) -> RunOutcome {
        let options = RunOptions {
            out: self.out.path().to_owned(),
            name: "test".into(),
            command: vec!["tare".into()],
            capacity: None,
            times: StartupTimes::default(),
            key: self.key(),
        };
        run(plan, &mut self.lab, &options, &mut self.watcher).unwrap()
    }

    /// The key of the user.
    fn key(&self) -> Result<RunKey, String> {
        RunKey::in_folder(&self.config.path().join("tare"))
    }

    /// Resumes a run with this plan.
    fn resume_with(
        &mut self,
        outcome: &RunOutcome,
        plan: Plan,
        watcher: &mut Memory,
    ) -> Result<RunOutcome, ConductError> {
        let kept = KeptRun::open(&outcome.folder, &self.key())?;
        resume(kept, plan, StartupTimes::default(), &mut self.lab, watcher)
    }

    fn resume(&mut self, outcome: &RunOutcome) -> Result<RunOutcome, ConductError> {
        self.resume_with(outcome, plan(), &mut Memory::default())
    }

    fn records(&self, outcome: &RunOutcome) -> Vec<tare_record::record::TrialRecord> {
        let folder = RunFolder::open(&outcome.folder).unwrap();
        folder.records().unwrap().0
    }
}

/// The plan in the run's folder.
fn kept_plan(outcome: &RunOutcome) -> Plan {
    let text = std::fs::read(outcome.folder.join("plan.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn every_block_measures_every_cell_and_the_baseline_twice() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    assert_eq!(outcome.progress, RunProgress::Complete);
    assert_eq!(records.len(), 9);
    for block in 1..=3 {
        let mut slots: Vec<(String, u32)> = records
            .iter()
            .filter(|record| record.block == block)
            .map(|record| (record.arm.clone(), record.aa_copy))
            .collect();
        slots.sort();
        let expected = [("direct", 0), ("direct", 1), ("sidecar", 0)];
        let expected: Vec<_> = expected.map(|(arm, copy)| (arm.to_owned(), copy)).into();
        assert_eq!(slots, expected);
    }
    assert!(records.iter().all(|record| record.status.is_fit()));
}

/// The scripted plan with a server that runs already.
fn with_external() -> Plan {
    let mut plan = plan();
    for arm in &mut plan.arms {
        arm.topology.external = vec![External {
            name: "server".into(),
            part: "server".into(),
            protocol: "http1".into(),
            at: "127.0.0.1:9".into(),
            host: "server".into(),
            tls: None,
            sasl: None,
            counters: Vec::new(),
            metrics: None,
        }];
    }
    plan
}

#[test]
fn what_cannot_be_proved_of_an_external_part_stands_in_every_record() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&with_external());
    let records = bench.records(&outcome);
    assert_eq!(records.len(), 9);
    for record in &records {
        assert!(record.status.is_fit(), "{:?}", record.status);
        let [one] = record.not_proved.as_slice() else {
            panic!("{:?}", record.not_proved);
        };
        assert_eq!(
            (one.edge.as_str(), one.part.as_str()),
            ("client->server", "server")
        );
        assert!(one.reason.starts_with("external: "), "{}", one.reason);
        // What a proxy of ours has counted is proved as ever.
        assert_eq!(record.proofs.len(), usize::from(record.arm == "sidecar"));
        assert_eq!(record.machine.as_ref().unwrap().background, None);
    }
}

#[test]
fn an_external_part_that_is_not_there_ends_a_run_before_it_begins() {
    let mut bench = bench(&[]);
    bench.lab.nowhere = true;
    let options = RunOptions {
        out: bench.out.path().join("runs"),
        name: "test".into(),
        command: vec!["tare".into()],
        capacity: None,
        times: StartupTimes::default(),
        key: bench.key(),
    };
    let ended = run(
        &with_external(),
        &mut bench.lab,
        &options,
        &mut bench.watcher,
    );
    let said = ended.unwrap_err().to_string();
    assert_eq!(
        said,
        "server (external, 127.0.0.1:9): no connection; start it"
    );
    assert!(!options.out.exists());
    assert!(bench.lab.placed.lock().unwrap().is_empty());
}

#[test]
fn an_external_part_that_goes_away_fails_the_trial_with_the_reason() {
    let mut bench = bench(&[Fate::Good, Fate::Gone]);
    let outcome = bench.run(&with_external());
    let records = bench.records(&outcome);
    let failed: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.status {
            TrialStatus::Failed { reason, .. } => Some((record, reason)),
            _ => None,
        })
        .collect();
    let [(record, reason)] = failed.as_slice() else {
        panic!("{records:?}");
    };
    assert!(reason.contains("takes no connection any more"), "{reason}");
    assert_eq!(record.attempt, 0);
    assert!(
        !record.load.is_empty(),
        "what was measured until then is kept"
    );
    assert_eq!(records.len(), 10, "it is repeated, and the run goes on");
}

#[test]
fn the_order_differs_between_blocks_and_repeats_with_the_seed() {
    let mut plan = plan();
    let orders: Vec<_> = (1..=20).map(|block| block_order(&plan, block)).collect();
    assert!(orders.iter().any(|order| *order != orders[0]));
    assert_eq!(orders[4], block_order(&plan, 5));
    plan.seed += 1;
    let others: Vec<_> = (1..=20).map(|block| block_order(&plan, block)).collect();
    assert_ne!(orders, others);
}

#[test]
fn a_fresh_bed_comes_up_for_every_arm_in_every_block() {
    let mut bench = bench(&[]);
    bench.run(&plan());
    assert_eq!(bench.lab.placed.lock().unwrap().len(), 9);
    assert_eq!(*bench.lab.stopped.lock().unwrap(), 9);
}

#[test]
fn with_restart_run_each_arm_comes_up_once_and_so_does_the_baselines_copy() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.restart = Restart::Run;
    bench.run(&plan);
    assert_eq!(bench.lab.placed.lock().unwrap().len(), 3);
    assert_eq!(*bench.lab.stopped.lock().unwrap(), 3);
}

#[test]
fn with_restart_run_all_test_beds_but_the_one_under_load_are_paused() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.restart = Restart::Run;
    let outcome = bench.run(&plan);
    assert_eq!(bench.records(&outcome).len(), 9);
    let running = bench.lab.running_at_agents.lock().unwrap();
    assert!(running.len() >= 9);
    assert!(running.iter().all(|beds| *beds == 1), "{running:?}");
}

#[test]
fn a_test_bed_that_is_stopped_anyway_is_not_paused_before() {
    for restart in [Restart::Block, Restart::Trial] {
        let mut bench = bench(&[]);
        bench.run(&Plan { restart, ..plan() });
        assert_eq!(*bench.lab.pauses.lock().unwrap(), 0);
    }
}

#[test]
fn the_time_left_has_the_burn_in_of_a_bed_once_for_each_that_is_still_to_come_up() {
    const BURN_IN: Duration = Duration::from_millis(20);
    let left = |restart| {
        let mut bench = bench(&[]);
        let plan = Plan {
            restart,
            burn_in_ns: Some(BURN_IN.as_nanos() as u64),
            ..plan()
        };
        bench.run(&plan);
        bench.watcher.left
    };
    let (once, always) = (left(Restart::Run), left(Restart::Block));
    assert_eq!(once.len(), 9);
    // Three beds, or nine: one for each arm and copy in each of three blocks.
    let bed = StartupTimes::default().testbed_start(&plan().arms[0].topology);
    assert_eq!(once[0] + 6 * (bed + BURN_IN), always[0]);
}

#[test]
fn what_starting_takes_is_told_while_it_lasts_and_kept_for_the_next_run() {
    let mut bench = bench(&[]);
    bench.lab.start_takes = Some(Duration::from_secs(14));
    let outcome = bench.run(&plan());
    assert_eq!(bench.watcher.heard[0], "server after 14s");
    assert_eq!(outcome.times.starts["origin"], Duration::from_secs(14));
    assert!(outcome.times.trials.contains_key(&plan().experiment));
}

#[test]
fn the_first_trial_on_a_fresh_bed_warms_up_longer() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.restart = Restart::Run;
    plan.burn_in_ns = Some(3_000_000);
    bench.run(&plan);
    let orders = bench.lab.orders.lock().unwrap();
    let warmups: Vec<u64> = orders.iter().map(|plan| plan.load.warmup_ns).collect();
    assert_eq!(warmups, [3_000_000, 3_000_000, 3_000_000, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn an_unfit_trial_is_repeated_once_at_the_end_of_its_block_and_both_stay() {
    let mut bench = bench(&[Fate::Bunched]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    assert_eq!(records.len(), 10);
    let TrialStatus::Unfit { reasons } = &records[0].status else {
        panic!("{:?}", records[0].status);
    };
    assert!(reasons[0].starts_with("20.0 % of the starts were bunched"));
    let repeat = &records[3];
    assert_eq!((repeat.block, repeat.attempt), (1, 1));
    assert_eq!(
        (&repeat.arm, repeat.aa_copy),
        (&records[0].arm, records[0].aa_copy)
    );
    assert!(repeat.status.is_fit());
}

#[test]
fn a_load_that_broke_off_makes_no_fit_trial_and_the_record_says_why() {
    let mut bench = bench(&[Fate::Aborted]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    let TrialStatus::Unfit { reasons } = &records[0].status else {
        panic!("{:?}", records[0].status);
    };
    assert_eq!(
        reasons,
        &["the load of role load was aborted: the group is gone"]
    );
    assert_eq!(records[0].load[0].ended, LoadEnd::Aborted);
}

#[test]
fn a_trial_that_stays_unfit_is_repeated_only_once() {
    let mut bench = bench(&[Fate::Bunched, Fate::Good, Fate::Good, Fate::Bunched]);
    let outcome = bench.run(&plan());
    let block: Vec<_> = bench.records(&outcome);
    assert_eq!(block.iter().filter(|record| record.block == 1).count(), 4);
}

#[test]
fn a_proxy_that_saw_too_few_requests_makes_the_trial_invalid() {
    let mut plan = plan();
    plan.blocks = Blocks {
        min: 1,
        max: 1,
        until: None,
    };
    // All three slots of the block: one of them is the arm with the proxy.
    let mut bench = bench(&[Fate::Bypassed; 3]);
    let outcome = bench.run(&plan);
    let records = bench.records(&outcome);
    let invalid: Vec<_> = records
        .iter()
        .filter(|record| matches!(record.status, TrialStatus::Invalid { .. }))
        .collect();
    assert_eq!(invalid.len(), 1);
    assert_eq!(invalid[0].arm, "sidecar");
    let proof = &invalid[0].proofs[0];
    assert_eq!(
        (proof.expected.as_str(), proof.actual.as_str()),
        ("1000", "999")
    );
}

#[test]
fn a_part_that_dies_fails_its_trial_with_its_last_words_and_the_run_goes_on() {
    let mut bench = bench(&[Fate::Dies]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    let TrialStatus::Failed { reason, log_tail } = &records[0].status else {
        panic!("not failed: {:?}", records[0].status);
    };
    assert!(reason.contains("client-sidecar") && reason.contains("signal 11"));
    assert_eq!(log_tail, &["last words"]);
    assert_eq!(outcome.progress, RunProgress::Complete);
    assert_eq!(
        records
            .iter()
            .filter(|record| record.status.is_fit())
            .count(),
        9
    );
}

#[test]
fn an_agent_that_cannot_work_fails_the_trial_with_its_reason() {
    let mut bench = bench(&[Fate::AgentFails, Fate::AllWrong, Fate::Hangs]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    let reasons: Vec<String> = records
        .iter()
        .filter_map(|record| match &record.status {
            TrialStatus::Failed { reason, .. } => Some(reason.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(reasons.len(), 3);
    assert!(reasons[0].contains("no descriptors left"));
    assert!(reasons[1].contains("no exchange was answered"));
    assert!(reasons[2].contains("no exchange was answered"));
}

#[test]
fn a_trial_whose_generator_got_no_turn_is_unfit_and_no_failure_of_the_target() {
    let mut bench = bench(&[Fate::Starved]);
    let outcome = bench.run(&plan());
    let records = bench.records(&outcome);
    let TrialStatus::Unfit { reasons } = &records[0].status else {
        panic!("{:?}", records[0].status)
    };
    assert!(reasons[0].starts_with("nothing was sent"), "{reasons:?}");
    assert_eq!(records.len(), 10, "it is repeated");
}

#[test]
fn an_arm_that_never_comes_up_ends_the_run_before_anything_is_measured_with_it() {
    let mut bench = bench(&[Fate::NoStart]);
    let options = RunOptions {
        out: bench.out.path().to_owned(),
        name: "test".into(),
        command: Vec::new(),
        capacity: None,
        times: StartupTimes::default(),
        key: bench.key(),
    };
    let error = run(&plan(), &mut bench.lab, &options, &mut bench.watcher).unwrap_err();
    assert!(error.to_string().contains("does not come up"));
    let folder = RunFolder::open(&bench.out.path().join("test")).unwrap();
    assert_eq!(folder.state().unwrap().state, RunProgress::Failed);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_resumes_with_the_interrupted_block() {
    let whole = bench(&[]).run_order(&plan());
    let mut bench = bench(&[]);
    // Block 1 complete, one trial of block 2.
    bench.watcher.interrupt_after = Some(4);
    let outcome = bench.run(&plan());
    assert_eq!(outcome.progress, RunProgress::Interrupted);
    assert_eq!(bench.records(&outcome).len(), 4);

    let outcome = bench.resume(&outcome).unwrap();
    assert_eq!(outcome.progress, RunProgress::Complete);
    let records = bench.records(&outcome);
    assert_eq!(records.len(), 10);
    let superseded: Vec<u32> = records
        .iter()
        .filter(|record| record.superseded)
        .map(|record| record.trial)
        .collect();
    assert_eq!(superseded, [4]);
    let order: Vec<_> = records
        .iter()
        .filter(|record| !record.superseded)
        .map(|record| (record.block, record.arm.clone(), record.aa_copy))
        .collect();
    assert_eq!(order, whole);
    let state = RunFolder::open(&outcome.folder).unwrap().state().unwrap();
    assert_eq!(state.resumed, 1);
}

impl Bench {
    /// Order of trials of an uninterrupted run.
    fn run_order(mut self, plan: &Plan) -> Vec<(u32, String, u32)> {
        let outcome = self.run(plan);
        let records = self.records(&outcome);
        let order = records.into_iter().map(|r| (r.block, r.arm, r.aa_copy));
        order.collect()
    }
}

#[test]
fn a_run_with_a_record_that_is_cut_off_is_resumed_and_measures_its_block_again() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&plan());
    let file = outcome.folder.join("trials/0004/record.json");
    let text = std::fs::read(&file).unwrap();
    // The last byte is the end of the line: without it the record is whole.
    let cut_off = text.len() - 1;
    for length in [0, 1, cut_off / 2, cut_off - 1] {
        std::fs::write(&file, &text[..length]).unwrap();
        let mut second = Memory::default();
        let resumed = bench.resume_with(&outcome, plan(), &mut second).unwrap();
        assert_eq!(resumed.progress, RunProgress::Complete, "cut at {length}");
        let said = second.heard.iter().filter(|note| note.contains("cut off"));
        assert_eq!(said.count(), 1, "{:?}", second.heard);
        let counted = |block| {
            let records = bench.records(&resumed);
            let of_block = records.into_iter().filter(move |r| r.block == block);
            of_block.filter(|record| !record.superseded).count()
        };
        assert_eq!([1, 2, 3].map(counted), [3; 3], "cut at {length}");
    }
}

/// An interrupted run of a plan with an external part.
fn interrupted(bench: &mut Bench) -> RunOutcome {
    bench.watcher.interrupt_after = Some(1);
    bench.lab.targets = [("proxy".to_owned(), target("1.0"))].into();
    let outcome = bench.run(&with_external());
    bench.lab.steps.lock().unwrap().clear();
    *bench.lab.fetched.lock().unwrap() = 0;
    outcome
}

fn target(version: &str) -> TargetVersion {
    TargetVersion {
        version: version.to_owned(),
        source: "path".to_owned(),
        path: "proxy".to_owned(),
        sha256: None,
        folder_sha256: Some("one".to_owned()),
    }
}

/// Why it is not resumed; nothing external was called.
fn refusal(bench: &mut Bench, outcome: &RunOutcome) -> String {
    let refused = bench.resume_with(outcome, with_external(), &mut Memory::default());
    let steps = bench.lab.steps.lock().unwrap().clone();
    assert!(
        !steps.iter().any(|step| step.starts_with("find")),
        "{steps:?}"
    );
    refused.unwrap_err().to_string()
}

#[test]
fn a_run_is_not_resumed_on_another_machine_or_by_another_tare_and_nothing_is_fetched_or_called() {
    let mut bench = bench(&[]);
    let outcome = interrupted(&mut bench);
    bench.lab.fingerprint = "another".into();
    let said = refusal(&mut bench, &outcome);
    assert!(said.contains("not the one that began the run"), "{said}");
    bench.lab.fingerprint = "one".into();
    bench.lab.tare = "another".into();
    let said = refusal(&mut bench, &outcome);
    assert!(
        said.contains("other software (tare was built anew)"),
        "{said}"
    );
    assert_eq!(*bench.lab.fetched.lock().unwrap(), 0);
    bench.lab.tare = String::new();
    let plan = with_external();
    let resumed = bench.resume_with(&outcome, plan, &mut Memory::default());
    assert_eq!(resumed.unwrap().progress, RunProgress::Complete);
}

#[test]
fn a_run_is_not_resumed_with_other_software_and_nothing_external_is_called() {
    let mut bench = bench(&[]);
    let outcome = interrupted(&mut bench);
    bench.lab.targets = [("proxy".to_owned(), target("1.1"))].into();
    let said = refusal(&mut bench, &outcome);
    assert!(said.contains("proxy is now 1.1 (path)"), "{said}");
    let mut changed = target("1.0");
    changed.folder_sha256 = Some("two".to_owned());
    bench.lab.targets = [("proxy".to_owned(), changed)].into();
    let said = refusal(&mut bench, &outcome);
    assert!(
        said.contains("the target folder of proxy was changed"),
        "{said}"
    );
}

#[test]
fn what_another_user_began_or_somebody_changed_is_not_resumed() {
    let mut bench = bench(&[]);
    let outcome = interrupted(&mut bench);
    let path = outcome.folder.join("plan.json");
    let plan = std::fs::read_to_string(&path).unwrap();
    for (was, now) in [
        ("127.0.0.1:9", "127.0.0.2:9"),
        ("\"seed\": ", "\"seed\": 1"),
    ] {
        assert!(plan.contains(was), "{was}");
        std::fs::write(&path, plan.replace(was, now)).unwrap();
        let said = refusal(&mut bench, &outcome);
        assert!(said.contains("is not what you began it with"), "{said}");
    }
    std::fs::write(&path, &plan).unwrap();
    let other = tempfile::tempdir().unwrap();
    let own = std::mem::replace(&mut bench.config, other);
    let said = refusal(&mut bench, &outcome);
    assert!(said.contains("another user or machine began it"), "{said}");
    bench.config = own;
    let seal = outcome.folder.join("seal.json");
    std::fs::remove_file(seal).unwrap();
    let said = refusal(&mut bench, &outcome);
    assert!(
        said.contains("start a new run with `tare run EXPERIMENT`"),
        "{said}"
    );
    assert_eq!(*bench.lab.fetched.lock().unwrap(), 0);
}

#[test]
fn a_plan_that_is_not_that_of_the_folder_is_not_resumed() {
    let mut bench = bench(&[]);
    let outcome = interrupted(&mut bench);
    let mut other = with_external();
    other.arms[0].topology.external[0].at = "127.0.0.2:9".into();
    let refused = bench.resume_with(&outcome, other, &mut Memory::default());
    let said = refused.unwrap_err().to_string();
    assert!(
        said.contains("is not that of its experiment any more"),
        "{said}"
    );
    assert_eq!(*bench.lab.fetched.lock().unwrap(), 0);
}

#[test]
fn a_run_whose_key_cannot_be_kept_is_measured_and_says_that_it_cannot_be_resumed() {
    let mut bench = bench(&[]);
    let options = RunOptions {
        out: bench.out.path().to_owned(),
        name: "test".into(),
        command: Vec::new(),
        capacity: None,
        times: StartupTimes::default(),
        key: Err("there is no home".into()),
    };
    let outcome = run(&plan(), &mut bench.lab, &options, &mut bench.watcher).unwrap();
    assert_eq!(outcome.progress, RunProgress::Complete);
    let said = "this run cannot be resumed: there is no home";
    assert!(
        bench.watcher.heard.iter().any(|note| note == said),
        "{:?}",
        bench.watcher.heard
    );
    let error = bench.resume(&outcome).unwrap_err().to_string();
    assert!(error.contains("nothing shows that you began it"), "{error}");
}

#[test]
fn a_run_with_a_changed_bit_in_a_log_measures_that_block_again() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&plan());
    let log = outcome.folder.join("trials/0004/latency.hlog");
    let mut text = std::fs::read(&log).unwrap_or_default();
    text.push(b'\n');
    std::fs::write(&log, text).unwrap();
    let mut second = Memory::default();
    let resumed = bench.resume_with(&outcome, plan(), &mut second).unwrap();
    assert_eq!(resumed.progress, RunProgress::Complete);
    let said = second
        .heard
        .iter()
        .find(|note| note.contains("measured again"));
    assert!(
        said.is_some_and(|said| said.contains("0004/latency.hlog")),
        "{:?}",
        second.heard
    );
    let records = bench.records(&resumed);
    let counted = records
        .iter()
        .filter(|record| !record.superseded && record.block == 2);
    assert_eq!(counted.count(), 3);
}

#[test]
fn a_run_folder_that_is_in_use_is_refused() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&plan());
    let _held = RunFolder::open(&outcome.folder).unwrap();
    let error = bench.resume(&outcome).unwrap_err();
    assert!(error.to_string().contains("being measured by another tare"));
}

#[test]
fn a_run_with_a_width_to_reach_stops_between_its_smallest_and_largest_number_of_blocks() {
    let mut plan = plan();
    plan.blocks = Blocks {
        min: 2,
        max: 9,
        until: Some(Until {
            metric: tare_record::metric::Metric::Median,
            half_width: 0.05,
        }),
    };
    let mut bench = bench(&[]);
    bench.watcher.enough_after = Some(3);
    let outcome = bench.run(&plan);
    let blocks = bench.records(&outcome).iter().map(|r| r.block).max();
    assert_eq!(blocks, Some(4));
}

#[test]
fn a_folder_name_that_is_taken_gets_a_number() {
    let mut bench = bench(&[]);
    let mut plan = plan();
    plan.blocks = Blocks {
        min: 1,
        max: 1,
        until: None,
    };
    let first = bench.run(&plan);
    let second = bench.run(&plan);
    assert_ne!(first.folder, second.folder);
    assert!(second.folder.ends_with("test-2"));
}

#[test]
fn a_level_beyond_what_is_carried_is_left_out_before_the_first_block() {
    let two_levels = || {
        let mut plan = plan();
        plan.beyond_knee = BeyondKnee::Skip;
        plan.levels[0].name = "800/s".into();
        let mut high = plan.levels[0].clone();
        high.name = "900000/s".into();
        plan.levels.push(high);
        let mut cells = Vec::new();
        for cell in &plan.cells {
            for (level, rate_per_s) in [("800/s", 800.0), ("900000/s", 900_000.0)] {
                let mut cell = cell.clone();
                cell.level = level.into();
                cell.load[0].load.pacing = Pacing::Constant { rate_per_s };
                cells.push(cell);
            }
        }
        plan.cells = cells;
        plan
    };
    // The scripted agent answers 1000 requests in a window of 1 ms: 80 % of what it carries is 800,000/s.
    let mut first = bench(&[]);
    let outcome = first.run(&two_levels());
    let plan = kept_plan(&outcome);
    assert_eq!(plan.levels.len(), 1);
    assert_eq!(plan.skipped_levels[0].level, "900000/s");
    let capacity = plan.capacity.unwrap();
    assert_eq!(
        (capacity.arm.as_str(), capacity.achieved_per_s),
        ("sidecar", 1e6)
    );
    assert_eq!(first.records(&outcome).len(), 9);
    assert_eq!(first.lab.placed.lock().unwrap().len(), 10);
    let told = first.watcher.heard.first().unwrap();
    assert!(
        told.starts_with("900000/s is skipped: sidecar sustains 1000000/s"),
        "{told}"
    );

    // What is known is not measured again, and a level below it stays.
    let mut second = bench(&[]);
    let options = RunOptions {
        out: second.out.path().to_owned(),
        name: "test".into(),
        command: Vec::new(),
        capacity: Some(Capacity {
            achieved_per_s: 2e6,
            ..capacity
        }),
        times: StartupTimes::default(),
        key: second.key(),
    };
    let outcome = run(
        &two_levels(),
        &mut second.lab,
        &options,
        &mut second.watcher,
    )
    .unwrap();
    let plan = kept_plan(&outcome);
    assert_eq!((plan.levels.len(), plan.skipped_levels.len()), (2, 0));
    assert_eq!(second.lab.placed.lock().unwrap().len(), 9);
}

#[test]
fn without_the_baseline_or_with_nothing_but_it_there_is_nothing_to_compare() {
    for lacking in [0, 1] {
        let mut plan = plan();
        plan.arms[lacking].requires = Some("what is not here".into());
        let mut bench = bench(&[]);
        let options = RunOptions {
            out: bench.out.path().to_owned(),
            name: "test".into(),
            command: Vec::new(),
            capacity: None,
            times: StartupTimes::default(),
            key: bench.key(),
        };
        let error = run(&plan, &mut bench.lab, &options, &mut bench.watcher).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("nothing to compare") && said.contains("needs what is not here"),
            "{said}"
        );
        assert!(bench.lab.placed.lock().unwrap().is_empty());
    }
}

/// The plan with a question after each trial.
fn audited() -> Plan {
    let mut plan = plan();
    for cell in &mut plan.cells {
        let mut request = cell.load[0].load.requests[0].clone();
        request.path = "/books".into();
        cell.audit = vec![Audit {
            about: "all adds up".into(),
            ask: Ask {
                edge: "client->server".into(),
                from: "client".into(),
                timeout_ns: 1,
                request,
            },
        }];
    }
    plan
}

#[test]
fn a_trial_whose_audit_fails_is_invalid_with_the_words_of_the_audit() {
    let mut bench = bench(&[Fate::BooksWrong]);
    let outcome = bench.run(&audited());
    let records = bench.records(&outcome);
    let TrialStatus::Invalid { reasons } = &records[0].status else {
        panic!("{:?}", records[0].status)
    };
    assert_eq!(reasons, &["audit GET /books: 409: miles: 7 instead of 8"]);
    assert!(!records[0].audits[0].passed);
    // Every trial is audited, once; one that holds keeps the evidence.
    assert_eq!(records.len(), 10);
    assert_eq!(*bench.lab.asked.lock().unwrap(), ["GET /books"; 10]);
    assert!(records[1].status.is_fit());
    assert_eq!(records[1].audits[0].actual, "200");
}

#[test]
fn calls_that_follow_the_answers_are_waited_for_and_no_others() {
    let late = &[Fate::CountsLater; 9];
    let mut bench_without = bench(late);
    let outcome = bench_without.run(&plan());
    let invalid = |records: &[tare_record::record::TrialRecord]| {
        let wrong = records.iter().filter(|record| record.arm == "sidecar");
        wrong.filter(|record| !record.status.is_fit()).count()
    };
    // Nothing follows from these requests: what is missing at once is missing.
    assert!(invalid(&bench_without.records(&outcome)) > 0);
    let mut plan = plan();
    for cell in &mut plan.cells {
        cell.load[0].calls.insert("echo".into(), Default::default());
    }
    let mut bench = bench(late);
    let outcome = bench.run(&plan);
    assert_eq!(invalid(&bench.records(&outcome)), 0);
}

/// The scripted plan with one arm that is disturbed and read back.
fn disturbed() -> Plan {
    let mut plan = plan();
    let of = || vec!["broker-1".to_owned(), "broker-2".to_owned()];
    let topic = Preparation::Topic {
        step: "topic".into(),
        when: Default::default(),
        part: "broker".into(),
        port: "plain".into(),
        topic: "t-{trial}".into(),
        partitions: 1,
        replicas: 3,
        fill: None,
    };
    for cell in &mut plan.cells {
        let fault = |at_ns, action| PlannedFault { at_ns, action };
        cell.faults = vec![
            fault(0, FaultKind::Kill { of: of() }),
            fault(500_000, FaultKind::Start { of: of() }),
            fault(
                600_000,
                FaultKind::Elect {
                    step: "topic".into(),
                },
            ),
            fault(60_000_000_000, FaultKind::Pause { of: of() }),
        ];
        cell.prepare = vec![topic.clone()];
        cell.read_back = Some(ReadBackPlan {
            topic: PreparedTopic::of(&topic).unwrap(),
            guarantees: vec![Guarantee::NoneLost, Guarantee::NoneDuplicated],
        });
    }
    plan
}

#[test]
fn what_is_done_to_a_bed_is_drawn_anew_told_with_its_times_and_mended_after_each_trial() {
    let mut bench = bench(&[]);
    let outcome = bench.run(&disturbed());
    let records = bench.records(&outcome);
    assert!(records.iter().all(|record| record.status.is_fit()));
    let mut killed = std::collections::BTreeSet::new();
    for record in &records {
        let actions: Vec<&str> = record.faults.iter().map(|fault| &*fault.action).collect();
        assert_eq!(actions, ["kill", "start", "elect", "pause"]);
        let [kill, start, elect, pause] = &record.faults[..] else {
            panic!("four faults");
        };
        assert_eq!(kill.subjects.len(), 1);
        assert_eq!(start.subjects, kill.subjects, "the one that was killed");
        assert_eq!(elect.subjects, [format!("t-{}", record.trial)]);
        assert!(start.began_ns.unwrap() >= 500_000 && start.done_ns >= start.began_ns);
        assert_eq!(
            (pause.began_ns, pause.failed),
            (None, true),
            "not started: the load had ended"
        );
        killed.insert(kill.subjects[0].clone());
        let found = record.read_back.as_ref().unwrap();
        assert_eq!((found.acknowledged, found.lost), (scripted::REQUESTS, 0));
    }
    assert_eq!(killed.len(), 2, "each of the two in some trial");
    assert_eq!(*bench.lab.mended.lock().unwrap() as usize, records.len());
    let disturbed = bench.lab.disturbed.lock().unwrap();
    assert_eq!(disturbed.len(), 3 * records.len());
}

#[test]
fn a_record_that_was_acknowledged_and_is_not_there_makes_the_trial_invalid() {
    let mut bench = bench(&[Fate::Good, Fate::Loses]);
    let outcome = bench.run(&disturbed());
    let records = bench.records(&outcome);
    let TrialStatus::Invalid { reasons } = &records[1].status else {
        panic!("{:?} is not invalid", records[1].status);
    };
    assert_eq!(
        *reasons,
        ["1 of 1000 acknowledged records are lost (999 read back)"]
    );
    assert_eq!(records[1].read_back.as_ref().unwrap().violations, *reasons);
}
