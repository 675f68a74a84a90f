//! Tare's image on a real Kubernetes node on this machine, where `scripts/kubernetes/build` has built it; with `TARE_KUBERNETES=1` everything
//! that is tried there.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where by panicking"
)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_image_runs_on_real_nodes_and_nothing_is_left_of_them() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no nodes are started");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = Path::new(env!("CARGO_BIN_EXE_tare")).parent().unwrap();
    let is_whole = std::env::var_os("TARE_KUBERNETES").is_some_and(|wish| wish == "1");
    let short = (!is_whole).then_some("--short");
    let said = Command::new(root.join("scripts/kubernetes/test"))
        .args(["--if-built", "--programs"])
        .arg(programs)
        .args(short)
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
    println!("{text}");
    assert!(said.status.success(), "{text}");
}
