//! The consumer against simulated brokers: everything is read once, whatever brokers do, and each fetch ends once.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use proptest::prelude::*;
use tare_kafka::send_time::SendTimestamps;
use tare_record::agent::ErrorSource;
use tare_record::load::{
    FetchAssignment, FetchDecode, FetchEnd, FetchFrom, FetchSpec, FetchUntil, Stop,
};

use super::{APIS, ExcessFetches, Fetch, FetchPlan};
use crate::cluster::ClusterPlan;
use crate::cluster::tests::plan as cluster_plan;
use crate::sim::Brokers;
use tare_load::Quantity;
use tare_load::arrivals::{Arrivals, ClosedLoop, SharedCount};
use tare_load::client::Client;
use tare_load::engine::sim::{MS, S, Sim};

pub fn spec() -> FetchSpec {
    FetchSpec {
        topics: vec!["t".into()],
        client_id: "tare".into(),
        in_flight_max: 2,
        assignment: FetchAssignment::Static,
        from: FetchFrom::Start,
        min_bytes: 1,
        max_wait_ms: 500,
        max_bytes: 1 << 20,
        partition_max_bytes: 1 << 20,
        check_crc: true,
        decode: FetchDecode::Batches,
        until: FetchUntil {
            records: None,
            backlog: true,
            idle_ns: None,
        },
        at_end: FetchEnd::Wait,
        sasl: None,
    }
}

pub(crate) fn plan(spec: FetchSpec, worker: (u32, u32)) -> FetchPlan {
    FetchPlan {
        cluster: ClusterPlan {
            apis: &APIS,
            ..cluster_plan(&[9001])
        },
        spec,
        worker,
        arrived: Arc::new(AtomicU64::new(0)),
        timeout_ns: S,
        realtime_offset_ns: i128::from(1_700_000_001_000 * MS),
        surplus: ExcessFetches::Wait,
    }
}

/// A closed loop of `in_flight_max` fetches for at most `seconds`.
fn looped(in_flight_max: usize, seconds: u64) -> Arrivals {
    let stop = Stop::Duration {
        window_ns: seconds * S,
    };
    Arrivals::ClosedLoop(ClosedLoop::new(
        in_flight_max,
        0,
        0,
        stop,
        &SharedCount::new(0, 1),
    ))
}

pub type World = Sim<Fetch, Brokers>;

fn sim_of(plan: FetchPlan, brokers: Brokers) -> World {
    let in_flight_max = usize::from(plan.spec.in_flight_max);
    Sim::new(Fetch::new(plan), looped(in_flight_max, 20), 64, brokers)
}

pub fn sim(spec: FetchSpec, brokers: Brokers) -> World {
    sim_of(plan(spec, (0, 1)), brokers)
}

/// Runs until the consumer has finished, or a time; then the window ends, as a worker does it.
pub fn run(world: &mut World, until_ns: u64) {
    let mut now_ns = world.net.now_ns;
    while now_ns < until_ns && !world.engine.client().is_finished() {
        now_ns += 5 * MS;
        world.run_until(now_ns);
    }
    let now_ns = world.net.now_ns;
    world.engine.recorder_mut().end_window_at(now_ns);
    world.run_until(now_ns + 5 * S);
}

pub fn records(world: &World) -> u64 {
    world
        .engine
        .recorder()
        .counts()
        .records
        .unwrap_or_default()
        .total
}

fn count(world: &World, name: &str) -> u64 {
    let mut found = None;
    world.engine.client().counts(&mut |known, count| {
        if known == name {
            found = Some(count);
        }
    });
    found.unwrap()
}

pub fn filled(partitions: usize, batches: usize) -> Brokers {
    let mut brokers = Brokers::new(&[1, 2], partitions);
    for partition in 0..partitions as i32 {
        for batch in 0..batches {
            brokers.store(partition, &vec![vec![b'v'; 100]; batch % 7 + 1]);
        }
    }
    brokers
}

