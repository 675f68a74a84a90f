//! Places, worked out without touching the machine.

use serde_json::json;
use tare_net::redirect::TrafficDirection;
use tare_record::topology::Mesh;

use super::*;

/// client → client-sidecar → (mtls) server-sidecar → server, and metrics → server directly.
fn plan() -> TestBedPlan {
    let plain = json!({"security": "plaintext", "interception": "explicit"});
    let mtls = json!({"security": "mtls", "interception": "explicit"});
    let instance = |name: &str, pod: &str, target: &str, role: &str| json!({"name": name, "pod": pod, "target": target, "role": role, "settings": {}});
    let topology = serde_json::from_value(json!({
        "pods": [{"name": "server", "site": "a"}, {"name": "client", "site": "a"}, {"name": "metrics", "site": "a"}],
        "instances": [
            instance("server", "server", "echo", "app"),
            instance("server-sidecar", "server", "proxy", "sidecar"),
            instance("metrics", "metrics", "echo", "app"),
            instance("client-sidecar", "client", "proxy", "sidecar"),
            instance("client", "client", "agent", "agent"),
        ],
        "routes": [
            {"edge": "client->server", "from": "client", "to": "server", "protocol": "http1", "edge_security": "plaintext",
             "proxies": ["client-sidecar", "server-sidecar"], "segments": [plain, mtls, plain]},
            {"edge": "metrics->server", "from": "metrics", "to": "server", "protocol": "http1", "edge_security": "plaintext",
             "proxies": [], "segments": [plain]},
        ],
    }))
    .unwrap();
    TestBedPlan {
        name: String::from("bed"),
        topology,
        workload: BTreeMap::from([(String::from("payload"), json!(100))]),
        targets: BTreeMap::from([(
            String::from("proxy"),
            BTreeMap::from([
                (String::from("workers"), json!(1)),
                (String::from("log"), json!(true)),
            ]),
        )]),
        placement: tare_record::plan::Placement {
            agent_cpus: vec![1],
            target_cpus: vec![0],
        },
        limits: BTreeMap::new(),
        excluded: Vec::new(),
        agents: BTreeMap::new(),
    }
}

fn placed(plan: &TestBedPlan) -> Result<Layout, LabError> {
    placed_where(plan, Redirect::Impossible)
}

fn placed_where(plan: &TestBedPlan, redirect: Redirect) -> Result<Layout, LabError> {
    placed_with(plan, redirect, RedirectPorts::PerDirection)
}

fn placed_with(
    plan: &TestBedPlan,
    redirect: Redirect,
    redirect_ports: RedirectPorts,
) -> Result<Layout, LabError> {
    let proxy = Needs {
        redirect_ports,
        ..Needs::default()
    };
    placed_by(plan, (redirect, 9), proxy, &BTreeMap::new())
}

/// With pods in the network `127.N`.
fn placed_by(
    plan: &TestBedPlan,
    (redirect, network): (Redirect, u8),
    proxy: Needs,
    services: &BTreeMap<String, PodService>,
) -> Result<Layout, LabError> {
    let pods = plan.topology.pods.iter().zip(1..);
    let addresses = pods
        .map(|(pod, n)| (pod.name.clone(), IpAddr::from([127, network, 0, n])))
        .collect();
    let programs = ["echo", "proxy"].map(|name| (name.to_owned(), PathBuf::from(name)));
    let needs = BTreeMap::from([(String::from("proxy"), proxy)]);
    let mut next = BTreeMap::new();
    compute(
        plan,
        &mut LayoutInputs {
            addresses: &addresses,
            redirect,
            never_redirected: Vec::new(),
            exemption: Exemption::Group,
            port: &mut |address| {
                let port = next.entry(address).or_insert(20_000);
                *port += 1;
                Ok(*port)
            },
            programs: &programs.into(),
            folder: Path::new("/bed"),
            sockets: Path::new("/keeper/1"),
            run: "r1",
            needs: &needs,
            memory: Some(Path::new("/memory")),
            external: &BTreeMap::new(),
            services,
        },
    )
}

