//! The model beyond the first experiment: gateways, own TLS, brokers, roles, levels compared.

use tare_record::load::{AtEnd, Interarrival, Pacing, ProduceSpec, ThinkDistribution};
use tare_record::plan::{Arm, Compare, Exclusion, Form, Plan, PublishedFigure};
use tare_record::topology::{InstanceRole, Interception, Route, Security};

use crate::bench::{resolved, sketch};

fn arm<'p>(plan: &'p Plan, name: &str) -> &'p Arm {
    plan.arms.iter().find(|arm| arm.name == name).unwrap()
}

fn route<'a>(arm: &'a Arm, from: &str, to: &str) -> &'a Route {
    let routes = &arm.topology.routes;
    routes
        .iter()
        .find(|route| route.from == from && route.to == to)
        .unwrap()
}

fn securities(route: &Route) -> Vec<Security> {
    route.segments.iter().map(|link| link.security).collect()
}

#[test]
fn five_ways_to_a_database_differ_only_on_the_way_to_the_database() {
    let plan = resolved(&sketch("mongodb.yaml"), Form::Full);
    assert_eq!(plan.arms.len(), 5);
    assert_eq!(plan.cells.len(), 40);
    assert_eq!(plan.seed, 20_181_114);
    let proxies = |name: &str| {
        route(arm(&plan, name), "booking", "database")
            .proxies
            .clone()
    };
    assert_eq!(proxies("bypass"), Vec::<String>::new());
    assert_eq!(proxies("sidecar"), ["booking-sidecar"]);
    assert_eq!(proxies("gateway"), ["booking-sidecar", "gateway"]);
    assert_eq!(proxies("gateway-mtls"), ["booking-sidecar", "gateway"]);
    assert_eq!(
        proxies("gateway-sni"),
        ["booking-sidecar", "gateway", "sni"]
    );
    for one in &plan.arms {
        let within = route(one, "auth", "customer");
        assert_eq!(within.proxies, ["auth-sidecar", "customer-sidecar"]);
        assert_eq!(within.protocol, "http1");
        // Only the four services have sidecars: neither the client nor the database.
        let sidecars = one
            .topology
            .instances
            .iter()
            .filter(|i| i.role == InstanceRole::Sidecar);
        assert_eq!(sidecars.count(), 4, "{}", one.name);
        assert_eq!(route(one, "client", "auth").proxies, ["auth-sidecar"]);
    }
}

#[test]
fn a_wildcard_edge_leads_from_every_service_and_carries_its_own_tls() {
    let plan = resolved(&sketch("mongodb.yaml"), Form::Full);
    for service in ["auth", "customer", "flight", "booking"] {
        let way = route(arm(&plan, "gateway-mtls"), service, "database");
        assert_eq!(way.edge_security, Security::Tls);
        assert_eq!(
            way.protocol, "tcp",
            "TLS from end to end hides the protocol"
        );
        assert_eq!(
            securities(way),
            [Security::Plaintext, Security::Mtls, Security::Plaintext],
            "the link stands before its hop"
        );
    }
}

#[test]
fn a_hop_beside_another_shares_its_pod() {
    let plan = resolved(&sketch("mongodb.yaml"), Form::Full);
    let instances = &arm(&plan, "gateway-sni").topology.instances;
    let sni = instances
        .iter()
        .find(|instance| instance.name == "sni")
        .unwrap();
    assert_eq!(
        (sni.pod.as_str(), sni.target.as_str()),
        ("gateway", "nginx")
    );
    assert_eq!(sni.role, InstanceRole::Sni);
}

