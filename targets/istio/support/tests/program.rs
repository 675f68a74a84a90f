//! The program as it is started: its version and its options.
#![allow(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::process::{Command, Output};

fn said(words: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_istio-support"));
    program.args(words).output().unwrap()
}

#[test]
fn it_tells_its_version_as_its_target_expects() {
    let version = said(&["--version"]);
    assert!(version.status.success());
    let expected = format!("istio-support {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(version.stdout).unwrap(), expected);
}

#[test]
fn tokens_that_cannot_be_read_are_said_with_their_file() {
    let folder = std::env::temp_dir().join(format!("tare-support-{}", std::process::id()));
    let tokens = folder.join("no-tokens.json").display().to_string();
    let refused = said(&[
        "kubernetes-api",
        "--listen=127.0.0.1:0",
        "--tokens",
        &tokens,
    ]);
    assert!(!refused.status.success());
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("no-tokens.json"), "{error}");
}
