//! Kafka's brokers as the laboratory starts them: a cluster is ready when every broker sees all of it.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tare_lab::cluster::Cluster;
use tare_lab::door::Door;
use tare_lab::probe::Probe;

#[test]
fn three_brokers_are_one_cluster_lose_one_and_take_it_back() {
    let settings = BTreeMap::from([
        ("all_listeners".to_owned(), json!(true)),
        ("min_insync_replicas".to_owned(), json!(2)),
        ("log_dir".to_owned(), json!("memory")),
    ]);
    let started = std::time::Instant::now();
    let mut cluster = Cluster::start("kafka", 3, &settings).unwrap();
    println!(
        "three brokers after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    let folders: Vec<_> = cluster.members().iter().map(|m| m.folder.clone()).collect();
    let sees = |at: String, brokers: usize| Probe::Kafka { at, brokers }.ask(&Door::Host);
    let plain: Vec<String> = cluster
        .at("plain")
        .iter()
        .map(ToString::to_string)
        .collect();
    for at in &plain {
        sees(at.clone(), 3).unwrap();
    }
    for port in ["tls", "mtls", "sasl", "sasl-tls"] {
        for at in cluster.at(port) {
            Probe::Tcp(at.to_string()).ask(&Door::Host).unwrap();
        }
    }
    tells_of_itself(&cluster);
    cluster.kill(2).unwrap();
    let within = Duration::from_secs(60);
    let fenced = Probe::Kafka {
        at: plain[0].clone(),
        brokers: 2,
    };
    let waited = fenced.wait(&Door::Host, within, &mut || tare_lab::probe::Life::Running);
    assert!(
        matches!(waited, tare_lab::probe::Waited::Ready(_)),
        "{waited:?}"
    );
    cluster.start_again(2).unwrap();
    sees(plain[1].clone(), 3).unwrap();
    let pids: Vec<u32> = cluster.members().iter().map(|member| member.pid).collect();
    drop(cluster);
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
    assert!(folders.iter().all(|folder| !folder.exists()));
}

/// What a broker counts is there from its start, with its unit.
fn tells_of_itself(cluster: &Cluster) {
    let counters = cluster.counters(1).unwrap();
    let of = |name: &str| {
        let mut found = counters.readings.iter().filter(|r| r.name == name);
        found
            .next()
            .unwrap_or_else(|| panic!("no {name}: {counters:?}"))
            .value
    };
    assert!((1e6..1e9).contains(&of("x-heap-bytes")), "bytes");
    assert_eq!(of("x-under-replicated-partitions"), 0.0);
    assert_eq!(of("x-messages-in"), 0.0);
    assert_eq!(of("x-produce-requests"), 0.0);
    assert_eq!(of("x-isr-shrinks"), 0.0);
    let phases = counters
        .readings
        .iter()
        .filter(|r| r.name == "x-produce-ms");
    let phases: Vec<&str> = phases.filter_map(|r| r.label.as_deref()).collect();
    for phase in [
        "Total",
        "RequestQueue",
        "Local",
        "Remote",
        "ResponseQueue",
        "ResponseSend",
    ] {
        assert!(phases.contains(&phase), "{phases:?}");
    }
    assert!(of("x-gc-pauses") >= 0.0);
}
