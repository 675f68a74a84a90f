//! No request makes it panic; configurations with a wrong value are refused with their place.

use std::fs;
use std::path::Path;

use linkerd2_proxy_api::destination::GetDestination;
use linkerd2_proxy_api::destination::destination_server::Destination;
use linkerd2_proxy_api::identity::CertifyRequest;
use linkerd2_proxy_api::identity::identity_server::Identity;
use linkerd2_proxy_api::inbound::PortSpec;
use linkerd2_proxy_api::inbound::inbound_server_policies_server::InboundServerPolicies;
use linkerd2_proxy_api::net::{IPv6, IpAddress, TcpAddress, ip_address};
use linkerd2_proxy_api::outbound::outbound_policies_server::OutboundPolicies;
use linkerd2_proxy_api::outbound::{TrafficSpec, traffic_spec};
use proptest::prelude::*;
use rcgen::KeyPair;
use serde_json::json;
use tonic::Request;

use crate::authority::{Authority, named};
use crate::config::Config;
use crate::fuzz::{PLANE, SERVER, answer, config, new_ca};

fn read(folder: &Path, config: &serde_json::Value) -> Result<Config, String> {
    let file = folder.join("config.json");
    fs::write(&file, config.to_string()).unwrap();
    Config::read(&file).map_err(|error| error.to_string())
}

fn write_ca(folder: &Path) {
    let (key, certificate) = new_ca().unwrap();
    fs::write(folder.join("ca.key"), key.serialize_pem()).unwrap();
    fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
}

/// A signing request of the server.
fn signing_request() -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    let request = named(SERVER).unwrap().serialize_request(&key).unwrap();
    request.der().to_vec()
}

/// Texts near those that have an answer, and any other.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("10.77.1.3:20001".to_owned()),
        Just("server.tare.svc.cluster.local:20001".to_owned()),
        Just(SERVER.to_owned()),
        Just(r#"{"ns":"tare","pod":"server"}"#.to_owned()),
        any::<String>(),
        ".{300,400}",
    ]
}

fn address() -> impl Strategy<Value = TcpAddress> {
    let ip = prop_oneof![
        Just(None),
        any::<u32>().prop_map(|ip| Some(ip_address::Ip::Ipv4(ip))),
        any::<(u64, u64)>()
            .prop_map(|(first, last)| Some(ip_address::Ip::Ipv6(IPv6 { first, last }))),
    ];
    let ip = prop_oneof![Just(None), ip.prop_map(|ip| Some(IpAddress { ip }))];
    (ip, any::<u32>()).prop_map(|(ip, port)| TcpAddress { ip, port })
}

proptest! {
    #[test]
    fn any_question_has_an_answer(path in text(), port in any::<u32>(), address in address(), kind in 0..3) {
        let plane = PLANE.as_ref().unwrap();
        let asked = || Request::new(GetDestination { scheme: "k8s".to_owned(), path: path.clone(), context_token: path.clone() });
        let _ = answer(plane.get_profile(asked()));
        let _ = answer(Destination::get(plane, asked()));
        let _ = answer(plane.watch_port(Request::new(PortSpec { workload: path.clone(), port })));
        let target = match kind {
            0 => None,
            1 => Some(traffic_spec::Target::Addr(address)),
            _ => Some(traffic_spec::Target::Authority(path.clone())),
        };
        let asked = TrafficSpec { source_workload: path, target };
        let _ = answer(plane.watch(Request::new(asked.clone())));
        let _ = answer(OutboundPolicies::get(plane, Request::new(asked)));
        // All watches of this question are closed again.
        prop_assert_eq!(plane.events.watches("outbound", 0), 0);
    }

    #[test]
    fn any_signing_request_has_an_answer(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let plane = PLANE.as_ref().unwrap();
        let mut csr = signing_request();
        let changed = !changes.is_empty() || is_cut;
        for (at, byte) in changes {
            let at = at.index(csr.len());
            csr[at] = byte;
        }
        if is_cut {
            csr.truncate(cut.index(csr.len()));
        }
        let request = CertifyRequest { identity: SERVER.to_owned(), token: b"secret".to_vec(), certificate_signing_request: csr };
        let answered = answer(plane.certify(Request::new(request)));
        prop_assert!(changed || answered.is_ok());
    }

    #[test]
    fn any_bytes_are_no_signing_request(csr in proptest::collection::vec(any::<u8>(), 0..600), token in any::<Vec<u8>>(), identity in text()) {
        let plane = PLANE.as_ref().unwrap();
        for (identity, token) in [(SERVER.to_owned(), b"secret".to_vec()), (identity, token)] {
            let request = CertifyRequest { identity, token, certificate_signing_request: csr.clone() };
            prop_assert!(answer(plane.certify(Request::new(request))).is_err());
        }
    }
}