#[test]
fn a_backlog_is_read_to_its_end_and_the_load_ends_there() {
    let brokers = filled(5, 20);
    let all = brokers.records() as u64;
    let mut world = sim(spec(), brokers);
    run(&mut world, 10 * S);
    assert!(world.engine.client().is_finished());
    assert_eq!(records(&world), all);
    let counts = world.engine.recorder().counts();
    assert_eq!(counts.all.errors, 0);
    assert_eq!(
        counts.all.intended, counts.all.ok,
        "what never began is taken back"
    );
    assert_eq!(world.engine.recorder().under_way(), 0);
    assert_eq!(world.engine.client().backlog(), Some(0));
    assert_eq!(count(&world, "record-batches"), 100);
    let ages = world.observed().of(Quantity::Age, "");
    assert_eq!(ages.len(), 100);
}

#[test]
fn exchanges_beyond_one_for_each_broker_are_given_back() {
    let wide = FetchSpec {
        in_flight_max: 16,
        ..spec()
    };
    let plan = FetchPlan {
        surplus: ExcessFetches::Return,
        ..plan(wide, (0, 1))
    };
    let brokers = filled(5, 20);
    let all = brokers.records() as u64;
    let mut world = sim_of(plan, brokers);
    world.run_until(S + 7 * MS);
    assert!(world.engine.recorder().under_way() <= 2, "two brokers lead");
    run(&mut world, 10 * S);
    assert_eq!(records(&world), all);
    let counts = world.engine.recorder().counts();
    assert_eq!(counts.all.intended, counts.all.ok);
}

#[test]
fn with_one_fetch_at_a_time_every_broker_has_its_turn() {
    let narrow = FetchSpec {
        in_flight_max: 1,
        partition_max_bytes: 300,
        ..spec()
    };
    let brokers = filled(4, 9);
    let all = brokers.records() as u64;
    let mut world = sim(narrow, brokers);
    run(&mut world, 10 * S);
    assert_eq!(records(&world), all);
}

#[test]
fn workers_share_the_partitions_and_miss_none() {
    let all = filled(5, 9).records() as u64;
    let read: Vec<u64> = (0..3)
        .map(|worker| {
            let mut world = sim_of(plan(spec(), (worker, 3)), filled(5, 9));
            run(&mut world, 10 * S);
            records(&world)
        })
        .collect();
    assert_eq!(read.iter().sum::<u64>(), all);
    assert!(read.iter().all(|&one| one > 0), "{read:?}");
}

#[test]
fn more_workers_than_partitions_end_at_once() {
    let mut world = sim_of(plan(spec(), (6, 7)), filled(5, 9));
    world.run_until(S + 10 * MS);
    assert!(world.engine.client().is_finished());
}

#[test]
fn a_fetch_smaller_than_what_is_there_cuts_batches_and_loses_none() {
    let brokers = filled(2, 30);
    let all = brokers.records() as u64;
    let mut world = sim(
        FetchSpec {
            partition_max_bytes: 1000,
            ..spec()
        },
        brokers,
    );
    run(&mut world, 10 * S);
    assert_eq!(records(&world), all);
    assert!(count(&world, "partial-batches") > 5);
}

#[test]
fn a_leader_that_moves_is_followed() {
    let mut world = sim(
        FetchSpec {
            partition_max_bytes: 300,
            ..spec()
        },
        filled(2, 30),
    );
    let all = world.net.far.records() as u64;
    world.run_until(S + 12 * MS);
    let before = records(&world);
    assert!(0 < before && before < all, "{before} of {all}");
    world.net.far.move_leader(0, 2);
    run(&mut world, 10 * S);
    assert!(world.engine.client().is_finished());
    assert_eq!(records(&world), all);
    let counts = world.engine.recorder().counts();
    assert!(counts.all.errors >= 1, "a fetch met who leads it no more");
    let outcomes = world.classes.seen();
    assert_eq!(outcomes[0].class.to_string(), "not-leader-or-follower");
    let example = outcomes[0].example.clone().unwrap();
    assert!(
        example.contains("t-0 on broker 1 at 127.0.0.1:9001"),
        "{example}"
    );
}

#[test]
fn a_connection_that_breaks_in_an_answer_costs_a_fetch_and_no_record() {
    let mut brokers = filled(2, 30);
    brokers.consuming.broken_off = 2;
    let all = brokers.records() as u64;
    let mut world = sim(spec(), brokers);
    run(&mut world, 10 * S);
    assert_eq!(records(&world), all, "neither lost nor counted twice");
    assert_eq!(world.engine.recorder().counts().all.errors, 2);
}

