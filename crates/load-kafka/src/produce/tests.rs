//! The producer against simulated brokers that move leaders, close, answer late and refuse: nothing is lost, doubled or reordered.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tare_kafka::audit::{DeliveryAudit, DeliveryReport};
use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_kafka::records::Batches;
use tare_record::agent::ErrorSource;
use tare_record::load::{Acks, Codec, Keys, ProduceSpec, SerialSpec, Stop};
use tare_stats::random::Random;

use super::{APIS, Contents, Produce, ProducePlan};
use crate::ClusterPlan;
use crate::cluster::tests::plan as cluster_plan;
use crate::errors::no_leader;
use crate::sim::{Asked, Brokers, Fate};
use tare_load::Quantity;
use tare_load::arrivals::{Arrivals, ClosedLoop, SharedCount};
use tare_load::client::WaitCause;
use tare_load::engine::sim::{MS, S, Sim, rate};

/// The run in the numbers of records.
const RUN: u64 = 77;

pub(crate) fn plan(idempotence: bool) -> ProducePlan {
    ProducePlan {
        cluster: ClusterPlan {
            apis: APIS,
            request_timeout_ns: 500 * MS,
            ..cluster_plan(&[9001, 9002])
        },
        spec: ProduceSpec {
            idempotence,
            batch_bytes: 2000,
            serials: Some(SerialSpec {
                run: RUN,
                first_writer: 0,
            }),
            buffer_bytes: 100_000,
            ..ProduceSpec::default()
        },
        contents: vec![Contents::new(&[vec![b'x'; 50]], &[], Keys::None, None)],
        timeout_ns: 5 * S,
        waiting_max: 1000,
        worker: (0, 1),
        random: Random::from_seed(1),
        epoch_offset_ns: 1_700_000_000_000_000_000,
    }
}

fn sim(plan: ProducePlan, brokers: Brokers, arrivals: Arrivals) -> Sim<Produce, Brokers> {
    let mut sim = Sim::new(Produce::new(plan).unwrap(), arrivals, 20_000, brokers);
    // The simulated answers take time, so the start is waited for as a worker does.
    sim.run_until(S);
    sim
}

fn brokers(rule: impl FnMut(Asked) -> Fate + 'static) -> Brokers {
    let mut brokers = Brokers::new(&[1, 2], 3);
    brokers.rule = Box::new(rule);
    brokers
}

/// The numbers in the logs are whole: within a partition each record follows the one before.
fn sequences_are_whole(brokers: &Brokers) {
    for (partition, log) in &brokers.logs {
        let mut next = std::collections::HashMap::new();
        for stored in log {
            let next = next.entry(stored.producer).or_insert(0);
            assert_eq!(stored.sequence, *next, "partition {partition}");
            *next += stored.count;
        }
    }
}

/// What was acknowledged against what the brokers have.
fn account(sim: &Sim<Produce, Brokers>) -> DeliveryReport {
    let mut account = DeliveryAudit::of_run(RUN);
    tare_load::client::Client::acknowledged(sim.engine.client(), &mut |one| {
        for [from, count] in one.ranges {
            let told = account.acknowledged(one.partition, one.writer, (from, count));
            told.unwrap();
        }
    });
    for (&partition, log) in &sim.net.far.logs {
        for stored in log {
            account.read(partition, 0, &stored.bytes).unwrap();
        }
    }
    account.close()
}

/// Everything acknowledged is there once and in order.
fn all_is_there(sim: &Sim<Produce, Brokers>) {
    let found = account(sim);
    let ok = sim.engine.recorder().counts().all.ok;
    let kept = DeliveryReport {
        acknowledged: ok,
        read: ok + found.unacknowledged,
        unacknowledged: found.unacknowledged,
        ..DeliveryReport::default()
    };
    assert_eq!(found, kept);
}

/// So many records were taken, each once and in order.
fn all_were_taken(sim: &Sim<Produce, Brokers>, records: u64) {
    let ok = sim.engine.recorder().counts().all.ok;
    assert_eq!(ok, records, "{:?}", sim.classes.seen());
    assert_eq!(sim.net.far.records() as u64, records);
    all_is_there(sim);
    sequences_are_whole(&sim.net.far);
}

