//! Producing to real brokers: over every listener, with every codec, through the death of a broker.

use std::ops::ControlFlow;
use std::process::Command;

use tare_kafka::admin::{NewTopic, Shape};
use tare_lab::cluster::Cluster;
use tare_load::{Progress, StopHandle};
use tare_schema::load::{Codec, Keys, Pacing};

use crate::bed::{S, Stand, alone, bed, login, number, produce, producer, run, tls};

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
        let spec = produce(&mut plan);
        spec.compression = codec;
        spec.keys = Keys::Random { count: 50 };
        let outcome = run(&plan).unwrap();
        assert_eq!(
            outcome.result.right, 20_000,
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
        produce(&mut plan).login = login;
        let outcome = run(&plan).unwrap_or_else(|error| panic!("{port}: {error}"));
        assert_eq!(
            outcome.result.right, 2000,
            "{port}: {:?}",
            outcome.result.outcomes
        );
        expected += 2000;
        assert_eq!(stand.records("listeners"), expected, "{port}");
    }
}

#[test]
fn a_killed_broker_loses_and_doubles_nothing() {
    let mut guard = alone();
    let cluster = &mut *guard;
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("killed", &[]);
    let pacing = Pacing::Constant { rate_per_s: 2000.0 };
    let mut plan = producer(&plain, "killed", pacing, 16_000);
    number(&mut plan);
    let mut samples = 0;
    let outcome = tare_load::run(&plan, &StopHandle::new(), &mut |progress| {
        if let Progress::Sample(_) = progress {
            samples += 1;
            if samples == 2 {
                cluster.kill(3).unwrap();
            }
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    assert!(outcome.result.protocol_counts["retries"] > 0);
    cluster.start_again(3).unwrap();
    stand.holds_all("killed", &outcome, 16_000);
}

/// From now on files of this broker do not grow beyond so many bytes, as on a disk that is full.
fn fill_disk(cluster: &Cluster, number: u32, bytes: u64) {
    let members = cluster.members().iter();
    let pid = members
        .filter(|member| member.number == number)
        .map(|member| member.pid)
        .next()
        .unwrap();
    let limited = Command::new("prlimit")
        .args([format!("--pid={pid}"), format!("--fsize={bytes}")])
        .status();
    assert!(limited.unwrap().success());
}

#[test]
fn a_broker_whose_disk_is_full_is_told_and_takes_nothing_from_what_others_have() {
    let mut guard = alone();
    let cluster = &mut *guard;
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("full", &[]);
    let only_there = NewTopic {
        name: "full-alone".into(),
        shape: Shape::Placed(vec![vec![3]]),
        configs: Default::default(),
    };
    stand.create(only_there);

    fill_disk(cluster, 3, 1_000_000);
    let mut plan = producer(&plain, "full-alone", Pacing::Max, 50_000);
    plan.load.timeout_ns = 4 * S;
    let outcome = run(&plan).unwrap();
    let result = &outcome.result;
    assert!(result.right < 50_000, "a megabyte of them fits");
    let [refused] = result.outcomes.as_slice() else {
        panic!("{:?}", result.outcomes);
    };
    // First it says so itself; soon the partition has no leader any more.
    let classes = ["storage", "not-leader", "leader-not-available"];
    assert!(classes.contains(&&*refused.class), "{refused:?}");
    let example = refused.example.clone().unwrap_or_default();
    let steps = [
        "log directory and its disk",
        "wait until the partition has a leader",
    ];
    assert!(
        example.contains("broker ") && steps.iter().any(|step| example.contains(step)),
        "{example}"
    );

    // What is written to it and others goes on without it.
    let mut plan = producer(&plain, "full", Pacing::Max, 50_000);
    number(&mut plan);
    let outcome = run(&plan).unwrap();
    cluster.kill(3).unwrap();
    cluster.start_again(3).unwrap();
    stand.holds_all("full", &outcome, 50_000);
}
