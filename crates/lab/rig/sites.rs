//! Two sites of two pods each.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tare_lab::keeper::{Keeper, Spawn};
use tare_lab::local::Local;
use tare_net::link::{DirectionPlan, LinkPlan};
use tare_net::redirect::{self, RedirectRules, TrafficDirection};
use tare_net::site::pod_address;
use tare_record::topology::SiteLink;

/// Delay of each way.
const ONE_WAY_NS: u64 = 2_000_000;
const LIMIT: Duration = Duration::from_secs(10);

/// A keeper with both.
pub fn start(base: &str) -> Keeper {
    let mut keeper = Keeper::start_in_namespaces(&super::me(), Some(base.as_ref())).unwrap();
    let way = DirectionPlan {
        delay_ns: ONE_WAY_NS,
        ..DirectionPlan::default()
    };
    let plan = LinkPlan::symmetric(["", ""], &way, 1);
    let trips = keeper.join([0, 1], &plan).unwrap();
    println!("round trip {}", trips.p50_ns.unwrap());
    super::attach(&mut keeper, address);
    keeper
}

/// The first two pods are at the one, the others at the other.
fn address(number: u8) -> Ipv4Addr {
    pod_address(number / 2, u16::from(number)).unwrap()
}

/// Sends all traffic of all pods to sidecars.
pub fn capture_all(keeper: &mut Keeper) {
    let rules = RedirectRules {
        directions: [TrafficDirection::Outbound, TrafficDirection::Inbound].into(),
        exemption: redirect::exemption_in(keeper.inside_pid()),
        ..RedirectRules::default()
    };
    for number in 0..4 {
        keeper.redirect(&format!("pod-{number}"), &rules).unwrap();
    }
}

/// Calls a server at the other site and says how long the answer took.
pub fn reach(base: &str) {
    let mut keeper = start(base);
    let at = SocketAddr::from((address(0), 80));
    let argv = [
        super::me().display().to_string(),
        String::from("serve"),
        at.to_string(),
    ];
    keeper
        .spawn(&Spawn {
            name: String::from("server"),
            argv: argv.to_vec(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            cpus: Vec::new(),
            output: keeper.folder().join("server"),
            output_bytes_max: 1000,
            nofile: None,
            pod: Some(String::from("pod-0")),
            hosts: None,
            group: None,
            bounds: None,
            confinement: None,
        })
        .unwrap();
    let deadline = Instant::now() + LIMIT;
    while keeper.tail("server").unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the server never listened");
        std::thread::sleep(Duration::from_millis(5));
    }
    let socket = keeper.socket("pod-2").unwrap();
    rustix::net::connect(&socket, &at).unwrap();
    let mut stream = TcpStream::from(socket);
    let began = Instant::now();
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    println!("answer {}", began.elapsed().as_nanos());
}

/// Says whether experiments with links between sites are possible here.
pub fn describe(base: &str) {
    let mut options = super::options(base, BTreeMap::new());
    options.site_links = vec![SiteLink {
        between_clusters: false,
        between: ["east", "west"].map(String::from),
        one_way_ns: ONE_WAY_NS,
        jitter_ns: 0,
        rate_bits_per_s: None,
        queue_bytes: 0,
        loss: 0.0,
    }];
    match Local::new(options) {
        Ok(local) => println!("possible with {}", local.addressing()),
        Err(error) => println!("{error}"),
    }
}
