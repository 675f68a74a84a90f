//! Certificates: for the right signing request and token, and for no other.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use linkerd2_proxy_api::identity::CertifyRequest;
use linkerd2_proxy_api::identity::identity_client::IdentityClient;
use rcgen::{CertificateParams, KeyPair};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tonic::Code;

use crate::rig::{CLIENT, Rig, SERVER, TOKEN};

fn signing_request(names: &[&str]) -> Vec<u8> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let request = CertificateParams::new(names).unwrap();
    let request = request.serialize_request(&KeyPair::generate().unwrap());
    request.unwrap().der().to_vec()
}

fn certify(identity: &str, token: &str, csr: Vec<u8>) -> CertifyRequest {
    CertifyRequest {
        identity: identity.to_owned(),
        token: token.as_bytes().to_vec(),
        certificate_signing_request: csr,
    }
}

/// Verifies as proxies do.
fn verify(rig: &Rig, leaf: &[u8], intermediates: &[Vec<u8>]) {
    let mut roots = RootCertStore::empty();
    roots.add(rig.root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let chain: Vec<_> = intermediates
        .iter()
        .cloned()
        .map(CertificateDer::from)
        .collect();
    let name = ServerName::try_from(SERVER).unwrap();
    verifier
        .build()
        .unwrap()
        .verify_server_cert(
            &CertificateDer::from(leaf),
            &chain,
            &name,
            &[],
            UnixTime::now(),
        )
        .unwrap();
}

#[tokio::test]
async fn the_right_request_gets_a_certificate_that_leads_to_the_root() {
    let rig = Rig::start(|_| {});
    let mut client = IdentityClient::new(rig.connect().await);
    // Files of tokens end with a line feed.
    let token = format!("{TOKEN}\n");
    let asked = certify(SERVER, &token, signing_request(&[SERVER]));
    let answer = client.certify(asked).await.unwrap().into_inner();
    assert_eq!(answer.intermediate_certificates, [rig.issuer.to_vec()]);
    verify(
        &rig,
        &answer.leaf_certificate,
        &answer.intermediate_certificates,
    );
    let now = std::time::SystemTime::now();
    let until = std::time::SystemTime::try_from(answer.valid_until.unwrap()).unwrap();
    let left = until.duration_since(now).unwrap().as_secs();
    assert!((1..=3600).contains(&left), "{left}");
    rig.wait_for_metric("linkerd_control_plane_certificates_issued_total 1");
    rig.wait_for_log("issued a certificate for \"server.tare");
}

#[tokio::test]
async fn the_files_of_a_workload_get_a_certificate() {
    let rig = Rig::start(|_| {});
    let folder = tempfile::tempdir().unwrap();
    let write = || {
        Command::new(env!("CARGO_BIN_EXE_linkerd-control-plane"))
            .args(["identity", "--name", SERVER, "--dir"])
            .arg(folder.path())
            .status()
            .unwrap()
    };
    assert!(write().success());
    let key = std::fs::read(folder.path().join("key.p8")).unwrap();
    assert!(write().success());
    let newer = std::fs::read(folder.path().join("key.p8")).unwrap();
    assert_ne!(key, newer);
    assert!(KeyPair::try_from(newer).is_ok());
    assert_eq!(mode(&folder.path().join("key.p8")), 0o600);
    let csr = std::fs::read(folder.path().join("csr.der")).unwrap();
    let mut client = IdentityClient::new(rig.connect().await);
    let answer = client.certify(certify(SERVER, TOKEN, csr)).await.unwrap();
    let answer = answer.into_inner();
    verify(
        &rig,
        &answer.leaf_certificate,
        &answer.intermediate_certificates,
    );
}

fn mode(file: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn other_requests_get_no_certificate() {
    let rig = Rig::start(|_| {});
    let mut client = IdentityClient::new(rig.connect().await);
    let right = || signing_request(&[SERVER]);
    let mut forged = right();
    *forged.last_mut().unwrap() ^= 1;
    let nobody = "nobody.tare.serviceaccount.identity.linkerd.cluster.local";
    let cases = [
        (
            "wrong-token",
            Code::PermissionDenied,
            certify(SERVER, "guess", right()),
        ),
        (
            "wrong-token",
            Code::PermissionDenied,
            certify(SERVER, "", right()),
        ),
        (
            "wrong-token",
            Code::PermissionDenied,
            certify(CLIENT, TOKEN, right()),
        ),
        (
            "unknown-identity",
            Code::PermissionDenied,
            certify(nobody, TOKEN, right()),
        ),
        (
            "other-names-in-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, signing_request(&[CLIENT])),
        ),
        (
            "other-names-in-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, signing_request(&[SERVER, CLIENT])),
        ),
        (
            "other-names-in-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, signing_request(&[])),
        ),
        (
            "other-names-in-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, signing_request(&["10.77.1.3"])),
        ),
        (
            "unreadable-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, b"garbage".to_vec()),
        ),
        (
            "unreadable-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, vec![]),
        ),
        (
            "unreadable-signing-request",
            Code::InvalidArgument,
            certify(SERVER, TOKEN, forged),
        ),
    ];
    for (reason, code, asked) in cases.clone() {
        let refused = client.certify(asked).await.unwrap_err();
        assert_eq!(refused.code(), code, "{reason}: {refused}");
        assert!(
            refused.message().starts_with("no certificate for"),
            "{refused}"
        );
        let count = cases.iter().filter(|case| case.0 == reason).count();
        assert!(count > 0);
    }
    for (reason, ..) in &cases {
        let count = cases.iter().filter(|case| case.0 == *reason).count();
        rig.wait_for_metric(&format!(
            "linkerd_control_plane_refused_total{{reason=\"{reason}\"}} {count}"
        ));
    }
    rig.wait_for_metric("linkerd_control_plane_certificates_issued_total 0");
    rig.wait_for_log("no certificate for \"server.tare.serviceaccount.identity.linkerd.cluster.local\": the token");
}