#[test]
fn records_linger_together_and_each_has_a_latency_from_its_own_start() {
    let mut sim = sim(plan(true), Brokers::new(&[1, 2], 3), rate(2000.0, 2));
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts().clone();
    assert_eq!(counts.window.ok, 4000);
    assert_eq!(sim.net.far.records(), 4000);
    sequences_are_whole(&sim.net.far);
    let requests = sim.net.far.produced.len();
    assert!(
        (300..=420).contains(&requests),
        "{requests}: a record each 0.5 ms lingers 5 ms"
    );
    let linger = counts.queue_waits[WaitCause::Linger as usize];
    assert!(linger.count > 3900, "{linger:?}");
    let latency = sim.observed().of(Quantity::Latency, "");
    let (least, most) = (latency[0], latency[latency.len() * 99 / 100]);
    assert!(
        (MS..=2 * MS).contains(&least),
        "{least}: the last record of a batch waits for the broker alone"
    );
    assert!(
        (5 * MS..=7 * MS).contains(&most),
        "{most}: the first one lingers too"
    );
}

#[test]
fn fast_starts_are_gathered_and_the_slow_ones_are_on_time() {
    for (per_s, latest_ns) in [(200_000.0, 50_000), (1000.0, 0)] {
        let mut plan = plan(true);
        plan.spec.batch_bytes = 20_000;
        plan.spec.buffer_bytes = 1_000_000;
        let mut sim = sim(plan, Brokers::new(&[1], 1), rate(per_s, 1));
        sim.run_until(20 * S);
        assert_eq!(sim.engine.recorder().counts().all.ok, per_s as u64);
        let lateness = sim.observed().of(Quantity::Lateness, "");
        let latest = lateness[lateness.len() - 1];
        assert!(latest <= latest_ns + latest_ns / 500, "{latest}");
    }
}

#[test]
fn without_linger_what_is_due_while_requests_are_under_way_goes_together() {
    let mut slow = Brokers::new(&[1], 1);
    slow.delay_ns = 20 * MS;
    let mut plan = plan(false);
    plan.spec.linger_ns = 0;
    plan.spec.in_flight_max = 1;
    let mut sim = sim(plan, slow, rate(1000.0, 1));
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!(counts.window.ok, 1000);
    let requests = sim.net.far.produced.len();
    assert!((45..=60).contains(&requests), "{requests}");
    assert!(counts.queue_waits[WaitCause::Window as usize].count > 500);
    assert_eq!(sim.net.far.acks, -1);
}

#[test]
fn as_fast_as_possible_records_go_in_full_batches_and_by_runs() {
    let mut plan = plan(true);
    plan.spec.linger_ns = 0;
    let shared = SharedCount::new(50_000, 1);
    let looped = ClosedLoop::new(400, 0, 0, Stop::Count { exchanges: 50_000 }, &shared);
    let mut sim = sim(plan, Brokers::new(&[1, 2], 3), Arrivals::ClosedLoop(looped));
    sim.run_until(60 * S);
    all_were_taken(&sim, 50_000);
    for (partition, log) in &sim.net.far.logs {
        assert!(log.len() > 300, "partition {partition} has its share");
    }
}

#[test]
fn the_values_keys_and_partitions_are_those_of_the_plan() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let keys = Keys::RoundRobin { count: 100 };
        let values = [b"alpha".to_vec(), b"beta".to_vec()];
        let mut plan = plan(false);
        plan.contents = vec![Contents::new(&values, &[], keys, None)];
        plan.spec.keys = keys;
        plan.spec.compression = codec;
        let mut sim = sim(plan, Brokers::new(&[1, 2], 3), rate(1000.0, 1));
        sim.run_until(20 * S);
        assert_eq!(sim.engine.recorder().counts().all.ok, 1000);
        let mut of_key = std::collections::HashMap::new();
        let mut values = 0;
        for (&partition, log) in &sim.net.far.logs {
            for stored in log {
                for batch in Batches::new(&stored.bytes) {
                    let batch = batch.unwrap();
                    batch.check().unwrap();
                    let mut body = Vec::new();
                    tare_kafka::compress::Decompressor::default()
                        .decompress(super::compression(codec), batch.body(), &mut body, 1 << 20)
                        .unwrap();
                    for record in batch.header.records(&body) {
                        let record = record.unwrap();
                        let key = record.key.unwrap().to_vec();
                        assert_eq!(*of_key.entry(key).or_insert(partition), partition);
                        assert!([&b"alpha"[..], b"beta"].contains(&record.value.unwrap()));
                        values += 1;
                    }
                }
            }
        }
        assert_eq!((values, of_key.len()), (1000, 100), "{codec:?}");
        // As `Utils.toPositive(Utils.murmur2("key-07")) % 3` has it.
        assert_eq!(
            of_key[&b"key-07"[..]],
            super::contents::partition_of(b"key-07", 3) as i32
        );
    }
}