#[test]
fn a_response_that_comes_while_another_is_read_does_not_make_that_one_empty() {
    let mut brokers = filled(2, 0);
    brokers.store(0, &[vec![b'v'; 100]]);
    brokers.last_byte_later = Some((1, 700 * MS));
    let waiting = FetchSpec {
        until: FetchUntil::default(),
        ..spec()
    };
    let mut world = sim(waiting, brokers);
    world.run_until(S + 900 * MS);
    assert_eq!(records(&world), 1);
    let read = world.engine.recorder().counts().all.ok;
    let with_records = read - count(&world, "fetches-without-records");
    assert_eq!(with_records, 1, "of {read} responses");
}

#[test]
fn a_corrupt_batch_is_counted_named_and_passed_over() {
    let mut brokers = filled(1, 3);
    let batch = &mut brokers.logs.get_mut(&0).unwrap()[1].bytes;
    let last = batch.len() - 1;
    batch[last] ^= 1;
    let mut world = sim(spec(), brokers);
    run(&mut world, 10 * S);
    assert_eq!(records(&world), 1 + 3, "batches of 1, 2 and 3 records");
    assert_eq!(count(&world, "corrupt-batches"), 1);
    let seen = world.classes.seen();
    let corrupt = seen
        .iter()
        .find(|seen| seen.class.name == "corrupt-batch")
        .unwrap();
    let example = corrupt.example.clone().unwrap();
    assert!(
        example.contains("t-0 on broker 1") && example.contains("offset 1"),
        "{example}"
    );
    assert!(world.engine.client().is_finished());
}

#[test]
fn without_a_check_a_corrupt_batch_counts_like_any() {
    let mut brokers = filled(1, 3);
    brokers.logs.get_mut(&0).unwrap()[1].bytes[80] ^= 1;
    let mut world = sim(
        FetchSpec {
            check_crc: false,
            ..spec()
        },
        brokers,
    );
    run(&mut world, 10 * S);
    assert_eq!(records(&world), 6);
}

#[test]
fn an_old_format_stops_its_partition_with_a_message_and_not_the_others() {
    let mut brokers = filled(2, 3);
    brokers.logs.get_mut(&0).unwrap()[1].bytes[16] = 1;
    let mut world = sim(spec(), brokers);
    run(&mut world, 10 * S);
    assert_eq!(records(&world), 1 + 6);
    let seen = world.classes.seen();
    let old = seen
        .iter()
        .find(|seen| seen.class.name == "invalid-batch")
        .unwrap();
    assert!(old.example.clone().unwrap().contains("before Kafka 0.11"));
    assert!(world.engine.client().is_finished());
}

#[test]
fn from_the_end_only_what_comes_is_read() {
    let mut world = sim(
        FetchSpec {
            from: FetchFrom::End,
            until: FetchUntil {
                records: Some(4),
                backlog: false,
                idle_ns: None,
            },
            ..spec()
        },
        filled(1, 9),
    );
    world.run_until(2 * S);
    assert_eq!(records(&world), 0);
    world.net.far.store(0, &vec![vec![1; 10]; 5]);
    run(&mut world, 10 * S);
    assert!(world.engine.client().is_finished());
    assert_eq!(records(&world), 5, "a batch comes whole");
}

#[test]
fn from_a_time_after_the_last_record_is_from_the_end() {
    for (unix_ms, read) in [(1_700_000_000_000, 6), (1_700_000_000_001, 0)] {
        let mut world = sim(
            FetchSpec {
                from: FetchFrom::Time { unix_ms },
                ..spec()
            },
            filled(1, 3),
        );
        run(&mut world, 10 * S);
        assert!(world.engine.client().is_finished());
        assert_eq!(records(&world), read);
    }
}

#[test]
fn offsets_that_are_gone_are_looked_up_anew() {
    let mut brokers = filled(1, 3);
    brokers.consuming.refusals.insert(0, vec![1]);
    let mut world = sim(spec(), brokers);
    run(&mut world, 10 * S);
    assert_eq!(count(&world, "offset-resets"), 1);
    assert_eq!(records(&world), 6);
}

