//! HTTP/2 and gRPC with clients that others wrote: curl and h2load.

use std::process::{Command, Output};

use tare_origin::{
    Identity, OriginOptions, SessionTickets, TlsOptions, TlsVersions, expected_body,
};

use crate::rig::{Server, stamping};

fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    output
}

fn curl(arguments: &[&str]) -> Vec<u8> {
    let always = ["-sS", "--max-time", "60"];
    run("curl", &[&always, arguments].concat()).stdout
}

fn over_tls(ca: &std::path::Path) -> Server {
    Server::start(OriginOptions {
        tls: Some(TlsOptions {
            identity: Identity::SelfSigned {
                ca_out: Some(ca.to_owned()),
            },
            client_ca: None,
            tickets: SessionTickets::On,
            versions: TlsVersions::Both,
        }),
        control: Some("127.0.0.1:0".parse().unwrap()),
        ..OriginOptions::default()
    })
}

#[test]
fn curl_gets_large_answers_by_prior_knowledge_and_by_alpn() {
    let server = Server::plain();
    let url = format!("http://{}/?size=3000000", server.address);
    assert_eq!(
        curl(&["--http2-prior-knowledge", &url]),
        expected_body(3_000_000)
    );
    assert_eq!(
        curl(&[&url]),
        expected_body(3_000_000),
        "http/1.1 on the same port"
    );

    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let _stamping = stamping();
    let server = over_tls(&ca);
    let url = format!(
        "https://localhost:{}/?size=300000&timestamps",
        server.address.port()
    );
    let shown = curl(&["-D", "-", "--cacert", ca.to_str().unwrap(), &url]);
    let head_bytes = shown.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(shown[..head_bytes].to_vec()).unwrap();
    assert!(head.starts_with("HTTP/2 200"), "{head}");
    let truth = head
        .lines()
        .find_map(|line| line.strip_prefix("tare-timestamps: "));
    let stamps: Vec<u64> = truth
        .unwrap()
        .split(' ')
        .map(|stamp| stamp.parse().unwrap())
        .collect();
    assert!(stamps[0] < stamps[1], "arrived before sent: {stamps:?}");
    assert_eq!(shown[head_bytes..], expected_body(300_000));
}

#[test]
fn requests_are_counted_by_the_identity_that_a_proxy_names() {
    let server = Server::plain();
    let url = format!("http://{}/", server.address);
    let certificate = "X-Forwarded-Client-Cert: By=spiffe://a/server;URI=spiffe://a/client";
    curl(&[&url]);
    curl(&["-H", certificate, &url, &url]);
    // This curl cannot use an HTTP/2 connection a second time.
    for _ in 0..3 {
        curl(&["--http2-prior-knowledge", "-H", certificate, &url]);
    }
    curl(&["--http2-prior-knowledge", &url]);
    let name = r#"tare_origin_forwarded_identities_total{identity="spiffe://a/client"}"#;
    assert_eq!(server.counter(name), 5);
}

#[test]
fn curl_uploads_more_than_any_window_and_gets_it_back() {
    let server = Server::plain();
    let body = expected_body(5_000_000);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("upload");
    std::fs::write(&file, &body).unwrap();
    let url = format!("http://{}/echo", server.address);
    let data = format!("@{}", file.display());
    let echoed = curl(&["--http2-prior-knowledge", "--data-binary", &data, &url]);
    assert_eq!(echoed, body);
}

#[test]
fn a_grpc_call_by_curl_is_answered_with_its_trailers() {
    let server = Server::plain();
    let url = format!("http://{}/tare.origin.Echo/Echo", server.address);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("call");
    std::fs::write(&file, b"\0\0\0\0\x05\x0a\x03abc").unwrap();
    let data = format!("@{}", file.display());
    let shown = curl(&[
        "--http2-prior-knowledge",
        "-i",
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
        "--data-binary",
        &data,
        &url,
    ]);
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("\0\0\0\0\x05\x0a\x03abc"), "{shown:?}");
    assert!(shown.contains("grpc-status: 0"), "{shown:?}");
    for counter in [
        "tare_origin_grpc_calls_total{code=\"0\"}",
        "tare_origin_requests_total{status=\"200\"}",
    ] {
        assert_eq!(server.counter(counter), 1, "{counter}");
    }
}

#[test]
fn h2load_has_every_one_of_many_streams_answered_on_both_transports() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    for (server, scheme) in [(Server::plain(), "http"), (over_tls(&ca), "https")] {
        let url = format!("{scheme}://127.0.0.1:{}/?size=1000", server.address.port());
        let output = run("h2load", &["-n", "20000", "-c", "4", "-m", "100", &url]);
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("20000 succeeded, 0 failed"), "{shown}");
        let counted = server.counter("tare_origin_requests_total{status=\"200\"}");
        assert_eq!(counted, 20_000);
        assert_eq!(server.counter("tare_origin_malformed_requests_total"), 0);
    }
}
