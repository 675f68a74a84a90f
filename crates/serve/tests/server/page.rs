//! The page in a real browser: `web/try-app.mjs`, with Debian's Chromium.

use std::process::Command;

use crate::flows::Origin;
use crate::rig::{Server, home};

#[test]
fn a_run_and_loads_are_started_watched_stopped_and_compared_in_a_browser() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let origin = Origin::start();
    // As scripts/check-web does it: Node and the packages of the page.
    let script = "set -euo pipefail; root=$PWD; . scripts/prerequisites.sh; need_node; cd web
        [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund
        exec node try-app.mjs \"$@\"";
    let ended = Command::new("bash")
        .args(["-c", script, "try-app"])
        .arg(format!("http://{}/?token={}", server.address, server.link))
        .arg(&origin.url)
        .current_dir(home())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(ended.status.success(), "{out}{err}");
    assert!(out.contains("page: finding: "), "{out}{err}");
}