#[test]
fn what_is_called_starts_before_its_callers() {
    for arm in resolved(&sketch("mongodb.yaml"), Form::Full).arms {
        let at = |name: &str| {
            let all = &arm.topology.instances;
            let found = all.iter().position(|instance| instance.name == name);
            found
                .map(|at| (at, all[at].pod.clone()))
                .unwrap_or_else(|| panic!("{name} in {}", arm.name))
        };
        for route in &arm.topology.routes {
            assert_eq!(route.segments.len(), route.proxies.len() + 1);
            let mut way = vec![route.from.as_str()];
            way.extend(route.proxies.iter().map(String::as_str));
            way.push(&route.to);
            for pair in way.windows(2) {
                let ((caller, caller_pod), (called, called_pod)) = (at(pair[0]), at(pair[1]));
                // An app and its sidecar call each other: only between pods there is an order.
                assert!(
                    called < caller || called_pod == caller_pod,
                    "{pair:?} in {}",
                    arm.name
                );
            }
        }
    }
}

#[test]
fn levels_are_compared_with_the_first_level() {
    let plan = resolved(&sketch("replicas.yaml"), Form::Full);
    assert_eq!(plan.compare, Compare::Levels);
    let names: Vec<&str> = plan
        .levels
        .iter()
        .map(|level| level.name.as_str())
        .collect();
    assert_eq!(names, ["replicas=1", "replicas=2", "replicas=3"]);
    assert_eq!(plan.workload.prepare, ["topic"]);
    let load = &plan.cells[0].load[0];
    assert_eq!((load.role.as_str(), load.agents), ("producers", 3));
    assert_eq!(load.instance, "client", "one role is called like its part");
    assert_eq!(load.load.pacing, Pacing::Max);
    assert!(load.load.client.is::<ProduceSpec>());
    assert_eq!(plan.cells[0].workload["payload"], 100);
    // Three brokers: six ways among them, three to them.
    let routes = &plan.arms[0].topology.routes;
    assert_eq!(
        routes.iter().filter(|r| r.edge == "broker->broker").count(),
        6
    );
    assert_eq!(
        routes.iter().filter(|r| r.edge == "client->broker").count(),
        3
    );
}

#[test]
fn every_key_of_the_model_reaches_the_plan() {
    let plan = resolved(&sketch("everything.yaml"), Form::Full);
    assert_eq!(plan.levels.len(), 8);
    assert_eq!(plan.levels[0].name, "producers=1, acks=1, workers=1");
    let mesh = arm(&plan, "mesh");
    assert_eq!(
        mesh.excluded,
        [
            Exclusion::Port(9093),
            Exclusion::Range(String::from("10.0.0.0/8"))
        ]
    );
    assert!(route(mesh, "broker-1", "broker-2").proxies.is_empty());
    let way = route(mesh, "producers", "broker-1");
    assert_eq!(way.proxies, ["producers-sidecar", "broker-1-sidecar"]);
    assert_eq!(way.segments[0].interception, Interception::Redirect);
    assert_eq!(
        way.protocol, "tcp",
        "Envoy does not speak kafka, so it carries the bytes"
    );
    let mtls = arm(&plan, "mesh-mtls");
    assert_eq!(mtls.about, "a mesh of two products");
    assert_eq!(
        securities(route(mtls, "consumers", "broker-3"))[1],
        Security::Mtls
    );
    let named = mtls
        .topology
        .instances
        .iter()
        .find(|i| i.name == "broker-1-sidecar")
        .unwrap();
    assert_eq!(named.settings["workers"], 2);
    assert_eq!(
        route(arm(&plan, "tls"), "broker-1", "broker-2").edge_security,
        Security::Tls
    );
    assert_eq!(
        arm(&plan, "linkerd").requires.as_deref(),
        Some("kubernetes")
    );
    assert_eq!(plan.cells[1].targets["envoy"]["workers"], 2);
    assert_eq!(plan.limits["broker-1"].memory_bytes, Some(1 << 30));
    assert_eq!(plan.published[0].against, "plain");
    assert_eq!(plan.published[0].figure, PublishedFigure::Ratio(0.70));
    assert_eq!(plan.placement.agent_cpus, [1]);
}

#[test]
fn the_quick_form_keeps_named_arms_and_drops_figures_of_the_others() {
    let plan = resolved(&sketch("everything.yaml"), Form::Quick);
    let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["plain", "mesh"]);
    assert!(plan.published.is_empty());
    assert_eq!(plan.cells[0].workload["payload"], 1000);
    assert_eq!(plan.levels.len(), 4);
}