#[test]
fn nothing_overtakes_the_first_batch_at_a_broker_that_knows_nothing_of_the_producer() {
    // A leader that is not ready yet refuses the first, and would take what is under way behind it as the first.
    let rule = |asked: Asked| match asked.number {
        0 => Fate::Refuse(6),
        _ => Fate::Take,
    };
    let mut fresh = Brokers::new(&[1], 1);
    fresh.rule = Box::new(rule);
    fresh.delay_ns = 20 * MS;
    let mut sim = sim(plan(true), fresh, rate(5000.0, 1));
    sim.run_until(20 * S);
    all_were_taken(&sim, 5000);
}

#[test]
fn what_a_broker_has_forgotten_is_sent_under_another_number() {
    let mut sim = sim(plan(true), Brokers::new(&[1], 1), rate(1000.0, 2));
    sim.run_until(S + 500 * MS);
    sim.net.far.forget_last(0);
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts();
    assert_eq!(counts.all.ok, 2000, "{:?}", sim.classes.seen());
    let lost = account(&sim).lost;
    assert!(
        (1..=100).contains(&lost),
        "{lost} of what was forgotten, and nothing else"
    );
    assert_eq!(sim.net.far.records() as u64, 2000 - lost);
}

#[test]
fn a_leader_that_moves_is_followed_and_nothing_is_lost() {
    let mut sim = sim(plan(true), Brokers::new(&[1, 2], 3), rate(1000.0, 3));
    sim.run_until(2 * S);
    sim.net.far.move_leader(0, 2);
    sim.net.far.move_leader(1, 1);
    sim.run_until(30 * S);
    all_were_taken(&sim, 3000);
}

#[test]
fn a_broker_that_dies_loses_and_doubles_nothing_with_idempotence() {
    let mut sim = sim(plan(true), Brokers::new(&[1, 2], 3), rate(1000.0, 4));
    sim.run_until(2 * S);
    sim.net.far.down = vec![1];
    sim.run_until(2 * S + 500 * MS);
    for partition in 0..3 {
        sim.net.far.move_leader(partition, 2);
    }
    sim.run_until(3 * S);
    sim.net.far.down.clear();
    sim.run_until(30 * S);
    all_were_taken(&sim, 4000);
}

#[test]
fn without_idempotence_a_lost_answer_doubles_and_with_it_does_not() {
    for (idempotence, extra) in [(false, true), (true, false)] {
        let rule = |asked: Asked| match asked.number {
            20 => Fate::TakeAndClose,
            _ => Fate::Take,
        };
        let mut sim = sim(plan(idempotence), brokers(rule), rate(1000.0, 1));
        sim.run_until(20 * S);
        assert_eq!(sim.engine.recorder().counts().all.ok, 1000);
        assert_eq!(sim.net.far.records() > 1000, extra, "{idempotence:?}");
        let found = account(&sim);
        assert_eq!((found.acknowledged, found.lost), (1000, 0));
        let doubled = sim.net.far.records() as u64 - 1000;
        assert_eq!(found.duplicated, doubled, "each copy is seen");
    }
}

#[test]
fn a_message_that_is_too_large_fails_in_words_and_what_follows_goes_on() {
    let rule = |asked: Asked| match asked.number {
        10 | 11 => Fate::Refuse(10),
        _ => Fate::Take,
    };
    let mut sim = sim(plan(true), brokers(rule), rate(1000.0, 2));
    sim.run_until(20 * S);
    let all = sim.engine.recorder().counts().all;
    assert_eq!(all.ok + all.errors, 2000);
    assert!((2..=40).contains(&all.errors), "{all:?}");
    assert_eq!(sim.net.far.records(), all.ok as i64);
    all_is_there(&sim);
    sequences_are_whole(&sim.net.far);
    let seen = sim.classes.seen();
    assert_eq!(seen[0].class.to_string(), "message-too-large");
    let example = seen[0].example.clone().unwrap();
    assert!(example.contains("at 127.0.0.1:900"), "{example}");
    assert!(example.contains("max.message.bytes"), "{example}");
}

#[test]
fn a_broker_that_says_nothing_is_left_after_the_limit_of_a_request() {
    let rule = |asked: Asked| match asked.number {
        15 => Fate::Silence,
        _ => Fate::Take,
    };
    let mut sim = sim(plan(true), brokers(rule), rate(1000.0, 1));
    sim.run_until(20 * S);
    assert_eq!(sim.engine.recorder().counts().all.ok, 1000);
    assert_eq!(sim.net.far.records(), 1000);
}