#[test]
fn bytes_of_keys_and_values_are_counted_where_records_are_looked_at() {
    let mut world = sim(
        FetchSpec {
            decode: FetchDecode::Records,
            ..spec()
        },
        filled(1, 3),
    );
    run(&mut world, 10 * S);
    assert_eq!(
        world
            .engine
            .recorder()
            .counts()
            .records
            .unwrap_or_default()
            .bytes_total,
        600
    );
}

#[test]
fn the_time_in_a_record_gives_its_age_to_the_nanosecond_and_others_do_not_count() {
    let run_number = 77;
    let stamps = SendTimestamps::of_run(run_number);
    let mut world = sim(
        FetchSpec {
            decode: FetchDecode::Timestamps { run: run_number },
            until: FetchUntil {
                records: Some(2),
                backlog: false,
                idle_ns: None,
            },
            ..spec()
        },
        Brokers::new(&[1], 1),
    );
    world.run_until(S + 100 * MS);
    let intended_ns = world.net.now_ns - 400_000;
    let of = |stamps: SendTimestamps, ns| stamps.write(ns).to_be_bytes().to_vec();
    world.net.far.store(
        0,
        &[
            of(stamps, intended_ns),
            of(SendTimestamps::of_run(78), intended_ns),
            b"short".to_vec(),
            of(stamps, intended_ns + 300_000),
        ],
    );
    run(&mut world, 10 * S);
    assert_eq!(records(&world), 2);
    assert_eq!(count(&world, "records-of-other-runs"), 2);
    let ages = world.observed().of(Quantity::EndToEnd, "");
    assert_eq!(ages.len(), 2);
    // The stamp of arrival is a virtual one: between the next fetch and its answer a millisecond later.
    assert!(ages.iter().all(|&age| age < 3 * MS), "{ages:?}");
    assert!(
        ages[1] - ages[0] >= 290_000,
        "{ages:?}: sub-millisecond values are kept apart"
    );
}

#[test]
fn an_age_below_zero_is_counted_and_neither_dropped_nor_made_zero() {
    let negative = |world: &World| {
        world
            .engine
            .recorder()
            .counts()
            .records
            .unwrap_or_default()
            .negative_end_to_end
    };
    // The records say a time 4 s behind the one at which they are read.
    let early = FetchPlan {
        realtime_offset_ns: i128::from((1_700_000_000_000 - 5_000) * MS),
        ..plan(spec(), (0, 1))
    };
    let mut world = sim_of(early, filled(2, 3));
    run(&mut world, 10 * S);
    assert_eq!(records(&world), 12);
    assert_eq!(negative(&world), 6, "a batch has one");
    assert!(world.observed().of(Quantity::Age, "").is_empty());
    // So does the time from the intended sending.
    let stamps = SendTimestamps::of_run(7);
    let stamped = FetchSpec {
        decode: FetchDecode::Timestamps { run: 7 },
        until: FetchUntil {
            records: Some(2),
            backlog: false,
            idle_ns: None,
        },
        ..spec()
    };
    let mut world = sim(stamped, Brokers::new(&[1], 1));
    world.run_until(S + 100 * MS);
    let at = |ns| stamps.write(ns).to_be_bytes().to_vec();
    let now_ns = world.net.now_ns;
    world
        .net
        .far
        .store(0, &[at(now_ns + 500 * MS), at(now_ns - MS)]);
    run(&mut world, 10 * S);
    assert_eq!((records(&world), negative(&world)), (2, 1));
    assert_eq!(world.observed().of(Quantity::EndToEnd, "").len(), 1);
}

#[test]
fn a_right_that_is_lost_in_the_middle_ends_the_load_with_its_name() {
    let mut world = sim(
        FetchSpec {
            until: FetchUntil::default(),
            ..spec()
        },
        filled(1, 3),
    );
    world.run_until(S + 500 * MS);
    assert_eq!(records(&world), 6);
    assert_eq!(world.engine.client().problem(), None);
    // TOPIC_AUTHORIZATION_FAILED.
    world.net.far.consuming.refusals.insert(0, vec![29]);
    run(&mut world, 10 * S);
    let problem = world.engine.client().problem().unwrap();
    assert!(
        problem.contains("t-0 on broker 1") && problem.contains("ACLs"),
        "{problem}"
    );
    assert!(world.engine.client().is_finished());
    assert_eq!(records(&world), 6, "what was read stays");
}

