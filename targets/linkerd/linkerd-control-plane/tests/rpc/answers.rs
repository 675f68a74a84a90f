//! Every answer against a committed one.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use linkerd2_proxy_api::destination::GetDestination;
use linkerd2_proxy_api::destination::destination_client::DestinationClient;
use linkerd2_proxy_api::inbound::PortSpec;
use linkerd2_proxy_api::inbound::inbound_server_policies_client::InboundServerPoliciesClient;
use linkerd2_proxy_api::outbound::outbound_policies_client::OutboundPoliciesClient;
use linkerd2_proxy_api::outbound::{TrafficSpec, traffic_spec};
use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;

use crate::rig::Rig;

/// Compares with `golden/NAME.txt`.
fn check(name: &str, answer: &impl Debug) {
    let text = sorted(&format!("{answer:#?}\n"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/rpc/golden/{name}.txt"));
    if std::env::var_os("TARE_UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        committed, text,
        "{name}: TARE_UPDATE_GOLDEN=1 writes it anew"
    );
}

/// Entries of maps have no order: neighbouring lines `"key": "value",` are sorted. Indented by one blank.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_entry = |line: &str| line.trim_start().starts_with('"') && line.contains("\": \"");
    for run in lines.chunk_by_mut(|one, next| is_entry(one) && is_entry(next)) {
        run.sort_unstable();
    }
    lines.join("\n").replace("    ", " ") + "\n"
}

fn destination(path: &str) -> GetDestination {
    GetDestination {
        scheme: "k8s".to_owned(),
        path: path.to_owned(),
        context_token: String::new(),
    }
}

fn traffic(target: Option<traffic_spec::Target>) -> TrafficSpec {
    TrafficSpec {
        source_workload: r#"{"ns":"tare","pod":"client"}"#.to_owned(),
        target,
    }
}

fn address(address: &str) -> Option<traffic_spec::Target> {
    let address: std::net::SocketAddr = address.parse().unwrap();
    Some(traffic_spec::Target::Addr(address.into()))
}

fn port(pod: &str, port: u32) -> PortSpec {
    PortSpec {
        workload: format!(r#"{{"ns":"tare","pod":"{pod}"}}"#),
        port,
    }
}

async fn endpoints(channel: &Channel, path: &str) -> impl Debug + use<> {
    let mut client = DestinationClient::new(channel.clone());
    let mut stream = client.get(destination(path)).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap()
}

async fn inbound(channel: &Channel, asked: PortSpec) -> impl Debug + use<> {
    let mut client = InboundServerPoliciesClient::new(channel.clone());
    let watched = client.watch_port(asked.clone()).await.unwrap();
    let watched = watched.into_inner().message().await.unwrap().unwrap();
    let got = client.get_port(asked).await.unwrap().into_inner();
    assert_eq!(watched, got);
    watched
}

#[tokio::test]
async fn answers_of_a_mesh() {
    let rig = Rig::start(|_| {});
    let channel = rig.connect().await;
    check(
        "inbound-http",
        &inbound(&channel, port("server", 20001)).await,
    );
    check(
        "inbound-tcp",
        &inbound(&channel, port("server", 20002)).await,
    );
    let mut client = OutboundPoliciesClient::new(channel.clone());
    let targets = [
        ("outbound-http", address("10.77.1.3:20001")),
        ("outbound-tcp", address("10.77.1.3:20002")),
        ("outbound-unknown", address("192.0.2.7:443")),
    ];
    for (name, target) in targets {
        let watched = client.watch(traffic(target.clone())).await.unwrap();
        let watched = watched.into_inner().message().await.unwrap().unwrap();
        let got = client.get(traffic(target)).await.unwrap().into_inner();
        assert_eq!(watched, got);
        check(name, &watched);
    }
    let by_name = "server.tare.svc.cluster.local:20001".to_owned();
    let by_name = client
        .get(traffic(Some(traffic_spec::Target::Authority(by_name))))
        .await;
    check("outbound-http", &by_name.unwrap().into_inner());
    for (name, host) in [
        ("endpoints-http", "server.tare.svc.cluster.local:20001"),
        ("endpoints-http", "10.77.1.3:20001"),
        ("endpoints-tcp", "stream.tare.svc.cluster.local:20002"),
        ("endpoints-outside", "outside.tare.svc.cluster.local:20003"),
        ("endpoints-virtual", "virtual.tare.svc.cluster.local:80"),
        ("endpoints-unknown", "nobody.tare.svc.cluster.local:80"),
    ] {
        check(name, &endpoints(&channel, host).await);
    }
    let mut client = DestinationClient::new(channel.clone());
    for (name, path) in [
        ("profile-http", "10.77.1.3:20001"),
        ("profile-tcp", "10.77.1.3:20002"),
        ("profile-unknown", "192.0.2.7:443"),
    ] {
        let stream = client.get_profile(destination(path)).await.unwrap();
        check(name, &stream.into_inner().message().await.unwrap().unwrap());
    }
    rig.wait_for_log("unknown destination \"192.0.2.7:443\" of 127.0.0.1:");
}

#[tokio::test]
async fn answers_without_identities_keep_http2_between_proxies() {
    let rig = Rig::start(|config| config["mtls"] = json!(false));
    let channel = rig.connect().await;
    let http = endpoints(&channel, "server.tare.svc.cluster.local:20001").await;
    check("no-mtls-endpoints-http", &http);
    let tcp = endpoints(&channel, "stream.tare.svc.cluster.local:20002").await;
    check("no-mtls-endpoints-tcp", &tcp);
}

#[tokio::test]
async fn answers_without_http2_between_proxies_keep_identities() {
    let rig = Rig::start(|config| {
        config["http2_between"] = json!(false);
        config["inbound_port"] = json!(15006);
    });
    let channel = rig.connect().await;
    let http = endpoints(&channel, "server.tare.svc.cluster.local:20001").await;
    check("http1-endpoints-http", &http);
    let tcp = endpoints(&channel, "stream.tare.svc.cluster.local:20002").await;
    check("http1-endpoints-tcp", &tcp);
}

#[tokio::test]
async fn ports_of_services_alone_are_closed_to_callers_without_identity() {
    let rig = Rig::start(|config| config["policy"] = json!("all-authenticated"));
    let channel = rig.connect().await;
    check(
        "authenticated-http",
        &inbound(&channel, port("server", 20001)).await,
    );
    check(
        "authenticated-tcp",
        &inbound(&channel, port("server", 20002)).await,
    );
    check(
        "authenticated-admin",
        &inbound(&channel, port("server", 4191)).await,
    );
}

#[tokio::test]
async fn questions_without_an_answer_are_refused_and_counted() {
    let rig = Rig::start(|_| {});
    let channel = rig.connect().await;
    let mut inbound = InboundServerPoliciesClient::new(channel.clone());
    let nobody = inbound.watch_port(port("nobody", 1)).await.unwrap_err();
    assert_eq!(nobody.code(), Code::NotFound);
    assert!(
        nobody.message().contains("add it to `workloads`"),
        "{nobody}"
    );
    let no_port = inbound.get_port(port("server", 65_536)).await.unwrap_err();
    assert_eq!(no_port.code(), Code::InvalidArgument);
    let mut outbound = OutboundPoliciesClient::new(channel);
    let nothing = outbound.watch(traffic(None)).await.unwrap_err();
    assert_eq!(nothing.code(), Code::InvalidArgument);
    let name = traffic_spec::Target::Authority("\u{1b}[31mnobody:80".to_owned());
    let nobody = outbound.get(traffic(Some(name))).await.unwrap_err();
    assert_eq!(nobody.code(), Code::NotFound);
    for (reason, count) in [
        ("unknown-workload", 1),
        ("malformed", 2),
        ("unknown-name", 1),
    ] {
        rig.wait_for_metric(&format!(
            "linkerd_control_plane_refused_total{{reason=\"{reason}\"}} {count}"
        ));
    }
}