#[test]
fn one_core_places_everything_everywhere() {
    use tare_experiment::resolve::{ResolveOptions, resolve};
    let text = sketch("replicas.yaml");
    let source = crate::bench::source("case.yaml", &text);
    let on = |cores: Vec<u32>| {
        let choices = ResolveOptions::new(Form::Full, cores);
        resolve(&source, &crate::bench::catalog(), &choices)
            .unwrap()
            .placement
    };
    assert!(on(vec![0]).agent_cpus.is_empty() && on(vec![0]).target_cpus.is_empty());
    assert_eq!(on(vec![0, 1, 5]).agent_cpus, [5]);
    assert_eq!(on(vec![0, 1, 5]).target_cpus, [0, 1]);
}

#[test]
fn an_arm_is_described_from_its_definition() {
    let plan = resolved(&sketch("mongodb.yaml"), Form::Full);
    let about = |name: &str| arm(&plan, name).about.clone();
    assert!(
        about("gateway-mtls").contains("an Envoy gateway on *->database, reached by mTLS"),
        "{}",
        about("gateway-mtls")
    );
    assert!(
        about("bypass").contains("not on *->database"),
        "{}",
        about("bypass")
    );
}

/// The pacing of a load written like this, or what is wrong with it.
fn paced(load: &str) -> Result<(Pacing, Option<u64>), String> {
    let text = format!(
        "question: q\nworkload: echo\narms: [{{name: a}}, {{name: b}}]\nload: {{{load}}}\n"
    );
    match crate::bench::plan(&text, Form::Full) {
        Ok(plan) => {
            let load = &plan.cells[0].load[0].load;
            Ok((load.pacing.clone(), load.pacing.window_ns(load.stop)))
        }
        Err(problems) => Err(problems.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn every_pace_can_be_written_and_has_its_window() {
    let s = 1_000_000_000;
    let poisson = Pacing::Poisson { rate_per_s: 50.0 };
    assert_eq!(
        paced("model: poisson, rate: 50, duration: 3s").unwrap(),
        (poisson, Some(3 * s))
    );
    let ramp = Pacing::Ramp {
        from_per_s: 0.0,
        to_per_s: 200.0,
        ramp_ns: 3 * s,
        interarrival: Interarrival::Exponential,
    };
    let written = "from: 0, to: 200, interarrival: exponential, duration: 3s";
    assert_eq!(paced(written).unwrap(), (ramp, Some(3 * s)));
    let (steps, window) = paced("steps: [{rate: 10, for: 2s}, {rate: 0, for: 1s}]").unwrap();
    assert!(matches!(steps, Pacing::Steps { steps, .. } if steps[1].rate_per_s == 0.0));
    assert_eq!(window, Some(3 * s), "as long as its steps");
    let (replay, _) = paced("recording: Cargo.toml, speed: 2, at_end: repeat").unwrap();
    let Pacing::Replay {
        file,
        speed,
        at_end,
        ..
    } = replay
    else {
        panic!("{replay:?}")
    };
    assert!(
        file.starts_with('/') && file.ends_with("/Cargo.toml"),
        "{file}"
    );
    assert_eq!((speed, at_end), (2.0, AtEnd::Repeat));
    let (closed, _) = paced("clients: 4, think_time: 10ms, think_distribution: uniform").unwrap();
    assert!(
        matches!(closed, Pacing::Closed { think_distribution, .. } if think_distribution == ThinkDistribution::Uniform)
    );
}

#[test]
fn keys_of_another_pace_and_missing_ones_are_mistakes() {
    let wrong = |load: &str| paced(load).unwrap_err();
    assert!(wrong("model: poisson").contains("model poisson needs a rate"));
    assert!(wrong("to: 5").contains("model ramp needs from"));
    assert!(wrong("rate: 5, speed: 2").contains("speed belongs to model replay"));
    assert!(wrong("model: max, clients: 2").contains("clients belongs to model closed"));
    assert!(wrong("from: 1, to: 5, requests: 9").contains("needs the time it goes over"));
}