fn of<'a>(layout: &'a Layout, name: &str) -> &'a Context {
    layout.contexts.iter().find(|c| c.name == name).unwrap()
}

#[test]
fn each_stop_calls_where_the_next_one_listens() {
    let layout = placed(&plan()).unwrap();
    let edge = |name: &str| of(&layout, name).routes[0].clone();
    let mut route_key =
        layout.endpoints[&("client->server".to_owned(), "client".to_owned())].addresses[0];
    for stop in ["client-sidecar", "server-sidecar"] {
        let route = edge(stop);
        let listen = route.listen.unwrap();
        assert_eq!(
            route_key,
            SocketAddr::from((listen.address, listen.port)),
            "{stop}"
        );
        let upstream = route.upstream.unwrap();
        route_key = SocketAddr::from((upstream.address, upstream.port));
    }
    let last = edge("server");
    let listen = last.listen.unwrap();
    assert_eq!(route_key, SocketAddr::from((listen.address, listen.port)));
    assert_eq!(last.upstream, None);
    assert_eq!(
        layout.endpoints[&("client->server".to_owned(), "client".to_owned())].host,
        "server"
    );
}

#[test]
fn a_mutual_link_names_both_ends_and_only_they_get_certificates() {
    let layout = placed(&plan()).unwrap();
    let near = of(&layout, "client-sidecar").routes[0].clone();
    let far = of(&layout, "server-sidecar").routes[0].clone();
    let upstream = near.upstream.unwrap();
    assert_eq!(
        upstream.peer_identity.unwrap(),
        spiffe("r1", "server-sidecar")
    );
    assert_eq!(upstream.peer_host.unwrap(), "server-sidecar");
    assert_eq!(
        far.listen.unwrap().peer_identity.unwrap(),
        spiffe("r1", "client-sidecar")
    );
    assert_eq!(far.upstream.unwrap().peer_identity, None);
    let names: Vec<&str> = layout.identified.iter().map(String::as_str).collect();
    assert_eq!(names, ["client-sidecar", "server-sidecar"]);
}

#[test]
fn a_part_listens_once_for_callers_that_speak_alike() {
    let layout = placed(&plan()).unwrap();
    let server = of(&layout, "server");
    assert_eq!(server.routes.len(), 2);
    assert_eq!(server.routes[0].listen, server.routes[1].listen);
    let calling = of(&layout, "metrics").routes[0].upstream.clone().unwrap();
    assert_eq!(
        Some(calling.port),
        server.routes[0].listen.as_ref().map(|l| l.port)
    );
}

#[test]
fn no_two_listeners_share_an_address_and_port() {
    let layout = placed(&plan()).unwrap();
    let mut places = Vec::new();
    for context in &layout.contexts {
        places.push(context.admin);
        let mut own: Vec<SocketAddr> = context
            .routes
            .iter()
            .filter_map(|r| r.listen.as_ref())
            .map(|l| SocketAddr::from((l.address, l.port)))
            .collect();
        own.dedup();
        places.extend(own);
    }
    let unique: BTreeSet<_> = places.iter().collect();
    assert_eq!(unique.len(), places.len());
}

#[test]
fn settings_of_the_instance_lie_over_those_of_the_target() {
    let mut plan = plan();
    let sidecar = &mut plan.topology.instances[1];
    sidecar.settings.insert(String::from("workers"), json!(4));
    let layout = placed(&plan).unwrap();
    assert_eq!(of(&layout, "server-sidecar").settings["workers"], json!(4));
    assert_eq!(of(&layout, "server-sidecar").settings["log"], json!(true));
    assert_eq!(of(&layout, "client-sidecar").settings["workers"], json!(1));
    assert_eq!(of(&layout, "server").workload["payload"], json!(100));
}

