//! Sizing against known truths: values drawn from a model, and topologies that were not measured.

use tare_stats::random::Random;

use super::*;
use measured::{Group, GroupKey, MeasuredPart, Measurement};
use serde_json::json;
use tare_record::api::{ProxyFeatures, SizedEdge};
use tare_record::topology::Security;

fn mtls() -> ProxyFeatures {
    ProxyFeatures {
        security: Security::Mtls,
        ..ProxyFeatures::default()
    }
}

/// vCPU of a sidecar: some when idle, and less per request at higher rates, as proxies have it.
fn true_cores(side: Side, rate: f64) -> f64 {
    let each = match side {
        Side::Caller => 9e-5,
        _ => 7e-5,
    };
    0.004 + each * rate.powf(0.97)
}

fn true_bytes(connections: f64, services: f64) -> f64 {
    45e6 + 40e3 * connections + 22e3 * services
}

/// An arm with mTLS, and one more with 500 configured services, measured in blocks that differ by 3 %, and cells by 2 %.
fn measured(rates: &[f64], blocks: u32, random: &mut Random, noise: f64) -> MeasuredGroups {
    let mut normal = |deviation: f64| {
        // Sum of twelve uniform numbers: near enough to a normal one.
        let sum: f64 = (0..12).map(|_| random.unit()).sum();
        (deviation * noise * (sum - 6.0)).exp()
    };
    let blocks: Vec<(u32, f64)> = (0..blocks).map(|block| (block, normal(0.03))).collect();
    let mut groups = BTreeMap::new();
    for (place, (arm, services)) in [("mtls", 0u32), ("services", 500)].into_iter().enumerate() {
        let mut group = Group {
            features: mtls(),
            family: "envoy".into(),
            ..Group::default()
        };
        for (name, side) in [
            ("client-sidecar", Side::Caller),
            ("server-sidecar", Side::Called),
        ] {
            let mut values = Vec::new();
            for &(block, of_block) in &blocks {
                for connections in [16u32, 128] {
                    for rate in rates {
                        let level = format!("{connections} connections, {rate}/s");
                        let latency = if *rate > 3000.0 { 20e6 } else { 1e6 };
                        group
                            .figures
                            .insert(level.clone(), BTreeMap::from([(Metric::P99, latency)]));
                        values.push(Measurement {
                            repeat: (0, block),
                            level,
                            rate_per_s: *rate,
                            connections,
                            services,
                            cores: Some(true_cores(side, *rate) * of_block * normal(0.02)),
                            memory_bytes: Some(
                                true_bytes(f64::from(connections), f64::from(services))
                                    * normal(0.005),
                            ),
                        });
                    }
                }
            }
            group.parts.insert(
                name.into(),
                MeasuredPart {
                    side,
                    software: "envoy 1.40.0".into(),
                    values,
                },
            );
        }
        let key = GroupKey::new(place, arm, Some(1));
        groups.insert(key, group);
    }
    MeasuredGroups { groups, runs: 1 }
}

fn shop() -> SizedTopology {
    let edge = |from: &str, to: &str, rate_per_s: f64| SizedEdge {
        from: from.into(),
        to: to.into(),
        rate_per_s,
        connections: 24,
    };
    SizedTopology {
        name: "shop".into(),
        arm: None,
        features: mtls(),
        workers: None,
        configured_services: 60,
        services: BTreeMap::from([("web".into(), 2), ("cart".into(), 1), ("stock".into(), 1)]),
        edges: vec![
            edge("users", "web", 900.0),
            edge("web", "cart", 700.0),
            edge("cart", "stock", 330.0),
        ],
    }
}

fn true_need_of_shop() -> (f64, f64) {
    let cores = 2.0 * (true_cores(Side::Called, 450.0) + true_cores(Side::Caller, 350.0))
        + true_cores(Side::Called, 700.0)
        + true_cores(Side::Caller, 330.0)
        + true_cores(Side::Called, 330.0);
    // Connections: of each web 24 + 24, of cart 48 + 24, of stock 24.
    let bytes = 2.0 * true_bytes(48.0, 60.0) + true_bytes(72.0, 60.0) + true_bytes(24.0, 60.0);
    (cores, bytes)
}

fn objective() -> Objective {
    Objective::read("p99 < 10ms").unwrap()
}

const RATES: [f64; 5] = [100.0, 500.0, 1000.0, 2000.0, 4000.0];

#[test]
fn without_noise_a_topology_that_was_not_measured_needs_what_the_model_says() {
    let measured = measured(&RATES, 5, &mut Random::from_seed(1), 0.0);
    let size = answer::topology(&measured, &shop(), objective()).unwrap();
    let (cores, bytes) = true_need_of_shop();
    assert!(
        (size.cores.value / cores - 1.0).abs() < 0.02,
        "{} {cores}",
        size.cores.value
    );
    assert!(
        (size.memory.value / bytes - 1.0).abs() < 1e-6,
        "{} {bytes}",
        size.memory.value
    );
    assert_eq!(size.sidecars, 4);
    assert_eq!(size.arm, "mtls");
    let sum: f64 = size.services.iter().map(|one| one.cores.value).sum();
    assert!((sum / size.cores.value - 1.0).abs() < 1e-9);
}

