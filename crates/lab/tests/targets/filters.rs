//! Authorisation in a real proxy: who is let through, and how often the authorisation server is asked.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::json;
use tare_lab::certificates::Authority;
use tare_lab::render::Context;
use tare_record::counter::CounterReading;
use tare_record::topology::Security;

use crate::place::{asked_route, software, targets};
use crate::rig::{App, Proxy, Stand, send, start_with, text};

const NAME: &str = "envoy";
const REQUESTS: usize = 400;

/// A sidecar in front of an app, without TLS.
fn sidecar(app: &App, protocol: &str, last: u8, change: impl FnOnce(&mut Context)) -> Proxy {
    let targets = targets();
    let target = targets.get(NAME).unwrap();
    let stand = Stand {
        name: "server-sidecar",
        shown: "server-sidecar",
        address: IpAddr::V4(Ipv4Addr::new(127, 63, 0, last)),
        listen: Security::Plaintext,
        to: app.address,
        upstream: Security::Plaintext,
    };
    let authority = Authority::new("run").unwrap();
    let software = software(target);
    start_with(target, &software, protocol, &stand, &authority, change)
}

/// How many questions a sidecar with this share has sent, and the authoriser received, for all requests.
fn asked(share: f64, last: u8) -> (f64, f64) {
    let app = App::start();
    let authorizer = App::start();
    let mut proxy = sidecar(&app, "http1", last, |context| {
        context.settings = [
            ("ext_authz", json!(true)),
            ("ext_authz_share", json!(share)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let to = asked_route("server-sidecar", "authorizer", authorizer.address);
        context.routes.push(to);
    });
    let statuses = send(proxy.entry, REQUESTS);
    assert_eq!(statuses, [200; REQUESTS], "{}", text(&proxy.output));
    let readings = proxy.reader.read().unwrap().readings;
    let edge = "server-sidecar->server-sidecar-authorizer";
    let of_edge = |reading: &&CounterReading| reading.edge.as_deref() == Some(edge);
    let sent = readings
        .iter()
        .filter(of_edge)
        .find(|reading| reading.name == "upstream-requests");
    let page = tare_requests(&authorizer);
    (sent.unwrap().value, page)
}

/// What an origin says that it has answered.
fn tare_requests(app: &App) -> f64 {
    let mut page = String::new();
    let mut stream = std::net::TcpStream::connect(app.address).unwrap();
    let ask = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(&mut stream, ask).unwrap();
    std::io::Read::read_to_string(&mut stream, &mut page).unwrap();
    let values = page
        .lines()
        .filter(|line| line.starts_with("tare_origin_requests_total"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[test]
fn the_authorisation_server_is_asked_about_every_request_about_none_or_about_a_share() {
    let all = REQUESTS as f64;
    assert_eq!(asked(1.0, 1), (all, all));
    assert_eq!(asked(0.0, 2), (0.0, 0.0));
    let (sent, received) = asked(0.25, 3);
    assert_eq!(sent, received);
    // 100 are expected; six standard deviations are 52.
    assert!((48.0..=152.0).contains(&sent), "{sent}");
}

#[test]
fn no_authorisation_server_means_no_answer_but_a_refusal() {
    let app = App::start();
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let proxy = sidecar(&app, "http1", 4, |context| {
        context.settings.insert("ext_authz".to_owned(), json!(true));
        let to = asked_route("server-sidecar", "authorizer", nobody);
        context.routes.push(to);
    });
    assert_eq!(send(proxy.entry, 1), [403]);
}

/// Requests through a policy that admits `peer`, or anybody.
fn through_policy(protocol: &str, peer: Option<&str>, last: u8) -> Vec<u16> {
    let app = App::start();
    let proxy = sidecar(&app, protocol, last, |context| {
        context.settings.insert("rbac".to_owned(), json!(true));
        let listen = context.routes[0].listen.as_mut().unwrap();
        listen.peer_identity = peer.map(str::to_owned);
    });
    send(proxy.entry, 1)
}

#[test]
fn a_policy_turns_away_who_does_not_show_the_identity_it_names() {
    let somebody = Some("spiffe://tare/ns/run/sa/client-sidecar");
    assert_eq!(through_policy("http1", None, 5), [200]);
    assert_eq!(through_policy("http1", somebody, 6), [403]);
    assert_eq!(through_policy("tcp", None, 7), [200]);
    assert!(through_policy("tcp", somebody, 8).is_empty());
}