#[test]
fn numbered_instances_of_one_target_know_each_other_in_one_order() {
    let mut plan = plan();
    plan.topology.instances[0].name = String::from("echo-1");
    plan.topology.instances[2].name = String::from("echo-2");
    for route in &mut plan.topology.routes {
        route.to = String::from("echo-1");
        if route.from == "metrics" {
            route.from = String::from("echo-2");
        }
    }
    let layout = placed(&plan).unwrap();
    for name in ["echo-1", "echo-2"] {
        let peers = &of(&layout, name).peers;
        let found: Vec<_> = peers.iter().map(|p| (p.index, p.name.as_str())).collect();
        assert_eq!(found, [(0, "echo-1"), (1, "echo-2")]);
    }
    assert_eq!(of(&layout, "client-sidecar").peers.len(), 1);
}

#[test]
fn redirection_is_refused_with_the_way_to_have_it() {
    let mut plan = plan();
    plan.topology.routes[0].segments[1].interception = Interception::Redirect;
    let error = placed(&plan).unwrap_err().to_string();
    assert!(
        error.contains("client->server") && error.contains("namespaces"),
        "{error}"
    );
}

#[test]
fn redirected_callers_are_told_where_the_called_part_is_and_the_kernel_does_the_rest() {
    let mut plan = plan();
    for link in &mut plan.topology.routes[0].segments[..2] {
        link.interception = Interception::Redirect;
    }
    plan.excluded = vec![
        tare_record::plan::Exclusion::Port(9092),
        tare_record::plan::Exclusion::Range(String::from("192.168.0.0/16")),
    ];
    let layout = placed_where(&plan, Redirect::Possible).unwrap();
    let listen = |name: &str, edge: usize| of(&layout, name).routes[edge].listen.clone().unwrap();
    let server = listen("server", 0);
    let told = layout.endpoints[&("client->server".to_owned(), "client".to_owned())].addresses[0];
    assert_eq!(told, SocketAddr::from((server.address, server.port)));
    for (name, direction) in [
        ("client-sidecar", TrafficDirection::Outbound),
        ("server-sidecar", TrafficDirection::Inbound),
    ] {
        let listen = listen(name, 0);
        assert_eq!(listen.redirected, Some(direction));
        assert_eq!((listen.address, listen.port), (server.address, server.port));
        assert!(layout.redirected.contains(name));
        let upstream = of(&layout, name).routes[0].upstream.clone().unwrap();
        assert_eq!(upstream.port, server.port);
    }
    assert_eq!(listen("server-sidecar", 0).security, Security::Mtls);
    // metrics calls the server past its sidecar: at a port of its own, which is left alone.
    let metrics = listen("server", 1);
    assert_ne!(metrics.port, server.port);
    let inbound = &layout.redirects["server"];
    assert_eq!(
        inbound.directions,
        BTreeSet::from([TrafficDirection::Inbound])
    );
    assert_eq!(
        inbound
            .servers
            .iter()
            .map(|at| at.port())
            .collect::<Vec<_>>(),
        [metrics.port]
    );
    let outbound = &layout.redirects["client"];
    assert_eq!(
        outbound.directions,
        BTreeSet::from([TrafficDirection::Outbound])
    );
    assert!(outbound.servers.is_empty());
    let range = "192.168.0.0/16".parse().unwrap();
    assert!(outbound.ports.contains(&9092) && outbound.ranges.contains(&range));
    assert!(!layout.redirects.contains_key("metrics"));
    let include = String::from("10.0.0.0/8 return\ninclude \"/etc/shadow\"");
    plan.excluded = vec![tare_record::plan::Exclusion::Range(include)];
    let refused = placed_where(&plan, Redirect::Possible).map(|_| ());
    assert!(refused.unwrap_err().to_string().contains("is no range"));
}