#[test]
fn the_intervals_hold_the_truth_and_are_narrow_enough_to_be_of_use() {
    let (cores, bytes) = true_need_of_shop();
    let mut random = Random::from_seed(7);
    let mut held = (0, 0);
    let mut widest: f64 = 0.0;
    for _ in 0..200 {
        let measured = measured(&RATES, 5, &mut random, 1.0);
        let size = answer::topology(&measured, &shop(), objective()).unwrap();
        let holds = |estimate: &SizedValue, truth: f64| {
            u32::from(estimate.low.unwrap() <= truth && truth <= estimate.high.unwrap())
        };
        held.0 += holds(&size.cores, cores);
        held.1 += holds(&size.memory, bytes);
        widest = widest.max(size.cores.high.unwrap() / size.cores.value - 1.0);
    }
    assert!(held.0 >= 190 && held.1 >= 190, "{held:?} of 200");
    assert!(widest < 0.4, "{widest}");
}

#[test]
fn the_rate_of_an_objective_is_the_highest_that_meets_it() {
    let measured = measured(&RATES, 3, &mut Random::from_seed(1), 0.0);
    let (key, group) = measured.groups.first_key_value().unwrap();
    let sized = sized(&measured, key, group, objective());
    assert_eq!(sized.rate_per_s, Some(2000.0));
    assert!(!sized.is_highest_measured);
    let caller = &sized.parts[0];
    let per_1000 = caller.cores_per_1000.unwrap();
    assert!((per_1000.value - true_cores(Side::Caller, 2000.0) / 2.0).abs() < 1e-9);
    assert!((caller.memory_per_connection.unwrap().value / 40e3 - 1.0).abs() < 1e-6);
    assert!((caller.memory_per_service.unwrap().value / 22e3 - 1.0).abs() < 1e-6);
    let slow = Objective::read("p99 < 30ms").unwrap();
    assert_eq!(highest_rate(group, slow), Some((4000.0, true)));
    let none = Objective::read("p99 < 1us").unwrap();
    assert_eq!(highest_rate(group, none), None);
}

#[test]
fn what_was_not_measured_is_refused_or_said() {
    let measured = measured(&RATES, 3, &mut Random::from_seed(1), 0.0);
    let refused = |change: fn(&mut SizedTopology)| {
        let mut topology = shop();
        change(&mut topology);
        answer::topology(&measured, &topology, objective())
            .unwrap_err()
            .to_string()
    };
    let log = refused(|shop| {
        shop.features
            .settings
            .insert("access_log".into(), json!(true));
    });
    assert!(log.contains("mTLS, access_log"), "{log}");
    assert!(log.contains("measure an arm that has them all"), "{log}");
    let rate = refused(|shop| shop.edges[1].rate_per_s = 17_000.0);
    assert!(
        rate.contains("more than twice the highest measured rate (4000"),
        "{rate}"
    );
    let connections = refused(|shop| shop.edges[0].connections = 600);
    assert!(connections.contains("connections (128"), "{connections}");
    let workers = refused(|shop| shop.workers = Some(8));
    assert!(
        workers.contains("8 workers were not measured, but with 1"),
        "{workers}"
    );
    let arm = refused(|shop| shop.arm = Some("istio".into()));
    assert!(arm.contains("no measured arm \"istio\""), "{arm}");

    let mut topology = shop();
    topology.edges[1].rate_per_s = 6000.0;
    let size = answer::topology(&measured, &topology, objective()).unwrap();
    let limits = size.limits.join("\n");
    assert!(
        limits.contains("cart: 6000 requests/s per sidecar is extrapolated, measured up to 4000/s"),
        "{limits}"
    );
    assert!(
        limits.contains("the objective was met up to 2000/s"),
        "{limits}"
    );
}

#[test]
fn with_two_rates_the_error_between_them_is_said_to_be_unknown() {
    let measured = measured(&RATES[..2], 3, &mut Random::from_seed(1), 0.0);
    let size = answer::topology(&measured, &shop(), objective()).unwrap();
    let limits = size.limits.join("\n");
    assert!(limits.contains("fewer than three rates"), "{limits}");
}

#[test]
fn objectives_are_of_latency() {
    assert!(Objective::read("p90 <= 2ms").is_ok());
    for wrong in ["errors < 1%", "p99 > 10ms", "p95 < 1ms", "rubbish"] {
        let error = Objective::read(wrong).err().unwrap().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}