#[test]
fn what_cannot_be_sent_in_time_ends_in_words() {
    let mut sim = sim(plan(true), Brokers::new(&[1], 1), rate(100.0, 1));
    sim.run_until(S + 500 * MS);
    sim.net.far.down = vec![1];
    sim.run_until(30 * S);
    let all = sim.engine.recorder().counts().all;
    assert_eq!(all.ok + all.errors, 100);
    assert!(all.errors >= 48, "{all:?}");
    assert_eq!(all.unfinished, 0);
}

#[test]
fn without_acknowledgements_a_record_is_done_when_it_is_written() {
    let mut plan = plan(false);
    plan.spec.acks = Acks::None;
    let mut sim = sim(plan, Brokers::new(&[1, 2], 3), rate(1000.0, 1));
    sim.run_until(10 * S);
    assert_eq!(sim.engine.recorder().counts().all.ok, 1000);
    assert_eq!(sim.net.far.records(), 1000);
    assert_eq!(sim.net.far.acks, 0);
}

#[test]
fn a_full_buffer_makes_records_wait_and_none_is_lost() {
    let mut plan = plan(true);
    plan.spec.buffer_bytes = 16_000;
    plan.timeout_ns = 20 * S;
    let mut slow = Brokers::new(&[1], 1);
    slow.delay_ns = 100 * MS;
    let mut sim = sim(plan, slow, rate(5000.0, 1));
    sim.run_until(60 * S);
    all_were_taken(&sim, 5000);
}

