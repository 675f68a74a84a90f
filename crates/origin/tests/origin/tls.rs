//! TLS and mTLS, with curl and with clients that get it wrong.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use tare_origin::{
    Identity, Limits, OriginOptions, ServerProtocol, SessionTickets, TcpMode, TlsOptions,
    TlsVersions,
};

use crate::rig::{HANG, Server, stamping};

pub fn made(folder: &TempDir) -> TlsOptions {
    TlsOptions {
        identity: Identity::SelfSigned {
            ca_out: Some(folder.path().join("ca.pem")),
        },
        client_ca: None,
        tickets: SessionTickets::On,
        versions: TlsVersions::Both,
    }
}

pub fn server(protocol: ServerProtocol, tls: TlsOptions) -> Server {
    // A client's process may have to wait for a core in the middle of its handshake.
    server_within(Duration::from_secs(60), protocol, tls)
}

fn server_within(handshake_max: Duration, protocol: ServerProtocol, tls: TlsOptions) -> Server {
    Server::start(OriginOptions {
        protocol,
        tls: Some(tls),
        control: Some("127.0.0.1:0".parse().unwrap()),
        limits: Limits {
            handshake_max,
            ..Limits::default()
        },
        ..OriginOptions::default()
    })
}

fn curl(arguments: &[&str]) -> Output {
    Command::new("curl")
        .args(["-sS", "--max-time", "60"])
        .args(arguments)
        .output()
        .unwrap()
}

pub fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Waits until something was counted: the server may see the end of a handshake later than the client.
fn wait_for_some(server: &Server, counters: &[String]) {
    let given_up = Instant::now() + HANG;
    while counters.iter().all(|counter| server.counter(counter) == 0) {
        let metrics = || server.control().get("/metrics").text();
        assert!(
            Instant::now() < given_up,
            "{counters:?} stay 0: {}",
            metrics()
        );
    }
}

fn failed(class: &str) -> String {
    format!("tare_origin_tls_handshake_failures_total{{class=\"{class}\"}}")
}

#[test]
fn a_made_certificate_is_trusted_by_who_trusts_its_authority_and_by_no_one_else() {
    let folder = tempfile::tempdir().unwrap();
    let _stamping = stamping();
    let server = server(ServerProtocol::Auto, made(&folder));
    let ca = folder.path().join("ca.pem");
    let port = server.address.port();
    for (version, host) in [("--tlsv1.3", "localhost"), ("--tls-max=1.2", "127.0.0.1")] {
        let url = format!("https://{host}:{port}/?size=100000&timestamps");
        let version: Vec<&str> = version.split('=').collect();
        let ca = ca.to_str().unwrap();
        let mut arguments = vec!["--http1.1", "--cacert", ca, "-D", "-", &url];
        arguments.extend(version);
        let output = curl(&arguments);
        let shown = text(&output);
        assert!(shown.starts_with("HTTP/1.1 200"), "{}", &shown[..200]);
        let body = shown.split("\r\n\r\n").nth(1).unwrap();
        assert_eq!(body.as_bytes(), tare_origin::expected_body(100_000));
        let truth = shown
            .lines()
            .find(|line| line.starts_with("Tare-Timestamps: "));
        let stamps: Vec<u64> = truth
            .unwrap()
            .split(' ')
            .skip(1)
            .map(|stamp| stamp.trim().parse().unwrap())
            .collect();
        assert!(stamps[0] < stamps[1], "arrived before sent: {stamps:?}");
    }
    assert_eq!(server.counter("tare_origin_tls_handshakes_total"), 2);
    let untrusting = curl(&["--http1.1", &format!("https://localhost:{port}/")]);
    assert!(!untrusting.status.success());
    // Its alert may be overtaken by the reset of its socket.
    wait_for_some(&server, &[failed("alert"), failed("closed")]);
}

#[test]
fn what_is_not_tls_and_who_never_speaks_is_counted_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_within(Duration::from_secs(2), ServerProtocol::Auto, made(&folder));
    let mut plain = server.connect();
    plain.send(b"GET / HTTP/1.1\r\nHost: o\r\n\r\n");
    let alert = plain.rest();
    assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    wait_for_some(&server, &[failed("not-tls")]);
    assert!(
        server.connect().rest().is_empty(),
        "the silent one is dropped"
    );
    wait_for_some(&server, &[failed("timeout")]);
    drop(server.connect());
    wait_for_some(&server, &[failed("closed")]);
    assert_eq!(server.counter("tare_origin_tls_handshakes_total"), 0);
}

#[test]
fn only_certified_clients_are_served_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = client_identity(&folder);
    let mut options = made(&folder);
    options.client_ca = Some(folder.path().join("client-ca.pem"));
    let server = server(ServerProtocol::Http1, options);
    let url = format!("https://localhost:{}/?size=3", server.address.port());
    let ca = folder.path().join("ca.pem");
    let ca = ca.to_str().unwrap();
    let certified = curl(&["--cacert", ca, "--cert", &certificate, "--key", &key, &url]);
    assert_eq!(text(&certified), "abc");
    let bare = curl(&["--cacert", ca, &url]);
    assert!(!bare.status.success(), "{}", text(&bare));
    // curl tries twice.
    assert!(server.counter(&failed("no-certificate")) >= 1);
    assert_eq!(server.counter("tare_origin_tls_handshakes_total"), 1);
}

/// A client's key and certificate, with its authority beside them.
fn client_identity(folder: &TempDir) -> (String, String) {
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer =
        rcgen::CertifiedIssuer::self_signed(authority, rcgen::KeyPair::generate().unwrap())
            .unwrap();
    let mut client = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
    client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = client.signed_by(&key, &issuer).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("client-ca.pem", issuer.pem());
    (
        write("client-key.pem", key.serialize_pem()),
        write("client.pem", certificate.pem()),
    )
}

#[test]
fn versions_and_protocols_that_are_not_offered_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = made(&folder);
    options.versions = TlsVersions::Only13;
    let server = server(ServerProtocol::Tcp(TcpMode::Source), options);
    let ca = folder.path().join("ca.pem");
    let url = format!("https://localhost:{}/", server.address.port());
    let old = curl(&["--cacert", ca.to_str().unwrap(), "--tls-max", "1.2", &url]);
    assert!(!old.status.success());
    wait_for_some(&server, &[failed("no-common-parameters")]);
}

#[test]
fn a_wrong_key_and_a_missing_file_are_named_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = client_identity(&folder);
    let bind = |certificate: &str, key: &str| {
        tare_origin::bind(OriginOptions {
            tls: Some(TlsOptions {
                identity: Identity::Files {
                    certificate: certificate.into(),
                    key: key.into(),
                },
                ..made(&folder)
            }),
            ..OriginOptions::default()
        })
        .map(|_| ())
        .map_err(|error| error.to_string())
    };
    assert_eq!(bind(&certificate, &key), Ok(()));
    let missing = bind("/nowhere.pem", &key).unwrap_err();
    assert!(missing.contains("/nowhere.pem"), "{missing}");
    let other = folder.path().join("other-key.pem");
    let other_key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(&other, other_key).unwrap();
    let wrong = bind(&certificate, other.to_str().unwrap()).unwrap_err();
    assert!(wrong.contains("key"), "{wrong}");
}