fn problem(world: &World) -> String {
    world.engine.client().problem().unwrap_or_default()
}

#[test]
fn what_can_be_read_is_read_and_a_partition_without_a_leader_is_named() {
    for spec in [spec(), group_spec()] {
        let mut brokers = filled(3, 9);
        brokers.down = vec![2];
        let led = 2 * brokers.records() as u64 / 3;
        let mut world = sim(spec, brokers);
        run(&mut world, 10 * S);
        assert!(world.engine.client().is_finished());
        assert_eq!(records(&world), led);
        let problem = problem(&world);
        assert!(
            problem.contains("t-1 has no leader: start broker 2"),
            "{problem}"
        );
        let seen = world.classes.seen();
        let mut classes = seen.iter().map(|one| one.class.to_string());
        assert!(classes.any(|class| class == "leader-not-available"));
        assert!(
            !seen.iter().any(|one| one.class.name == "kafka-fatal"),
            "{seen:?}"
        );
    }
}

/// All records of one batch more than there are, or of the backlog.
fn patient(until: FetchUntil) -> FetchSpec {
    let until = FetchUntil {
        idle_ns: Some(2 * S),
        ..until
    };
    FetchSpec { until, ..spec() }
}

#[test]
fn a_load_that_waits_for_more_records_than_there_are_ends_and_says_how_many_came() {
    let asked = FetchUntil {
        records: Some(1000),
        ..FetchUntil::default()
    };
    for (batches, came, words) in [
        (3, 12, "12 of 1000 records came, then none for 2s"),
        (0, 0, "none of 1000 records came within 2s"),
    ] {
        let mut world = sim(patient(asked), filled(2, batches));
        world.run_until(S + 1900 * MS);
        assert!(!world.engine.client().is_finished());
        run(&mut world, 10 * S);
        assert!(world.engine.client().is_finished());
        assert!(world.net.now_ns < 9 * S);
        assert_eq!(records(&world), came);
        let problem = problem(&world);
        assert!(
            problem.starts_with(words) && problem.contains("--idle-timeout"),
            "{problem}"
        );
        assert_eq!(world.engine.recorder().counts().all.errors, 0);
    }
}

#[test]
fn a_record_now_and_then_keeps_a_load_going_and_so_does_a_rebalance() {
    let asked = FetchUntil {
        records: Some(5),
        ..FetchUntil::default()
    };
    let mut world = sim(patient(asked), filled(1, 0));
    for _ in 0..4 {
        world.run_until(world.net.now_ns + 1500 * MS);
        world.net.far.store(0, &[vec![b'v'; 10]]);
    }
    world.run_until(world.net.now_ns + 100 * MS);
    assert!(!world.engine.client().is_finished());
    assert_eq!(records(&world), 4);
    world.net.far.store(0, &[vec![b'v'; 10]]);
    run(&mut world, 20 * S);
    assert_eq!(problem(&world), "");
    assert_eq!(records(&world), 5);
}

#[test]
fn a_broker_that_throttles_is_waited_for_and_its_time_is_not_that_of_the_idle_timeout() {
    let asked = FetchUntil {
        backlog: true,
        ..FetchUntil::default()
    };
    let mut brokers = filled(1, 3);
    // Longer than a fetch may take, and than the load waits for records.
    brokers.throttle_ms = 3000;
    let slow = FetchSpec {
        partition_max_bytes: 100,
        ..patient(asked)
    };
    let mut world = sim(slow, brokers);
    run(&mut world, 15 * S);
    assert_eq!(problem(&world), "");
    assert_eq!(records(&world), 6);
    let counts = world.engine.recorder().counts();
    assert_eq!(counts.all.errors, 0, "{:?}", world.classes.seen());
    assert!(count(&world, "throttled-responses") >= 3);
    assert_eq!(
        count(&world, "throttle-time-ms"),
        count(&world, "throttled-responses") * 3000
    );
}

