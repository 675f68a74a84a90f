//! Contexts for tests: one instance in a made-up or a real place.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tare_experiment::target::{InstanceMode, RedirectPorts, SettingDef, TargetDef};
use tare_lab::fetch::{Fetcher, Software};
use tare_lab::render::{
    Advertise, CaFiles, Context, Identity, Listen, Login, MeshCaller, MeshContext,
    MeshGatewayRoute, MeshInstance, MeshPort, MeshProxy, MeshService, Peer, RedirectExclusions,
    Rendered, RouteContext, Upstream, edge_id,
};
use tare_lab::targets::{Target, Targets, builtin_folder};
use tare_net::redirect::{INBOUND_PORT, OUTBOUND_PORT, TrafficDirection};
use tare_record::topology::{InstanceRole, Interception, Security, Settings};

pub fn targets() -> Targets {
    Targets::load(&builtin_folder().unwrap(), &[]).unwrap()
}

/// The software of a target, fetched if it is missing, as a run would.
pub fn software(target: &Target) -> Software {
    let mut fetcher = Fetcher::from_env().unwrap();
    // Tare's own binary is not the test's; its configuration is checked all the same.
    fetcher.own = PathBuf::from("/bin/true");
    fetcher
        .provide(target, &mut |what| println!("{what}"))
        .unwrap()
}