/// Both sidecars are injected, and `metrics` calls the server past them.
fn injected() -> (TestBedPlan, BTreeMap<String, PodService>, Needs) {
    let mut plan = plan();
    for link in &mut plan.topology.routes[0].segments[..2] {
        link.interception = Interception::Redirect;
    }
    plan.topology.mesh = Some(Mesh {
        name: String::from("istio"),
        security: Security::Mtls,
        host: String::from("istiod"),
        control_plane: Vec::new(),
        support: Vec::new(),
        proxies: vec![
            String::from("server-sidecar"),
            String::from("client-sidecar"),
        ],
        identities: BTreeMap::new(),
        installed: true,
    });
    let service = PodService {
        name: String::from("server-1"),
        host: String::from("server-1.tare-a.svc.cluster.local"),
        address: IpAddr::from([10, 96, 0, 7]),
    };
    let needs = Needs {
        redirect_rules: RedirectSetup::Own,
        ..Needs::default()
    };
    (
        plan,
        BTreeMap::from([(String::from("server"), service)]),
        needs,
    )
}

#[test]
fn callers_in_the_mesh_of_a_cluster_call_a_service() {
    let (plan, services, needs) = injected();
    let layout = placed_by(&plan, (Redirect::Possible, 9), needs, &services).unwrap();
    let service = &services["server"];
    let server = of(&layout, "server").routes[0].listen.clone().unwrap();
    let told = &layout.endpoints[&("client->server".to_owned(), "client".to_owned())];
    assert_eq!(
        told.addresses,
        [SocketAddr::from((service.address, server.port))]
    );
    assert_eq!(told.host, service.host);
    let route = &of(&layout, "client-sidecar").routes[0];
    assert_eq!(route.hostname.as_ref(), Some(&service.host));
    assert_eq!(route.upstream.as_ref().unwrap().address, server.address);
    // It comes in at the pod's own address.
    let inbound = of(&layout, "server-sidecar").routes[0]
        .listen
        .clone()
        .unwrap();
    assert_eq!(
        (inbound.address, inbound.port),
        (server.address, server.port)
    );
    let mesh = of(&layout, "client-sidecar").mesh.clone().unwrap();
    let [called] = mesh.services.as_slice() else {
        panic!("{:?}", mesh.services)
    };
    assert_eq!(called.in_cluster.as_deref(), Some("server-1"));
    assert_eq!(called.ports[0].port, server.port);
    assert_eq!(layout.names["client"][&service.host], [service.address]);
    // Nothing here sets rules in these pods.
    assert!(layout.redirects.is_empty(), "{:?}", layout.redirects);
    let past = of(&layout, "server").routes[1].listen.clone().unwrap();
    let left_out = of(&layout, "server-sidecar").redirect.clone().unwrap();
    assert_eq!(left_out.ports, past.port.to_string());
    assert!(redirected_pods(&plan.topology).unwrap().is_empty());
    // Nor for a proxy whose rules Tare sets on one machine.
    let layout = placed_by(&plan, (Redirect::Possible, 9), Needs::default(), &services).unwrap();
    assert!(layout.redirects.is_empty(), "{:?}", layout.redirects);
}

#[test]
fn ports_are_known_before_addresses() {
    let (plan, services, needs) = injected();
    let ports = |network| {
        let layout = placed_by(
            &plan,
            (Redirect::Possible, network),
            needs.clone(),
            &services,
        )
        .unwrap();
        let routes = layout.contexts.iter().flat_map(|context| &context.routes);
        let listens = routes.filter_map(|route| route.listen.as_ref());
        listens.map(|listen| listen.port).collect::<Vec<u16>>()
    };
    assert_eq!(ports(9), ports(200));
}

#[test]
fn instances_that_a_clusters_mesh_could_not_tell_apart_are_refused() {
    let (mut plan, services, needs) = injected();
    let text = serde_json::to_string(&plan.topology).unwrap();
    plan.topology = serde_json::from_str(&text.replace("\"server\"", "\"server-1\"")).unwrap();
    let error = placed_by(&plan, (Redirect::Possible, 9), needs, &services).unwrap_err();
    assert!(error.to_string().contains("several instances"), "{error}");
}