#[test]
fn an_old_broker_without_numbers_for_producers_is_a_problem_in_words() {
    let mut old = Brokers::new(&[1], 1);
    old.versions
        .retain(|(key, ..)| *key != ApiKey::InitProducerId);
    let mut sim = sim(plan(true), old, rate(10.0, 1));
    sim.run_until(S + 100 * MS);
    let problem = tare_load::client::Client::problem(sim.engine.client()).unwrap();
    assert!(
        problem.contains("InitProducerId in no version"),
        "{problem}"
    );
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        8 => Just(Fate::Take),
        1 => Just(Fate::Refuse(6)),
        1 => Just(Fate::Refuse(19)),
        1 => Just(Fate::TakeAndRefuse(20)),
        1 => Just(Fate::TakeAndRefuse(7)),
        1 => Just(Fate::Close),
        1 => Just(Fate::TakeAndClose),
        1 => Just(Fate::Silence),
        1 => Just(Fate::Rubbish),
        1 => Just(Fate::Refuse(10)),
        1 => Just(Fate::Refuse(59)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_acknowledged_records_are_there_once_and_in_order(
        fates in prop::collection::vec(fate(), 1..60),
        partitions in 1..4_usize,
        linger in prop::sample::select(vec![0, 2 * MS, 20 * MS]),
        delay in prop::sample::select(vec![0, MS, 30 * MS]),
        compressed in any::<bool>(),
    ) {
        let fates = Arc::new(Mutex::new(fates.into_iter()));
        let rule = move |_| fates.lock().unwrap().next().unwrap_or(Fate::Take);
        let mut brokers = Brokers::new(&[1, 2], partitions);
        brokers.rule = Box::new(rule);
        brokers.delay_ns = delay;
        let mut plan = plan(true);
        plan.spec.linger_ns = linger;
        plan.spec.compression = if compressed { Codec::Snappy } else { Codec::None };
        plan.timeout_ns = 60 * S;
        let mut sim = sim(plan, brokers, rate(700.0, 1));
        sim.run_until(200 * S);
        let all = sim.engine.recorder().counts().all;
        prop_assert_eq!(all.ok + all.errors, 700);
        prop_assert_eq!(all.unfinished, 0);
        // A refused batch may have been written when its first answer was lost: never fewer than acknowledged.
        let stored = sim.net.far.records() as u64;
        prop_assert!(stored >= all.ok && stored <= 700, "{} stored, {:?}", stored, all);
        all_is_there(&sim);
        sequences_are_whole(&sim.net.far);
    }
}

#[test]
fn a_batch_in_doubt_is_settled_before_anything_behind_it_is_sent() {
    // The broker remembers five batches: were more sent behind one that is refused again and again, it would be doubled.
    let rule = |asked: Asked| match asked.number {
        13 => Fate::TakeAndRefuse(20),
        14..30 => Fate::Refuse(6),
        30 => Fate::Refuse(59),
        _ => Fate::Take,
    };
    let mut one = Brokers::new(&[1], 1);
    one.rule = Box::new(rule);
    one.delay_ns = 0;
    let mut plan = plan(true);
    plan.spec.linger_ns = 2 * MS;
    plan.timeout_ns = 60 * S;
    let mut sim = sim(plan, one, rate(700.0, 1));
    sim.run_until(200 * S);
    let all = sim.engine.recorder().counts().all;
    assert!(
        all.errors <= 4,
        "only what was in doubt may be given up: {all:?}"
    );
    assert!(sim.net.far.records() <= 700);
    assert!(sim.net.far.records() as u64 >= all.ok);
}

#[test]
fn a_partition_without_a_leader_gets_no_record_without_a_key_and_is_named() {
    let mut brokers = Brokers::new(&[1, 2], 4);
    brokers.down = vec![2];
    let mut sim = sim(plan(true), brokers, rate(1000.0, 4));
    // A worker waits for what is known of each partition.
    sim.run_until(20 * S);
    all_were_taken(&sim, 4000);
    let partitions: Vec<i32> = sim.net.far.logs.keys().copied().collect();
    assert_eq!(partitions, [0, 2], "broker 1 leads them");
    let seen = sim.classes.seen();
    let found = seen.iter().find(|one| one.class == no_leader()).unwrap();
    let example = found.example.clone().unwrap();
    assert!(
        example.contains("t-1 has no leader: start broker 2"),
        "{example}"
    );
    assert!(sim.engine.is_open(), "it is not waited for");
}

#[test]
fn records_whose_key_is_of_a_partition_without_a_leader_fail_with_that_reason() {
    let keys = Keys::RoundRobin { count: 100 };
    let mut plan = plan(true);
    plan.contents = vec![Contents::new(&[vec![b'x'; 50]], &[], keys, None)];
    plan.spec.keys = keys;
    let mut brokers = Brokers::new(&[1, 2], 2);
    brokers.down = vec![2];
    let mut sim = sim(plan, brokers, rate(100.0, 1));
    sim.run_until(20 * S);
    let counts = sim.engine.recorder().counts().all;
    assert_eq!(counts.ok + counts.errors, 100);
    assert!((20..=80).contains(&counts.ok), "{counts:?}");
    let seen = sim.classes.seen();
    let classes: Vec<String> = seen.iter().map(|one| one.class.to_string()).collect();
    // The other one is that of the seed's connection to the broker that is down.
    assert!(
        classes.contains(&"leader-not-available".to_owned())
            && !classes.contains(&"timeout".to_owned()),
        "{classes:?}"
    );
}

/// A producer beyond its quota: with each answer the broker says that it reads nothing for so long.
fn throttled(throttle_ms: i32, seconds: u64) -> Sim<Produce, Brokers> {
    let mut brokers = Brokers::new(&[1], 1);
    brokers.throttle_ms = throttle_ms;
    let mut plan = plan(true);
    plan.spec.linger_ns = 250 * MS;
    let mut sim = sim(plan, brokers, rate(100.0, seconds));
    sim.run_until(60 * S);
    sim
}

#[test]
fn a_broker_that_throttles_is_waited_for_and_nothing_times_out() {
    // Longer than a request may take.
    let sim = throttled(600, 1);
    all_were_taken(&sim, 100);
    let counts = sim.engine.recorder().counts();
    let waits = counts.queue_waits[WaitCause::Quota as usize];
    assert!(waits.count >= 40, "{waits:?}");
    let mut found = std::collections::BTreeMap::new();
    tare_load::client::Client::counts(sim.engine.client(), &mut |name, count| {
        found.insert(name, count);
    });
    assert!(found["throttled-responses"] >= 2, "{found:?}");
    assert_eq!(
        found["throttle-time-ms"],
        found["throttled-responses"] * 600
    );
    assert_eq!(found["retries"], 0);
}

#[test]
fn what_a_quota_lets_not_through_in_time_is_no_fault_of_the_broker() {
    // Longer than a record may take.
    let sim = throttled(9000, 2);
    let counts = sim.engine.recorder().counts().all;
    assert!(counts.errors > 100, "{counts:?}");
    for seen in sim.classes.seen() {
        assert_eq!(seen.class.error_source, ErrorSource::Quota, "{seen:?}");
        let example = seen.example.unwrap();
        assert!(example.contains("producer_byte_rate"), "{example}");
    }
}
