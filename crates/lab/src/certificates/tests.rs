//! Tests of the certificates of a run.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::subprocess;

fn openssl(words: &[&str]) -> subprocess::Output {
    let words: Vec<String> = std::iter::once("openssl")
        .chain(words.iter().copied())
        .map(str::to_owned)
        .collect();
    subprocess::run(
        &words,
        crate::variables::ProgramKind::Plain,
        Duration::from_secs(20),
    )
    .unwrap()
}

#[test]
fn a_certificate_names_its_instance_three_ways_and_is_signed_by_the_runs_authority() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new("run-1").unwrap();
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 2));
    let identity = authority
        .issue("server-sidecar", &[], &[address], place.path())
        .unwrap();
    assert_eq!(identity.uri, "spiffe://tare/ns/run-1/sa/server-sidecar");
    let certificate = identity.certificate.to_str().unwrap();
    let text = openssl(&["x509", "-noout", "-text", "-in", certificate]).stdout;
    for part in [
        "URI:spiffe://tare/ns/run-1/sa/server-sidecar",
        "DNS:server-sidecar",
        "IP Address:127.0.1.2",
        "prime256v1",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "CA:FALSE",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let authority = identity.ca.to_str().unwrap();
    let verified = openssl(&["verify", "-x509_strict", "-CAfile", authority, certificate]);
    assert!(verified.success, "{}", verified.text());
}

#[test]
fn another_runs_authority_does_not_vouch_for_it() {
    let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let ours = Authority::new("a")
        .unwrap()
        .issue("x", &[], &[], one.path())
        .unwrap();
    let other = Authority::new("b")
        .unwrap()
        .issue("x", &[], &[], two.path())
        .unwrap();
    let authority = other.ca.to_str().unwrap();
    let verified = openssl(&[
        "verify",
        "-CAfile",
        authority,
        ours.certificate.to_str().unwrap(),
    ]);
    assert!(!verified.success);
}

#[test]
fn a_certificate_is_valid_from_an_hour_ago_for_a_week() {
    let place = tempfile::tempdir().unwrap();
    let identity = Authority::new("r")
        .unwrap()
        .issue("x", &[], &[], place.path())
        .unwrap();
    let certificate = identity.certificate.to_str().unwrap();
    let ends_within = |seconds: u64| {
        let seconds = seconds.to_string();
        !openssl(&["x509", "-noout", "-checkend", &seconds, "-in", certificate]).success
    };
    let week = VALID.as_secs();
    assert!(!ends_within(week - 600) && ends_within(week + 600));
    let hour_ago = format!(
        "{}",
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
            - 3000
    );
    let authority = identity.ca.to_str().unwrap();
    let verified = openssl(&[
        "verify",
        "-attime",
        &hour_ago,
        "-CAfile",
        authority,
        certificate,
    ]);
    assert!(verified.success, "{}", verified.text());
}

#[test]
fn only_the_owner_can_read_what_is_written_and_nothing_is_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new("r").unwrap();
    let identity = authority.issue("x", &[], &[], place.path()).unwrap();
    for file in [&identity.key, &identity.bundle, &identity.certificate] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    assert!(
        fs::read_to_string(&identity.key)
            .unwrap()
            .starts_with("-----BEGIN PRIVATE KEY-----")
    );
    assert!(authority.issue("x", &[], &[], place.path()).is_err());
}

#[test]
fn a_name_that_fits_no_certificate_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let said = Authority::new("r")
        .unwrap()
        .issue("ümlaut", &[], &[], place.path());
    assert!(said.unwrap_err().to_string().contains("ümlaut"));
}
