//! Producing to real brokers: over every listener, with every codec, through the death of a broker.

use tare_kafka_admin::admin::{NewTopic, PartitionLayout};
use tare_record::load::{Codec, Keys, Pacing};

use crate::bed::{
    PARTITIONS, Running, S, Stand, VALUE_BYTES, alone, bed, login, number, produce, producer, run,
    tls,
};

#[test]
fn every_codec_is_taken() {
    let cluster = bed();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("codecs", &[]);
    let mut expected = 0;
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        let mut plan = producer(&plain, "codecs", Pacing::Max, 20_000);
        let mut spec = produce(&mut plan);
        spec.compression = codec;
        spec.keys = Keys::Random { count: 50 };
        drop(spec);
        let outcome = run(&plan).unwrap();
        assert_eq!(
            outcome.result.ok, 20_000,
            "{codec:?}: {:?}",
            outcome.result.outcomes
        );
        expected += 20_000;
        assert_eq!(stand.records("codecs"), expected, "{codec:?}");
    }
}

#[test]
fn every_listener_is_spoken_to() {
    let cluster = bed();
    let folder = tempfile::tempdir().unwrap();
    let mut stand = Stand::new(&cluster.at("plain"));
    stand.topic("listeners", &[]);
    let mut expected = 0;
    for (port, secure, login) in [
        ("tls", true, None),
        ("sasl", false, login(&folder, "PLAIN", "tare-secret")),
        (
            "sasl",
            false,
            login(&folder, "SCRAM-SHA-256", "tare-secret"),
        ),
        (
            "sasl-tls",
            true,
            login(&folder, "SCRAM-SHA-512", "tare-secret"),
        ),
    ] {
        let pacing = Pacing::Constant { rate_per_s: 5000.0 };
        let mut plan = producer(&cluster.at(port), "listeners", pacing, 2000);
        if secure {
            plan.load.transport = tls(&cluster);
        }
        produce(&mut plan).sasl = login;
        let outcome = run(&plan).unwrap_or_else(|error| panic!("{port}: {error}"));
        assert_eq!(
            outcome.result.ok, 2000,
            "{port}: {:?}",
            outcome.result.outcomes
        );
        expected += 2000;
        assert_eq!(stand.records("listeners"), expected, "{port}");
    }
}

#[test]
fn a_killed_broker_loses_and_doubles_nothing() {
    let mut cluster = alone();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("killed", &[]);
    let pacing = Pacing::Constant { rate_per_s: 2000.0 };
    let mut plan = producer(&plain, "killed", pacing, 16_000);
    number(&mut plan);
    let running = Running::start(plan);
    let mut samples = 0;
    running.until(|_| {
        samples += 1;
        samples == 2
    });
    cluster.kill(3);
    let outcome = running.outcome().unwrap();
    assert!(outcome.result.protocol_counts["retries"] > 0);
    cluster.mend().unwrap();
    stand.holds_all("killed", &outcome, 16_000);
}

/// What a producer may be told of a partition whose only broker has no room left: first the broker says so itself, then the
/// partition has no leader any more. Which of them a record ends with, and how many were taken before, is a matter of moments.
const FULL: [(&str, &str); 3] = [
    ("kafka-storage-error", "log directory and its disk"),
    (
        "not-leader-or-follower",
        "wait until the partition has a leader",
    ),
    ("leader-not-available", "has no leader: start broker 3"),
];

#[test]
fn a_broker_whose_disk_is_full_is_told_and_takes_nothing_from_what_others_have() {
    const DISK: u64 = 1_000_000;
    let mut cluster = alone();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("full", &[]);
    let only_there = NewTopic {
        name: "full-alone".into(),
        shape: PartitionLayout::Explicit(vec![vec![3]]),
        configs: Default::default(),
    };
    stand.create(only_there);
    // On a full disk it cannot make the files of a new partition: it would live on and never serve it.
    stand.until_stored(3, &["full", "full-alone"], PARTITIONS as usize + 1);

    cluster.fill_disk(3, DISK);
    let mut plan = producer(&plain, "full-alone", Pacing::Max, 50_000);
    plan.load.timeout_ns = 4 * S;
    let outcome = run(&plan).unwrap();
    let result = &outcome.result;
    let told = format!("{:?}", result.outcomes);
    assert!(result.ok <= DISK / VALUE_BYTES, "more than fits: {told}");
    let refused = result.outcomes.iter().filter(|one| one.class != "ok");
    let mut count = 0;
    for refused in refused {
        let step = FULL.iter().find(|(class, _)| *class == refused.class);
        let (_, step) = step.unwrap_or_else(|| panic!("another reason: {told}"));
        let example = refused.example.as_deref().unwrap_or_default();
        assert!(
            example.contains("broker ") && example.contains(step),
            "{example}"
        );
        count += refused.count;
    }
    assert_eq!(
        result.ok + count,
        50_000,
        "each was taken or refused: {told}"
    );

    // What is written to it and others goes on without it. A broker that cannot tell the controller of its failed directory
    // ends only after 30 s (log.dir.failure.timeout.ms): until then its partitions have no other leader.
    let mut plan = producer(&plain, "full", Pacing::Max, 50_000);
    plan.load.timeout_ns = 80 * S;
    number(&mut plan);
    let outcome = run(&plan).unwrap();
    cluster.mend().unwrap();
    stand.holds_all("full", &outcome, 50_000);
}
