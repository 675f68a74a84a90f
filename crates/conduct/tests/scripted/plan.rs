//! The plan of a scripted run: a baseline and a sidecar, one load.

use std::collections::BTreeMap;

use tare_record::FORMAT_VERSION;
use tare_record::load::{
    Body, ClientSpec, ConnectionRules, Expect, ExpectBody, ExpectStatus, LoadSpec, Pacing,
    RequestSpec, Sched, Spin, Stop, Transport,
};
use tare_record::metric::Metric;
use tare_record::plan::*;
use tare_record::topology::*;

/// Two arms, one level, three blocks.
pub fn plan() -> Plan {
    let load = LoadSpec {
        pacing: Pacing::Constant { rate_per_s: 1000.0 },
        stop: Stop::Duration {
            window_ns: 1_000_000,
        },
        warmup_ns: 0,
        timeout_ns: 1_000_000_000,
        workers: 1,
        spin: Spin::Off,
        sched: Sched::Auto,
        sample_every_ns: 1_000_000_000,
        transport: Transport::Tcp,
        connections: ConnectionRules::default(),
        client: ClientSpec::new("http1", 1),
        mix: Default::default(),
        requests: vec![RequestSpec {
            name: "echo".into(),
            weight: 1.0,
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            body: Body::None,
            template: Default::default(),
            expect: Expect {
                status: ExpectStatus::Success,
                body: ExpectBody::Any,
            },
        }],
    };
    let arm = |name: &str, proxies: &[&str]| Arm {
        name: name.into(),
        requires: None,
        topology: Topology {
            pods: Vec::new(),
            instances: Vec::new(),
            routes: vec![Route {
                edge: "client->server".into(),
                from: "client".into(),
                to: "server".into(),
                protocol: "http1".into(),
                edge_security: Security::Plaintext,
                proxies: proxies.iter().map(ToString::to_string).collect(),
                segments: vec![
                    RouteSegment {
                        security: Security::Plaintext,
                        interception: Interception::Explicit,
                    };
                    proxies.len() + 1
                ],
            }],
            ext_authz: Vec::new(),
            external: Vec::new(),
            mesh: None,
        },
        ..sample_arm()
    };
    let cell = |arm: &str| Cell {
        arm: arm.into(),
        level: "1000/s".into(),
        workload: Settings::new(),
        targets: BTreeMap::new(),
        prepare: Vec::new(),
        audit: Vec::new(),
        faults: Vec::new(),
        read_back: None,
        load: vec![RoleLoad {
            role: "load".into(),
            instance: "client".into(),
            edge: "client->server".into(),
            agents: 1,
            calls: BTreeMap::new(),
            load: load.clone(),
        }],
    };
    let mut plan = sample_plan();
    plan.arms = vec![arm("direct", &[]), arm("sidecar", &["client-sidecar"])];
    plan.cells = vec![cell("direct"), cell("sidecar")];
    plan
}

/// A plan with everything but arms and cells, read from JSON so that new fields fail in one place.
fn sample_plan() -> Plan {
    Plan {
        version: FORMAT_VERSION,
        experiment: "test".into(),
        question: "?".into(),
        file: "test.yaml".into(),
        file_digest: String::new(),
        form: Form::Full,
        workload: WorkloadPlan {
            name: "echo".into(),
            about: String::new(),
            parts: Vec::new(),
            edges: Vec::new(),
            prepare: Vec::new(),
            load_only_settings: Vec::new(),
        },
        compare: Compare::Arms,
        arms: Vec::new(),
        levels: vec![Level {
            name: "1000/s".into(),
            values: Settings::new(),
        }],
        cells: Vec::new(),
        blocks: Blocks {
            min: 3,
            max: 3,
            until: None,
        },
        aa_check: true,
        restart: Restart::Block,
        burn_in_ns: None,
        seed: 7,
        placement: Placement {
            agent_cpus: Vec::new(),
            target_cpus: Vec::new(),
        },
        addressing: Addressing::Loopback,
        site_links: Vec::new(),
        limits: BTreeMap::new(),
        primary: vec![Metric::Median],
        margin: 0.0,
        margin_absolute_ns: 0,
        assertions: Vec::new(),
        fitness: Fitness::default(),
        beyond_knee: Default::default(),
        capacity: None,
        skipped_levels: Vec::new(),
        notes: Vec::new(),
        waterfall: Vec::new(),
        per_request_level: None,
        published: Vec::new(),
        outliers: None,
        profile: Vec::new(),
    }
}

fn sample_arm() -> Arm {
    Arm {
        name: String::new(),
        about: String::new(),
        subject: Subject::singular(""),
        requires: None,
        excluded: Default::default(),
        limits: BTreeMap::new(),
        topology: Topology {
            pods: Vec::new(),
            instances: Vec::new(),
            routes: Vec::new(),
            ext_authz: Vec::new(),
            external: Vec::new(),
            mesh: None,
        },
    }
}
