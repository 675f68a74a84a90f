//! Entry point of the fuzz target: requests of proxies, to a control plane with one workload and one service.

use std::path::Path;
use std::pin::pin;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use linkerd2_proxy_api::destination::GetDestination;
use linkerd2_proxy_api::destination::destination_server::Destination;
use linkerd2_proxy_api::identity::CertifyRequest;
use linkerd2_proxy_api::identity::identity_server::Identity;
use linkerd2_proxy_api::inbound::PortSpec;
use linkerd2_proxy_api::inbound::inbound_server_policies_server::InboundServerPolicies;
use linkerd2_proxy_api::outbound::TrafficSpec;
use linkerd2_proxy_api::outbound::outbound_policies_server::OutboundPolicies;
use prost::Message;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::json;
use tonic::{Request, Response, Status};

use crate::authority::Authority;
use crate::config::Config;
use crate::plane::Plane;

/// Identity and token of the workload.
pub(crate) const SERVER: &str = "server.tare.serviceaccount.identity.linkerd.cluster.local";
pub(crate) const TOKEN: &str = "secret";

/// Longest message of a refusal: texts of peers are shortened in it.
const MESSAGE_BYTES_MAX: usize = 4096;

/// A configuration whose CA is in a folder.
pub(crate) fn config(folder: &Path) -> serde_json::Value {
    json!({
        "listen": "127.0.0.1:0",
        "admin": "127.0.0.1:0",
        "name": "linkerd-control-plane.linkerd.serviceaccount.identity.linkerd.cluster.local",
        "ca": {"certificate": folder.join("ca.pem"), "key": folder.join("ca.key"), "root": folder.join("ca.pem")},
        "trust_domain": "cluster.local",
        "mtls": true,
        "http2_between": true,
        "policy": "all-unauthenticated",
        "workloads": [
            {"pod": "server", "namespace": "tare", "address": "10.77.1.3", "identity": SERVER, "token": TOKEN}
        ],
        "services": [
            {"name": "server", "namespace": "tare", "address": "10.77.1.3", "port": 20001, "protocol": "http1",
             "endpoints": [{"address": "10.77.1.3", "port": 20001, "identity": SERVER}]}
        ]
    })
}

/// Key and certificate of a CA.
pub(crate) fn new_ca() -> Result<(KeyPair, rcgen::Certificate), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = ca.self_signed(&key)?;
    Ok((key, certificate))
}

/// One for all inputs, without a log.
pub(crate) static PLANE: LazyLock<Option<Plane>> = LazyLock::new(|| {
    let config: Config = serde_json::from_value(config(Path::new("/"))).ok()?;
    let (key, certificate) = new_ca().ok()?;
    let certificate = certificate.der().clone();
    let roots = vec![certificate.clone()];
    let authority = Authority::of(certificate, key, roots, &config.ca).ok()?;
    let plane = Plane::new(config, authority);
    plane.events.lines.store(usize::MAX / 2, Ordering::Relaxed);
    Some(plane)
});

/// Handlers wait for nothing, so one poll is enough.
pub(crate) fn answer<T>(handler: impl Future<Output = T>) -> T {
    match pin!(handler).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a handler waits"),
    }
}

/// Answers one request: the first byte chooses the method, the rest is its message.
///
/// # Panics
/// When an answer is not there at once, a refusal is too long, a watch stays open, or a certificate is issued without the token of
/// its identity.
pub fn fuzz_entry(data: &[u8]) {
    let (Some(plane), Some((method, data))) = (&*PLANE, data.split_first()) else {
        return;
    };
    match method % 8 {
        0 => handle(data, |asked: Request<GetDestination>| {
            watched(answer(Destination::get(plane, asked)))
        }),
        1 => handle(data, |asked: Request<GetDestination>| {
            watched(answer(plane.get_profile(asked)))
        }),
        2 => handle(data, |asked: Request<PortSpec>| {
            plain(answer(plane.get_port(asked)))
        }),
        3 => handle(data, |asked: Request<PortSpec>| {
            watched(answer(plane.watch_port(asked)))
        }),
        4 => handle(data, |asked: Request<TrafficSpec>| {
            plain(answer(OutboundPolicies::get(plane, asked)))
        }),
        5 => handle(data, |asked: Request<TrafficSpec>| {
            watched(answer(plane.watch(asked)))
        }),
        _ => handle(data, |asked: Request<CertifyRequest>| {
            let asked_for = asked.get_ref().clone();
            let issued = answer(plane.certify(asked));
            let may =
                asked_for.identity == SERVER && asked_for.token.trim_ascii() == TOKEN.as_bytes();
            assert!(may || issued.is_err(), "a certificate without a token");
            plain(issued)
        }),
    }
    assert_eq!(plane.events.watches("outbound", 0), 0, "a watch stays open");
}

/// Decodes a request and checks the answer to it.
fn handle<A: Message + Default>(
    data: &[u8],
    act: impl FnOnce(Request<A>) -> Result<Vec<u8>, Status>,
) {
    let Ok(asked) = A::decode(data) else {
        return;
    };
    match act(Request::new(asked)) {
        Ok(message) => assert!(!message.is_empty(), "an answer says something"),
        Err(status) => assert!(status.message().len() <= MESSAGE_BYTES_MAX),
    }
}

fn plain<T: Message>(answered: Result<Response<T>, Status>) -> Result<Vec<u8>, Status> {
    answered.map(|message| message.into_inner().encode_to_vec())
}

/// The first message of a watch.
fn watched<T: Message, S>(answered: Result<Response<S>, Status>) -> Result<Vec<u8>, Status>
where
    S: Stream<Item = Result<T, Status>> + Unpin,
{
    let mut stream = answered?.into_inner();
    match pin!(&mut stream).poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(message)) => message.map(|message| message.encode_to_vec()),
        Poll::Ready(None) | Poll::Pending => panic!("a watch begins with a message"),
    }
}