#[test]
fn a_wrong_value_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let right = config(folder.path());
    assert!(read(folder.path(), &right).is_ok());
    let second = |list: &str| right[list][0].clone();
    let cases = [
        (
            "/certificate_lifetime_s",
            json!(3),
            "certificate_lifetime_s: 3 is out of range",
        ),
        ("/name", json!("me"), "name: \"me\" is no identity"),
        (
            "/workloads/0/identity",
            json!("a.b"),
            "workloads[0].identity: \"a.b\" is no identity",
        ),
        (
            "/workloads/0/token",
            json!(""),
            "workloads[0].token: is empty",
        ),
        (
            "/workloads/1",
            second("workloads"),
            "workloads[1]: is the same pod as workloads[0]",
        ),
        (
            "/services/1",
            second("services"),
            "services[1]: has the address or the name and port of services[0]",
        ),
        (
            "/services/0/endpoints/0/address",
            json!("10.77.1.4"),
            "services[0].endpoints[0].identity: no workload at 10.77.1.4",
        ),
        (
            "/services/0/protocol",
            json!("sctp"),
            "unknown variant `sctp`",
        ),
        ("/more", json!(1), "unknown field `more`"),
    ];
    for (pointer, value, problem) in cases {
        let mut wrong = right.clone();
        match wrong.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => match pointer.rsplit_once('/').unwrap() {
                ("", key) => wrong[key] = value,
                (list, _) => wrong
                    .pointer_mut(list)
                    .unwrap()
                    .as_array_mut()
                    .unwrap()
                    .push(value),
            },
        }
        let error = read(folder.path(), &wrong).unwrap_err();
        assert!(error.contains(problem), "{pointer}: {error}");
    }
}

#[test]
fn two_protocols_at_one_endpoint_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = config(folder.path());
    let mut other = wrong["services"][0].clone();
    other["name"] = json!("other");
    other["address"] = json!("10.77.1.9");
    other["protocol"] = json!("tcp");
    wrong["services"].as_array_mut().unwrap().push(other);
    let error = read(folder.path(), &wrong).unwrap_err();
    assert!(
        error.contains("services[1].endpoints[0]: 10.77.1.3:20001 is also an endpoint"),
        "{error}"
    );
}

#[test]
fn a_key_of_another_ca_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    write_ca(folder.path());
    let other = KeyPair::generate().unwrap();
    fs::write(folder.path().join("ca.key"), other.serialize_pem()).unwrap();
    let config = read(folder.path(), &config(folder.path())).unwrap();
    let authority = Authority::read(&config.ca).unwrap();
    let error = authority.own_tls(&config.name, &config.ca).unwrap_err();
    assert!(
        error.to_string().contains("the key must be its own"),
        "{error}"
    );
}

#[test]
fn the_version_of_the_api_is_that_of_the_lock_file() {
    let lock =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../Cargo.lock"));
    let lock = lock.unwrap();
    let after = lock
        .split("name = \"linkerd2-proxy-api\"\nversion = \"")
        .nth(1)
        .unwrap();
    let version = after.split('"').next().unwrap();
    assert!(
        crate::VERSION.ends_with(&format!("linkerd2-proxy-api {version}")),
        "{version}"
    );
}
