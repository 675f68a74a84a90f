//! The server's HTTP/2 by h2spec, the conformance tests of github.com/summerwind/h2spec, over plain TCP and over TLS.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where by panicking"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tare_origin::{
    Identity, OriginOptions, ServerProtocol, SessionTickets, StopHandle, TlsOptions, TlsVersions,
    bind,
};

const MODULE: &str = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible";

/// Answers have a body, which seven cases need, and come so late that the streams of one case are open together, which one needs.
const PATH: &str = "/?size=100&delay=200ms";

/// Seconds that h2spec waits for what it expects.
const TIMEOUT_S: &str = "10";

/// Cases of that version.
const CASES: &str = "145 tests, 145 passed, 0 skipped, 0 failed";

/// The program, made once for both tests.
fn h2spec() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(fetched)
}

/// The program, fetched by Go into the cache.
fn fetched() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = folder("TARE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("tare")))
        .unwrap_or_else(|| folder("HOME").unwrap().join(".cache/tare"));
    let made = cache.join("peers/h2spec-2.2.1");
    let program = made.join("h2spec");
    if !program.is_file() {
        let status = Command::new("go")
            .args(["install", MODULE])
            .env("GOFLAGS", "-mod=mod")
            .env("GOBIN", &made)
            .status();
        assert!(status.unwrap().success(), "go should install {MODULE}");
    }
    program
}

/// Runs all cases against a server of its own, and returns what h2spec says.
fn examined(tls: Option<TlsOptions>) -> String {
    let transport: &[&str] = match tls {
        None => &[],
        Some(_) => &["--tls", "--insecure"],
    };
    let origin = bind(OriginOptions {
        protocol: ServerProtocol::Http2,
        tls,
        ..OriginOptions::default()
    })
    .unwrap();
    let address: SocketAddr = origin.local_addr();
    let stop = StopHandle::new().unwrap();
    let server = std::thread::spawn({
        let stop = stop.clone();
        move || origin.run(stop)
    });
    let output = Command::new(h2spec())
        .args(["--host", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .args(["--path", PATH, "--timeout", TIMEOUT_S])
        .args(transport)
        .output()
        .unwrap();
    stop.stop();
    server.join().unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn check(said: &str) {
    let summary = said.lines().rev().find(|line| line.contains(" tests, "));
    let failures = said
        .split_once("Failures:")
        .map_or("", |(_, behind)| behind);
    assert_eq!(summary, Some(CASES), "{failures}");
}

#[test]
fn every_case_passes_over_plain_tcp() {
    check(&examined(None));
}

#[test]
fn every_case_passes_over_tls() {
    check(&examined(Some(TlsOptions {
        identity: Identity::SelfSigned { ca_out: None },
        client_ca: None,
        tickets: SessionTickets::On,
        versions: TlsVersions::Both,
    })));
}