#[test]
fn a_proxy_that_cannot_tell_edges_apart_at_one_port_gets_one_for_each() {
    let mut plan = plan();
    for link in &mut plan.topology.routes[0].segments[..2] {
        link.interception = Interception::Redirect;
    }
    let layout = placed_with(&plan, Redirect::Possible, RedirectPorts::PerEdge).unwrap();
    let server = of(&layout, "server").routes[0].listen.clone().unwrap();
    for (name, pod, direction) in [
        ("client-sidecar", "client", TrafficDirection::Outbound),
        ("server-sidecar", "server", TrafficDirection::Inbound),
    ] {
        let listen = of(&layout, name).routes[0].listen.clone().unwrap();
        let port = listen.redirect_port.unwrap();
        assert_eq!(listen.port, server.port);
        // Nothing else in the pod has it.
        let admin = of(&layout, name).admin.port();
        assert!(port != admin && port >= 20_000, "{port}");
        assert!(pod == "client" || port != server.port, "{port}");
        let [sent] = Vec::from_iter(&layout.redirects[pod].port_redirects)[..] else {
            panic!("{:?}", layout.redirects[pod]);
        };
        assert_eq!((sent.direction, sent.port), (direction, port));
        assert_eq!(
            SocketAddr::from(sent.server),
            (server.address, server.port).into()
        );
    }
    let shared = placed_where(&plan, Redirect::Possible).unwrap();
    let listen = of(&shared, "client-sidecar").routes[0].listen.clone();
    assert_eq!(listen.unwrap().redirect_port, Some(15001));
    assert!(shared.redirects["client"].port_redirects.is_empty());
}

#[test]
fn a_topology_that_contradicts_itself_is_refused_by_name() {
    type Breaking = fn(&mut TestBedPlan);
    let broken: [(&str, Breaking); 4] = [
        ("ghost", |p| {
            p.topology.routes[0].proxies[0] = String::from("ghost")
        }),
        ("attic", |p| {
            p.topology.instances[1].pod = String::from("attic")
        }),
        ("client->server", |p| {
            p.topology.routes[0].segments.pop();
        }),
        ("sidecar", |p| {
            p.topology.routes[0].segments[0].security = Security::Mtls
        }),
    ];
    for (word, breaking) in broken {
        let mut plan = plan();
        breaking(&mut plan);
        let error = placed(&plan).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn a_received_plan_has_names_and_no_paths_or_lines_in_their_place() {
    let hostile = [
        "", "..", "../x", "a/b", "/etc", "a\nb", "a\rb", "a;b", "a b", "a\"b", "{{ a }}", "a\0",
        "-a", "$a", "a}",
    ];
    let long = "x".repeat(300);
    type Change = fn(&mut TestBedPlan, String);
    let places: [Change; 6] = [
        |plan, text| plan.name = text,
        |plan, text| plan.topology.instances[0].name = text,
        |plan, text| plan.topology.instances[0].pod = text,
        |plan, text| plan.topology.instances[0].host = Some(text),
        |plan, text| plan.topology.pods[0].name = text,
        |plan, text| plan.topology.routes[0].protocol = text,
    ];
    for change in places {
        for text in hostile.into_iter().chain([long.as_str()]) {
            let mut plan = plan();
            change(&mut plan, text.to_owned());
            let said = placed(&plan).unwrap_err().to_string();
            assert!(
                said.contains("in the plan is not a name"),
                "{text:?}: {said}"
            );
            assert!(!said.contains(['\n', '\r', '\0']), "{said:?}");
        }
    }
}

#[test]
fn each_instance_has_a_socket_whose_path_is_short() {
    let layout = placed(&plan()).unwrap();
    let sockets: Vec<&Path> = layout
        .contexts
        .iter()
        .map(|c| c.admin_socket.as_path())
        .collect();
    assert_eq!(sockets[0], Path::new("/keeper/1.a0/s"));
    assert_eq!(sockets[1], Path::new("/keeper/1.a1/s"));
}
