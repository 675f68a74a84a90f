//! Streams, connections, limits, and the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use linkerd2_proxy_api::destination::GetDestination;
use linkerd2_proxy_api::destination::destination_client::DestinationClient;
use linkerd2_proxy_api::identity::CertifyRequest;
use linkerd2_proxy_api::identity::identity_client::IdentityClient;
use serde_json::json;

use crate::rig::{Rig, SERVER};

fn asked() -> GetDestination {
    GetDestination {
        scheme: "k8s".to_owned(),
        path: "10.77.1.3:20001".to_owned(),
        context_token: String::new(),
    }
}

// The client closes its connection while this thread waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_watch_stays_open_until_its_connection_ends() {
    let rig = Rig::start(|_| {});
    let channel = rig.connect().await;
    let mut client = DestinationClient::new(channel);
    let mut streams = vec![];
    for _ in 0..300 {
        let mut stream = client.get_profile(asked()).await.unwrap().into_inner();
        assert!(stream.message().await.unwrap().is_some());
        streams.push(stream);
    }
    rig.wait_for_metric("linkerd_control_plane_watches_open{kind=\"profile\"} 300");
    let mut last = streams.pop().unwrap();
    let more = tokio::time::timeout(Duration::from_millis(300), last.message()).await;
    assert!(more.is_err(), "{more:?}");
    drop((last, streams, client));
    rig.wait_for_metric("linkerd_control_plane_watches_open{kind=\"profile\"} 0");
}

#[tokio::test]
async fn another_name_or_no_tls_is_refused_and_the_others_are_served() {
    let rig = Rig::start(|_| {});
    assert!(rig.try_connect("other.example").await.is_err());
    let mut stream = TcpStream::connect(rig.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut end = vec![];
    let _ = stream.read_to_end(&mut end);
    rig.wait_for_metric("linkerd_control_plane_refused_total{reason=\"tls-handshake\"} 2");
    rig.wait_for_log("look at the proxy's trust anchors");
    let mut client = DestinationClient::new(rig.connect().await);
    assert!(client.get(asked()).await.is_ok());
    // Longer than any request.
    let mut client = IdentityClient::new(rig.connect().await);
    let large = client.certify(CertifyRequest {
        identity: SERVER.to_owned(),
        token: vec![0; 100_000],
        certificate_signing_request: vec![],
    });
    assert!(large.await.is_err());
    assert!(rig.page("/ready").starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn sigterm_ends_it_within_a_second_with_watches_open() {
    let mut rig = Rig::start(|_| {});
    let mut client = DestinationClient::new(rig.connect().await);
    let mut stream = client.get(asked()).await.unwrap().into_inner();
    assert!(stream.message().await.unwrap().is_some());
    let began = Instant::now();
    assert!(rig.terminate().success());
    // A limit of the program, not of the machine: its own end waits for nothing.
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_wrong_start_names_the_problem() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_linkerd-control-plane"))
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (
            output.status.success(),
            text,
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (well, _, version) = run(&["--version"]);
    assert!(well);
    let (name, rest) = version.trim().split_once(' ').unwrap();
    assert_eq!(name, "linkerd-control-plane");
    assert!(rest.ends_with(", API linkerd2-proxy-api 0.20.0"), "{rest}");
    assert!(!run(&[]).0);
    let (well, error, _) = run(&["--config", "/nowhere/config.json"]);
    assert!(
        !well && error.contains("cannot read /nowhere/config.json"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    std::fs::write(&file, json!({"listen": 1}).to_string()).unwrap();
    let (well, error, _) = run(&["--config", file.to_str().unwrap()]);
    assert!(!well && error.contains("README.md"), "{error}");
    let (well, error, _) = run(&["identity", "--name", SERVER, "--dir", "/nowhere"]);
    assert!(
        !well && error.contains("cannot write /nowhere/key.p8"),
        "{error}"
    );
}