/// One way to place a target.
#[derive(Debug, Clone)]
pub struct Case {
    pub role: InstanceRole,
    pub protocol: String,
    pub link: Security,
    /// Settings that are not the default, with a word for the case's name.
    pub settings: Option<(&'static str, Settings)>,
    pub interception: Interception,
}

impl Case {
    pub fn name(&self) -> String {
        let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
        let role = word(serde_json::to_value(self.role).unwrap());
        let link = word(serde_json::to_value(self.link).unwrap());
        let redirected = match self.interception {
            Interception::Explicit => "",
            Interception::Redirect => "-redirect",
        };
        let other = self.settings.as_ref().map(|(word, _)| format!("-{word}"));
        format!(
            "{role}-{}-{link}{redirected}{}",
            self.protocol,
            other.unwrap_or_default()
        )
    }
}

/// Every switch turned and every choice taken otherwise than by default.
pub fn otherwise(def: &TargetDef) -> Settings {
    let other = |setting: &SettingDef| match &setting.default {
        Value::Bool(on) => Some(Value::Bool(!on)),
        default => setting
            .one_of
            .iter()
            .find(|value| *value != default)
            .cloned(),
    };
    def.settings
        .iter()
        .filter_map(|(name, setting)| Some((name.clone(), other(setting)?)))
        .collect()
}

/// Every role, every protocol and every link of a target, without all their products, and the
/// sidecar with every switch turned.
pub fn cases(target: &Target) -> Vec<Case> {
    let def = &target.def;
    let case = |role: InstanceRole, protocol: &str, link: Security| Case {
        role,
        protocol: protocol.to_owned(),
        link,
        settings: None,
        interception: Interception::Explicit,
    };
    let mut cases = Vec::new();
    let Some(first) = def.protocols.first() else {
        // A program of a control plane carries no traffic.
        let usual = case(def.roles[0], "tcp", Security::Plaintext);
        let settings = Some(("otherwise", otherwise(def)));
        return match def.settings.is_empty() {
            true => vec![usual],
            false => vec![usual.clone(), Case { settings, ..usual }],
        };
    };
    let last_link = def.security[def.security.len() - 1];
    for &role in &def.roles {
        match role {
            InstanceRole::Sni => cases.push(case(role, "tcp", Security::Plaintext)),
            InstanceRole::Sidecar => {
                for protocol in &def.protocols {
                    cases.push(case(role, protocol, last_link));
                }
                for &link in &def.security {
                    let protocol = def.protocols.iter().find(|name| *name == "http1");
                    cases.push(case(role, protocol.unwrap_or(first), link));
                }
                for protocol in ["tcp", "http1"] {
                    cases.push(Case {
                        settings: Some(("otherwise", otherwise(def))),
                        ..case(role, protocol, last_link)
                    });
                }
                if def.interceptions.contains(&Interception::Redirect) {
                    cases.push(Case {
                        interception: Interception::Redirect,
                        ..case(role, first, last_link)
                    });
                }
            }
            InstanceRole::App if def.instances == InstanceMode::Cluster => {
                cases.extend(def.security.iter().map(|link| case(role, first, *link)));
                cases.push(Case {
                    settings: Some(("otherwise", otherwise(def))),
                    ..case(role, first, last_link)
                });
            }
            _ => {
                let protocol = def.protocols.iter().find(|name| *name == "http1");
                cases.push(case(role, protocol.unwrap_or(first), def.security[0]));
            }
        }
    }
    cases.dedup_by_key(|case| case.name());
    cases
}

/// A made-up place, the same on every machine.
pub fn fixed(target: &Target, case: &Case) -> Context {
    let address = IpAddr::V4(Ipv4Addr::new(127, 60, 0, 2));
    let next = IpAddr::V4(Ipv4Addr::new(127, 60, 0, 3));
    let keys = Path::new("/run/tare/keys");
    let app = case.role == InstanceRole::App;
    let route = |from: &str, to: &str, port: u16| RouteContext {
        edge: format!("{from}->{to}"),
        id: edge_id(&format!("{from}->{to}")),
        from: from.to_owned(),
        protocol: case.protocol.clone(),
        edge_security: if app { case.link } else { Security::Plaintext },
        service: to.to_owned(),
        hostname: None,
        listen: Some(Listen {
            address,
            port,
            security: if app { Security::Plaintext } else { case.link },
            peer_identity: (!app && case.link == Security::Mtls)
                .then(|| format!("spiffe://tare/ns/run/sa/{from}-sidecar")),
            peer_identities: Vec::new(),
            redirected: match (case.interception, port) {
                (Interception::Explicit, _) => None,
                (Interception::Redirect, 8080) => Some(TrafficDirection::Outbound),
                (Interception::Redirect, _) => Some(TrafficDirection::Inbound),
            },
            redirect_port: match (case.interception, target.def.redirect_ports) {
                (Interception::Explicit, _) => None,
                (Interception::Redirect, RedirectPorts::PerEdge) => Some(port + 20000),
                (Interception::Redirect, RedirectPorts::PerDirection) if port == 8080 => {
                    Some(OUTBOUND_PORT)
                }
                (Interception::Redirect, RedirectPorts::PerDirection) => Some(INBOUND_PORT),
            },
        }),
        upstream: (!app).then(|| Upstream {
            address: next,
            port,
            security: case.link,
            peer_identity: (case.link != Security::Plaintext)
                .then(|| format!("spiffe://tare/ns/run/sa/{to}-sidecar")),
            peer_host: (case.link != Security::Plaintext).then(|| format!("{to}-sidecar")),
        }),
        advertise: app.then_some(Advertise { address, port }),
    };
    let given = case.settings.as_ref().map(|(_, settings)| settings.clone());
    let settings = target
        .def
        .settings_with(&[&given.unwrap_or_default()])
        .unwrap();
    let asks = target.def.ext_authz.iter();
    let asked = asks.filter(|ask| settings[&ask.enabled_by] == Value::Bool(true));
    let asked = asked.map(|ask| asked_route("middle", &ask.name, SocketAddr::new(address, 9000)));
    let mut routes = vec![
        route("client", "server", 8080),
        route("web", "database", 8081),
    ];
    routes.extend(asked);
    let cluster = target.def.instances == InstanceMode::Cluster;
    let ports: BTreeMap<String, u16> = target.def.ports.iter().cloned().zip(16_000..).collect();
    if cluster {
        routes.push(RouteContext {
            edge: "middle->middle".to_owned(),
            ..route("middle-2", "middle-1", 8082)
        });
    }
    let peers = (0..if cluster { 3 } else { 0 }).map(|index: u8| {
        let address = IpAddr::V4(Ipv4Addr::new(127, 60, 0, 2 + index));
        Peer {
            index: index.into(),
            name: format!("middle-{}", index + 1),
            address,
            admin: SocketAddr::new(address, 15_000),
            ports: ports.clone(),
            routes: Vec::new(),
        }
    });
    Context {
        name: if cluster { "middle-1" } else { "middle" }.to_owned(),
        role: case.role,
        admin_socket: PathBuf::from("/run/tare/1.a0"),
        login: Login {
            user: "tare-user".to_owned(),
            password: "tare-password".to_owned(),
        },
        pod: "middle".to_owned(),
        bin: PathBuf::from(format!("/opt/{}", target.def.target)),
        dir: PathBuf::from("/run/tare/middle"),
        log: PathBuf::from("/run/tare/middle/output.log"),
        address,
        admin: SocketAddr::new(address, 15_000),
        memory: Some(PathBuf::from("/dev/shm/tare/middle")),
        peers: peers.collect(),
        ports,
        programs: target
            .def
            .programs
            .keys()
            .map(|name| (name.clone(), PathBuf::from(format!("/opt/{name}"))))
            .collect(),
        redirect: (case.interception == Interception::Redirect).then(|| RedirectExclusions {
            ports: "9092".to_owned(),
            ranges: "10.9.0.0/16".to_owned(),
            servers: vec![SocketAddrV4::new(Ipv4Addr::new(127, 60, 0, 9), 27017)],
            inbound: true,
            outbound: true,
        }),
        mesh: Some(mesh(target, address, case)),
        ca: Some(CaFiles {
            folder: keys.to_owned(),
            certificate: keys.join("ca-cert.pem"),
            key: keys.join("ca-key.pem"),
            chain: keys.join("cert-chain.pem"),
            root: keys.join("root-cert.pem"),
        }),
        exempt: None,
        cpus: vec![0],
        settings,
        workload: Settings::new(),
        identity: (case.link != Security::Plaintext).then(|| Identity {
            uri: "spiffe://tare/ns/run/sa/middle".to_owned(),
            host: "middle".to_owned(),
            certificate: keys.join("certificate.pem"),
            key: keys.join("key.pem"),
            bundle: keys.join("bundle.pem"),
            ca: keys.join("ca.pem"),
        }),
        routes,
    }
}

/// A made-up mesh: a client that calls two services, one of them outside of the mesh and through a gateway.
fn mesh(target: &Target, address: IpAddr, case: &Case) -> MeshContext {
    let at = |last: u8| IpAddr::V4(Ipv4Addr::new(127, 60, 1, last));
    let member = |name: &str, last: u8| MeshInstance {
        name: name.to_owned(),
        address: at(last),
        admin: SocketAddr::new(at(last), 15_000),
        ports: [("api".to_owned(), 16_000)].into(),
    };
    let proxy = |name: &str, role: InstanceRole, pod: &str, address: IpAddr| MeshProxy {
        name: name.to_owned(),
        role,
        pod: pod.to_owned(),
        address,
        token: format!("token-of-{pod}"),
    };
    let port = |port: u16, protocol: &str, security: Security| MeshPort {
        port,
        protocol: protocol.to_owned(),
        security,
        callers: vec![MeshCaller {
            pod: "client".to_owned(),
            role: InstanceRole::Sidecar,
        }],
    };
    let service = |name: &str, last: u8, sidecar: Option<&str>, ports: Vec<MeshPort>| MeshService {
        name: name.to_owned(),
        part: name.to_owned(),
        hostname: sidecar.is_none().then(|| format!("{name}.example")),
        pod: name.to_owned(),
        address: at(last),
        sidecar: sidecar.map(str::to_owned),
        in_cluster: None,
        ports,
    };
    let security = match case.link {
        Security::Plaintext if target.def.protocols.is_empty() => Security::Mtls,
        other => other,
    };
    MeshContext {
        security,
        host: "control-plane.mesh.svc".to_owned(),
        control_plane: vec![member("control-plane-1", 1), member("control-plane-2", 2)],
        support: vec![member("support", 3)],
        proxies: vec![
            proxy("middle", case.role, "middle", address),
            proxy("server-sidecar", InstanceRole::Sidecar, "server", at(4)),
            proxy("gateway", InstanceRole::Gateway, "gateway", at(6)),
        ],
        services: vec![
            service(
                "server",
                4,
                Some("server-sidecar"),
                vec![
                    port(8080, "http1", security),
                    port(8082, "grpc", Security::Plaintext),
                    port(8083, "tcp", security),
                ],
            ),
            service(
                "database",
                5,
                None,
                vec![port(8081, "tcp", Security::Plaintext)],
            ),
        ],
        gateway_routes: vec![
            MeshGatewayRoute {
                id: "web__database".to_owned(),
                caller: "web".to_owned(),
                caller_in_cluster: None,
                gateway: "gateway".to_owned(),
                gateway_in_cluster: None,
                gateway_host: None,
                address: at(6),
                port: 20_000,
                security,
                service: "database".to_owned(),
                part: "database".to_owned(),
                hostname: Some("database.example".to_owned()),
                service_address: at(5),
                service_port: 8081,
                next_address: at(6),
                next_port: 20_001,
                protocol: "tcp".to_owned(),
            },
            MeshGatewayRoute {
                id: "web__server".to_owned(),
                caller: "web".to_owned(),
                caller_in_cluster: None,
                gateway: "gateway".to_owned(),
                gateway_in_cluster: None,
                gateway_host: None,
                address: at(6),
                port: 20_002,
                security,
                service: "server".to_owned(),
                part: "server".to_owned(),
                hostname: None,
                service_address: at(4),
                service_port: 8080,
                next_address: at(4),
                next_port: 8080,
                protocol: "http1".to_owned(),
            },
        ],
        root_certificate: PathBuf::from("/run/tare/root-cert.pem"),
    }
}

/// The way to an instance that `by` asks.
pub fn asked_route(by: &str, name: &str, to: SocketAddr) -> RouteContext {
    let edge = format!("{by}->{by}-{name}");
    RouteContext {
        id: edge_id(&edge),
        edge,
        from: by.to_owned(),
        protocol: "http1".to_owned(),
        edge_security: Security::Plaintext,
        service: format!("{by}-{name}"),
        hostname: None,
        listen: None,
        upstream: Some(Upstream {
            address: to.ip(),
            port: to.port(),
            security: Security::Plaintext,
            peer_identity: None,
            peer_host: None,
        }),
        advertise: None,
    }
}

/// Takes the steps before the start, as the lab does.
pub fn prepare(rendered: &Rendered) {
    for step in &rendered.prepare {
        let mut command = std::process::Command::new(&step.command[0]);
        let done = command.args(&step.command[1..]).status().unwrap();
        assert!(done.success(), "{}", step.name);
    }
}

/// An address for a program that binds it itself. Those that others get when they ask the kernel for any port, or when they
/// connect, lie above; the other tests of this process have been given other ones.
pub fn free_port(address: IpAddr) -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() * 64 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (number % 12_000) as u16;
        if let Ok(listener) = TcpListener::bind((address, port)) {
            return listener.local_addr().unwrap();
        }
    }
}
