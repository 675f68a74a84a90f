//! Groups of consumers on real brokers: members share the partitions, come and go, and each record is read once.

use tare_record::load::{FetchAssignment, FetchUntil, LoadPlan, Pacing};

use crate::bed::{
    Running, Stand, bed, by_workers, count, fetch, member, producer, records, refusal, run, written,
};

#[test]
fn a_member_commits_where_it_ends_and_the_next_goes_on_there() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("committed", &[]);
    written(&plain, "committed", 5000);
    let plan = member(&plain, "committed", "one-by-one");
    let first = run(&plan).unwrap();
    assert_eq!(records(&first), 5000);
    assert_eq!(count(&first, "group-assignments"), 1);
    assert_eq!(records(&run(&plan).unwrap()), 0);
    written(&plain, "committed", 700);
    let next = run(&plan).unwrap();
    assert_eq!(records(&next), 700);
    assert_eq!(count(&next, "group-commits-failed"), 0);
    // Another group knows nothing of it.
    let other = run(&member(&plain, "committed", "another")).unwrap();
    assert_eq!(records(&other), 5700);
}

#[test]
fn members_of_one_load_share_the_partitions() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("shared", &[]);
    written(&plain, "shared", 9000);
    for (assignor, workers) in [("range", 2), ("sticky", 3)] {
        let mut plan = member(&plain, "shared", &format!("by-{assignor}"));
        by_workers(&mut plan, workers);
        let mut fetching = fetch(&mut plan);
        let FetchAssignment::Group { assignors, .. } = &mut fetching.assignment else {
            panic!("no group");
        };
        *assignors = vec![assignor.to_owned()];
        drop(fetching);
        let outcome = run(&plan).unwrap();
        assert_eq!(records(&outcome), 9000, "{assignor}");
        let assignments = count(&outcome, "group-assignments");
        assert!(
            assignments >= u64::from(workers),
            "{assignor}: {assignments}"
        );
    }
}

/// Reads until it is told to end.
fn endless(mut plan: LoadPlan) -> Running {
    fetch(&mut plan).until = FetchUntil::default();
    let reading = Running::start(plan);
    reading.ready();
    reading
}

#[test]
fn who_comes_and_goes_while_records_come_makes_no_record_be_read_twice() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("moving", &[]);
    let plan = member(&plain, "moving", "movers");
    let first = endless(plan.clone());
    let pacing = Pacing::Constant { rate_per_s: 800.0 };
    let writing = Running::start(producer(&plain, "moving", pacing, 12_000));
    let mut read = 0;
    first.until(|sample| {
        read += sample.records.map_or(0, |records| records.count);
        read >= 500
    });
    // Ready when it has its share, and so has the first.
    let second = endless(plan);
    second.until_read(500);
    let second = second.end();
    let written = writing.outcome().unwrap();
    assert_eq!(written.result.ok, 12_000);
    // While shares are dealt out anew, samples without a record come too: of those only one behind the last record ends it.
    let of_first = 12_000 - records(&second);
    first.until(|sample| {
        read += sample.records.map_or(0, |records| records.count);
        read >= of_first
            && sample
                .records
                .is_some_and(|records| records.count == 0 && records.consumer_lag == Some(0))
    });
    let first = first.end();
    assert_eq!(records(&first) + records(&second), 12_000);
    let rebalances = count(&first, "group-rebalances");
    assert_eq!(rebalances, 2, "one who came and one who went");
    assert_eq!(count(&first, "group-assignments"), 3);
    assert!(count(&first, "group-rebalance-time-us") > 0);
    assert!(count(&first, "group-heartbeats") > 0);
    assert_eq!(count(&first, "group-commits-failed"), 0);
}

#[test]
fn what_the_coordinator_will_not_have_is_told_with_the_next_step() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("refused", &[]);
    let share = |plan: &mut LoadPlan, way: &str, session_ms| {
        let FetchAssignment::Group {
            assignors,
            session_timeout_ms,
            ..
        } = &mut fetch(plan).assignment
        else {
            panic!("no group");
        };
        *assignors = vec![way.to_owned()];
        *session_timeout_ms = session_ms;
    };
    let mut short = member(&plain, "refused", "short");
    share(&mut short, "range", 1000);
    let said = refusal(&short);
    assert!(
        said.contains("group.min. and group.max.session.timeout.ms"),
        "{said}"
    );
    let mut first = member(&plain, "refused", "quarrel");
    share(&mut first, "range", 10_000);
    let mut other = first.clone();
    share(&mut other, "sticky", 10_000);
    let first = endless(first);
    let said = refusal(&other);
    assert!(
        said.contains("\"quarrel\"") && said.contains("--assignor"),
        "{said}"
    );
    first.end();
}