#[test]
fn a_fetch_that_a_quota_holds_back_to_the_end_is_no_fault_of_the_broker() {
    let mut brokers = filled(1, 3);
    brokers.throttle_ms = 60_000;
    let endless = FetchSpec {
        until: FetchUntil::default(),
        ..spec()
    };
    let mut world = sim(endless, brokers);
    world.run_until(3 * S);
    world.engine.recorder_mut().end_window_at(3 * S);
    world.run_until(4 * S);
    let World { engine, net, .. } = &mut world;
    engine.abandon(net);
    let counts = world.engine.recorder().counts().all;
    assert!(counts.errors > 0 && counts.unfinished == 0, "{counts:?}");
    let seen = world.classes.seen();
    let [found] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!(found.class.error_source, ErrorSource::Quota);
    let example = found.example.clone().unwrap();
    assert!(example.contains("consumer_byte_rate"), "{example}");
}

#[test]
fn the_commit_at_the_end_is_waited_for_and_counted() {
    let never_due = FetchSpec {
        assignment: FetchAssignment::Group {
            group: "g".into(),
            assignors: vec!["range".into()],
            commit_every_ms: Some(1_000_000),
            session_timeout_ms: 9000,
        },
        ..spec()
    };
    let brokers = filled(3, 9);
    let all = brokers.records();
    let mut world = sim(never_due, brokers);
    run(&mut world, 10 * S);
    assert_eq!(count(&world, "group-commits"), 0);
    let World { engine, net, .. } = &mut world;
    assert!(
        !engine.is_settled(net.now_ns, net),
        "it waits for the answer"
    );
    world.run_until(world.net.now_ns + 50 * MS);
    let World { engine, net, .. } = &mut world;
    assert!(engine.is_settled(net.now_ns, net));
    assert_eq!(count(&world, "group-commits"), 1);
    assert_eq!(world.net.far.consuming.committed.values().sum::<i64>(), all);
    let asked = world.net.far.requests;
    let World { engine, net, .. } = &mut world;
    engine.abandon(net);
    assert!(net.far.consuming.left);
    assert_eq!(net.far.requests, asked + 1, "the commit is not repeated");
}

fn group_spec() -> FetchSpec {
    FetchSpec {
        assignment: FetchAssignment::Group {
            group: "g".into(),
            assignors: vec!["sticky".into(), "range".into()],
            commit_every_ms: Some(100),
            session_timeout_ms: 9000,
        },
        ..spec()
    }
}

#[test]
fn a_member_of_a_group_reads_commits_and_leaves_and_the_next_goes_on() {
    let brokers = filled(3, 9);
    let all = brokers.records() as u64;
    let mut world = sim(group_spec(), brokers);
    run(&mut world, 10 * S);
    assert!(world.engine.client().is_finished());
    assert_eq!(records(&world), all);
    let World { engine, net, .. } = &mut world;
    engine.abandon(net);
    assert!(world.net.far.consuming.left);
    let committed: i64 = world.net.far.consuming.committed.values().sum();
    assert_eq!(committed as u64, all);
    // The next one begins where this one ended.
    let mut brokers = filled(3, 9);
    brokers.consuming.committed = world.net.far.consuming.committed.clone();
    brokers.store(1, &vec![vec![0; 10]; 2]);
    let mut next = sim(group_spec(), brokers);
    run(&mut next, 10 * S);
    assert_eq!(records(&next), 2);
}

#[test]
fn after_a_rebalance_the_member_goes_on() {
    let brokers = filled(3, 9);
    let mut world = sim(
        FetchSpec {
            until: FetchUntil {
                records: Some(1000),
                backlog: false,
                idle_ns: None,
            },
            ..group_spec()
        },
        brokers,
    );
    world.run_until(3 * S);
    let before = records(&world);
    world.net.far.consuming.rebalance_next = true;
    world.run_until(8 * S);
    assert_eq!(count(&world, "group-rebalances"), 1);
    assert_eq!(count(&world, "group-assignments"), 2);
    world.net.far.store(0, &vec![vec![0; 10]; 7]);
    world.run_until(10 * S);
    assert_eq!(records(&world), before + 7);
    assert_eq!(world.engine.recorder().counts().all.errors, 0);
}

/// A member that commits, if at all, before a rebalance, and asks every 10 ms whether there is one.
fn hasty_spec() -> FetchSpec {
    FetchSpec {
        assignment: FetchAssignment::Group {
            group: "g".into(),
            assignors: vec!["range".into()],
            commit_every_ms: Some(1_000_000),
            session_timeout_ms: 30,
        },
        ..spec()
    }
}

#[test]
fn what_was_read_is_committed_before_a_rebalance_and_read_by_nobody_again() {
    let mut world = sim(
        FetchSpec {
            until: FetchUntil {
                records: Some(10_000),
                backlog: false,
                idle_ns: None,
            },
            ..hasty_spec()
        },
        filled(3, 9),
    );
    let all = world.net.far.records() as u64;
    world.run_until(2 * S);
    assert_eq!(records(&world), all);
    assert!(world.net.far.consuming.committed.is_empty());
    world.net.far.consuming.rebalance_next = true;
    world.run_until(3 * S);
    assert_eq!(count(&world, "group-assignments"), 2);
    assert_eq!(count(&world, "group-commits"), 1);
    assert_eq!(records(&world), all);
}

#[test]
fn a_rebalance_in_a_backlog_does_not_end_the_load() {
    let mut brokers = filled(2, 60);
    brokers.consuming.rebalance_next = true;
    let all = brokers.records() as u64;
    let mut world = sim(
        FetchSpec {
            partition_max_bytes: 100,
            ..hasty_spec()
        },
        brokers,
    );
    run(&mut world, 10 * S);
    assert_eq!(count(&world, "group-rebalances"), 1);
    assert_eq!(records(&world), all);
    assert!(world.engine.client().is_finished());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_goes_wrong_for_a_while_each_record_is_counted_once(
        refusals in prop::collection::btree_map(
            0..4_i32,
            prop::collection::vec(prop::sample::select(vec![3_i16, 5, 6, 7, 9, 56, 74, 75, -1]), 0..5),
            0..4,
        ),
        broken_off in 0..4_usize,
        moves in prop::collection::vec((0..4_usize, 1..3_i32), 0..3),
        partition_max_bytes in 100..5000_u32,
        keep: bool,
    ) {
        let mut brokers = filled(4, 12);
        brokers.consuming.refusals = refusals;
        brokers.consuming.broken_off = broken_off;
        let all = brokers.records() as u64;
        let decode = if keep { FetchDecode::Records } else { FetchDecode::Batches };
        let mut world = sim(FetchSpec { decode, partition_max_bytes, ..spec() }, brokers);
        for (partition, node) in moves {
            world.run_until(world.net.now_ns + 3 * MS);
            world.net.far.move_leader(partition, node);
        }
        run(&mut world, 18 * S);
        prop_assert_eq!(records(&world), all);
        prop_assert!(world.engine.client().is_finished());
        prop_assert_eq!(world.engine.recorder().under_way(), 0);
    }
}

#[test]
fn a_backlog_is_read_again_from_its_beginning_as_long_as_the_load_lasts() {
    let brokers = filled(5, 20);
    let all = brokers.records() as u64;
    let again = FetchSpec {
        until: FetchUntil::default(),
        at_end: FetchEnd::Repeat,
        ..spec()
    };
    let mut world = sim(again, brokers);
    run(&mut world, 3 * S);
    let read = records(&world);
    assert!(read > 10 * all, "{read} of {all}");
    let counts = world.engine.recorder().counts();
    assert_eq!(counts.all.errors, 0);
    assert_eq!(counts.all.intended, counts.all.ok);
}

#[test]
fn an_empty_topic_is_waited_at_and_not_asked_in_a_circle() {
    let again = FetchSpec {
        until: FetchUntil::default(),
        at_end: FetchEnd::Repeat,
        ..spec()
    };
    let mut world = sim(again, filled(5, 0));
    world.run_until(900 * MS);
    assert_eq!(records(&world), 0);
    let asked = world.engine.recorder().counts().all.intended;
    assert!(asked <= 8, "a broker waits for records, {asked} fetches");
}
